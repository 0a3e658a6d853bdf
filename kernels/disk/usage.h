/* Counts the disk space of a tree of files, a little at a time: blocks and names, even if files move meanwhile. Each
 * name of a file with several links counts a share of its blocks, so the file is counted once wherever its names
 * are. */
#ifndef HUSK_KERNELS_DISK_USAGE_H
#define HUSK_KERNELS_DISK_USAGE_H

#include <dirent.h>

#include "base/defs.h"

/* No package or project is this deep. Anything deeper is not counted, and `deep` says so. */
#define USAGE_DEPTH_MAX 256

struct usage {
	uint64_t bytes;	   /* blocks */
	uint64_t apparent; /* blocks or length of each file, whichever is larger: the size of a copy without holes */
	uint64_t names;
	bool deep;
	bool locked; /* a directory could not be read */
};

struct usage_walk {
	DIR *levels[USAGE_DEPTH_MAX];
	int depth; /* 0 = nothing to do */
	struct usage sum;
};

/* 0 or -errno; the walk must not be under way. */
int usage_begin(struct usage_walk *w, const char *path);
/* Looks at about `steps` names; true if there are more. */
bool usage_step(struct usage_walk *w, int steps);
void usage_end(struct usage_walk *w);

#endif
