/* What PID 1 knows of the kernel's variables: asked for when the kernel has been idle for a moment, so that there is something to
 * say of them when it dies. The kernel's word is hostile input: bounded and copied field by field. */
#ifndef HUSK_KERNELS_CELLS_VARIABLES_H
#define HUSK_KERNELS_CELLS_VARIABLES_H

#include "kernels/cells/link.h"

/* [{name, type, shape?, bytes?}] of at most VARIABLES_MAX, and how many more there are. */
struct variables {
	json_t *list; /* NULL = nothing is known */
	uint64_t more;
};

void variables_release(struct variables *v);
/* Replaces what is known by the kernel's answer. */
void variables_take(struct variables *v, const struct link_message *m);
/* What is known as [{name, type}] and forgotten: its kernel is gone. NULL if nothing is known. A new reference. */
json_t *variables_lose(struct variables *v);

#endif
