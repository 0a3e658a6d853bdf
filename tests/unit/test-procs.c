/* kernels/procs: reading /proc/PID/stat, and a session that is killed with all it has. */
#include <signal.h>
#include <sys/wait.h>

#include "kernels/procs.h"
#include "tests/unit/unit.h"

static void reads_the_session(void **state)
{
	assert_int_equal(procs_parse_session("42 (bash) S 1 42 43 0 -1"), 43);
	assert_int_equal(procs_parse_session("42 (a) b) S 9 (x) R 1 42 44 0"), 44); /* a name of its own choice */
	assert_int_equal(procs_parse_session("42 (sh) Z 1 42 43 0 -1"), 0);
	assert_int_equal(procs_parse_session(""), 0);
	assert_int_equal(procs_parse_session("42 (sh"), 0);
	assert_int_equal(procs_parse_session("42 (sh) S 1"), 0);
}

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
	/* False on a machine too busy to take them down in time; then they are dying, and a later look finds none. */
	while (!procs_kill_session(leader))
		continue;
	assert_int_equal(procs_count_session(leader), 0);
	assert_int_equal(waitpid(leader, NULL, 0), leader);
	close(ready[0]);
	close(ready[1]);
}

static void never_means_everybody(void **state)
{
	assert_true(procs_kill_session(0));
	assert_true(procs_kill_session(1));
	procs_kill_all(); /* we are not pid 1 */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_the_session),
		cmocka_unit_test(kills_a_session_with_its_groups),
		cmocka_unit_test(never_means_everybody),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
