/* kernels/init/rest: decides from /proc whether a process may be stopped. */
#include "kernels/init/rest.h"
#include "tests/unit/unit.h"

#include <sys/syscall.h>

static bool waits(long number, const char *args)
{
	char text[256];
	snprintf(text, sizeof(text), "%ld %s 0x7ffd6d1f7a58 0x7f1b9a2a8a1d\n", number, args);
	int fd;
	bool found = rest_waits_without_limit(text, &fd);
	assert_int_equal(fd, number == SYS_read || number == SYS_recvfrom ? 3 : -1);
	return found;
}

static void waits_without_a_timeout_are_recognised(void **state)
{
	assert_true(waits(SYS_read, "0x3 0x7f 0x4 0x0 0x0 0x0"));
	assert_true(waits(SYS_recvfrom, "0x3 0x7f 0x4 0x0 0x0 0x0"));
	assert_true(waits(SYS_futex, "0x7f 0x189 0x0 0x0 0x0 0xffffffff"));
	assert_true(waits(SYS_futex, "0x7f 0x80 0x0 0x0 0x0 0x0"));
	assert_true(waits(SYS_epoll_pwait, "0x7 0x7f 0x400 0xffffffff 0x0 0x8"));
	assert_true(waits(SYS_epoll_pwait, "0x7 0x7f 0x400 0xffffffffffffffff 0x0 0x8"));
	assert_true(waits(SYS_ppoll, "0x7f 0x1 0x0 0x0 0x8 0x0"));
	assert_true(waits(SYS_pselect6, "0x4 0x7f 0x0 0x0 0x0 0x7f"));
}

static void any_other_wait_keeps_pid_1_awake(void **state)
{
	int fd;
	assert_false(waits(SYS_futex, "0x7f 0x189 0x0 0x7ffe 0x0 0xffffffff"));
	assert_false(waits(SYS_futex, "0x7f 0x81 0x0 0x0 0x0 0x0"));
	assert_false(waits(SYS_epoll_pwait, "0x7 0x7f 0x400 0x3e8 0x0 0x8"));
	assert_false(waits(SYS_ppoll, "0x7f 0x1 0x7ffe 0x0 0x8 0x0"));
	assert_false(waits(SYS_pselect6, "0x4 0x7f 0x0 0x0 0x7ffe 0x7f"));
	assert_false(waits(SYS_write, "0x3 0x7f 0x4 0x0 0x0 0x0"));
	assert_false(waits(SYS_clock_nanosleep, "0x0 0x0 0x7f 0x0 0x0 0x0"));
	assert_false(rest_waits_without_limit("running\n", &fd));
	assert_false(rest_waits_without_limit("-1 0x7ffd6d1f7a58 0x7f1b9a2a8a1d\n", &fd));
	assert_false(rest_waits_without_limit("", &fd));
}

static void timers_are_seen(void **state)
{
	assert_true(rest_has_no_alarm("Name:\tx\nSigCgt:\t0000000000000002\nCapInh:\t0\n"));
	assert_true(rest_has_no_alarm(
		"Name:\tx\nSigCgt:\t0000000180014002\n")); /* INT, TERM, CHLD and those of the C library */
	assert_false(rest_has_no_alarm("Name:\tx\nSigCgt:\t0000000000002002\n")); /* ALRM */
	assert_false(rest_has_no_alarm("Name:\tx\nSigCgt:\t0000000010000000\n")); /* IO */
	assert_false(rest_has_no_alarm("Name:\tx\nSigCgt:\t8000000000000000\n"));
	assert_false(rest_has_no_alarm("Name:\tx\n"));
}

#define HEADING "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"

static void sockets_of_the_user_are_counted(void **state)
{
	static const char resolver[] = HEADING
		"   0: 0B00007F:9C4B 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 91 1 0 100 0 0 10 0\n";
	static const char two[] = HEADING
		"   0: 0100007F:9C4B 00000000:0000 0A 00000000:00000000 00:00000000 00000000 60706        0 91 1 0 100 0 0 10 0\n"
		"   1: 0100007F:9C4B 0100007F:1F90 01 00000000:00000000 00:00000000 00000000 60706        0 92 1 0 100 0 0 10 0\n"
		"   2: 0B00007F:9C4B 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 93 1 0 100 0 0 10 0\n";
	assert_int_equal(rest_count_sockets(resolver, 60706), 0);
	assert_int_equal(rest_count_sockets(two, 60706), 2);
	assert_int_equal(rest_count_sockets(HEADING, 60706), 0);
	assert_int_equal(rest_count_sockets("", 60706), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_without_a_timeout_are_recognised),
		cmocka_unit_test(any_other_wait_keeps_pid_1_awake),
		cmocka_unit_test(timers_are_seen),
		cmocka_unit_test(sockets_of_the_user_are_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
