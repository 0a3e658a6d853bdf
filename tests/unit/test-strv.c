/* base/strv: argument vectors that end in NULL. */
#include "base/strv.h"
#include "tests/unit/unit.h"

static void is_never_null(void **state)
{
	AUTO(strv_release) struct strv v = { 0 };
	assert_non_null(strv_argv(&v));
	assert_null(strv_argv(&v)[0]);
	strv_add(&v, "later");
	assert_string_equal(strv_argv(&v)[0], "later");
	assert_null(strv_argv(&v)[1]);
}

static void owns_its_strings(void **state)
{
	AUTO(strv_release) struct strv v = { 0 };
	char word[] = "word";
	strv_add(&v, word);
	word[0] = 'W';
	assert_string_equal(v.v[0], "word");
}

static void adds_in_order(void **state)
{
	AUTO(strv_release) struct strv v = { 0 };
	strv_add_all(&v, "a", "", "c", NULL);
	strv_addf(&v, "%s=%d", "d", 4);
	strv_add_all(&v, NULL);
	assert_int_equal(v.n, 4);
	static const char *const want[] = { "a", "", "c", "d=4" };
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		assert_string_equal(v.v[i], want[i]);
	assert_null(v.v[4]);
}

static void can_be_long(void **state)
{
	AUTO(strv_release) struct strv v = { 0 };
	for (int i = 0; i < 5000; i++)
		strv_addf(&v, "%d", i);
	assert_int_equal(v.n, 5000);
	assert_string_equal(v.v[4999], "4999");
	assert_null(v.v[5000]);
	strv_release(&v);
	assert_int_equal(v.n, 0);
	assert_null(v.v);
}

/* Only a sanitized build can fail here, because every realloc moves the block there. */
static void grows_by_doubling(void **state)
{
	AUTO(strv_release) struct strv v = { 0 };
	unsigned moves = 0;
	for (int i = 0; i < 5000; i++) {
		char **before = v.v;
		strv_add(&v, "x");
		moves += v.v != before;
	}
	assert_in_range(moves, 1, 14);
	/* The same after the vector has shrunk. */
	while (v.n > 3)
		strv_remove(&v, v.n - 1);
	for (int i = 0; i < 100; i++)
		strv_add(&v, "y");
	assert_int_equal(v.n, 103);
	assert_string_equal(v.v[102], "y");
	assert_null(v.v[103]);
}

static void a_variable_replaces_its_namesake(void **state)
{
	AUTO(strv_release) struct strv env = { 0 };
	strv_add_all(&env, "PATH=/bin", "PATHS=1", NULL);
	strv_set_env(&env, "PATH=/usr/bin");
	strv_set_env(&env, "PAT=x");
	static const char *const want[] = { "PATH=/usr/bin", "PATHS=1", "PAT=x" };
	assert_int_equal(env.n, ARRAY_LEN(want));
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		assert_string_equal(env.v[i], want[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_never_null),     cmocka_unit_test(owns_its_strings),
		cmocka_unit_test(adds_in_order),     cmocka_unit_test(can_be_long),
		cmocka_unit_test(grows_by_doubling), cmocka_unit_test(a_variable_replaces_its_namesake),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
