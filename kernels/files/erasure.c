#include "kernels/files/erasure.h"

#include <errno.h>
#include <fcntl.h>

#include "base/alloc.h"
#include "kernels/files/place.h"
#include "kernels/files/trees.h"
#include "kernels/protocol.h"

struct erasure {
	struct place place;
	bool directory, recursive;
	uint64_t removed, steps;
	struct tree_walk walk;
};

static int prepare(struct erasure *e, const char *path, const char *tag)
{
	struct stat st;
	int r = place_find(&e->place, path);
	if (r == 0 && !*e->place.name)
		r = -EBUSY;
	if (r == 0)
		r = place_stat(&e->place, &st);
	if (r == 0)
		r = place_check_tag(&st, tag);
	if (r < 0)
		return r;
	e->directory = S_ISDIR(st.st_mode);
	if (!e->directory || !e->recursive)
		return 0;
	int fd = tree_open_directory(e->place.parent, e->place.name);
	return fd < 0 ? -errno : tree_begin(&e->walk, fd, /* to= */ -1);
}

int erasure_new(const char *path, const struct erasure_options *options, struct erasure **ret)
{
	struct erasure *e = new0(struct erasure);
	e->place.parent = -1;
	e->recursive = options->recursive;
	int r = prepare(e, path, options->tag);
	if (r < 0) {
		erasure_free(e);
		return r;
	}
	*ret = e;
	return 0;
}

struct erasure *erasure_free(struct erasure *e)
{
	if (!e)
		return NULL;
	tree_end(&e->walk);
	place_release(&e->place);
	free(e);
	return NULL;
}

uint64_t erasure_names(const struct erasure *e)
{
	return e->removed + e->walk.n_moved;
}

int erasure_step(struct erasure *e, int steps)
{
	if (tree_erase(&e->walk, steps)) {
		e->steps += (uint64_t)steps;
		return e->steps < FILE_ERASED_MAX ? 1 : -E2BIG;
	}
	if (unlinkat(e->place.parent, e->place.name, e->directory ? AT_REMOVEDIR : 0) == 0) {
		e->removed++;
		return 0;
	}
	/* POSIX allows either error for a directory that is not empty. */
	return errno == EEXIST ? -ENOTEMPTY : -errno;
}
