/* manager/model/handle: which session an id, a prefix or a name selects. */
#include "tests/unit/unit.h"

#include "base/alloc.h"
#include "manager/model/cause.h"
#include "manager/model/handle.h"

#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_AB "aabbbbbbbbbbbbbbbbbbbbbbbb"
#define ID_C "cccccccccccccccccccccccccc"
#define ID_CD "cddddddddddddddddddddddddd"

static const struct handle handles[] = {
	{ ID_A, "sales", true },
	{ ID_AB, NULL, true },
	{ ID_C, "old", false },
	{ ID_CD, "aab", true },
};

static const char *found(const char *word)
{
	AUTO(fail_release) struct fail f = { 0 };
	size_t at;
	if (handle_find(handles, ARRAY_LEN(handles), word, &at, &f) == 0)
		return handles[at].id;
	return f.kind == FAIL_NOT_FOUND ? "none" : "several";
}

static void ids_names_and_prefixes_are_found(void **state)
{
	assert_string_equal(found(ID_A), ID_A);
	assert_string_equal(found(ID_C), ID_C);
	assert_string_equal(found("sales"), ID_A);
	assert_string_equal(found("aaa"), ID_A);
	assert_string_equal(found("aabb"), ID_AB);
	assert_string_equal(found("aab"), ID_CD);  /* a name comes before a prefix */
	assert_string_equal(found("old"), "none"); /* the session has ended, and its name is free */
	assert_string_equal(found("c"), ID_CD);	   /* live sessions come before ended ones */
	assert_string_equal(found("cc"), ID_C);
	assert_string_equal(found("zz"), "none");
	assert_string_equal(found(""), "none");
}

static void an_ambiguous_prefix_lists_its_matches(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	size_t at;
	assert_int_equal(handle_find(handles, ARRAY_LEN(handles), "a", &at, &f), -1);
	assert_int_equal(f.kind, FAIL_INVALID);
	assert_non_null(strstr(f.message, ID_A " sales, " ID_AB));
	assert_null(strstr(f.message, ID_C));
}

static void names_are_words(void **state)
{
	static const char *const bad[] = { "", "1st", "-x", "a b", "a/b", "é", "x\n", ID_A };
	char longest[HANDLE_NAME_MAX + 2];
	memset(longest, 'a', sizeof(longest));
	longest[HANDLE_NAME_MAX] = '\0';
	assert_true(handle_name_is_valid(longest));
	longest[HANDLE_NAME_MAX] = 'a';
	longest[HANDLE_NAME_MAX + 1] = '\0';
	assert_false(handle_name_is_valid(longest));
	assert_true(handle_name_is_valid("sales-2026.q1_b"));
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(handle_name_is_valid(bad[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_names_and_prefixes_are_found),
		cmocka_unit_test(an_ambiguous_prefix_lists_its_matches),
		cmocka_unit_test(names_are_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
