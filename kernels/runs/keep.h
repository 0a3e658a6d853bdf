/* The full text of long runs, in files of the session that its code can search: ~/.husk/runs/N.txt. The limits are
 * KEEP_RUN_MAX for each run and KEEP_ALL_MAX for all; the oldest files are removed first. Sandbox code may change
 * the directory: it is entered without following a link, and a failure there costs only the file. */
#ifndef HUSK_KERNELS_RUNS_KEEP_H
#define HUSK_KERNELS_RUNS_KEEP_H

#include "base/defs.h"

#define KEEP_RUN_MAX (16u << 20)
#define KEEP_ALL_MAX (64u << 20)

struct keeps {
	struct kept {
		uint32_t number;
		uint64_t bytes;
	} * files; /* oldest first */
	size_t n;
	uint64_t bytes;
	const char *home; /* NULL = the sandbox user's */
};

/* The file of one run. `{ .fd = -1 }` means no file. */
struct keep {
	struct keeps *all;
	uint32_t number;
	int fd;
	uint64_t bytes;
	bool cut; /* the file is incomplete */
};

void keeps_release(struct keeps *all);
/* False if the file cannot be created. The caller does not try again for this run. */
bool keep_open(struct keep *k, struct keeps *all, uint32_t number);
/* Writes as much as the limits allow. */
void keep_write(struct keep *k, const void *data, size_t n);
/* Idempotent. */
void keep_close(struct keep *k);
/* True if there is a file of this run, complete or not. */
bool keep_is_there(const struct keep *k);

#endif
