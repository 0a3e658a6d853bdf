/* base/buf: growth, the hard maximum, and the state after it is reached. */
#include <errno.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "tests/unit/unit.h"

static void adds_and_terminates(void **state)
{
	AUTO(buf_release) struct buf b = { 0 };
	assert_string_equal(buf_str(&b), "");
	assert_int_equal(buf_add(&b, "ab", 2), 0);
	assert_int_equal(buf_add_str(&b, "cd"), 0);
	assert_int_equal(buf_printf(&b, "-%d-%s", 7, "x"), 0);
	assert_int_equal(b.len, 8);
	assert_string_equal(buf_str(&b), "abcd-7-x");
	assert_int_equal(b.len, 8); /* the NUL is not counted */
}

static void adds_numbers(void **state)
{
	AUTO(buf_release) struct buf b = { 0 };
	buf_add_int(&b, 0);
	buf_add_int(&b, INT64_MAX);
	buf_add_int(&b, INT64_MIN);
	assert_string_equal(buf_str(&b), "09223372036854775807-9223372036854775808");
}

/* 255 characters and the NUL fill the first block. */
static void formats_text_of_any_length(void **state)
{
	for (int n = 250; n < 260; n++) {
		AUTO(buf_release) struct buf b = { 0 };
		assert_int_equal(buf_printf(&b, "%0*d%s", n, 7, "end"), 0);
		assert_int_equal(b.len, n + 3);
		assert_string_equal(buf_str(&b) + n - 2, "07end");
	}
}

static void adds_empty_data(void **state)
{
	AUTO(buf_release) struct buf b = { 0 };
	assert_int_equal(buf_add(&b, NULL, 0), 0);
	assert_int_equal(b.len, 0);
}

static void keeps_bytes_with_nuls(void **state)
{
	AUTO(buf_release) struct buf b = { 0 };
	assert_int_equal(buf_add(&b, "a\0b", 3), 0);
	assert_int_equal(b.len, 3);
	assert_memory_equal(buf_str(&b), "a\0b\0", 4);
}

static void adds_all_or_nothing_at_the_maximum(void **state)
{
	AUTO(buf_release) struct buf b = { .max = 4 };
	assert_int_equal(buf_add(&b, "abc", 3), 0);
	assert_int_equal(buf_add(&b, "de", 2), -ENOBUFS);
	assert_int_equal(b.len, 3);
	assert_int_equal(buf_add(&b, "d", 1), 0); /* a buffer may be exactly full */
	assert_int_equal(buf_add(&b, "e", 1), -ENOBUFS);
	assert_int_equal(buf_printf(&b, "%d", 1), -ENOBUFS);
	assert_string_equal(buf_str(&b), "abcd"); /* the NUL does not count against the maximum */
	assert_null(buf_reserve(&b, 1));
	assert_non_null(buf_reserve(&b, 0));
}

static void refuses_absurd_sizes(void **state)
{
	AUTO(buf_release) struct buf b = { 0 };
	buf_add_str(&b, "x");
	assert_null(buf_reserve(&b, SIZE_MAX));
	assert_null(buf_reserve(&b, SIZE_MAX / 2));
	assert_int_equal(b.len, 1);
}

static void grows_to_large_sizes(void **state)
{
	AUTO(buf_release) struct buf b = { 0 };
	for (int i = 0; i < 100000; i++)
		assert_int_equal(buf_add(&b, "0123456789", 10), 0);
	assert_int_equal(b.len, 1000000);
	assert_memory_equal(b.data + 999990, "0123456789", 10);
}

static void reserve_gives_room_at_the_end(void **state)
{
	AUTO(buf_release) struct buf b = { 0 };
	buf_add_str(&b, "ab");
	uint8_t *at = buf_reserve(&b, 1000);
	assert_ptr_equal(at, b.data + 2);
	memset(at, 'c', 1000);
	b.len += 1000;
	assert_int_equal(strlen(buf_str(&b)), 1002);
}

static void consumes_from_the_front(void **state)
{
	AUTO(buf_release) struct buf b = { 0 };
	buf_add_str(&b, "abcdef");
	buf_consume(&b, 0);
	assert_string_equal(buf_str(&b), "abcdef");
	buf_consume(&b, 2);
	assert_string_equal(buf_str(&b), "cdef");
	buf_consume(&b, 100);
	assert_int_equal(b.len, 0);
	buf_consume(&b, 1);
	assert_int_equal(b.len, 0);
}

static void steals_and_starts_again(void **state)
{
	AUTO(buf_release) struct buf b = { .max = 10 };
	buf_add_str(&b, "abc");
	AUTO(freep) char *s = buf_steal_str(&b);
	assert_string_equal(s, "abc");
	assert_int_equal(b.len, 0);
	assert_null(b.data);
	assert_int_equal(b.max, 10); /* the bound stays */
	AUTO(freep) char *empty = buf_steal_str(&b);
	assert_string_equal(empty, "");
	assert_int_equal(buf_add_str(&b, "0123456789a"), -ENOBUFS);
}

static void reset_keeps_memory_release_does_not(void **state)
{
	struct buf b = { .max = 100 };
	buf_add_str(&b, "abc");
	buf_reset(&b);
	assert_int_equal(b.len, 0);
	assert_non_null(b.data);
	buf_release(&b);
	assert_null(b.data);
	assert_int_equal(b.max, 100);
	buf_release(&b); /* may be called twice */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adds_and_terminates),		 cmocka_unit_test(adds_numbers),
		cmocka_unit_test(formats_text_of_any_length),	 cmocka_unit_test(adds_empty_data),
		cmocka_unit_test(keeps_bytes_with_nuls),	 cmocka_unit_test(adds_all_or_nothing_at_the_maximum),
		cmocka_unit_test(refuses_absurd_sizes),		 cmocka_unit_test(grows_to_large_sizes),
		cmocka_unit_test(reserve_gives_room_at_the_end), cmocka_unit_test(consumes_from_the_front),
		cmocka_unit_test(steals_and_starts_again),	 cmocka_unit_test(reset_keeps_memory_release_does_not),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
