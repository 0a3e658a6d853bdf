/* Two slow things with trees of files, done a little at a time: removing one, and moving one into another. Both hold open
 * what they walk through and look at each name anew, so whatever sandbox code swaps in meanwhile leads nowhere else. */
#ifndef HUSK_KERNELS_FILES_TREES_H
#define HUSK_KERNELS_FILES_TREES_H

#include <dirent.h>

#include "kernels/entry.h"

struct tree_level {
	DIR *from;
	int to; /* merge only; -1 otherwise */
	char name[ENTRY_NAME_MAX + 1];
	bool moved; /* something left `from` since it was last read from its start */
	unsigned passes;
};

struct tree_walk {
	struct tree_level levels[ENTRY_DEPTH_MAX + 2];
	int depth; /* 0 = nothing to do */
	/* Of a merge: the name that it has come to, and how many it has moved. */
	char name[ENTRY_NAME_MAX + 1];
	uint64_t n_moved;
};

/* A walk that begins at the open directory `fd`, which is taken. `to` (taken; -1 to erase) is where its content goes. 0 or
 * -errno. */
int tree_begin(struct tree_walk *w, int fd, int to);
/* All do at most `steps` small things: 1 if there is more to do, 0 if it is done, -errno if it cannot be. Erasing goes as far
 * as it can and never fails. */
int tree_erase(struct tree_walk *w, int steps);
/* Before a merge, which cannot be undone: fails if something is in its way, moves nothing. */
int tree_check(struct tree_walk *w, int steps);
int tree_merge(struct tree_walk *w, int steps);
void tree_end(struct tree_walk *w);
/* Where a check or a merge failed, below the directory that it began at; cut if it does not fit. */
void tree_where(const struct tree_walk *w, char *ret, size_t size);

/* Moves a directory, also one that its owner may not write to. -EEXIST if there is something of that name. */
int tree_move_directory(int from, const char *name, int to, const char *new_name);

#endif
