#include "manager/line/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#include "base/alloc.h"
#include "base/dirs.h"
#include "base/work.h"
#include "kernels/protocol.h"
#include "manager/model/token.h"

#define LINES "lines"
#define NEW_SOCKET "line.new"
#define ID_FILE "id"
/* Connections that may wait until the server accepts them. */
#define BACKLOG 16

static bool is_container(const char *name)
{
	return strncmp(name, CONTAINER_PREFIX, strlen(CONTAINER_PREFIX)) == 0 && !strchr(name, '/');
}

char *folder_path(const struct config *config, const char *container)
{
	return is_container(container) ? xasprintf("%s/" LINES "/%s", config->state_dir, container) : NULL;
}

/* ---- the folder of all lines */

static char *parent_of(const char *path)
{
	return xstrndup(path, (size_t)(strrchr(path, '/') - path));
}

/* The path if it is absolute and not below the user's home, else NULL. */
static const char *place(const char *path)
{
	const char *home = getenv("HOME");
	size_t n = home ? strlen(home) : 0;
	return path && *path == '/' && (n < 2 || strncmp(path, home, n) != 0) ? path : NULL;
}

/* Makes a folder that only this user can read; NULL if there is no place for it. The caller owns the string. */
static char *make_neutral(void)
{
	const char *run = getenv("XDG_RUNTIME_DIR"), *const places[] = { run && *run == '/' ? run : NULL,
									 place(getenv("TMPDIR")), "/tmp" };
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		char *path = places[i] ? xasprintf("%s/husk-XXXXXX", places[i]) : NULL;
		if (path && mkdtemp(path))
			return path;
		free(path);
	}
	return NULL;
}

/* Whether `lines` leads to a folder of this user. An older Husk made a plain folder instead of a link; it stays
 * while containers use it. */
static bool is_good(const char *lines)
{
	struct stat st, link;
	if (lstat(lines, &link) < 0 || stat(lines, &st) < 0)
		return false;
	if (S_ISDIR(link.st_mode))
		return rmdir(lines) < 0;
	return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 077) == 0;
}

static int make_lines(const char *lines)
{
	AUTO(freep) char *state_dir = parent_of(lines);
	if (is_good(lines))
		return 0;
	int r = dirs_make(state_dir);
	AUTO(freep) char *neutral = r < 0 ? NULL : make_neutral();
	if (r < 0)
		return r;
	if (!neutral)
		return dirs_make(lines);
	(void)unlink(lines); /* a dangling link, as after a reboot */
	if (symlink(neutral, lines) == 0)
		return 0;
	r = errno == EEXIST ? 0 : -errno; /* another server was faster */
	(void)rmdir(neutral);
	return r;
}

/* Removes `lines` and the folder it leads to if the last container is gone. */
static void remove_lines(const char *lines)
{
	AUTO(freep) char *neutral = realpath(lines, NULL);
	struct stat st;
	if (neutral && lstat(lines, &st) == 0 && S_ISLNK(st.st_mode) && rmdir(neutral) == 0)
		(void)unlink(lines);
}

int folder_make(const char *path)
{
	AUTO(freep) char *lines = parent_of(path);
	int r = make_lines(lines);
	/* Another server may have just removed `lines` together with its last container. */
	if (r == 0 && mkdir(path, 0755) < 0 && errno == ENOENT)
		r = make_lines(lines);
	if (r < 0)
		return r;
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return -errno;
	/* The container's user must be able to read the folder, whatever our umask is. */
	return chmod(path, 0755) < 0 ? -errno : 0;
}

static int bind_in(int dir, uint64_t *ret_inode)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct stat st;
	/* The path may be too long for a socket address, so use the folder's descriptor. */
	snprintf(sa.sun_path, sizeof(sa.sun_path), "/proc/self/fd/%d/" NEW_SOCKET, dir);
	AUTO(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	(void)unlinkat(dir, NEW_SOCKET, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 || fchmodat(dir, NEW_SOCKET, 0666, 0) < 0 ||
	    listen(fd, BACKLOG) < 0 || fstatat(dir, NEW_SOCKET, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	/* PID 1 looks for LINE_SOCKET, so it cannot dial before the rename. */
	if (renameat(dir, NEW_SOCKET, dir, LINE_SOCKET) < 0)
		return -errno;
	*ret_inode = st.st_ino;
	return take_fd(fd);
}

int folder_listen(const char *path, uint64_t *ret_inode)
{
	AUTO(closep) int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? -errno : bind_in(dir, ret_inode);
}

void folder_hide(const char *path, uint64_t inode)
{
	AUTO(freep) char *name = xasprintf("%s/" LINE_SOCKET, path);
	struct stat st;
	if (lstat(name, &st) == 0 && st.st_ino == inode)
		unlink(name);
}

void folder_write_id(const char *path, const char *id)
{
	AUTO(freep) char *name = xasprintf("%s/" ID_FILE, path);
	AUTO(closep) int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd >= 0 && write(fd, id, strlen(id)) < 0)
		unlink(name);
}

bool folder_read_id(const char *path, char ret[CONTAINER_ID_SIZE])
{
	AUTO(freep) char *name = xasprintf("%s/" ID_FILE, path);
	*ret = '\0';
	if (access(path, X_OK) < 0)
		return false;
	AUTO(closep) int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n = fd < 0 ? 0 : read(fd, ret, CONTAINER_ID_SIZE - 1);
	ret[MAX(n, 0)] = '\0';
	if (strspn(ret, "0123456789abcdef") != CONTAINER_ID_SIZE - 1)
		*ret = '\0';
	return true;
}

void folder_remove(const char *path)
{
	static const char *const names[] = { LINE_SOCKET, NEW_SOCKET, ID_FILE };
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		AUTO(freep) char *name = xasprintf("%s/%s", path, names[i]);
		unlink(name);
	}
	rmdir(path);
	AUTO(freep) char *lines = parent_of(path);
	remove_lines(lines);
}

/* --- folders without a container --------------------------------------------------------------------------------- */

struct sweep {
	char *parent;
	uint64_t min_age;
	struct strv containers;
};

static bool is_wanted(const struct sweep *s, const char *name)
{
	for (size_t i = 0; i < s->containers.n; i++)
		if (streq(s->containers.v[i], name))
			return true;
	return false;
}

static void sweep(void *ctx)
{
	struct sweep *s = ctx;
	DIR *dir = opendir(s->parent);
	time_t now = time(NULL);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		AUTO(freep) char *path = xasprintf("%s/%s", s->parent, e->d_name);
		struct stat st;
		if (!is_container(e->d_name) || is_wanted(s, e->d_name) || lstat(path, &st) < 0)
			continue;
		if (now >= st.st_mtime && (uint64_t)(now - st.st_mtime) >= s->min_age)
			folder_remove(path);
	}
	if (dir)
		closedir(dir);
}

static void on_swept(void *ctx, bool forgotten UNUSED)
{
	struct sweep *s = ctx;
	free(s->parent);
	strv_release(&s->containers);
	free(s);
}

void folders_sweep(struct loop *loop, const struct config *config, const struct strv *containers)
{
	struct sweep *s = new0(struct sweep);
	s->parent = xasprintf("%s/" LINES, config->state_dir);
	s->min_age = config->orphan_min_age;
	for (size_t i = 0; i < containers->n; i++)
		strv_add(&s->containers, containers->v[i]);
	(void)work_start(loop, &(struct work_spec){ .fn = sweep, .on_done = on_swept, .ctx = s });
}
