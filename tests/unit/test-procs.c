/* kernels/system/procs: killing a session with all its processes. */
#include <signal.h>
#include <sys/wait.h>

#include "kernels/system/procs.h"
#include "tests/unit/unit.h"

static void kills_a_session_with_its_groups(void **state)
{
	int ready[2];
	assert_int_equal(pipe(ready), 0);
	pid_t leader = fork();
	if (leader == 0) {
		setsid();
		for (int i = 0; i < 3; i++) {
			if (fork() == 0) {
				setpgid(0, 0);
				(void)!write(ready[1], "x", 1);
				for (;;)
					pause();
			}
		}
		(void)!write(ready[1], "x", 1);
		for (;;)
			pause();
	}
	char c;
	for (int i = 0; i < 4; i++)
		assert_int_equal(read(ready[0], &c, 1), 1);
	assert_int_equal(procs_count_session(leader), 4);
	/* False on a machine that is too busy to kill them in time. They are dying then, and a later check finds
	 * none. */
	while (!procs_kill_session(leader))
		continue;
	assert_int_equal(procs_count_session(leader), 0);
	assert_int_equal(waitpid(leader, NULL, 0), leader);
	close(ready[0]);
	close(ready[1]);
}

static void never_signals_all_processes(void **state)
{
	assert_true(procs_kill_session(0));
	assert_true(procs_kill_session(1));
	procs_kill_all(); /* we are not pid 1 */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kills_a_session_with_its_groups),
		cmocka_unit_test(never_signals_all_processes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
