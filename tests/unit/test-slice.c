/* The server's thread has a short time slice, and its children have the usual one. */
#include "base/slice.h"

#include <sched.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/unit.h"

/* Size, policy, flags, nice value, priority, runtime, deadline and period of struct sched_attr. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static struct attributes own(void)
{
	struct attributes a = { 0 };
	assert_int_equal(syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0), 0);
	return a;
}

/* Before Linux 6.12 the runtime of an ordinary thread reads as 0 and cannot be set. */
static void slice_is_short_and_not_inherited(void **state)
{
	assert_int_equal(setpriority(PRIO_PROCESS, 0, 5), 0);
	struct attributes before = own();
	slice_shorten();
	struct attributes after = own();
	assert_int_equal(after.policy, SCHED_OTHER);
	assert_int_equal(after.nice, 5);
	assert_int_equal(after.runtime, before.runtime ? 100000 : 0);

	pid_t child = fork();
	if (child == 0) {
		struct attributes a = { 0 };
		_exit(syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) < 0 || a.runtime != before.runtime ||
		      a.nice != 5);
	}
	int status = -1;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(slice_is_short_and_not_inherited) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
