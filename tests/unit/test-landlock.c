/* kernels/guard/landlock: which files a confined child can write, and which processes it can read. */
/* evidence: landlock */
#include "kernels/guard/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/defs.h"
#include "tests/unit/unit.h"

static int opens(const char *path, int flags)
{
	AUTO(closep) int fd = open(path, flags | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : 0;
}

static int try_writing(void)
{
	if (opens("/dev/null", O_WRONLY) < 0)
		return 1;
	if (opens("/proc/self/oom_score_adj", O_RDONLY) < 0)
		return 2;
	if (opens("/proc/self/oom_score_adj", O_WRONLY) != -EACCES)
		return 3;
	if (opens("/proc/self/mem", O_RDWR) != -EACCES)
		return 4;
	char folder[] = "/tmp/husk-landlock-XXXXXX", from[64], to[64];
	if (!mkdtemp(folder))
		return 5;
	snprintf(from, sizeof(from), "%s/file", folder);
	snprintf(to, sizeof(to), "%s-renamed", folder);
	if (opens(from, O_WRONLY | O_CREAT) < 0 || rename(from, to) < 0)
		return 6;
	unlink(to);
	rmdir(folder);
	return 0;
}

/* Tries to read the memory of the parent, which is not confined. */
static int try_looking(void)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)getppid());
	if (opens(path, O_RDONLY) == 0)
		return 1;
	return kill(getppid(), 0) < 0 ? 2 : 0;
}

static int in_confined_child(int (*fn)(void))
{
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		_exit(landlock_enforce(landlock_rules(0)) < 0 ? 99 : fn());
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void writing_is_limited_to_the_work_folders(void **state)
{
	assert_int_equal(in_confined_child(try_writing), 0);
}

static void other_processes_can_be_signalled_but_not_read(void **state)
{
	assert_int_equal(in_confined_child(try_looking), 0);
}

static void without_landlock_nothing_is_restricted(void **state)
{
	assert_int_equal(in_confined_child(landlock_version), 0);
}

int main(void)
{
	const struct CMUnitTest confined[] = {
		cmocka_unit_test(writing_is_limited_to_the_work_folders),
		cmocka_unit_test(other_processes_can_be_signalled_but_not_read),
	};
	const struct CMUnitTest without[] = { cmocka_unit_test(without_landlock_nothing_is_restricted) };
	return landlock_version() ? cmocka_run_group_tests(confined, NULL, NULL) :
				    cmocka_run_group_tests(without, NULL, NULL);
}
