/* What processes hold on disk that no directory shows: files and directories that were unlinked while a descriptor, a mapping, a
 * running program or a working directory keeps them. And how many bytes processes have written to disk. Looked at a little at a
 * time, like trees. A descriptor that was sent over a unix socket and not received is in no process: only its number is known. */
#ifndef HUSK_KERNELS_DISK_UNLINKED_H
#define HUSK_KERNELS_DISK_UNLINKED_H

#include <dirent.h>
#include <sys/types.h>

#include "base/defs.h"

struct unlinked_walk {
	dev_t device;
	DIR *processes; /* NULL = nothing to do */
	DIR *fds;	/* of the process that is being looked at; NULL = none */
	uint64_t *seen; /* inodes, a hash table */
	size_t slots, n_seen;
	uint64_t bytes;		 /* of unlinked files on the device */
	uint64_t written;	 /* by the processes that live, to any disk */
	uint64_t in_flight;	 /* descriptors that were sent and not yet received */
	bool secretive;		 /* a process of the sandbox hides what it has open and what it has written */
	bool partial;		 /* an unlinked file is mapped and not open, so that its size is not known */
	char pid[16], place[48]; /* the process that is being looked at, and where its descriptors are listed */
};

/* 0 or -errno; the walk must not be under way. */
int unlinked_begin(struct unlinked_walk *w, dev_t device);
bool unlinked_step(struct unlinked_walk *w, int steps);
void unlinked_end(struct unlinked_walk *w);

/* A line of /proc/PID/maps: true if it maps an unlinked file of the device; its inode and how much of it is mapped. */
bool unlinked_parse_map(const char *line, dev_t device, uint64_t *ret_inode, uint64_t *ret_bytes);

#endif
