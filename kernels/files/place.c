#include "kernels/files/place.h"

#include <errno.h>
#include <fcntl.h>

#include "base/alloc.h"
#include "kernels/files/beneath.h"
#include "kernels/system/frames.h"

static int open_root(const char *path, const char **ret_rest)
{
	const char *root = beneath_split(path, ret_rest);
	if (!root)
		return -EXDEV;
	int fd = open(root, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static void set_name(struct place *p, const char *name)
{
	(void)snprintf(p->name, sizeof(p->name), "%s", name);
}

int place_find(struct place *p, const char *path)
{
	const char *rest;
	AUTO(closep) int root = open_root(path, &rest);
	if (root < 0)
		return root;
	const char *slash = strrchr(rest, '/');
	set_name(p, slash ? slash + 1 : rest);
	if (!slash) {
		p->parent = take_fd(root);
		return 0;
	}
	AUTO(freep) char *parent = xstrndup(rest, (size_t)(slash - rest));
	int fd = beneath_open(root, parent, O_PATH | O_DIRECTORY);
	if (fd < 0)
		return fd;
	p->parent = fd;
	return 0;
}

int place_make(struct place *p, const char *path)
{
	const char *rest, *name;
	AUTO(closep) int root = open_root(path, &rest);
	if (root < 0)
		return root;
	int parent = beneath_make_parents(root, rest, &name);
	if (parent < 0)
		return parent;
	set_name(p, name);
	p->parent = parent;
	return 0;
}

void place_release(struct place *p)
{
	closep(&p->parent);
}

int place_stat(const struct place *p, struct stat *ret)
{
	return fstatat(p->parent, p->name, ret, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) < 0 ? -errno : 0;
}

/* The time of the last change cannot be set back by programs, unlike the time of modification. */
static size_t write_tag(char tag[ITEM_TAG_MAX + 1], const struct stat *st)
{
	int n = snprintf(tag, ITEM_TAG_MAX + 1, "%llx-%llx-%llx%08lx-%llx%08lx", (unsigned long long)st->st_ino,
			 (unsigned long long)st->st_size, (unsigned long long)st->st_mtim.tv_sec,
			 (unsigned long)st->st_mtim.tv_nsec, (unsigned long long)st->st_ctim.tv_sec,
			 (unsigned long)st->st_ctim.tv_nsec);
	return MIN((size_t)n, (size_t)ITEM_TAG_MAX);
}

int place_check_tag(const struct stat *st, const char *tag)
{
	char now[ITEM_TAG_MAX + 1];
	(void)write_tag(now, st);
	return !*tag || streq(tag, "*") || streq(tag, now) ? 0 : -ESTALE;
}

static enum item_type type_of(const struct stat *st)
{
	return S_ISREG(st->st_mode) ? ITEM_FILE :
	       S_ISDIR(st->st_mode) ? ITEM_DIRECTORY :
	       S_ISLNK(st->st_mode) ? ITEM_SYMLINK :
				      ITEM_OTHER;
}

int place_put_item(struct buf *out, uint32_t call, const struct stat *st, const char *name, int dir, const char *link)
{
	AUTO(buf_release) struct buf payload = { 0 };
	char tag[ITEM_TAG_MAX + 1], target[ENTRY_PATH_MAX + 1];
	ssize_t n = 0;
	if (S_ISLNK(st->st_mode)) {
		n = readlinkat(dir, link, target, ENTRY_PATH_MAX);
		if (n <= 0)
			return n < 0 ? -errno : -ENOENT;
	}
	item_write(&payload, &(struct item){
				     .type = type_of(st),
				     .mode = st->st_mode & ITEM_MODE_MASK,
				     .mtime = st->st_mtim.tv_sec,
				     .mtime_ns = (uint32_t)st->st_mtim.tv_nsec,
				     .size = S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0,
				     .tag = tag,
				     .tag_len = write_tag(tag, st),
				     .name = name,
				     .name_len = strlen(name),
				     .target = target,
				     .target_len = (size_t)n,
			     });
	return frame_append(out, FRAME_ITEM, call, payload.data, payload.len);
}

/* ---- errors */

static const struct {
	int error;
	const char *cause;
	const char *format; /* with the path */
} errors[] = {
	{ ENOENT, "no_file", "File or directory not found in container: %s" },
	{ EXDEV, "path_outside", "'%s' is not below /workspace, /tmp or /home/sandbox." },
	{ ENOTDIR, "not_directory",
	  "'%s' is not a directory, or leads through something that is not one (links are not followed)." },
	{ ELOOP, "not_directory",
	  "'%s' is or leads through a symbolic link, which is not followed. Name the file itself." },
	{ EISDIR, "is_directory", "'%s' is a directory." },
	{ EINVAL, "not_file", "'%s' is neither a file nor a directory." },
	{ ENXIO, "not_file", "'%s' is neither a file nor a directory." },
	{ EEXIST, "file_exists", "'%s' exists." },
	{ ENOTEMPTY, "not_empty", "The directory '%s' is not empty." },
	{ ESTALE, "file_changed", "'%s' is not the expected version: it has changed." },
	{ EACCES, "file_denied", "'%s' cannot be used: permission denied." },
	{ EPERM, "file_denied", "'%s' cannot be used: permission denied." },
	{ EBUSY, "file_denied", "'%s' is one of the session's own directories, which always exist." },
	{ ENOSPC, "no_room", "No room: the file system that holds '%s' is full." },
	{ EDQUOT, "no_room", "No room: the file system that holds '%s' is full." },
	{ EFBIG, "no_room", "'%s' is larger than a file in this session may be." },
	{ E2BIG, "file_limit",
	  "'%s' has more names than one request can examine, or gets new ones as fast as they are read." },
	{ ENAMETOOLONG, "path_outside", "The path '%s' is too long." },
};

const char *place_cause(int error)
{
	for (size_t i = 0; i < ARRAY_LEN(errors); i++)
		if (errors[i].error == -error)
			return errors[i].cause;
	return NULL;
}

char *place_explain(const char *path, int error)
{
	for (size_t i = 0; i < ARRAY_LEN(errors); i++)
		if (errors[i].error == -error)
			return xasprintf(errors[i].format, path);
	return xasprintf("'%s' cannot be used: %s.", path, strerror(-error));
}
