/* base/trace: which values of traceparent are accepted. */
#include "base/trace.h"
#include "tests/unit/unit.h"

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN "00f067aa0ba902b7"

static void accepts_only_the_form_of_version_00(void **state)
{
	static const struct {
		const char *text;
		bool valid;
	} cases[] = {
		{ "00-" TRACE "-" SPAN "-01", true },
		{ "00-" TRACE "-" SPAN "-00", true },
		{ "", false },
		{ "00-" TRACE "-" SPAN, false },
		{ "01-" TRACE "-" SPAN "-01", false },
		{ "00-" TRACE "-" SPAN "-01-extra", false },
		{ "00-00000000000000000000000000000000-" SPAN "-01", false },
		{ "00-" TRACE "-0000000000000000-01", false },
		{ "00-4BF92F3577B34DA6A3CE929D0E0E4736-" SPAN "-01", false },
		{ "00-" TRACE "_" SPAN "-01", false },
		{ "00-" TRACE "-" SPAN "-0g", false },
		{ "00-" TRACE "\n" SPAN "-01", false },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(trace_is_valid(cases[i].text), cases[i].valid);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(accepts_only_the_form_of_version_00) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
