/* registry/notice: when a result announces the end of its session. */
#include "base/alloc.h"
#include "manager/session/session.h"
#include "tests/unit/unit.h"

static void expect_notice(uint64_t left_ms, uint64_t lifetime, uint64_t idle, const char *words)
{
	AUTO(freep) char *notice = session_notice(left_ms, lifetime, idle);
	if (!words)
		assert_null(notice);
	else if (!notice || !strstr(notice, words))
		fail_msg("'%s' does not say '%s'", notice ? notice : "(nothing)", words);
}

static void announces_the_end_of_a_session(void **state)
{
	expect_notice(UINT64_MAX, 7200, 1800, NULL);
	expect_notice(7200000, 7200, 1800, NULL);
	expect_notice(601000, 7200, 1800, NULL);
	expect_notice(600000, 7200, 1800, "ends in 600 s");
	expect_notice(0, 7200, 1800, "ends in 0 s");
	/* The end of a short lifetime is not announced from the beginning. */
	expect_notice(40000, 100, 1800, NULL);
	expect_notice(25000, 100, 1800, "SESSION_MAX_LIFETIME_SECONDS");
	expect_notice(7200000, 7200, 60, "after 60 s without use");
	expect_notice(10000, 7200, 60, "ends in 10 s");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(announces_the_end_of_a_session) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
