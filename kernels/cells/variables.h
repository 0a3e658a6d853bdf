/* PID 1's list of the kernel's variables. It is fetched when the kernel has been idle for a moment, so that PID 1
 * can name the lost variables when the kernel dies. The kernel's list is hostile input: bounded and copied field
 * by field. */
#ifndef HUSK_KERNELS_CELLS_VARIABLES_H
#define HUSK_KERNELS_CELLS_VARIABLES_H

#include "kernels/cells/link.h"

/* At most VARIABLES_MAX variables as [{name, type, shape?, bytes?}], and the number of further ones. */
struct variables {
	json_t *list; /* NULL = unknown */
	uint64_t more;
};

void variables_release(struct variables *v);
/* Replaces the list with the kernel's answer. */
void variables_take(struct variables *v, const struct link_message *m);
/* Returns the list as [{name, type}] and clears it, since the kernel is dead. A new reference, or NULL if nothing
 * is known. */
json_t *variables_lose(struct variables *v);

#endif
