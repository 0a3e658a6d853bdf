/* Names that .gitignore files exclude. The cases were compared with `git check-ignore`. */
#include "manager/files/ignore.h"

#include "base/alloc.h"
#include "tests/unit/unit.h"

static bool is_ignored(const char *text, const char *path)
{
	AUTO(ignore_release) struct ignore g = { 0 };
	AUTO(freep) char *copy = xstrdup(path);
	size_t n = strlen(copy);
	bool folder = n && copy[n - 1] == '/';
	copy[n - folder] = '\0';
	ignore_add(&g, text, strlen(text), 0);
	return ignore_matches(&g, copy, folder);
}

static void patterns(void **state)
{
	static const struct {
		const char *text, *path;
		bool ignored;
	} cases[] = {
		{ "*.pyc", "a.pyc", true },
		{ "*.pyc", "x/y/a.pyc", true },
		{ "*.pyc", "a.py", false },
		{ "build/", "build/", true },
		{ "build/", "build", false },
		{ "build/", "x/build/", true },
		{ "/build", "build/", true },
		{ "/build", "x/build/", false },
		{ "a/b", "a/b", true },
		{ "a/b", "x/a/b", false },
		{ "a/*", "a/b", true },
		{ "a/*", "a/b/c", false },
		{ "**/tmp", "tmp/", true },
		{ "**/tmp", "a/b/tmp/", true },
		{ "a/**", "a/b/c", true },
		{ "a/**", "a/", false },
		{ "a/**/z", "a/z", true },
		{ "a/**/z", "a/b/c/z", true },
		{ "a/**/z", "a/b/y", false },
		{ "data?.csv", "data1.csv", true },
		{ "data?.csv", "data10.csv", false },
		{ "data[0-9].csv", "data7.csv", true },
		{ "data[!0-9].csv", "data7.csv", false },
		{ "data[", "data[", false },
		{ "*.log\n!keep.log", "keep.log", false },
		{ "!keep.log\n*.log", "keep.log", true },
		{ "# comment\n\n  \nx", "x", true },
		{ "\\#x", "#x", true },
		{ "\\!x", "!x", true },
		{ "x   ", "x", true },
		{ "x\\ ", "x ", true },
		{ "x\r\ny\r\n", "y", true },
		{ "*a*b*c*d", "xaxbxcxd", true },
		{ "*a*b*c*d", "xaxbxcx", false },
		{ "/", "a", false },
		{ "**a**b**c**d**e**", "abcde", false }, /* more than the limit */
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (is_ignored(cases[i].text, cases[i].path) != cases[i].ignored)
			fail_msg("'%s' and '%s'", cases[i].text, cases[i].path);
}

static void a_folder_has_its_own_rules(void **state)
{
	AUTO(ignore_release) struct ignore g = { 0 };
	ignore_add(&g, "*.txt\n", 6, 0);
	size_t above = g.n;
	ignore_add(&g, "!a.txt\n/b", 9, strlen("sub/"));
	assert_false(ignore_matches(&g, "sub/a.txt", false));
	assert_true(ignore_matches(&g, "sub/c.txt", false));
	assert_true(ignore_matches(&g, "sub/b", false));
	assert_false(ignore_matches(&g, "sub/x/b", false));
	ignore_cut(&g, above);
	assert_true(ignore_matches(&g, "sub/a.txt", false));
	assert_false(ignore_matches(&g, "sub/b", false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns),
		cmocka_unit_test(a_folder_has_its_own_rules),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
