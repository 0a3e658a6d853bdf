/* kernels/commands/bash: the variables with which a spare shell may wait for its command. tests/pid1/test_spare.py
 * tests the shell itself. */
#include "kernels/commands/bash.h"

#include "tests/unit/unit.h"

static bool may_wait_with(const char *variable)
{
	AUTO(strv_release) struct strv env = { 0 };
	strv_add(&env, "PATH=/bin");
	strv_add(&env, variable);
	return bash_may_wait_with(&env);
}

static void variables_that_act_at_start_rule_out_a_spare_shell(void **state)
{
	assert_true(may_wait_with("LANG=C.UTF-8"));
	assert_true(may_wait_with("LD_PRELOAD=/tmp/x.so")); /* held back: test-shell.c */
	assert_false(may_wait_with("SECONDS=7"));
	assert_false(may_wait_with("SHELLOPTS=xtrace"));
	assert_true(may_wait_with("SECONDS_LEFT=7"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(variables_that_act_at_start_rule_out_a_spare_shell),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
