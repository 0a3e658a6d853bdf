#include "cli/cp-names.h"

#include "base/alloc.h"
#include "tests/unit/unit.h"

static void test_sessions_in_words(void **state)
{
	static const struct {
		const char *word, *session, *path;
	} cases[] = {
		{ "sales:data.csv", "sales", "data.csv" },
		{ "kq3v:", "kq3v", "" },
		{ "s:~/a:b", "s", "~/a:b" },
		{ "./a:b", NULL, NULL },
		{ "/tmp/a:b", NULL, NULL },
		{ ":a", NULL, NULL },
		{ "data.csv", NULL, NULL },
		{ "", NULL, NULL },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(freep) char *session = NULL;
		const char *path = cp_split(cases[i].word, &session);
		assert_int_equal(path == NULL, cases[i].path == NULL);
		if (path) {
			assert_string_equal(path, cases[i].path);
			assert_string_equal(session, cases[i].session);
		}
	}
}

static void take(const char *const *words, bool in, const char *destination, size_t n)
{
	struct cp_names names = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	assert_int_equal(cp_names_take(words, &names, &f), 0);
	assert_int_equal(names.in, in);
	assert_int_equal(names.n, n);
	assert_string_equal(names.session, "s");
	assert_string_equal(names.destination, destination);
	free(names.session);
}

static void refuse(const char *const *words)
{
	struct cp_names names = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	assert_int_equal(cp_names_take(words, &names, &f), -1);
	assert_int_equal(f.kind, FAIL_INVALID);
	assert_null(names.session);
}

static void test_directions(void **state)
{
	take((const char *const[]){ "a", "b", "s:~/x", NULL }, true, "~/x", 2);
	take((const char *const[]){ "s:a", "s:b", ".", NULL }, false, ".", 2);
	refuse((const char *const[]){ NULL });
	refuse((const char *const[]){ "s:a", NULL });
	refuse((const char *const[]){ "a", "b", NULL });
	refuse((const char *const[]){ "s:a", "s:b", NULL });
	refuse((const char *const[]){ "s:a", "b", "c", NULL });
	refuse((const char *const[]){ "b", "s:a", "c", NULL });
	refuse((const char *const[]){ "s:a", "t:b", "c", NULL });
}

static void test_places_in_a_session(void **state)
{
	static const struct {
		const char *path, *base;
		bool content, many;
		const char *place;
	} cases[] = {
		{ "", "a.csv", false, false, "/workspace/a.csv" }, { "b.csv", "a.csv", false, false, "b.csv" },
		{ "data/", "a.csv", false, false, "data/a.csv" },  { "data", "a.csv", false, true, "data/a.csv" },
		{ "~", "a.csv", false, false, "~/a.csv" },	   { ".", "~", false, false, "./~" },
		{ "/tmp", "folder", false, false, "/tmp/folder" }, { "", "folder", true, false, "/workspace" },
		{ "new", "folder", true, false, "new" },	   { "data/", "folder", true, true, "data/" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		bool may_be_folder;
		AUTO(freep) char *place =
			cp_place(cases[i].path, cases[i].base, cases[i].content, cases[i].many, &may_be_folder);
		assert_string_equal(place, cases[i].place);
		/* The session is asked only if there is one source and the path may be a file or a folder. */
		assert_int_equal(may_be_folder, streq(cases[i].path, "b.csv"));
	}
	assert_true(cp_is_content(".") && cp_is_content("a/."));
	assert_false(cp_is_content("a.") || cp_is_content("") || cp_is_content(".."));
	AUTO(freep) char *base = cp_base("/a/b//");
	assert_string_equal(base, "b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sessions_in_words),
		cmocka_unit_test(test_directions),
		cmocka_unit_test(test_places_in_a_session),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
