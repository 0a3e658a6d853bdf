/* base/shape: the cost of parsing a JSON text. */
#include "base/shape.h"

#include "tests/unit/unit.h"

static void is(const char *json, size_t depth, size_t containers, size_t values)
{
	struct shape s = shape_of(json, strlen(json));
	if (s.depth != depth || s.containers != containers || s.values != values)
		fail_msg("%s: depth %zu, %zu containers, %zu values", json, s.depth, s.containers, s.values);
}

static void counts_values_and_depth(void **state)
{
	is("", 0, 0, 1);
	is("7", 0, 0, 1);
	is("{\"a\": [1, 2, {}], \"b\": []}", 3, 4, 4);
	is("[[],[],[]]", 2, 4, 3);
}

static void skips_strings(void **state)
{
	is("[\"{[,\", \"\\\"[\", \"\\\\\"]", 1, 1, 3);
	is("\"[", 0, 0, 1); /* never ends */
	is("\"\\", 0, 0, 1);
}

static void unbalanced_text_does_not_underflow(void **state)
{
	is("]]]]{", 1, 1, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_values_and_depth),
		cmocka_unit_test(skips_strings),
		cmocka_unit_test(unbalanced_text_does_not_underflow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
