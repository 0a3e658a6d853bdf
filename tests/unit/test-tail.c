/* kernels/runs/tail: the end of both streams in one order, with the places of parts that came live. */
#include "kernels/runs/tail.h"

#include "tests/unit/unit.h"

static void show(void *ctx, uint8_t tag, const void *data, size_t n)
{
	struct buf *out = ctx;
	if (tag == TAIL_PLACE)
		buf_add_str(out, "* ");
	else
		buf_printf(out, "%u'%.*s' ", tag, (int)n, (const char *)data);
}

static void expect(const struct tail *t, const char *want)
{
	AUTO(buf_release) struct buf out = { 0 };
	tail_each(t, show, &out);
	assert_string_equal(buf_str(&out), want);
}

static void add(struct tail *t, uint8_t stream, const char *text)
{
	tail_add(t, stream, text, strlen(text));
}

static void keeps_the_order_of_both_streams(void **state)
{
	AUTO(tail_release) struct tail t = { .bytes = { .max = 10 } };
	tail_place(&t);
	expect(&t, "");
	assert_true(tail_at_place(&t));
	add(&t, 0, "ab");
	add(&t, 0, "c");
	add(&t, 1, "de");
	assert_false(tail_at_place(&t));
	tail_place(&t);
	assert_true(tail_at_place(&t));
	add(&t, 0, "f");
	expect(&t, "0'abc' 1'de' * 0'f' ");
	assert_int_equal(tail_bytes(&t, 0), 4);
	/* The oldest text is dropped first, and each place with the text before it. */
	add(&t, 1, "ghijk");
	expect(&t, "0'bc' 1'de' * 0'f' 1'ghijk' ");
	tail_place(&t);
	add(&t, 0, "lmno");
	expect(&t, "* 0'f' 1'ghijk' * 0'lmno' ");
	add(&t, 0, "0123456789ABCDEF");
	expect(&t, "0'6789ABCDEF' ");
	tail_release(&t);
	expect(&t, "");
}

static void switching_for_every_byte_is_bounded(void **state)
{
	AUTO(tail_release) struct tail t = { .bytes = { .max = 1u << 20 } };
	for (unsigned i = 0; i < 5 * TAIL_RUNS_MAX; i++) {
		add(&t, i & 1, "x");
		if (i % 3 == 0)
			tail_place(&t);
	}
	assert_true(t.cap <= 4 * TAIL_RUNS_MAX && t.n_runs == TAIL_RUNS_MAX);
	assert_int_equal(tail_bytes(&t, 0) + tail_bytes(&t, 1), t.bytes.len);
}

static void without_room_nothing_is_kept(void **state)
{
	AUTO(tail_release) struct tail t = { 0 };
	add(&t, 0, "abc");
	tail_place(&t);
	add(&t, 1, "abc");
	assert_int_equal(tail_bytes(&t, 0) + tail_bytes(&t, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_the_order_of_both_streams),
		cmocka_unit_test(switching_for_every_byte_is_bounded),
		cmocka_unit_test(without_room_nothing_is_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
