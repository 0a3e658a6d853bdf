/* kernels/control/claim: which messages are valid claims. */
#include "kernels/control/claim.h"

#include <errno.h>

#include "base/buf.h"
#include "tests/unit/unit.h"

#define ID "abcdefghijklmnopqrstuvwx27"

static int parse(struct claim *ret, const char *text)
{
	return claim_parse(ret, text, strlen(text));
}

static void takes_all_fields(void **state)
{
	AUTO(claim_release) struct claim c = { 0 };
	assert_int_equal(parse(&c, "{\"session\":\"" ID "\",\"lease_seconds\":60,\"lifetime_seconds\":7,\"more\":1,"
				   "\"env\":{\"A\":\"b=c\",\"D\":\"\"}}"),
			 0);
	assert_string_equal(c.session, ID);
	assert_int_equal(c.lease_ms, 60000);
	assert_int_equal(c.lifetime_ms, 7000);
	assert_int_equal(c.env.n, 2);
	assert_string_equal(c.env.v[0], "A=b=c");
	assert_string_equal(c.env.v[1], "D=");
}

static void an_install_has_no_session_and_may_have_no_environment(void **state)
{
	AUTO(claim_release) struct claim c = { 0 };
	assert_int_equal(parse(&c, "{\"session\":\"\",\"lease_seconds\":1,\"lifetime_seconds\":0}"), 0);
	assert_string_equal(c.session, "");
	assert_int_equal(c.env.n, 0);
}

static void refuses(const char *text)
{
	struct claim c = { .lease_ms = 42 };
	if (parse(&c, text) != -EPROTO)
		fail_msg("accepted: %s", text);
	assert_int_equal(c.lease_ms, 42);
}

static void refuses_everything_else(void **state)
{
	refuses("");
	refuses("[]");
	refuses("{}");
	refuses("{\"session\":\"\",\"lease_seconds\":1}");
	refuses("{\"session\":\"\",\"lease_seconds\":0,\"lifetime_seconds\":0}");
	refuses("{\"session\":\"\",\"lease_seconds\":1000000001,\"lifetime_seconds\":0}");
	refuses("{\"session\":\"\",\"lease_seconds\":1,\"lifetime_seconds\":-1}");
	refuses("{\"session\":\"\",\"lease_seconds\":1.5,\"lifetime_seconds\":0}");
	refuses("{\"session\":\"" ID "a\",\"lease_seconds\":1,\"lifetime_seconds\":0}");
	refuses("{\"session\":\"abcdefghijklmnopqrstuvwx21\",\"lease_seconds\":1,\"lifetime_seconds\":0}");
	refuses("{\"session\":\"" ID "\\u0000\",\"lease_seconds\":1,\"lifetime_seconds\":0}");
	refuses("{\"session\":7,\"lease_seconds\":1,\"lifetime_seconds\":0}");
	refuses("{\"session\":\"\",\"lease_seconds\":1,\"lifetime_seconds\":0,\"env\":[]}");
	refuses("{\"session\":\"\",\"lease_seconds\":1,\"lifetime_seconds\":0,\"env\":{\"A\":1}}");
	refuses("{\"session\":\"\",\"lease_seconds\":1,\"lifetime_seconds\":0,\"env\":{\"A\":\"x\\u0000\"}}");
	refuses("{\"session\":\"\",\"lease_seconds\":1,\"lifetime_seconds\":0,\"env\":{\"A=B\":\"\"}}");
	refuses("{\"session\":\"\",\"lease_seconds\":1,\"lifetime_seconds\":0,\"env\":{\"\":\"\"}}");
}

static int parse_env_of(size_t bytes)
{
	AUTO(claim_release) struct claim c = { 0 };
	AUTO(buf_release) struct buf text = { 0 };
	buf_add_str(&text, "{\"session\":\"\",\"lease_seconds\":1,\"lifetime_seconds\":0,\"env\":{\"A\":\"");
	for (size_t i = strlen("A=") + 1; i < bytes; i++)
		buf_add_str(&text, "x");
	buf_add_str(&text, "\"}}");
	return parse(&c, buf_str(&text));
}

static void the_environment_is_bounded(void **state)
{
	assert_int_equal(parse_env_of(CLAIM_ENV_MAX), 0);
	assert_int_equal(parse_env_of(CLAIM_ENV_MAX + 1), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_all_fields),
		cmocka_unit_test(an_install_has_no_session_and_may_have_no_environment),
		cmocka_unit_test(refuses_everything_else),
		cmocka_unit_test(the_environment_is_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
