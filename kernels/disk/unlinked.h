/* Files on disk that no directory shows: files and directories that were unlinked while a descriptor, a mapping, a
 * running program or a working directory keeps them. Also the number of bytes that processes have written to disk.
 * Processes are examined a little at a time, like trees. A descriptor that was sent over a unix socket and not received
 * belongs to no process: only the number of such descriptors is known. */
#ifndef HUSK_KERNELS_DISK_UNLINKED_H
#define HUSK_KERNELS_DISK_UNLINKED_H

#include <dirent.h>
#include <sys/types.h>

#include "base/defs.h"

struct unlinked_walk {
	dev_t device;
	DIR *processes; /* NULL = nothing to do */
	DIR *fds;	/* descriptors of the process that is being examined; NULL = none */
	uint64_t *seen; /* inodes, a hash table */
	size_t slots, n_seen;
	uint64_t bytes;		 /* bytes of unlinked files on the device */
	uint64_t written;	 /* by living processes, to any disk */
	uint64_t in_flight;	 /* descriptors that were sent and not yet received */
	bool secretive;		 /* a process of the sandbox user hides its open files and the bytes it has written */
	bool partial;		 /* an unlinked file is mapped and not open, so its size is unknown */
	char pid[16], place[48]; /* the process that is being examined, and the folder that lists its descriptors */
};

/* 0 or -errno; the walk must not be under way. */
int unlinked_begin(struct unlinked_walk *w, dev_t device);
bool unlinked_step(struct unlinked_walk *w, int steps);
void unlinked_end(struct unlinked_walk *w);

/* Parses a line of /proc/PID/maps. True if it maps an unlinked file of the device; then returns the file's inode and
 * the mapped bytes. */
bool unlinked_parse_map(const char *line, dev_t device, uint64_t *ret_inode, uint64_t *ret_bytes);

#endif
