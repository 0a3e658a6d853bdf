#include "kernels/files/trees.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define DIRECTORY_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
/* Sandbox code may add to a tree as fast as it is removed. */
#define PASSES_MAX 100

static struct tree_level *top(struct tree_walk *w)
{
	return &w->levels[w->depth - 1];
}

static int push(struct tree_walk *w, int fd, int to, const char *name)
{
	AUTO(closep) int from = fd, into = to;
	if (w->depth == (int)ARRAY_LEN(w->levels))
		return -ELOOP;
	DIR *dir = fdopendir(from);
	if (!dir)
		return -errno;
	(void)take_fd(from);
	struct tree_level *l = &w->levels[w->depth++];
	*l = (struct tree_level){ .from = dir, .to = take_fd(into) };
	(void)snprintf(l->name, sizeof(l->name), "%s", name);
	return 0;
}

static void pop(struct tree_walk *w)
{
	struct tree_level *l = top(w);
	closedir(l->from);
	closep(&l->to);
	w->depth--;
}

void tree_end(struct tree_walk *w)
{
	while (w->depth)
		pop(w);
}

int tree_begin(struct tree_walk *w, int fd, int to)
{
	w->depth = 0;
	w->n_moved = 0;
	(void)fchmod(fd, 0700);
	return push(w, fd, to, "");
}

void tree_where(const struct tree_walk *w, char *ret, size_t size)
{
	size_t n = 0;
	ret[0] = '\0';
	for (int i = 1; i <= w->depth && n < size; i++) {
		const char *name = i < w->depth ? w->levels[i].name : w->name;
		n += (size_t)snprintf(ret + n, size - n, "%s%s", n ? "/" : "", name);
	}
}

static bool is_dots(const char *name)
{
	return streq(name, ".") || streq(name, "..");
}

/* If the name is replaced meanwhile, the chmod can only affect a file of the sandbox user. */
int tree_open_directory(int parent, const char *name)
{
	int fd = openat(parent, name, DIRECTORY_FLAGS);
	if (fd < 0 && errno == EACCES && fchmodat(parent, name, 0700, 0) == 0)
		fd = openat(parent, name, DIRECTORY_FLAGS);
	return fd;
}

/* ---- erase */

static void enter_to_erase(struct tree_walk *w, const char *name)
{
	AUTO(closep) int fd = tree_open_directory(dirfd(top(w)->from), name);
	if (fd < 0)
		return;
	(void)fchmod(fd, 0700);
	(void)push(w, take_fd(fd), -1, name);
}

static void leave_erased(struct tree_walk *w)
{
	char name[ENTRY_NAME_MAX + 1];
	memcpy(name, top(w)->name, sizeof(name));
	pop(w);
	if (!w->depth || unlinkat(dirfd(top(w)->from), name, AT_REMOVEDIR) < 0)
		return;
	top(w)->moved = true;
	w->n_moved += top(w)->to < 0; /* a merge does not count the directories that it has emptied */
}

int tree_erase(struct tree_walk *w, int steps)
{
	while (w->depth && steps-- > 0) {
		struct tree_level *l = top(w);
		errno = 0;
		const struct dirent *d = readdir(l->from);
		if (d && is_dots(d->d_name))
			continue;
		if (d && unlinkat(dirfd(l->from), d->d_name, 0) == 0) {
			l->moved = true;
			w->n_moved++;
		} else if (d) {
			enter_to_erase(w, d->d_name);
		} else if (l->moved && l->passes++ < PASSES_MAX) {
			/* Removing names while the directory is read may skip some, so it is read again. */
			l->moved = false;
			rewinddir(l->from);
		} else {
			leave_erased(w);
		}
	}
	return w->depth > 0;
}

/* ---- merge */

int tree_move_directory(int from, const char *name, int to, const char *new_name)
{
	struct stat st;
	AUTO(closep) int fd = tree_open_directory(from, name);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	/* Moving a directory changes its "..", which needs write permission on it. */
	bool locked = !(st.st_mode & S_IWUSR);
	if (locked)
		(void)fchmod(fd, 0700);
	int r = renameat2(from, name, to, new_name, RENAME_NOREPLACE) < 0 ? -errno : 0;
	if (locked)
		(void)fchmod(fd, st.st_mode & ENTRY_MODE_MASK);
	return r;
}

static bool is_directory(int dir, const char *name)
{
	struct stat st;
	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* A directory that both trees have is entered in both. */
static int descend(struct tree_walk *w, const char *name)
{
	struct tree_level *l = top(w);
	AUTO(closep) int to = openat(l->to, name, DIRECTORY_FLAGS);
	if (to < 0)
		return -errno;
	AUTO(closep) int from = tree_open_directory(dirfd(l->from), name);
	if (from < 0)
		return -errno;
	(void)fchmod(from, 0700);
	return push(w, take_fd(from), take_fd(to), name);
}

static int check_one(struct tree_walk *w, const char *name)
{
	struct tree_level *l = top(w);
	bool directory = is_directory(dirfd(l->from), name);
	struct stat st;
	bool there = fstatat(l->to, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (!there && errno != ENOENT)
		return -errno;
	if (there && directory)
		return S_ISDIR(st.st_mode) ? descend(w, name) : -ENOTDIR;
	if (there && S_ISDIR(st.st_mode))
		return -EISDIR;
	return faccessat(l->to, ".", W_OK | X_OK, 0) < 0 ? -errno : 0;
}

int tree_check(struct tree_walk *w, int steps)
{
	while (w->depth && steps-- > 0) {
		const struct dirent *d = readdir(top(w)->from);
		if (!d) {
			pop(w);
			continue;
		}
		if (is_dots(d->d_name))
			continue;
		(void)snprintf(w->name, sizeof(w->name), "%s", d->d_name);
		int r = check_one(w, w->name);
		if (r < 0 && r != -ENOENT)
			return r;
	}
	return w->depth > 0;
}

static int merge_directory(struct tree_walk *w, const char *name)
{
	struct tree_level *l = top(w);
	int r = tree_move_directory(dirfd(l->from), name, l->to, name);
	w->n_moved += r == 0;
	return r == -EEXIST ? descend(w, name) : r;
}

static int merge_one(struct tree_walk *w, const char *name)
{
	struct tree_level *l = top(w);
	if (is_directory(dirfd(l->from), name))
		return merge_directory(w, name);
	if (renameat(dirfd(l->from), name, l->to, name) < 0)
		return -errno;
	w->n_moved++;
	return 0;
}

int tree_merge(struct tree_walk *w, int steps)
{
	while (w->depth && steps-- > 0) {
		struct tree_level *l = top(w);
		const struct dirent *d = readdir(l->from);
		if (d && is_dots(d->d_name))
			continue;
		if (d) {
			(void)snprintf(w->name, sizeof(w->name), "%s", d->d_name);
			int r = merge_one(w, w->name);
			if (r < 0 && r != -ENOENT)
				return r;
			l->moved = l->moved || r == 0;
		} else if (l->moved && l->passes++ < PASSES_MAX) {
			l->moved = false;
			rewinddir(l->from);
		} else {
			leave_erased(w);
		}
	}
	return w->depth > 0;
}
