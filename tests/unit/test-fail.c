/* base/fail: messages are replaced, prefixed, moved and copied without leaks (ASan checks). */
#include "base/fail.h"
#include "tests/unit/unit.h"

static void sets_and_replaces(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	assert_int_equal(fail_set(&f, FAIL_ENGINE, "no '%s'", "docker"), -1);
	assert_int_equal(f.kind, FAIL_ENGINE);
	assert_string_equal(f.message, "no 'docker'");
	assert_null(f.hint);
	assert_int_equal(fail_hint(&f, "install %s", "it"), -1);
	assert_string_equal(f.hint, "install it");
	assert_int_equal(fail_set(&f, FAIL_LIMIT, "other"), -1);
	assert_int_equal(f.kind, FAIL_LIMIT);
	assert_string_equal(f.message, "other");
	assert_null(f.hint); /* a new failure does not inherit the old advice */
}

static void a_message_may_quote_itself(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	fail_set(&f, FAIL_INTERNAL, "one");
	fail_set(&f, FAIL_INTERNAL, "two after %s", f.message);
	assert_string_equal(f.message, "two after one");
	fail_hint(&f, "a");
	fail_hint(&f, "%s and b", f.hint);
	assert_string_equal(f.hint, "a and b");
	fail_wrap(&f, "%s", f.message);
	assert_string_equal(f.message, "two after one: two after one");
}

static void wraps(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	fail_set(&f, FAIL_TIMEOUT, "too slow");
	fail_hint(&f, "wait");
	assert_int_equal(fail_wrap(&f, "session '%s'", "s1"), -1);
	assert_string_equal(f.message, "session 's1': too slow");
	assert_int_equal(f.kind, FAIL_TIMEOUT);
	assert_string_equal(f.hint, "wait");
}

static void wraps_an_empty_failure(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	fail_wrap(&f, "outer");
	assert_string_equal(f.message, "outer: failed");
}

static void moves_and_copies(void **state)
{
	AUTO(fail_release) struct fail a = { 0 }, b = { 0 }, c = { 0 };
	fail_set(&a, FAIL_IMAGE, "gone");
	fail_hint(&a, "build it");
	fail_set(&b, FAIL_BUSY, "old");
	fail_copy(&c, &a);
	fail_move(&b, &a);
	assert_int_equal(a.kind, FAIL_NONE);
	assert_null(a.message);
	assert_int_equal(b.kind, FAIL_IMAGE);
	assert_string_equal(b.message, "gone");
	assert_string_equal(c.message, "gone");
	assert_string_equal(c.hint, "build it");
	assert_ptr_not_equal(b.message, c.message);
	fail_copy(&c, &a); /* copying an empty failure clears the target */
	assert_int_equal(c.kind, FAIL_NONE);
	assert_null(c.message);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets_and_replaces),
		cmocka_unit_test(a_message_may_quote_itself),
		cmocka_unit_test(wraps),
		cmocka_unit_test(wraps_an_empty_failure),
		cmocka_unit_test(moves_and_copies),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
