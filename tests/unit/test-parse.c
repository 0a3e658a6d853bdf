/* base/parse: reads the whole string within the range, or returns an error and leaves the result unchanged. */
#include <errno.h>

#include "base/parse.h"
#include "tests/unit/unit.h"

#define UNTOUCHED 4711

static void check_u64(const char *s, int want, uint64_t value)
{
	uint64_t got = UNTOUCHED;
	assert_int_equal(parse_u64(s, &got), want);
	assert_true(got == (want < 0 ? UNTOUCHED : value));
}

static void check_size(const char *s, int want, uint64_t value)
{
	uint64_t got = UNTOUCHED;
	assert_int_equal(parse_size(s, &got), want);
	assert_true(got == (want < 0 ? UNTOUCHED : value));
}

static void reads_numbers(void **state)
{
	check_u64("0", 0, 0);
	check_u64("42", 0, 42);
	check_u64("007", 0, 7);
	check_u64("18446744073709551615", 0, UINT64_MAX);
}

static void refuses_text_that_is_not_a_number(void **state)
{
	static const char *const bad[] = { "",	  " ",	  " 1",	 "1 ", "-1",  "+1",  "1.0",
					   "1e3", "0x10", "abc", "1a", "1\n", "\t1", "\xd9\xa1" };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		check_u64(bad[i], -EINVAL, 0);
}

static void refuses_numbers_out_of_range(void **state)
{
	check_u64("18446744073709551616", -ERANGE, 0);
	check_u64("99999999999999999999999999", -ERANGE, 0);
	check_size("18446744073709551616", -ERANGE, 0);
	check_size("18446744073709551615g", -ERANGE, 0);
	check_size("17179869184g", -ERANGE, 0);
}

static void reads_sizes(void **state)
{
	check_size("0", 0, 0);
	check_size("12", 0, 12);
	check_size("12b", 0, 12);
	check_size("1k", 0, 1024);
	check_size("2048m", 0, 2048ull << 20);
	check_size("2G", 0, 2ull << 30);
	check_size("200M", 0, 200ull << 20);
	check_size("17179869183g", 0, 17179869183ull << 30);
}

static void refuses_bad_sizes(void **state)
{
	static const char *const bad[] = { "", "m", "1t", "1mb", "1mm", "1 m", "-1m", "1.5g", "lots", "1\xcd" };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		check_size(bad[i], -EINVAL, 0);
}

static void reads_decimals(void **state)
{
	static const char *const bad[] = { "",	  ".",	 ".5",	"1.", "1.5.0", "-1", "+1",
					   "1e3", "inf", "nan", " 1", "1 ",    "two" };
	double got = UNTOUCHED;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(parse_decimal(bad[i], &got), -EINVAL);
	assert_int_equal(parse_decimal("1.99999999999999999999999", &got), -ERANGE);
	assert_true(got == UNTOUCHED);
	assert_true(parse_decimal("2", &got) == 0 && got == 2);
	assert_true(parse_decimal("0.5", &got) == 0 && got == 0.5);
	assert_true(parse_decimal("16.0625", &got) == 0 && got == 16.0625);
}

static void reads_booleans(void **state)
{
	static const char *const yes[] = { "true", "TRUE", "True", "yes", "on", "On", "1" };
	static const char *const no[] = { "false", "False", "no", "NO", "off", "0" };
	static const char *const bad[] = { "", "2", "maybe", "tru", "true ", " false", "-1", "00" };
	for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
		bool got = false;
		assert_int_equal(parse_bool(yes[i], &got), 0);
		assert_true(got);
	}
	for (size_t i = 0; i < ARRAY_LEN(no); i++) {
		bool got = true;
		assert_int_equal(parse_bool(no[i], &got), 0);
		assert_false(got);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		bool got = true;
		assert_int_equal(parse_bool(bad[i], &got), -EINVAL);
		assert_true(got);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_numbers),
		cmocka_unit_test(refuses_text_that_is_not_a_number),
		cmocka_unit_test(refuses_numbers_out_of_range),
		cmocka_unit_test(reads_sizes),
		cmocka_unit_test(refuses_bad_sizes),
		cmocka_unit_test(reads_decimals),
		cmocka_unit_test(reads_booleans),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
