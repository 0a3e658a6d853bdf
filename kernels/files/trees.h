/* Two slow operations on trees of files, done a little at a time: removing a tree, and moving one into another.
 * Both keep open the directories that they walk through and examine each name anew, so a name that sandbox code
 * replaces meanwhile cannot lead elsewhere. */
#ifndef HUSK_KERNELS_FILES_TREES_H
#define HUSK_KERNELS_FILES_TREES_H

#include <dirent.h>

#include "kernels/entry.h"

struct tree_level {
	DIR *from;
	int to; /* merge only; -1 otherwise */
	char name[ENTRY_NAME_MAX + 1];
	bool moved; /* a name was moved or removed since `from` was last read from its start */
	unsigned passes;
};

struct tree_walk {
	struct tree_level levels[ENTRY_DEPTH_MAX + 2];
	int depth;		       /* 0 = nothing to do */
	char name[ENTRY_NAME_MAX + 1]; /* the current name; for a merge only */
	uint64_t n_moved;	       /* names that were moved or removed */
};

/* Starts a walk at the open directory `fd`, which is taken. Its content moves to `to` (taken; -1 to erase). 0 or
 * -errno. */
int tree_begin(struct tree_walk *w, int fd, int to);
/* This function, tree_check() and tree_merge() do at most `steps` small steps: 1 if there is more to do, 0 if done,
 * -errno on failure. Erasing removes as much as it can and never fails. */
int tree_erase(struct tree_walk *w, int steps);
/* Called before a merge, because a merge cannot be undone. Moves nothing, and fails if something is in the way. */
int tree_check(struct tree_walk *w, int steps);
int tree_merge(struct tree_walk *w, int steps);
void tree_end(struct tree_walk *w);
/* Where a check or a merge failed, relative to its first directory; truncated if it does not fit. */
void tree_where(const struct tree_walk *w, char *ret, size_t size);

/* Opens a directory, even one that denies its owner access. -1 with errno. */
int tree_open_directory(int parent, const char *name);
/* Moves a directory, even one that its owner may not write to. -EEXIST if the name exists. */
int tree_move_directory(int from, const char *name, int to, const char *new_name);

#endif
