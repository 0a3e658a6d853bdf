#include "kernels/files/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "kernels/entry.h"

/* openat2 returns EAGAIN if a rename happens at the same time. It is retried this often. */
#define RACES_MAX 16
#define SAFE_FLAGS (O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* openat2 refuses O_PATH together with flags that it would ignore. */
static int safe(int flags)
{
	return flags | (flags & O_PATH ? O_NOFOLLOW | O_CLOEXEC : SAFE_FLAGS);
}

const char *beneath_split(const char *path, const char **ret_rest)
{
	static const char *const roots[] = { "/workspace", "/tmp", "/home/sandbox" };
	for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
		size_t n = strlen(roots[i]);
		if (strncmp(path, roots[i], n) != 0 || (path[n] && path[n] != '/'))
			continue;
		*ret_rest = path[n] ? path + n + 1 : path + n;
		return entry_path_valid(*ret_rest, strlen(*ret_rest)) ? roots[i] : NULL;
	}
	return NULL;
}

/* Opens one component at a time, for Linux before 5.6 and seccomp profiles that reject openat2. */
static int open_by_steps(int dir, const char *path, int flags)
{
	AUTO(closep) int at = -1;
	int from = dir;
	for (const char *slash; (slash = strchr(path, '/')); path = slash + 1) {
		char name[ENTRY_NAME_MAX + 1] = { 0 };
		if (slash - path > (ptrdiff_t)ENTRY_NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, path, (size_t)(slash - path));
		int next = openat(from, name, O_PATH | O_DIRECTORY | SAFE_FLAGS);
		if (next < 0)
			return -errno;
		closep(&at);
		from = at = next;
	}
	int fd = openat(from, path, safe(flags));
	return fd < 0 ? -errno : fd;
}

int beneath_open(int dir, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)safe(flags),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
	};
	if (!*path)
		path = ".";
	for (int i = 0; i < RACES_MAX; i++) {
		long fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
		if (fd >= 0)
			return (int)fd;
		if (errno == ENOSYS || errno == EPERM)
			return open_by_steps(dir, path, flags);
		if (errno != EAGAIN)
			return -errno;
	}
	return -EAGAIN;
}

int beneath_make_parents(int dir, const char *path, const char **ret_name)
{
	AUTO(closep) int at = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	if (at < 0)
		return -errno;
	for (const char *slash; (slash = strchr(path, '/')); path = slash + 1) {
		char name[ENTRY_NAME_MAX + 1] = { 0 };
		memcpy(name, path, (size_t)(slash - path));
		if (mkdirat(at, name, 0755) < 0 && errno != EEXIST)
			return -errno;
		int next = openat(at, name, O_RDONLY | O_DIRECTORY | SAFE_FLAGS);
		if (next < 0)
			return -errno;
		closep(&at);
		at = next;
	}
	*ret_name = path;
	return take_fd(at);
}
