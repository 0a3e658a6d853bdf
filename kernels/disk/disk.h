/* Keeps a container's files within their limits on disk where the engine has no quota for them. The volumes are counted
 * again and again (blocks, names, and files that are unlinked and still open), a little at a time, as often as every
 * 200 ms while the disk gets fuller. Files that are hidden from counting show in the free space of the disk: if the
 * free space falls by more than was counted, the difference counts as hidden. Hidden data may not exceed the limit.
 *
 * Other processes of the host write to the same disk, so the difference counts only up to the number of bytes that this
 * container has written itself. The guard makes sure that disk blocks can only be allocated by writing
 * (kernels/guard/guard.h). In two cases the count of written bytes is useless, and then the whole difference counts.
 * The first: descriptors are in transit through a socket, or a process cannot be examined. The second: something else
 * has an unknown size (a locked directory, a file that is only mapped) and processes have started since the last round:
 * one that has already ended without being waited for leaves no count. */
#ifndef HUSK_KERNELS_DISK_DISK_H
#define HUSK_KERNELS_DISK_DISK_H

#include "kernels/disk/unlinked.h"
#include "kernels/disk/usage.h"
#include "kernels/system/poller.h"

#define DISK_VOLUMES_MAX 2
#define DISK_INTERVAL_MS 200

enum disk_state {
	DISK_FINE,
	DISK_FULL,   /* over the limit, or the host's disk is below its floor while this container writes */
	DISK_BEYOND, /* so far over that the container must end: too much hidden data, or twice the limit and growing */
};

struct disk_volume {
	const char *path;
	uint64_t limit; /* in bytes; one name is allowed per 4 KiB of it */
	bool solid;	/* holes count, since the content will be copied */
	struct usage usage;
};

struct disk {
	struct poller *poller;
	struct disk_volume volumes[DISK_VOLUMES_MAX];
	size_t n;	/* 0 = nothing to watch */
	uint64_t floor; /* bytes that must stay free on the host's disk */
	/* Called after a round with DISK_BEYOND, or with DISK_FULL if more space or names are in use. `why` completes
	 * "the session …". */
	void (*on_over)(struct disk *d, enum disk_state state, const char *why);

	enum disk_state state;
	size_t counting; /* index of the volume that is being counted; n = the processes */
	bool under_way;
	uint64_t began_ms, rest_ms;
	struct usage_walk tree;
	struct unlinked_walk unlinked;
	uint64_t used; /* in the last round: trees and unlinked files */
	uint64_t names;
	/* Values of the last round, for comparison. */
	uint64_t free, written;
	uint64_t paused_free;
	uint64_t hidden;
	uint64_t last_pid;
	struct timeout timer;
};

/* Starts to watch; the caller has set poller, volumes, n, floor and on_over. */
void disk_start(struct disk *d);
void disk_stop(struct disk *d);
/* Stops counting until disk_resume(); for a time in which nothing in the container can run. Bytes that other processes
 * of the host write meanwhile do not count as hidden. */
void disk_pause(struct disk *d);
void disk_resume(struct disk *d);
/* Counts a whole round without a pause; used when no other process is left that could make it longer. */
enum disk_state disk_count_now(struct disk *d);

/* Room that is left in the first volume according to the last count: within its limit, and above the floor of the
 * host's disk. */
struct disk_room {
	uint64_t bytes, names, limit;
};
struct disk_room disk_room(const struct disk *d);

/* The figures of one round; exposed for tests. */
struct disk_round {
	uint64_t used, free, written;
	bool secretive; /* the number of written bytes is unknown */
};
/* Returns the new number of hidden bytes: `hidden`, the number up to the last round, plus the disk space lost since
 * then that this container has written to files that cannot be found. */
uint64_t disk_hidden(uint64_t hidden, const struct disk_round *before, const struct disk_round *now);

#endif
