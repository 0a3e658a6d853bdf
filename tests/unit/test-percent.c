#include "base/percent.h"

#include "base/alloc.h"
#include "tests/unit/unit.h"

static void check_decoded(const char *text, size_t n, const char *expected)
{
	AUTO(freep) char *decoded = percent_decode(text, n);
	assert_string_equal(decoded, expected);
}

static void test_decoding_keeps_malformed_escapes(void **state)
{
	check_decoded("a%20b%C3%A9%2f", 14, "a b\xc3\xa9/");
	check_decoded("%", 1, "%");
	check_decoded("%4", 2, "%4");
	check_decoded("%4g%g4%%41", 10, "%4g%g4%A");
	check_decoded("%41", 2, "%4"); /* the escape ends behind the n bytes */
	check_decoded("a%00b", 5, "ab");
	assert_int_equal(percent_byte("%fF", 3), 255);
	assert_int_equal(percent_byte("%00", 3), 0);
	assert_int_equal(percent_byte("a41", 3), -1);
}

static void test_encoding_escapes_reserved_bytes(void **state)
{
	AUTO(buf_release) struct buf out = { 0 };
	percent_encode(&out, "a b/é?~", /* keep_slash= */ true);
	percent_encode(&out, "/-._Z9\n\xff", /* keep_slash= */ false);
	assert_string_equal(buf_str(&out), "a%20b/%C3%A9%3F~%2F-._Z9%0A%FF");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decoding_keeps_malformed_escapes),
		cmocka_unit_test(test_encoding_escapes_reserved_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
