/* base/span: the ends of JSON values, and invalid text. */
#include "base/span.h"

#include "base/buf.h"
#include "tests/unit/unit.h"

static size_t span(const char *s)
{
	return span_value((const uint8_t *)s, strlen(s));
}

/* evidence: loop-work */
static void the_end_of_a_value_is_found(void **state)
{
	static const char *const values[] = { "0",
					      "-1.5e+3",
					      "true",
					      "null",
					      "\"a\\n\\u00e4\"",
					      "[]",
					      "{}",
					      "[1, [2], {}]",
					      "{\"a\": [1]}",
					      "[\"]\", \"}\"]",
					      "1e10",
					      "[[[[]]]]",
					      "[\"\\ud83d\\uDE00 \\udBFF\\udfff \\ud7ff\\ue000\"]",
					      "{\"a\":{\"b\":{}},\"c\":0}" };
	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		AUTO(buf_release) struct buf more = { 0 };
		assert_int_equal(span(values[i]), strlen(values[i]));
		buf_add_str(&more, values[i]);
		buf_add_str(&more, ", 7");
		assert_int_equal(span(buf_str(&more)), strlen(values[i]));
	}
}

static void invalid_json_has_no_span(void **state)
{
	static const char *const bad[] = { "",
					   "[",
					   "[1",
					   "[1,]",
					   "[1 2]",
					   "{1:2}",
					   "{\"a\"}",
					   "{\"a\":}",
					   "{\"a\":1,}",
					   "[}",
					   "01",
					   "1.",
					   "-",
					   "nul",
					   "\"a",
					   "\"\\x\"",
					   "\"\n\"",
					   "\"\xff\"",
					   "[\"\\ud800\"]",
					   "\"\\udc00\"",
					   "\"\\ud800\\ud800\"",
					   "\"\\ud800x\"",
					   "\"\\ud83d\\ue000\"",
					   "{\"a\":1]",
					   "1e" };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(span(bad[i]), 0);
}

/* evidence: loop-work */
static void depth_is_bounded(void **state)
{
	AUTO(buf_release) struct buf deep = { 0 };
	for (int i = 0; i < SPAN_DEPTH_MAX + 1; i++)
		buf_add_str(&deep, "[0,");
	assert_int_equal(span(buf_str(&deep)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_end_of_a_value_is_found),
		cmocka_unit_test(invalid_json_has_no_span),
		cmocka_unit_test(depth_is_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
