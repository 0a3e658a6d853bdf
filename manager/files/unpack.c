/* The archive comes from a container, so its names and links are hostile. Every directory is opened relative to
 * the one above it and without following links, so neither the archive nor existing files can lead out of the
 * folder. */
#include "manager/files/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "kernels/entry.h"
#include "manager/files/libarchive.h"

#define BLOCK_BYTES (128u << 10)
#define NOTICES_MAX 20
#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static int failed(struct fail *f, const char *what, const char *path)
{
	return fail_set(f, FAIL_INVALID, "cannot %s '%s': %s", what, path, strerror(errno));
}

static int create_file(int folder, const char *name, mode_t mode)
{
	/* An existing file is replaced, because it may be a link, or open in other programs. */
	if (unlinkat(folder, name, 0) < 0 && errno != ENOENT)
		return -1;
	return openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode & 0777);
}

/* The umask decides who else may read or execute it. */
static mode_t mode_of(uint64_t mode)
{
	return mode & 0100 ? 0777 : 0666;
}

int unpack_file(const char *from, const char *to, uint64_t mode, uint64_t mtime_ms, struct fail *f)
{
	struct stat st;
	AUTO(closep) int in = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (in < 0 || fstat(in, &st) < 0)
		return failed(f, "read", from);
	AUTO(closep) int out = create_file(AT_FDCWD, to, mode_of(mode));
	if (out < 0)
		return failed(f, "write", to);
	for (off_t left = st.st_size; left > 0;) {
		ssize_t n = copy_file_range(in, NULL, out, NULL, (size_t)left, 0);
		if (n == 0)
			errno = EIO;
		if (n <= 0)
			return failed(f, "write", to);
		left -= n;
	}
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
				     { .tv_sec = (time_t)(mtime_ms / 1000),
				       .tv_nsec = (long)(mtime_ms % 1000) * 1000000 } };
	if (mtime_ms)
		(void)futimens(out, times);
	return 0;
}

/* --- a folder ------------------------------------------------------------------------------------------------------ */

struct unpacking {
	struct archive *tar;
	int root;
	const char *to;
	struct strv *notices;
	/* For one file: */
	const char *wanted;
	int out;
	uint64_t size;
};

static void notice(struct unpacking *u, const char *name, const char *what)
{
	if (u->notices->n < NOTICES_MAX)
		strv_addf(u->notices, "'%.200s' %s", name, what);
}

/* Opens the folder that holds a name, and creates it if needed. *ret_base is the last component. The caller closes
 * the folder. */
static int open_parent(const struct unpacking *u, const char *name, const char **ret_base)
{
	AUTO(closep) int at = fcntl(u->root, F_DUPFD_CLOEXEC, 0);
	for (const char *slash; at >= 0 && (slash = strchr(name, '/')); name = slash + 1) {
		AUTO(freep) char *component = xstrndup(name, (size_t)(slash - name));
		(void)mkdirat(at, component, 0777);
		int next = openat(at, component, FOLDER_FLAGS);
		closep(&at);
		at = next;
	}
	*ret_base = name;
	return take_fd(at);
}

/* True if a relative link stays below the unpacked folder. depth starts as that of the link's own folder. */
static bool stays_inside(const char *name, const char *target)
{
	int depth = 0;
	if (*target == '/')
		return false;
	for (const char *p = name; (p = strchr(p, '/')); p++)
		depth++;
	for (const char *p = target; *p; p += strspn(p, "/")) {
		size_t n = strcspn(p, "/");
		bool up = n == 2 && p[0] == '.' && p[1] == '.', stay = n == 1 && *p == '.';
		depth += up ? -1 : stay ? 0 : 1;
		if (depth < 0)
			return false;
		p += n;
	}
	return true;
}

static int write_data(struct unpacking *u, int fd, uint64_t size)
{
	const void *block;
	size_t n;
	int64_t offset;
	for (int r; (r = libarchive.archive_read_data_block(u->tar, &block, &n, &offset)) != ARCHIVE_EOF;) {
		if (r != ARCHIVE_OK)
			return -1;
		for (size_t done = 0; done < n;) {
			ssize_t written = pwrite(fd, (const char *)block + done, n - done, (off_t)offset + (off_t)done);
			if (written < 0)
				return -1;
			done += (size_t)written;
		}
	}
	return ftruncate(fd, (off_t)size);
}

/* The name relative to the archived folder; NULL if it leads out. The caller owns it. */
static char *name_inside(const char *name)
{
	const char *slash = name ? strchr(name, '/') : NULL;
	AUTO(freep) char *rest = xstrdup(slash ? slash + 1 : "");
	size_t n = strlen(rest);
	if (n && rest[n - 1] == '/')
		rest[--n] = '\0';
	return name && entry_path_valid(rest, n) ? take_ptr(rest) : NULL;
}

/* Creates a hard link to a file that was unpacked before. */
static int unpack_link(struct unpacking *u, const char *first, int parent, const char *name, const char *base)
{
	AUTO(freep) char *target = name_inside(first);
	const char *last = NULL;
	struct stat st;
	AUTO(closep) int folder = target && *target ? open_parent(u, target, &last) : -1;
	bool there = folder >= 0 && fstatat(folder, last, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
	if (there && !streq(target, name))
		(void)unlinkat(parent, base, 0);
	if (!there || linkat(folder, last, parent, base, 0) < 0)
		notice(u, name, "is a hard link that cannot be created and was left out");
	return 0;
}

static int unpack_member(struct unpacking *u, struct archive_entry *member, const char *name, struct fail *f)
{
	const char *base, *target = libarchive.archive_entry_symlink(member);
	mode_t type = libarchive.archive_entry_filetype(member), mode = libarchive.archive_entry_perm(member);
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
				     { .tv_sec = libarchive.archive_entry_mtime(member),
				       .tv_nsec = libarchive.archive_entry_mtime_nsec(member) } };
	if (!*name)
		return 0; /* the folder itself */
	AUTO(closep) int parent = open_parent(u, name, &base);
	if (parent < 0)
		return failed(f, "open the folder of", name);
	if (type == AE_IFDIR) {
		AUTO(closep) int made = -1;
		(void)mkdirat(parent, base, 0777);
		made = openat(parent, base, FOLDER_FLAGS);
		return made < 0 ? failed(f, "create the folder", name) : 0;
	}
	if (type == AE_IFLNK && target) {
		if (!stays_inside(name, target)) {
			notice(u, name, "is a link that leads out of the folder and was left out");
			return 0;
		}
		(void)unlinkat(parent, base, 0);
		return symlinkat(target, parent, base) < 0 ? failed(f, "create the link", name) : 0;
	}
	if (libarchive.archive_entry_hardlink(member))
		return unpack_link(u, libarchive.archive_entry_hardlink(member), parent, name, base);
	if (type != AE_IFREG) {
		notice(u, name, "is neither a file, a folder nor a link and was left out");
		return 0;
	}
	AUTO(closep) int fd = create_file(parent, base, mode_of(mode));
	if (fd < 0 || write_data(u, fd, (uint64_t)libarchive.archive_entry_size(member)) < 0)
		return failed(f, "write", name);
	(void)futimens(fd, times);
	return 0;
}

static int unpack_all(struct unpacking *u, struct fail *f)
{
	struct archive_entry *member;
	int r;
	while ((r = libarchive.archive_read_next_header(u->tar, &member)) == ARCHIVE_OK) {
		const char *name = libarchive.archive_entry_pathname(member);
		AUTO(freep) char *rest = name_inside(name);
		if (!rest)
			return fail_set(f, FAIL_INVALID, "the archive holds '%.200s', which leads out of it",
					name ? name : "?");
		if (unpack_member(u, member, rest, f) < 0)
			return -1;
	}
	return r == ARCHIVE_EOF ? 0 :
				  fail_set(f, FAIL_STORE, "the archive cannot be read: %s",
					   libarchive.archive_error_string(u->tar));
}

/* Opens the archive and calls fn. */
static int with_archive(struct unpacking *u, int in, int (*fn)(struct unpacking *u, struct fail *f), struct fail *f)
{
	u->tar = libarchive.archive_read_new();
	int r = libarchive.archive_read_support_format_tar(u->tar) == ARCHIVE_OK &&
				libarchive.archive_read_open_fd(u->tar, in, BLOCK_BYTES) == ARCHIVE_OK ?
			fn(u, f) :
			fail_set(f, FAIL_STORE, "the archive cannot be read: %s",
				 libarchive.archive_error_string(u->tar));
	libarchive.archive_read_free(u->tar);
	return r;
}

int unpack_folder(const char *tar, const char *to, struct strv *notices, struct fail *f)
{
	if (libarchive_load(f) < 0)
		return -1;
	if (mkdir(to, 0777) < 0 && errno != EEXIST)
		return failed(f, "create the folder", to);
	AUTO(closep) int root = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO(closep) int in = root < 0 ? -1 : open(tar, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (in < 0)
		return failed(f, "open", root < 0 ? to : tar);
	struct unpacking u = { .root = root, .to = to, .notices = notices };
	return with_archive(&u, in, unpack_all, f);
}

/* --- one file ------------------------------------------------------------------------------------------------------ */

static int find_one(struct unpacking *u, struct fail *f)
{
	struct archive_entry *member;
	while (libarchive.archive_read_next_header(u->tar, &member) == ARCHIVE_OK) {
		AUTO(freep) char *rest = name_inside(libarchive.archive_entry_pathname(member));
		if (!rest || !streq(rest, u->wanted))
			continue;
		if (libarchive.archive_entry_filetype(member) != AE_IFREG || libarchive.archive_entry_hardlink(member))
			break;
		u->size = (uint64_t)libarchive.archive_entry_size(member);
		return write_data(u, u->out, u->size) < 0 ? failed(f, "read", u->wanted) : 0;
	}
	return fail_set(f, FAIL_NOT_FOUND, "the exported folder has no file '%.200s'", u->wanted);
}

int unpack_one(const char *tar, const char *below, int to, uint64_t *ret_size, struct fail *f)
{
	struct unpacking u = { .wanted = below, .out = to };
	if (libarchive_load(f) < 0)
		return -1;
	AUTO(closep) int in = open(tar, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (in < 0)
		return failed(f, "open", tar);
	int r = with_archive(&u, in, find_one, f);
	*ret_size = u.size;
	return r;
}
