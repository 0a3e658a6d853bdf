/* The full text of long runs, in files of the session that its code can search: ~/.husk/runs/N.txt. KEEP_RUN_MAX of each run,
 * KEEP_ALL_MAX of all of them; the oldest go first. The directory is the sandbox's to change: it is entered without following a
 * link, and whatever goes wrong there costs the file and nothing else. */
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
	const char *home; /* NULL = the sandbox's */
};

/* The file of one run. `{ .fd = -1 }` is none. */
struct keep {
	struct keeps *all;
	uint32_t number;
	int fd;
	uint64_t bytes;
	bool cut; /* not all of it is there */
};

void keeps_release(struct keeps *all);
/* False if there can be no file; the run is then never asked again. */
bool keep_open(struct keep *k, struct keeps *all, uint32_t number);
/* Writes what still fits. */
void keep_write(struct keep *k, const void *data, size_t n);
/* Idempotent. */
void keep_close(struct keep *k);
/* True if there is a file of it, however much of it. */
bool keep_is_there(const struct keep *k);

#endif
