/* kernels/commands/shell: state that a shell may pass on to the next one. */
#include <errno.h>

#include "base/alloc.h"
#include "kernels/commands/shell.h"
#include "tests/unit/unit.h"

#define PARSE(s, text) shell_state_parse(s, text, sizeof(text) - 1)

static void takes_directory_and_variables(void **state)
{
	AUTO(shell_state_release) struct shell_state s = { 0 };
	assert_int_equal(PARSE(&s, "names\0/a b\0A=1\0B=\0C=x=y\nz\0_=/usr/bin/env\0SHLVL=2\0PWD=/a "
				   "b\0HUSK_X=1\0BASHOPTS=q\0husk-end\0"),
			 0);
	assert_string_equal(s.cwd, "/a b");
	assert_int_equal(s.env.n, 4);
	assert_string_equal(s.env.v[0], "A=1");
	assert_string_equal(s.env.v[1], "B=");
	assert_string_equal(s.env.v[2], "C=x=y\nz");
	assert_string_equal(s.env.v[3], "PWD=/a b");
}

static void drops_variables_without_a_plain_name(void **state)
{
	AUTO(shell_state_release) struct shell_state s = { 0 };
	assert_int_equal(PARSE(&s, "names\0/\0BASH_FUNC_f%%=() { :; }\0a b=1\0=x\0"
				   "1A=x\0noequals\0\0OK=1\0husk-end\0junk"),
			 -EINVAL);
	assert_int_equal(PARSE(&s, "names\0/\0BASH_FUNC_f%%=() { :; }\0a b=1\0=x\0"
				   "1A=x\0noequals\0\0OK=1\0husk-end\0"),
			 0);
	assert_int_equal(s.env.n, 2);
	assert_string_equal(s.env.v[0], "OK=1");
}

static void keeps_the_old_state_on_errors(void **state)
{
	AUTO(shell_state_release) struct shell_state s = { 0 };
	assert_int_equal(PARSE(&s, "names\0/old\0A=1\0husk-end\0"), 0);
	assert_int_equal(PARSE(&s, ""), -EINVAL);
	assert_int_equal(PARSE(&s, "A\nB\n"), -EINVAL);
	assert_int_equal(PARSE(&s, "A\nB\n\0"), -EINVAL);
	assert_int_equal(PARSE(&s, "names\0/new\0A=2\0"), -EINVAL);
	assert_int_equal(PARSE(&s, "names\0relative\0husk-end\0"), -EINVAL);
	assert_int_equal(PARSE(&s, "names\0/new\0A=2\0husk-end"), -EINVAL);
	assert_int_equal(PARSE(&s, "names\0\0husk-end\0"), -EINVAL);
	AUTO(freep) char *large = xcalloc(1, SHELL_STATE_MAX + 1);
	large[1] = '/';
	assert_int_equal(shell_state_parse(&s, large, SHELL_STATE_MAX + 1), -EINVAL);
	memset(large + 1, '/', 10000);
	assert_int_equal(shell_state_parse(&s, large, 20000), -EINVAL);
	assert_string_equal(s.cwd, "/old");
	assert_string_equal(s.env.v[0], "A=1");
}

static void holds_back_variables_that_run_code(void **state)
{
	static const char *const env[] = { "A=1",      "LD_PRELOAD=/x.so", "OLD_LD_PRELOAD=x",
					   "LD_A-B=1", "ENVIRONMENT=x",	   "BASH_ENV=/rc",
					   "ENV=/rc",  "PROMPT_COMMAND=",  "LD_=" };
	AUTO(strv_release) struct strv before = { 0 };
	AUTO(strv_release) struct strv after = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(env); i++)
		strv_add(&before, env[i]);
	shell_hold_back(&after, &before);
	assert_int_equal(after.n, 8);
	assert_string_equal(after.v[0], "A=1");
	assert_string_equal(after.v[1], "HUSK_HELD_LD_PRELOAD=/x.so");
	assert_string_equal(after.v[2], "OLD_LD_PRELOAD=x");
	assert_string_equal(after.v[3], "ENVIRONMENT=x");
	assert_string_equal(after.v[4], "HUSK_HELD_BASH_ENV=/rc");
	assert_string_equal(after.v[5], "HUSK_HELD_ENV=/rc");
	assert_string_equal(after.v[6], "HUSK_HELD_PROMPT_COMMAND=");
	assert_string_equal(after.v[7], "HUSK_HELD_LD_=");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_directory_and_variables),
		cmocka_unit_test(holds_back_variables_that_run_code),
		cmocka_unit_test(drops_variables_without_a_plain_name),
		cmocka_unit_test(keeps_the_old_state_on_errors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
