/* Holds what a container may have on disk to its limits, where the engine has no quota for it: the volumes are counted again and
 * again (blocks and names, and files that are unlinked and still open), a little at a time, as often as every 200 ms while the
 * disk gets fuller. What is hidden from counting shows in what is free on the disk: if that falls by more than is counted, the
 * difference counts as hidden, and may be as large as the limit and no larger.
 *
 * Others write to the same disk, so the difference is this container's only as far as it has written so much itself. The guard sees
 * to it that blocks must be written (kernels/guard/guard.h). Two things make the count of written bytes useless, and then the whole
 * difference counts: descriptors that are on their way through a socket, or a process that cannot be looked into; and where
 * something else has an unknown size (a locked directory, a file that is only mapped), processes that came since the last look,
 * since one that came and went without being waited for leaves no count. */
#ifndef HUSK_KERNELS_DISK_DISK_H
#define HUSK_KERNELS_DISK_DISK_H

#include "kernels/disk/unlinked.h"
#include "kernels/disk/usage.h"
#include "kernels/system/poller.h"

#define DISK_VOLUMES_MAX 2
#define DISK_INTERVAL_MS 200

enum disk_state {
	DISK_FINE,
	DISK_FULL,   /* over the limit, or the host's disk below its floor while this container writes */
	DISK_BEYOND, /* so far over it that the container must end: hidden files, or twice the limit and growing */
};

struct disk_volume {
	const char *path;
	uint64_t limit; /* bytes; a name for each 4 KiB of it */
	bool solid;	/* holes count: what is in it will be copied */
	struct usage usage;
};

struct disk {
	struct poller *poller;
	struct disk_volume volumes[DISK_VOLUMES_MAX];
	size_t n;	/* 0 = nothing to watch */
	uint64_t floor; /* bytes that must stay free on the host's disk */
	/* After each round that found it other than fine and no smaller; `why` completes "the session …". */
	void (*on_over)(struct disk *d, enum disk_state state, const char *why);

	enum disk_state state;
	size_t counting; /* the volume that is being counted; n = the processes */
	bool under_way;
	uint64_t began_ms, rest_ms;
	struct usage_walk tree;
	struct unlinked_walk unlinked;
	uint64_t used; /* at the last round: trees and unlinked files */
	uint64_t names;
	/* The last round's, to compare with. */
	uint64_t free, written;
	uint64_t paused_free;
	uint64_t hidden;
	uint64_t last_pid;
	struct timeout timer;
};

/* Begins to watch; poller, volumes, n, floor and on_over are set by the caller. */
void disk_start(struct disk *d);
void disk_stop(struct disk *d);
/* No looks until disk_resume(), while nothing of the container can run. What others write meanwhile is not counted as hidden. */
void disk_pause(struct disk *d);
void disk_resume(struct disk *d);
/* Counts to the end at once, when no other process is left that could delay it. */
enum disk_state disk_count_now(struct disk *d);

/* What the first volume can take, by the last count: what is left of its limit, and of the host's disk above its floor. */
struct disk_room {
	uint64_t bytes, names, limit;
};
struct disk_room disk_room(const struct disk *d);

/* What one round says: exposed for tests. */
struct disk_round {
	uint64_t used, free, written;
	bool secretive; /* what was written is not known */
};
/* How much of what has gone from the disk since the last round was written by this container and is nowhere to be found. */
uint64_t disk_hidden(uint64_t hidden, const struct disk_round *before, const struct disk_round *now);

#endif
