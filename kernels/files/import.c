#include "kernels/files/import.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/alloc.h"
#include "kernels/files/beneath.h"
#include "kernels/files/place.h"

/* Name of the imported tree inside the staging directory. */
#define ITEM "item"
#define DIRECTORY_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)

struct attributes {
	mode_t mode;
	struct timespec mtime;
};

/* A directory that contains the entry that is being written. */
struct level {
	int fd;
	size_t end; /* length of its path */
	struct attributes attributes;
};

struct import {
	char *destination;
	const char *rest; /* destination below the root */
	int root;
	int stage;
	char stage_name[sizeof(IMPORT_STAGE_PREFIX) + 16];
	enum { STAGE_OPEN, STAGE_CHECK, STAGE_MERGE, STAGE_DONE } state;
	int target;	      /* the directory that the import is merged into; -1 = none */
	enum entry_type type; /* type of the import; 0 before its first entry */

	struct level levels[ENTRY_DEPTH_MAX + 1];
	int depth;
	char path[ENTRY_PATH_MAX + 1]; /* path of the top level, or of the entry that failed */

	int file;
	uint64_t size;
	struct attributes attributes;

	/* A file whose data comes without an entry. */
	bool writes, absent, created;
	char tag[ITEM_TAG_MAX + 1];
	uint64_t room;	     /* bytes that the file system could take at the start */
	struct stat written; /* the file in its place */

	struct tree_walk walk;
	bool clearing;
	uint64_t bytes, entries;
};

uint64_t import_bytes(const struct import *im)
{
	return im->bytes;
}

uint64_t import_entries(const struct import *im)
{
	return im->entries;
}

/* ---- the start */

static char *no_room(const char *root, uint64_t bytes, uint64_t entries, const struct disk_room *room)
{
	if (bytes > room->bytes)
		return xasprintf("No room: %.1f MB are needed and %s has %.1f MB of %.1f MB free. Nothing was written.",
				 (double)bytes / 1048576, root, (double)room->bytes / 1048576,
				 (double)room->limit / 1048576);
	return xasprintf("No room: %llu files are needed and %s can take %llu more. Nothing was written.",
			 (unsigned long long)entries, root, (unsigned long long)room->names);
}

/* Asks the file system, or the disk watch if the directory is on the host's file system. */
static int check_room(struct import *im, const char *root, uint64_t bytes, uint64_t entries, const struct disk *home,
		      char **ret_detail)
{
	struct statvfs fs;
	if (fstatvfs(im->root, &fs) < 0)
		return -errno;
	struct disk_room room = {
		.bytes = (uint64_t)fs.f_bavail * fs.f_frsize,
		.names = fs.f_files ? fs.f_ffree : UINT64_MAX,
		.limit = (uint64_t)fs.f_blocks * fs.f_frsize,
	};
	if (home && home->n && streq(root, "/home/sandbox"))
		room = disk_room(home);
	im->room = room.bytes;
	if (bytes <= room.bytes && entries < room.names)
		return 0;
	*ret_detail = no_room(root, bytes, entries, &room);
	return -ENOSPC;
}

static int make_stage(struct import *im)
{
	uint64_t number;
	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
		return -EAGAIN;
	(void)snprintf(im->stage_name, sizeof(im->stage_name), IMPORT_STAGE_PREFIX "%016llx",
		       (unsigned long long)number);
	if (mkdirat(im->root, im->stage_name, 0700) < 0)
		return -errno;
	im->stage = openat(im->root, im->stage_name, DIRECTORY_FLAGS);
	return im->stage < 0 ? -errno : 0;
}

static struct import *prepare(const char *destination, const char *rest, int root)
{
	struct import *im = new0(struct import);
	im->file = im->stage = im->target = -1;
	im->destination = xstrdup(destination);
	im->rest = im->destination + (rest - destination);
	im->root = root;
	return im;
}

char *import_place(const char *destination, const char *into)
{
	const char *rest, *root = beneath_split(destination, &rest);
	AUTO(closep) int top = root && *into && !strchr(into, '/') ? open(root, DIRECTORY_FLAGS) : -1;
	AUTO(closep) int folder = top >= 0 && *rest ? beneath_open(top, rest, O_RDONLY | O_DIRECTORY) : -1;
	if (top < 0 || (*rest && folder < 0))
		return NULL;
	AUTO(freep) char *place = xasprintf("%s/%s", destination, into);
	return beneath_split(place, &rest) ? take_ptr(place) : NULL;
}

int import_new(const char *destination, uint64_t bytes, uint64_t entries, const struct disk *home, struct import **ret,
	       char **ret_detail)
{
	const char *rest, *root = beneath_split(destination, &rest);
	if (!root) {
		*ret_detail = xasprintf("'%s' is not below /workspace, /tmp or /home/sandbox.", destination);
		return -EXDEV;
	}
	struct import *im = prepare(destination, rest, open(root, DIRECTORY_FLAGS));
	int r = im->root < 0 ? -errno : check_room(im, root, bytes, entries, home, ret_detail);
	if (r == 0)
		r = make_stage(im);
	if (r < 0) {
		if (!*ret_detail)
			*ret_detail = xasprintf("Cannot write below %s: %s.", root, strerror(-r));
		import_free(im);
		return r;
	}
	*ret = im;
	return 0;
}

/* 0 if the file may be written here. *ret_exists: *ret is the file that it replaces. */
static int check_condition(const struct import_condition *condition, const struct place *place, struct stat *ret,
			   bool *ret_exists)
{
	int r = place_stat(place, ret);
	*ret_exists = r == 0;
	if (r == -ENOENT)
		return *condition->tag ? -ESTALE : 0;
	if (r < 0)
		return r;
	if (S_ISDIR(ret->st_mode))
		return -EISDIR;
	return condition->absent ? -EEXIST : place_check_tag(ret, condition->tag);
}

/* The same before anything was written. A missing parent is created at the end. */
static int check_early(const char *path, const struct import_condition *condition)
{
	AUTO(place_release) struct place place = { .parent = -1 };
	struct stat st;
	bool exists;
	int r = place_find(&place, path);
	if (r == -ENOENT)
		return *condition->tag ? -ESTALE : 0;
	return r < 0 ? r : check_condition(condition, &place, &st, &exists);
}

int import_write(const char *path, uint64_t bytes, const struct import_condition *condition, const struct disk *home,
		 struct import **ret, char **ret_detail)
{
	struct import *im;
	int r = check_early(path, condition);
	if (r == 0)
		r = import_new(path, bytes, /* entries= */ 1, home, &im, ret_detail);
	if (r < 0)
		return r;
	im->writes = true;
	im->absent = condition->absent;
	(void)snprintf(im->tag, sizeof(im->tag), "%s", condition->tag);
	im->type = ENTRY_FILE;
	im->file = openat(im->stage, ITEM, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (im->file < 0) {
		r = -errno;
		(void)unlinkat(im->root, im->stage_name, AT_REMOVEDIR);
		import_free(im);
		return r;
	}
	*ret = im;
	return 0;
}

const struct stat *import_written(const struct import *im, bool *ret_created)
{
	*ret_created = im->created;
	return im->writes && im->state == STAGE_DONE ? &im->written : NULL;
}

int import_open(int root, const char *rest, struct import **ret)
{
	struct import *im = prepare(rest, rest, fcntl(root, F_DUPFD_CLOEXEC, 0));
	int r = make_stage(im);
	if (r < 0) {
		import_free(im);
		return r;
	}
	*ret = im;
	return 0;
}

struct import *import_free(struct import *im)
{
	if (!im)
		return NULL;
	tree_end(&im->walk);
	while (im->depth)
		closep(&im->levels[--im->depth].fd);
	closep(&im->file);
	closep(&im->target);
	closep(&im->stage);
	closep(&im->root);
	free(im->destination);
	free(im);
	return NULL;
}

/* ---- entries */

static struct attributes attributes_of(const struct entry *e)
{
	return (struct attributes){ .mode = e->mode & ENTRY_MODE_MASK,
				    .mtime = { .tv_sec = e->mtime, .tv_nsec = e->mtime_ns } };
}

static int apply(int fd, const struct attributes *a)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, a->mtime };
	if (fchmod(fd, a->mode) < 0)
		return -errno;
	/* The file is kept even if the file system cannot store this time. */
	(void)futimens(fd, times);
	return 0;
}

static int finish_file(struct import *im)
{
	if (im->file < 0)
		return 0;
	AUTO(closep) int fd = take_fd(im->file);
	struct stat st;
	if (fstat(fd, &st) < 0 || ((uint64_t)st.st_size != im->size && ftruncate(fd, (off_t)im->size) < 0))
		return -errno;
	return apply(fd, &im->attributes);
}

static int leave(struct import *im)
{
	struct level *l = &im->levels[--im->depth];
	int r = apply(l->fd, &l->attributes);
	closep(&l->fd);
	return r;
}

static int enter(struct import *im, int parent, const char *name, size_t end)
{
	struct level *l = &im->levels[im->depth];
	if (im->depth == (int)ARRAY_LEN(im->levels))
		return -ENAMETOOLONG;
	if (mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	l->fd = openat(parent, name, DIRECTORY_FLAGS);
	if (l->fd < 0)
		return -errno;
	l->end = end;
	/* Mode of a directory that the manager does not describe. */
	l->attributes = (struct attributes){ .mode = 0755, .mtime = { .tv_nsec = UTIME_NOW } };
	im->depth++;
	return 0;
}

/* Leaves and enters directories until the top level contains the entry, whose name is returned. Entries arrive subtree
 * by subtree, with parents first, so a directory is left only when it is complete. */
static int reach(struct import *im, const struct entry *e, char name[ENTRY_NAME_MAX + 1])
{
	struct level *top;
	int r = 0;
	while ((top = &im->levels[im->depth - 1])->end &&
	       (top->end >= e->path_len || e->path[top->end] != '/' || memcmp(im->path, e->path, top->end) != 0))
		if ((r = leave(im)) < 0)
			return r;
	size_t start = top->end ? top->end + 1 : 0;
	memcpy(im->path, e->path, e->path_len);
	im->path[e->path_len] = '\0';
	for (const char *slash;; start = (size_t)(slash - e->path) + 1) {
		slash = memchr(e->path + start, '/', e->path_len - start);
		size_t n = slash ? (size_t)(slash - e->path) - start : e->path_len - start;
		memcpy(name, e->path + start, n);
		name[n] = '\0';
		if (!slash)
			return 0;
		r = enter(im, im->levels[im->depth - 1].fd, name, start + n);
		if (r < 0)
			return r;
	}
}

static int make_file(struct import *im, int parent, const char *name, const struct entry *e)
{
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	im->file = openat(parent, name, flags, 0600);
	if (im->file < 0 && errno == EEXIST && unlinkat(parent, name, 0) == 0)
		im->file = openat(parent, name, flags, 0600); /* a name occurs twice: the last one counts */
	im->size = e->size;
	im->attributes = attributes_of(e);
	return im->file < 0 ? -errno : 0;
}

static int make_link(int parent, const char *name, const struct entry *e)
{
	char target[ENTRY_PATH_MAX + 1];
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = e->mtime, .tv_nsec = e->mtime_ns } };
	memcpy(target, e->target, e->target_len);
	target[e->target_len] = '\0';
	int r = symlinkat(target, parent, name);
	if (r < 0 && errno == EEXIST && unlinkat(parent, name, 0) == 0)
		r = symlinkat(target, parent, name);
	if (r < 0)
		return -errno;
	(void)utimensat(parent, name, times, AT_SYMLINK_NOFOLLOW);
	return 0;
}

/* Creates another name (a hard link) for a file of this import. */
static int make_name(struct import *im, int parent, const char *name, const struct entry *e)
{
	AUTO(freep) char *target = xstrndup(e->target, e->target_len);
	char *slash = strrchr(target, '/');
	struct stat st;
	AUTO(closep) int made = -1;
	if (slash) {
		*slash = '\0';
		made = beneath_open(im->levels[0].fd, target, O_RDONLY | O_DIRECTORY);
		if (made < 0)
			return -EPROTO;
	}
	int dir = slash ? made : im->levels[0].fd;
	const char *last = slash ? slash + 1 : target;
	if (fstatat(dir, last, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return -EPROTO;
	/* If a name occurs twice in one import, the last one counts. */
	if (unlinkat(parent, name, 0) < 0 && errno != ENOENT)
		return -errno;
	return linkat(dir, last, parent, name, 0) < 0 ? -errno : 0;
}

int import_entry(struct import *im, const struct entry *e)
{
	char name[ENTRY_NAME_MAX + 1] = ITEM;
	int parent = im->stage;
	int r = im->writes ? -EPROTO : finish_file(im);
	if (r < 0)
		return r;
	if (im->state != STAGE_OPEN || (e->path_len ? im->type != ENTRY_DIRECTORY : im->type != 0))
		return -EPROTO;
	if (e->path_len) {
		r = reach(im, e, name);
		if (r < 0)
			return r;
		parent = im->levels[im->depth - 1].fd;
	} else {
		im->type = e->type;
	}
	im->entries++;
	if (e->type == ENTRY_FILE)
		return make_file(im, parent, name, e);
	if (e->type == ENTRY_SYMLINK)
		return make_link(parent, name, e);
	if (e->type == ENTRY_LINK)
		return make_name(im, parent, name, e);
	r = enter(im, parent, name, e->path_len);
	if (r == 0)
		im->levels[im->depth - 1].attributes = attributes_of(e);
	return r;
}

/* A file without an entry grows with its data. */
static int grow(struct import *im, uint64_t offset, size_t n)
{
	if (offset != im->size)
		return -EPROTO;
	if (n > im->room || im->size > im->room - n)
		return -ENOSPC;
	im->size += n;
	return 0;
}

int import_data(struct import *im, uint64_t offset, const void *data, size_t n)
{
	int grown = im->writes ? grow(im, offset, n) : 0;
	if (grown < 0)
		return grown;
	if (im->state != STAGE_OPEN || im->file < 0 || offset > im->size || n > im->size - offset)
		return -EPROTO;
	for (size_t done = 0; done < n;) {
		ssize_t r = pwrite(im->file, (const char *)data + done, n - done, (off_t)(offset + done));
		if (r < 0)
			return -errno;
		done += (size_t)r;
	}
	im->bytes += n;
	return 0;
}

/* ---- the end */

static bool is_directory(int dir, const char *name)
{
	struct stat st;
	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static int begin_walk(struct import *im)
{
	AUTO(closep) int from = openat(im->stage, ITEM, DIRECTORY_FLAGS);
	if (from < 0)
		return -errno;
	int to = fcntl(im->target, F_DUPFD_CLOEXEC, 0);
	return to < 0 ? -errno : tree_begin(&im->walk, take_fd(from), to);
}

/* Takes `target`. */
static int begin_merge(struct import *im, int target)
{
	if (target < 0)
		return -errno;
	im->target = target;
	im->state = STAGE_CHECK;
	return begin_walk(im);
}

static int merge(struct import *im, int steps)
{
	int r = im->state == STAGE_CHECK ? tree_check(&im->walk, steps) : tree_merge(&im->walk, steps);
	if (r < 0)
		tree_where(&im->walk, im->path, sizeof(im->path));
	if (r != 0)
		return r;
	im->state++;
	return im->state == STAGE_MERGE ? begin_walk(im) : 0;
}

static int place_directory(struct import *im, int parent, const char *name)
{
	struct level *item = &im->levels[0];
	int r = tree_move_directory(im->stage, ITEM, parent, name);
	if (r == 0) {
		im->state = STAGE_DONE;
		return leave(im);
	}
	closep(&item->fd);
	im->depth = 0;
	if (r != -EEXIST)
		return r;
	return begin_merge(im, openat(parent, name, DIRECTORY_FLAGS));
}

/* The file keeps the permissions of the one that it replaces. Only a program in the session can change that one
 * between this check and the rename. */
static int place_written(struct import *im)
{
	AUTO(place_release) struct place place = { .parent = -1 };
	const struct import_condition condition = { .tag = im->tag, .absent = im->absent };
	struct stat st;
	bool exists = false;
	int r = place_make(&place, im->destination);
	if (r == 0)
		r = check_condition(&condition, &place, &st, &exists);
	if (r < 0)
		return r;
	if (fchmod(im->file, exists && S_ISREG(st.st_mode) ? st.st_mode & ENTRY_MODE_MASK : 0644) < 0)
		return -errno;
	if (renameat2(im->stage, ITEM, place.parent, place.name, im->absent ? RENAME_NOREPLACE : 0) < 0)
		return -errno;
	im->created = !exists;
	im->state = STAGE_DONE;
	return fstat(im->file, &im->written) < 0 ? -errno : 0;
}

static int place_item(struct import *im)
{
	const char *name;
	if (!im->type)
		return -EPROTO;
	if (!*im->rest) {
		if (im->type != ENTRY_DIRECTORY)
			return -EISDIR;
		return begin_merge(im, fcntl(im->root, F_DUPFD_CLOEXEC, 0));
	}
	AUTO(closep) int parent = beneath_make_parents(im->root, im->rest, &name);
	if (parent < 0)
		return parent;
	if (im->type == ENTRY_DIRECTORY)
		return place_directory(im, parent, name);
	if (is_directory(parent, name))
		return -EISDIR;
	if (renameat(im->stage, ITEM, parent, name) < 0)
		return -errno;
	im->state = STAGE_DONE;
	return 0;
}

int import_commit(struct import *im, int steps)
{
	int r = 0;
	if (im->writes && im->state == STAGE_OPEN) {
		r = place_written(im);
	} else if (im->state == STAGE_OPEN) {
		r = finish_file(im);
		im->path[0] = '\0';
		/* The outermost directory gets its mode after the move: with some modes it could not be moved. */
		while (r == 0 && im->depth > 1)
			r = leave(im);
		if (r == 0)
			r = place_item(im);
	} else if (im->state != STAGE_DONE) {
		r = merge(im, steps);
	}
	return r < 0 ? r : im->state != STAGE_DONE;
}

bool import_clear(struct import *im, int steps)
{
	if (!im->clearing) {
		im->clearing = true;
		tree_end(&im->walk);
		while (im->depth)
			closep(&im->levels[--im->depth].fd);
		closep(&im->file);
		int fd = im->stage < 0 ? -1 : fcntl(im->stage, F_DUPFD_CLOEXEC, 0);
		if (fd < 0 || tree_begin(&im->walk, fd, -1) < 0)
			return false;
	}
	if (tree_erase(&im->walk, steps))
		return true;
	(void)unlinkat(im->root, im->stage_name, AT_REMOVEDIR);
	return false;
}

static char *explain(const struct import *im, int error)
{
	const char *slash = *im->path ? "/" : "";
	switch (-error) {
	case ENOSPC:
	case EDQUOT:
		return xasprintf("No room: the file system that holds '%s' is full.", im->destination);
	case EISDIR:
		return xasprintf("'%s%s%s' is a directory; a file cannot replace it.", im->destination, slash,
				 im->path);
	case ENOTDIR:
	case ELOOP:
		return xasprintf(
			"'%s%s%s' leads through, or would replace, something that is not a directory (links are not followed).",
			im->destination, slash, im->path);
	case EFBIG:
		return xasprintf("'%s%s%s' is larger than a file in this session may be.", im->destination, slash,
				 im->path);
	case EPROTO:
		return xstrdup(
			"The entries are inconsistent: the archive or folder that they come from is damaged, or changed while it was read.");
	default:
		return xasprintf("'%s%s%s' cannot be written: %s.", im->destination, slash, im->path, strerror(-error));
	}
}

char *import_explain(const struct import *im, int error)
{
	AUTO(freep) char *why = explain(im, error);
	if (im->state == STAGE_DONE)
		return take_ptr(why);
	if (im->state != STAGE_MERGE || !im->walk.n_moved)
		return xasprintf("%s Nothing was kept.", why);
	return xasprintf(
		"%s %llu of the imported names (a new directory counts as one) had been moved into place and stay there.",
		why, (unsigned long long)im->walk.n_moved);
}
