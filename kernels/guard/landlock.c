#include "kernels/guard/landlock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "kernels/protocol.h"

/* Before version 2 every domain forbids renames between directories. */
#define VERSION_MIN 2
/* The first version with a right for device ioctls. Without this right, opening a terminal for neither reading nor
 * writing is not checked, and is enough to change its modes. */
#define VERSION_IOCTL 5
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15)
#endif

static const char *const writable[] = { "/workspace", "/tmp", "/home", DEPENDENCIES_PATH };

int landlock_version(void)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	return version >= VERSION_MIN ? (int)version : 0;
}

static int allow_file(int ruleset, int fd, uint64_t access)
{
	struct landlock_path_beneath_attr rule = { .allowed_access = access, .parent_fd = fd };
	return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0 ? -errno : 0;
}

/* A directory that this image does not have needs no rule. */
static int allow(int ruleset, const char *path, int flags, uint64_t access)
{
	AUTO(closep) int fd = open(path, O_PATH | O_CLOEXEC | flags);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	return allow_file(ruleset, fd, access);
}

static void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* Rules can only allow, so a directory is excluded by a rule for each of its siblings. The root is read-only and
 * /dev belongs to root, so no further siblings appear. */
static int allow_all_but(int ruleset, const char *folder, const char *left_out, uint64_t access)
{
	AUTO(closedirp) DIR *dir = opendir(*folder ? folder : "/");
	if (!dir)
		return -errno;
	int r = 0;
	for (struct dirent *e; r == 0 && (e = readdir(dir));) {
		AUTO(freep) char *path = xasprintf("%s/%s", folder, e->d_name);
		/* Links are not followed, since one may lead into the excluded directory. Their targets need a separate
		 * rule. */
		if (!streq(e->d_name, ".") && !streq(e->d_name, "..") && !streq(path, left_out))
			r = allow(ruleset, path, O_NOFOLLOW, access);
	}
	return r;
}

int landlock_rules(int terminal)
{
	int version = landlock_version();
	if (!version)
		return 0;
	const uint64_t use =
		LANDLOCK_ACCESS_FS_READ_FILE | (version < VERSION_IOCTL ? 0 : LANDLOCK_ACCESS_FS_IOCTL_DEV);
	/* Only the first field of the structure is passed, which every version of Landlock accepts. */
	const uint64_t handled = use | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REFER;
	AUTO(closep) int ruleset = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0);
	if (ruleset < 0)
		return -errno;
	int r = allow(ruleset, "/", O_DIRECTORY, LANDLOCK_ACCESS_FS_REFER);
	if (r == 0)
		r = allow_all_but(ruleset, "", "/dev", use);
	if (r == 0)
		r = allow_all_but(ruleset, "/dev", TERMINALS_PATH, use | LANDLOCK_ACCESS_FS_WRITE_FILE);
	for (size_t i = 0; i < ARRAY_LEN(writable) && r == 0; i++)
		r = allow(ruleset, writable[i], O_DIRECTORY, LANDLOCK_ACCESS_FS_WRITE_FILE);
	if (r == 0 && terminal)
		r = allow_file(ruleset, terminal, use | LANDLOCK_ACCESS_FS_WRITE_FILE);
	return r < 0 ? r : take_fd(ruleset);
}

int landlock_enforce(int rules)
{
	if (!rules)
		return 0;
	return syscall(SYS_landlock_restrict_self, rules, 0) < 0 ? -errno : 0;
}
