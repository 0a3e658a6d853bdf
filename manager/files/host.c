#include "manager/files/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#ifdef __linux__
#include <linux/openat2.h>
#include <sys/syscall.h>
#endif

#include "base/alloc.h"
#include "base/buf.h"
#include "manager/files/names.h"
#include "manager/files/vault.h"
#include "manager/model/cause.h"

/* Bytes for the list of folders in an error. */
#define FOLDERS_SHOWN_MAX 1000
#define SAFE_FLAGS (O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

void host_rules_release(struct host_rules *r)
{
	free(r->storage_dir);
	free(r->state_dir);
	free(r->settings_file);
	strv_release(&r->allowed);
	if (r->fd > 0)
		close(r->fd);
	*r = (struct host_rules){ 0 };
}

/* ---- Husk's own files */

static void forbid(struct host_forbidden *set, const struct stat *st)
{
	if (set->n < HOST_FORBIDDEN_MAX) {
		set->v[set->n].dev = st->st_dev;
		set->v[set->n++].ino = st->st_ino;
	}
}

static void forbid_path(struct host_forbidden *set, const char *path)
{
	struct stat st;
	if (path && stat(path, &st) == 0)
		forbid(set, &st);
}

/* Forbids every file directly in the state folder: the database and its companions, the key, the conversation's id.
 * Files are compared by inode, since a hard link elsewhere is the same file. */
static void forbid_files_of(struct host_forbidden *set, const char *folder)
{
	DIR *dir = opendir(folder);
	struct stat st;
	for (const struct dirent *d; dir && (d = readdir(dir));)
		if (fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
			forbid(set, &st);
	if (dir)
		closedir(dir);
}

bool host_is_forbidden(const struct host_forbidden *set, const struct stat *st)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->v[i].dev == st->st_dev && set->v[i].ino == st->st_ino)
			return true;
	return false;
}

static void forbid_all(const struct host_rules *rules, struct host_forbidden *set)
{
	AUTO(freep) char *vault = vault_folder(rules->storage_dir);
	struct stat state, storage;
	set->n = 0;
	forbid_path(set, vault);
	forbid_path(set, rules->settings_file);
	/* If the state folder is also STORAGE_DIR, files that people put there may still be imported. */
	bool apart = stat(rules->state_dir, &state) < 0 || stat(rules->storage_dir, &storage) < 0 ||
		     state.st_ino != storage.st_ino || state.st_dev != storage.st_dev;
	if (apart) {
		forbid_path(set, rules->state_dir);
		forbid_files_of(set, rules->state_dir);
		return;
	}
	static const char *const names[] = { "husk.db", "husk.db-wal", "husk.db-shm", "settings.key",
					     "mcp-thread.json" };
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		AUTO(freep) char *path = xasprintf("%s/%s", rules->state_dir, names[i]);
		forbid_path(set, path);
	}
}

/* True if the file or a folder above it is Husk's own. STORAGE_DIR belongs to the user, even if its parent folder is
 * Husk's. */
static bool leads_through_ours(const struct host_rules *rules, const struct host_forbidden *set, const char *resolved)
{
	AUTO(freep) char *path = xstrdup(resolved);
	struct stat st, storage;
	bool known = stat(rules->storage_dir, &storage) == 0;
	for (;;) {
		bool there = stat(*path ? path : "/", &st) == 0;
		if (there && known && st.st_ino == storage.st_ino && st.st_dev == storage.st_dev)
			return false;
		if (there && host_is_forbidden(set, &st))
			return true;
		char *slash = strrchr(path, '/');
		if (!slash)
			return false;
		*slash = '\0';
	}
}

/* ---- opening */

static int open_by_steps(int dir, const char *path, int flags)
{
	AUTO(closep) int at = -1;
	int from = dir;
	for (const char *slash; (slash = strchr(path, '/')); path = slash + 1) {
		AUTO(freep) char *name = xstrndup(path, (size_t)(slash - path));
		int next = openat(from, name, O_RDONLY | O_DIRECTORY | SAFE_FLAGS);
		if (next < 0)
			return -errno;
		closep(&at);
		from = at = next;
	}
	int fd = openat(from, *path ? path : ".", flags | SAFE_FLAGS);
	return fd < 0 ? -errno : fd;
}

static int open_beneath(int dir, const char *path, int flags)
{
#ifdef SYS_openat2
	struct open_how how = { .flags = (uint64_t)(flags | SAFE_FLAGS),
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	long fd = syscall(SYS_openat2, dir, *path ? path : ".", &how, sizeof(how));
	if (fd >= 0)
		return (int)fd;
	if (errno != ENOSYS && errno != EPERM)
		return -errno;
#endif
	return open_by_steps(dir, path, flags);
}

static int denied(const struct host_rules *rules, struct fail *f, const char *source)
{
	AUTO(buf_release) struct buf folders = { 0 };
	buf_add_str(&folders, rules->storage_dir);
	for (size_t i = 0; i < rules->allowed.n; i++) {
		if (folders.len > FOLDERS_SHOWN_MAX) {
			buf_printf(&folders, " and %zu more", rules->allowed.n - i);
			break;
		}
		buf_printf(&folders, ", %s", rules->allowed.v[i]);
	}
	cause_set(
		f, FAIL_INVALID, CAUSE_PATH_DENIED,
		"Import from '%s' denied — path is outside allowed directories. Configure IMPORT_ALLOWED_DIRS to allow additional paths. Allowed are: %s",
		source, buf_str(&folders));
	return fail_hint(f, "`husk mcp --allow DIR` allows one more folder");
}

static int open_below(const char *root, const char *resolved)
{
	char place[PATH_MAX];
	const char *rest;
	if (!realpath(root, place) || !(rest = names_below(resolved, place)))
		return -EACCES;
	AUTO(closep) int dir = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	return open_beneath(dir, rest, O_RDONLY);
}

static int open_allowed(const struct host_rules *rules, const char *source, const char *resolved, struct fail *f)
{
	int fd = open_below(rules->storage_dir, resolved);
	for (size_t i = 0; fd == -EACCES && i < rules->allowed.n; i++)
		fd = open_below(rules->allowed.v[i], resolved);
	if (fd == -EACCES && access(resolved, R_OK) == 0)
		return denied(rules, f, source);
	if (fd < 0)
		return fail_set(f, FAIL_INVALID, "cannot open '%s': %s", source,
				fd == -ENXIO ? "neither a file nor a directory" :
				fd == -ELOOP ? "a link replaced it during the check; try again" :
					       strerror(-fd));
	return fd;
}

/* This is checked first, so that an error reveals nothing about a path that must not be read. */
static bool is_allowed(const struct host_rules *rules, const char *resolved)
{
	char place[PATH_MAX];
	if (realpath(rules->storage_dir, place) && names_below(resolved, place))
		return true;
	for (size_t i = 0; i < rules->allowed.n; i++)
		if (realpath(rules->allowed.v[i], place) && names_below(resolved, place))
			return true;
	return false;
}

/* Checks the existing part of a missing file's path. */
static bool missing_is_allowed(const struct host_rules *rules, const char *path)
{
	AUTO(freep) char *above = xstrdup(path);
	char place[PATH_MAX];
	for (char *slash; (slash = strrchr(above, '/')) && slash != above;) {
		*slash = '\0';
		if (realpath(above, place))
			return is_allowed(rules, place);
	}
	return false;
}

static int is_ours(struct fail *f, const char *source)
{
	return fail_set(f, FAIL_INVALID, "Import from '%s' denied — this is where Husk keeps its own files.", source);
}

/* Accepts only a file or a folder that is not Husk's own. Reading anything else could block. Takes ownership of fd. */
static int check_opened(int fd, const char *source, const struct host_forbidden *forbidden, struct fail *f)
{
	AUTO(closep) int owned = fd;
	struct stat st;
	if (fstat(owned, &st) < 0 || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return fail_set(f, FAIL_INVALID, "'%s' is neither a file nor a directory", source);
	return host_is_forbidden(forbidden, &st) ? is_ours(f, source) : take_fd(owned);
}

static int open_own(const struct host_rules *rules, const char *source, struct host_forbidden *ret_forbidden,
		    struct fail *f)
{
	int fd = rules->fd > 0 ? fcntl(rules->fd, F_DUPFD_CLOEXEC, 0) :
				 open(source, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return fail_set(f, FAIL_INVALID, "cannot open '%s': %s", source, strerror(errno));
	forbid_all(rules, ret_forbidden);
	return check_opened(fd, source, ret_forbidden, f);
}

int host_open(const struct host_rules *rules, const char *source, struct host_forbidden *ret_forbidden, struct fail *f)
{
	if (rules->own)
		return open_own(rules, source, ret_forbidden, f);
	AUTO(freep) char *path = *source == '/' ? xstrdup(source) : xasprintf("%s/%s", rules->storage_dir, source);
	char resolved[PATH_MAX];
	if (!realpath(path, resolved)) {
		if (!missing_is_allowed(rules, path))
			return denied(rules, f, source);
		return fail_set(f, FAIL_INVALID, "File or directory not found: %s", source);
	}
	if (!is_allowed(rules, resolved))
		return denied(rules, f, source);
	forbid_all(rules, ret_forbidden);
	if (leads_through_ours(rules, ret_forbidden, resolved))
		return is_ours(f, source);
	int fd = open_allowed(rules, source, resolved, f);
	return fd < 0 ? -1 : check_opened(fd, source, ret_forbidden, f);
}
