#include "kernels/disk/usage.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define BLOCK 512

static int enter(struct usage_walk *w, int parent, const char *name)
{
	AUTO(closep) int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	DIR *dir = fdopendir(fd);
	if (!dir)
		return -errno;
	(void)take_fd(fd);
	w->levels[w->depth++] = dir;
	return 0;
}

int usage_begin(struct usage_walk *w, const char *path)
{
	w->depth = 0;
	w->sum = (struct usage){ 0 };
	return enter(w, AT_FDCWD, path);
}

void usage_end(struct usage_walk *w)
{
	while (w->depth)
		closedir(w->levels[--w->depth]);
}

static void count(struct usage *sum, const struct stat *st)
{
	uint64_t blocks = (uint64_t)st->st_blocks * BLOCK;
	uint64_t length = S_ISREG(st->st_mode) && st->st_size > 0 ? (uint64_t)st->st_size : 0;
	uint64_t links = S_ISDIR(st->st_mode) ? 1 : MAX(1, (uint64_t)st->st_nlink);
	sum->names++;
	sum->bytes += blocks / links;
	sum->apparent += MAX(blocks, length) / links;
}

/* A directory that denies its owner access hides its content. Then the caller watches the free space of the disk
 * instead. */
static void visit(struct usage_walk *w, const char *name)
{
	int dir = dirfd(w->levels[w->depth - 1]);
	struct stat st;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		w->sum.locked |= errno == EACCES;
		return;
	}
	count(&w->sum, &st);
	if (!S_ISDIR(st.st_mode))
		return;
	if (w->depth == USAGE_DEPTH_MAX)
		w->sum.deep = true;
	else
		w->sum.locked |= enter(w, dir, name) == -EACCES;
}

bool usage_step(struct usage_walk *w, int steps)
{
	while (w->depth && steps-- > 0) {
		const struct dirent *d = readdir(w->levels[w->depth - 1]);
		if (!d)
			closedir(w->levels[--w->depth]);
		else if (!streq(d->d_name, ".") && !streq(d->d_name, ".."))
			visit(w, d->d_name);
	}
	return w->depth > 0;
}
