/* cli/repl/matches: completion with the Tab key if several names match. */
#include "cli/repl/matches.h"

#include "tests/unit/unit.h"

#include "base/alloc.h"

static void common(const char *want, const char *const *names)
{
	AUTO(strv_release) struct strv matches = { 0 };
	for (; *names; names++)
		strv_add(&matches, *names);
	AUTO(freep) char *got = matches_common(&matches);
	assert_string_equal(got, want);
}
#define NAMES(...) ((const char *const[]){ __VA_ARGS__ __VA_OPT__(, ) NULL })

static void finds_the_common_prefix(void **state)
{
	common("", NAMES());
	common("alone", NAMES("alone"));
	common("is", NAMES("isdir", "isfile", "is"));
	common("", NAMES("a", "b"));
	common("x", NAMES("xé", "xè")); /* they share a byte, but no character */
}

static void columns(const char *want, size_t width, size_t rows)
{
	AUTO(strv_release) struct strv matches = { 0 };
	for (const char *const *name = NAMES("a", "bb", "é", "d", "e"); *name; name++)
		strv_add(&matches, *name);
	AUTO(freep) char *got = matches_columns(&matches, width, rows);
	assert_string_equal(got, want);
}

static void lists_matches_in_columns(void **state)
{
	columns("a   bb  é   d   e\n", 80, 5);
	columns("a   d\nbb  e\né\n", 8, 5);
	columns("a\nbb\né\nd\ne\n", 1, 5);
	columns("a\nbb\n… and 3 more\n", 1, 2);
}

static void file(const char *line, size_t begin)
{
	assert_int_equal(matches_file_begin(line, strlen(line)), begin);
}

static void finds_names_of_files(void **state)
{
	file("open('da", 6);
	file("$ ls data/o", 5);
	file("x", 0);
	file("", 0);
	file("f(path=\"/tmp/a", 8);
}

static void command(const char *begin, const char *want)
{
	AUTO(freep) char *got = matches_file_command(begin, strlen(begin));
	assert_memory_equal(got, want, strlen(want));
}

static void quotes_names_for_the_shell(void **state)
{
	command("da", "compgen -f -- 'da' ");
	command("$(reboot)", "compgen -f -- '$(reboot)' ");
	command("it's", "compgen -f -- 'it'\\''s' ");
	command("~/x", "compgen -f -- '~/x' ");
	command("~", "compgen -f -- '~/' ");
	command("~x", "compgen -f -- '~x' ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_common_prefix),
		cmocka_unit_test(lists_matches_in_columns),
		cmocka_unit_test(finds_names_of_files),
		cmocka_unit_test(quotes_names_for_the_shell),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
