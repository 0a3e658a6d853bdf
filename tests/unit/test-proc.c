/* base/proc: reading /proc/PID/stat, and finding ourselves. */
#include "base/proc.h"

#include "tests/unit/unit.h"

#define REST " 0 -1 4194560 90 80 70 60 50 40 30 20 10 0 1 0 123456 5 6"

static void reads_fields_after_the_name(void **state)
{
	struct proc_stat s;
	assert_int_equal(proc_parse_stat("42 (bash) S 1 42 43" REST, &s), 0);
	assert_int_equal(s.state, 'S');
	assert_int_equal(s.parent, 1);
	assert_int_equal(s.group, 42);
	assert_int_equal(s.session, 43);
	assert_int_equal(s.start, 123456);
	assert_int_equal(proc_parse_stat("42 (a) b) S 9 (x) R 1 42 44" REST, &s),
			 0); /* a process can choose such a name */
	assert_int_equal(s.session, 44);
	assert_int_equal(s.state, 'R');
}

static void refuses_nonsense(void **state)
{
	static const char *const texts[] = { "", "42 (sh", "42 (sh) S 1", "42 (sh) S 1 42 43 0 -1" };
	struct proc_stat s = { .session = 7 };
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		assert_true(proc_parse_stat(texts[i], &s) < 0);
	assert_int_equal(s.session, 7);
	assert_true(proc_stat(-1, &s) < 0);
}

static unsigned count_me(pid_t pid, void *ctx)
{
	return pid == getpid() ? 1 : 0;
}

static void visits_every_process_once(void **state)
{
	struct proc_stat s;
	assert_int_equal(proc_each(count_me, NULL), 1);
	assert_int_equal(proc_stat(getpid(), &s), 0);
	assert_int_equal(s.parent, getppid());
	assert_true(s.start > 0);
}

static void reads_the_memory_of_the_machine(void **state)
{
	struct proc_memory m = { .total = 7 };
	assert_int_equal(proc_parse_memory("MemTotal:  2048 kB\nMemFree: 1 kB\nMemAvailable:     1024 kB\n", &m), 0);
	assert_int_equal(m.total, 2048 * 1024);
	assert_int_equal(m.available, 1024 * 1024);
	assert_true(proc_parse_memory("MemTotal: 1 kB\n", &m) < 0);
	assert_true(proc_parse_memory("MemTotal: many kB\nMemAvailable: 1 kB\n", &m) < 0);
	assert_int_equal(m.total, 2048 * 1024);
	assert_true(proc_memory("/nowhere", &m) < 0);
	assert_int_equal(proc_memory(NULL, &m), 0);
	assert_true(m.available <= m.total);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_fields_after_the_name),
		cmocka_unit_test(refuses_nonsense),
		cmocka_unit_test(visits_every_process_once),
		cmocka_unit_test(reads_the_memory_of_the_machine),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
