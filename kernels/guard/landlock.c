#include "kernels/guard/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>

#include "base/defs.h"
#include "kernels/protocol.h"

/* Before version 2 every domain forbids renames from one directory to another. */
#define VERSION_MIN 2
#define HANDLED (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REFER)

static const char *const writable[] = { "/workspace", "/tmp", "/home", "/dev", DEPENDENCIES_PATH };

int landlock_version(void)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	return version >= VERSION_MIN ? (int)version : 0;
}

/* A directory that this image does not have needs no rule. */
static int allow(int ruleset, const char *path, uint64_t access)
{
	AUTO(closep) int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	struct landlock_path_beneath_attr rule = { .allowed_access = access, .parent_fd = fd };
	return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0 ? -errno : 0;
}

int landlock_rules(void)
{
	/* Only the first field: a kernel of any version takes it. */
	const uint64_t handled = HANDLED;
	if (!landlock_version())
		return 0;
	AUTO(closep) int ruleset = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0);
	if (ruleset < 0)
		return -errno;
	int r = allow(ruleset, "/", LANDLOCK_ACCESS_FS_REFER);
	for (size_t i = 0; i < ARRAY_LEN(writable) && r == 0; i++)
		r = allow(ruleset, writable[i], LANDLOCK_ACCESS_FS_WRITE_FILE);
	return r < 0 ? r : take_fd(ruleset);
}

int landlock_enforce(int rules)
{
	if (!rules)
		return 0;
	return syscall(SYS_landlock_restrict_self, rules, 0) < 0 ? -errno : 0;
}
