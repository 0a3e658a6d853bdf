#include "manager/files/vault.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#include "base/alloc.h"
#include "base/dirs.h"
#include "base/sizes.h"
#include "manager/model/token.h"

#define INCOMING "incoming"
#define SWEEP_AGE_SECONDS 60

struct vault_file {
	char *storage_dir;
	char *path; /* while it is being written; NULL once it is kept */
	int fd;
};

char *vault_folder(const char *storage_dir)
{
	return xasprintf("%s/exports", storage_dir);
}

static bool is_hash(const char *hash)
{
	return strlen(hash) == DIGEST_SIZE - 1 && strspn(hash, "0123456789abcdef") == DIGEST_SIZE - 1;
}

static char *damaged_record(const char *storage_dir)
{
	return xasprintf("%s/exports/no-hash/damaged-record", storage_dir);
}

char *vault_path(const char *storage_dir, const char *hash, const char *file)
{
	if (!is_hash(hash) || !*file || strchr(file, '/') || streq(file, ".") || streq(file, ".."))
		return damaged_record(storage_dir);
	return xasprintf("%s/exports/%.2s/%s/%s", storage_dir, hash, hash, file);
}

char *vault_old_path(const char *storage_dir, const char *hash, const char *extension)
{
	if (!is_hash(hash))
		return damaged_record(storage_dir);
	return xasprintf("%s/exports/%.2s/%s%s", storage_dir, hash, hash + 2, extension);
}

static int sync_folder(const char *path)
{
	AUTO(closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return fsync(fd) < 0 ? -errno : 0;
}

/* A writer holds a lock on its file, so a file that can be locked was left behind by a server that died. */
static void sweep(const char *folder)
{
	DIR *dir = opendir(folder);
	for (const struct dirent *d; dir && (d = readdir(dir));) {
		if (d->d_name[0] == '.')
			continue;
		AUTO(closep) int fd = openat(dirfd(dir), d->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		struct stat st;
		/* The age covers the moment between creating a file and locking it. */
		if (fd >= 0 && fstat(fd, &st) == 0 && st.st_mtime + SWEEP_AGE_SECONDS < time(NULL) &&
		    flock(fd, LOCK_EX | LOCK_NB) == 0)
			(void)unlinkat(dirfd(dir), d->d_name, 0);
	}
	if (dir)
		closedir(dir);
}

static int cannot(struct fail *f, const char *what, const char *path, int error)
{
	fail_set(f, FAIL_STORE, "cannot %s '%s': %s", what, path, strerror(error));
	return fail_hint(f, "Check that STORAGE_DIR can be written and has free space (husk doctor checks both).");
}

struct vault_file *vault_new(const char *storage_dir, struct fail *f)
{
	AUTO(freep) char *folder = xasprintf("%s/exports/" INCOMING, storage_dir);
	int r = dirs_make(folder);
	if (r < 0) {
		cannot(f, "create the folder", folder, -r);
		return NULL;
	}
	sweep(folder);
	struct vault_file *v = new0(struct vault_file);
	char name[TOKEN_SIZE];
	token_make(name);
	v->storage_dir = xstrdup(storage_dir);
	v->path = xasprintf("%s/%s", folder, name);
	v->fd = open(v->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (v->fd < 0 || flock(v->fd, LOCK_EX | LOCK_NB) < 0) {
		cannot(f, "make", v->path, errno);
		return vault_free(v);
	}
	return v;
}

struct vault_file *vault_free(struct vault_file *v)
{
	if (!v)
		return NULL;
	if (v->path && v->fd >= 0)
		(void)unlink(v->path);
	closep(&v->fd);
	free(v->path);
	free(v->storage_dir);
	free(v);
	return NULL;
}

int vault_fd(const struct vault_file *v)
{
	return v->fd;
}

int vault_check_floor(const struct vault_file *v, uint64_t floor, uint64_t n, struct fail *f)
{
	struct statvfs disk;
	if (!floor || fstatvfs(v->fd, &disk) < 0)
		return 0;
	uint64_t left = (uint64_t)disk.f_bavail * disk.f_frsize;
	if (left >= floor && left - floor >= n)
		return 0;
	char there[SIZES_TEXT], kept[SIZES_TEXT];
	fail_set(f, FAIL_LIMIT, "the disk of STORAGE_DIR has %s free, and %s must stay free (CONTAINER_DISK_FLOOR)",
		 sizes_text(left, there), sizes_text(floor, kept));
	return fail_hint(f, VAULT_FULL_HINT);
}

/* Syncs the folder and those above it, since another server may have just created one and not synced it yet. */
static int sync_place(const struct vault_file *v, const char *folder, const char *group)
{
	AUTO(freep) char *vault = vault_folder(v->storage_dir);
	int r = sync_folder(folder);
	if (r == 0)
		r = sync_folder(group);
	return r == 0 ? sync_folder(vault) : r;
}

int vault_keep(struct vault_file *v, const char *hash, const char *file, struct fail *f)
{
	AUTO(freep) char *group = xasprintf("%s/exports/%.2s", v->storage_dir, hash);
	AUTO(freep) char *folder = xasprintf("%s/%s", group, hash);
	AUTO(freep) char *place = vault_path(v->storage_dir, hash, file);
	if (fchmod(v->fd, 0400) < 0 || fsync(v->fd) < 0)
		return cannot(f, "write", v->path, errno);
	int r = dirs_make(folder);
	if (r < 0)
		return cannot(f, "create the folder", folder, -r);
	/* Replaces an existing file: the new one is known to be complete, and the old one may be damaged. Readers
	 * of the old one are not affected. */
	if (rename(v->path, place) < 0)
		return cannot(f, "move an export to", place, errno);
	free(take_ptr(v->path));
	r = sync_place(v, folder, group);
	return r < 0 ? cannot(f, "sync", folder, -r) : 0;
}
