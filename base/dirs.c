#include "base/dirs.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/alloc.h"

static void sync_parent(char *path)
{
	char *slash = strrchr(path, '/');
	if (!slash || slash == path)
		return;
	*slash = '\0';
	AUTO(closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*slash = '/';
	if (fd >= 0)
		fsync(fd);
}

static int make_one(char *path, mode_t mode)
{
	if (mkdir(path, mode) == 0) {
		sync_parent(path);
		return 0;
	}
	/* The error does not matter if the folder exists. */
	int error = errno;
	struct stat st;
	if (stat(path, &st) == 0)
		return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
	return -error;
}

static int make_all(const char *path, mode_t mode)
{
	AUTO(freep) char *at = xstrdup(path);
	for (char *p = at + 1; *at && *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		int r = make_one(at, mode);
		*p = '/';
		if (r < 0)
			return r;
	}
	return make_one(at, mode);
}

int dirs_make(const char *path)
{
	return make_all(path, 0700);
}

int dirs_make_public(const char *path)
{
	return make_all(path, 0777);
}

bool dirs_is_root_or_home(const char *path)
{
	const char *home = getenv("HOME");
	AUTO(freep) char *real_home = home ? realpath(home, NULL) : NULL;
	return streq(path, "/") || (real_home && streq(path, real_home));
}
