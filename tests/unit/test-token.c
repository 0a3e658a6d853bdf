#include "base/defs.h"
#include "manager/model/token.h"
#include "tests/unit/unit.h"

static void test_tokens_are_base32_and_differ(void **state)
{
	char a[TOKEN_SIZE], b[TOKEN_SIZE];
	token_make(a);
	token_make(b);
	assert_int_equal(strlen(a), TOKEN_SIZE - 1);
	assert_int_equal(strspn(a, "abcdefghijklmnopqrstuvwxyz234567"), TOKEN_SIZE - 1);
	assert_string_not_equal(a, b);
}

static void test_uuid_is_version_4(void **state)
{
	char id[UUID_SIZE];
	token_make_uuid(id);
	assert_int_equal(strlen(id), 36);
	assert_int_equal(id[14], '4');
	assert_non_null(strchr("89ab", id[19]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tokens_are_base32_and_differ),
		cmocka_unit_test(test_uuid_is_version_4),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
