#include "api/sockets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#include "base/alloc.h"
#include "base/dirs.h"

#define FOLDER "attach"
#define ENDING ".sock"
#define NEW_ENDING ".new"
#define BACKLOG 16
/* A socket that nobody listens on this long after its creation is stale. */
#define NEW_AGE_SECONDS 60

static char *folder_path(const struct config *config)
{
	return xasprintf("%s/" FOLDER, config->state_dir);
}

static int open_folder(const char *path)
{
	AUTO(closep) int dir = open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	if (dir < 0 || fstat(dir, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid())
		return -EPERM;
	if (st.st_mode & 077 && fchmod(dir, 0700) < 0)
		return -errno;
	return take_fd(dir);
}

/* The path may be too long for a socket address, so use the folder's descriptor. */
static struct sockaddr_un address_in(int dir, const char *name)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	snprintf(sa.sun_path, sizeof(sa.sun_path), "/proc/self/fd/%d/%s", dir, name);
	return sa;
}

bool sockets_is_own(int fd)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 && peer.uid == geteuid();
}

static int dial_in(int dir, const char *name)
{
	struct sockaddr_un sa = address_in(dir, name);
	AUTO(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		return -errno;
	return sockets_is_own(fd) ? take_fd(fd) : -EPERM;
}

int sockets_dial(const char *path)
{
	const char *slash = strrchr(path, '/');
	AUTO(freep) char *folder = slash ? xstrndup(path, (size_t)(slash - path)) : NULL;
	AUTO(closep) int dir = folder ? open(folder, O_DIRECTORY | O_PATH | O_CLOEXEC) : -1;
	if (dir < 0)
		return slash ? -errno : -EINVAL;
	return dial_in(dir, slash + 1);
}

/* --- listening ----------------------------------------------------------------------------------------------------- */

static bool ends_with(const char *name, const char *ending)
{
	size_t n = strlen(name), m = strlen(ending);
	return n > m && streq(name + n - m, ending);
}

static bool is_old(int dir, const char *name)
{
	struct stat st;
	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_mtime + NEW_AGE_SECONDS < time(NULL);
}

static void sweep(int dir)
{
	int copy = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	size_t n = 0;
	for (struct dirent *e; d && n < SOCKETS_MAX && (e = readdir(d)); n++) {
		if (!ends_with(e->d_name, ENDING) && !(ends_with(e->d_name, NEW_ENDING) && is_old(dir, e->d_name)))
			continue;
		AUTO(closep) int fd = dial_in(dir, e->d_name);
		if (fd == -ECONNREFUSED)
			(void)unlinkat(dir, e->d_name, 0);
	}
	if (d)
		closedir(d);
	else
		closep(&copy);
}

static int bind_in(int dir, const char *name, const char *new_name)
{
	struct sockaddr_un sa = address_in(dir, new_name);
	AUTO(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		return -errno;
	/* The socket gets its name once it listens, so a client that finds it can connect. */
	if (fchmodat(dir, new_name, 0600, 0) < 0 || listen(fd, BACKLOG) < 0 || renameat(dir, new_name, dir, name) < 0) {
		int saved = errno;
		(void)unlinkat(dir, new_name, 0);
		return -saved;
	}
	return take_fd(fd);
}

int sockets_listen(const struct config *config, char **ret_path)
{
	uint32_t random = 0;
	AUTO(freep) char *folder = folder_path(config);
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -errno;
	int r = dirs_make(folder);
	if (r < 0)
		return r;
	AUTO(closep) int dir = open_folder(folder);
	if (dir < 0)
		return dir;
	sweep(dir);
	AUTO(freep) char *name = xasprintf("%d-%08x" ENDING, (int)getpid(), random);
	AUTO(freep) char *new_name = xasprintf("%s" NEW_ENDING, name);
	int fd = bind_in(dir, name, new_name);
	if (fd >= 0)
		*ret_path = xasprintf("%s/%s", folder, name);
	return fd;
}

void sockets_list(const struct config *config, struct strv *ret)
{
	AUTO(freep) char *folder = folder_path(config);
	DIR *d = opendir(folder);
	for (struct dirent *e; d && ret->n < SOCKETS_MAX && (e = readdir(d));)
		if (ends_with(e->d_name, ENDING))
			strv_addf(ret, "%s/%s", folder, e->d_name);
	if (d)
		closedir(d);
}
