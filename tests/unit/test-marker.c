/* Environment markers of requirements, from the table that `packaging` evaluates too (tests/e2e/test_run.py). */
#include "cli/marker.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "cli/pep440.h"
#include "tests/unit/unit.h"

static const char *answer(const char *marker)
{
	AUTO(fail_release) struct fail f = { 0 };
	int applies = marker_applies(marker, "3.13", &f);
	if (applies >= 0)
		return applies ? "yes" : "no";
	return strstr(f.message, "is unknown before the session starts") ? "maybe" : "bad";
}

static void table(void **state)
{
	AUTO(freep) char *path = xasprintf("%s/tests/golden/markers.txt", getenv("HUSK_SOURCE_ROOT"));
	FILE *file = fopen(path, "re");
	char line[512];
	unsigned n = 0;
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		size_t end = strcspn(line, " \t");
		if (*line == '#')
			continue;
		const char *got = answer(line + end);
		if (strlen(got) != end || strncmp(got, line, end) != 0)
			fail_msg("%s: got %s", line, got);
		n++;
	}
	fclose(file);
	assert_true(n > 90);
}

static void bounds(void **state)
{
	AUTO(buf_release) struct buf deep = { 0 }, lengthy = { 0 };
	for (int i = 0; i < 33; i++)
		buf_printf(&deep, "(");
	buf_printf(&deep, "os_name == 'posix'");
	for (int i = 0; i < 33; i++)
		buf_printf(&deep, ")");
	assert_string_equal(answer(buf_str(&deep)), "bad");
	AUTO(freep) char *less = xstrndup(buf_str(&deep) + 1, deep.len - 2);
	assert_string_equal(answer(less), "yes");
	/* Only nested pairs count as depth, not pairs side by side. */
	for (int i = 0; i < 100; i++)
		buf_printf(&lengthy, "(os_name == 'posix') and ");
	buf_printf(&lengthy, "os_name == 'posix'");
	assert_string_equal(answer(buf_str(&lengthy)), "yes");
	for (int i = 0; i < 200; i++)
		buf_printf(&lengthy, " and os_name == 'posix'");
	assert_string_equal(answer(buf_str(&lengthy)), "bad");
	assert_string_equal(answer("os_name == '\\x41'"), "bad");
	assert_string_equal(answer("os_name == sys_platform"), "bad");
}

/* Cases of PEP 440: each version is smaller than the next. */
static void versions(void **state)
{
	static const char *const ordered[] = {
		"0.9",		 "1.dev0",	  "1.0.dev456",	  "1.0a1", "1.0a2.dev456",
		"1.0a12.dev456", "1.0a12",	  "1.0b1.dev456", "1.0b2", "1.0b2.post345.dev456",
		"1.0b2.post345", "1.0rc1.dev456", "1.0c1",	  "1.0",   "1.0.post456.dev34",
		"1.0.post456",	 "1.1.dev1",	  "1.10",	  "1!0.1"
	};
	for (size_t i = 0; i < ARRAY_LEN(ordered); i++) {
		for (size_t k = 0; k < ARRAY_LEN(ordered); k++) {
			assert_int_equal(pep440_meets(ordered[i], "<=", ordered[k]), i <= k);
			assert_int_equal(pep440_meets(ordered[i], ">=", ordered[k]), i >= k);
			assert_int_equal(pep440_meets(ordered[i], "==", ordered[k]), i == k);
		}
	}
	/* A pre-release of 3.1 does not satisfy <3.1, and a post-release of 1.7 does not satisfy >1.7. */
	assert_int_equal(pep440_meets("3.1.dev0", "<", "3.1"), 0);
	assert_int_equal(pep440_meets("3.1.dev0", "<", "3.1rc1"), 1);
	assert_int_equal(pep440_meets("1.7.0.post1", ">", "1.7"), 0);
	assert_int_equal(pep440_meets("1.7.1", ">", "1.7.post2"), 1);
	assert_int_equal(pep440_meets("1.7+x", ">", "1.7"), 0);
	assert_int_equal(pep440_meets("1.7+Ubuntu-1", "==", "1.7+ubuntu.1"), 1);
	assert_int_equal(pep440_meets("1.7+x", "==", "1.7"), 1);
	assert_int_equal(pep440_meets("2.2.post3", "~=", "2.2.post3"), 1);
	assert_int_equal(pep440_meets("3.0", "~=", "2.2"), 0);
	assert_int_equal(pep440_meets("1.4.5a4", "~=", "1.4.5a4"), 1);
	assert_int_equal(pep440_meets("1.1", "==", "1.1.0.*"), 1);
	assert_int_equal(pep440_meets("1.1a1", "==", "1.1.*"), 1);
	assert_int_equal(pep440_meets("1.1", ">=", "1.*"), -1);
	assert_int_equal(pep440_meets("1.1", "=>", "1"), -1);
	assert_int_equal(pep440_meets("1.1", ">=", "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0"), -1);
	assert_int_equal(pep440_meets("1.1", ">=", "1.1111111111111111111"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table),
		cmocka_unit_test(bounds),
		cmocka_unit_test(versions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
