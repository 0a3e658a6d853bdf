/* base/table: keys of any bytes are found, and the first value of a key stays. */
#include "base/table.h"

#include "tests/unit/unit.h"

static void finds_what_was_added(void **state)
{
	struct table t = { 0 };
	size_t bytes = 0;
	assert_null(table_find(&t, "", 0));
	for (uint32_t i = 0; i < 10000; i++) {
		uint32_t key = i * 2654435761u;
		assert_true(table_add(&t, &key, i % 2 ? 4 : 3, &i, sizeof(i)) || i % 2 == 0);
	}
	for (uint32_t i = 1; i < 10000; i += 2) {
		uint32_t key = i * 2654435761u, value;
		memcpy(&value, table_find(&t, &key, 4), sizeof(value));
		assert_int_equal(value, i);
	}
	bytes = t.bytes;
	assert_true(table_add(&t, "", 0, "empty", 5));
	assert_false(table_add(&t, "", 0, "again", 5));
	assert_string_equal(table_find(&t, "", 0), "empty");
	assert_null(table_find(&t, "none", 4));
	assert_int_equal(t.bytes, bytes + 5);
	table_release(&t);
	assert_null(table_find(&t, "", 0));
	assert_int_equal(t.n, 0);
	table_release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(finds_what_was_added) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
