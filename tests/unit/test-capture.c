/* kernels/capture: head, tail and count, for every way of cutting the same stream into pieces. */
#include "kernels/capture.h"
#include "tests/unit/unit.h"

static void check(size_t limit, size_t total, size_t step)
{
	struct capture c;
	AUTO(buf_release) struct buf whole = { 0 };
	AUTO(buf_release) struct buf head = { 0 };
	AUTO(buf_release) struct buf tail = { 0 };
	for (size_t i = 0; i < total; i++)
		buf_add(&whole, &(uint8_t){ (uint8_t)(i * 7 + i / 251) }, 1);
	capture_init(&c, limit);
	for (size_t at = 0; at < total; at += step) {
		size_t n = MIN(step, total - at);
		buf_add(&head, whole.data + at, capture_add(&c, whole.data + at, n));
	}
	ring_copy(&c.tail, SIZE_MAX, &tail);
	assert_int_equal(c.total, total);
	assert_int_equal(head.len, MIN(total, limit - limit / 2));
	assert_int_equal(tail.len, MIN(total - head.len, limit / 2));
	if (head.len)
		assert_memory_equal(head.data, whole.data, head.len);
	if (tail.len)
		assert_memory_equal(tail.data, whole.data + total - tail.len, tail.len);
	if (total <= limit)
		assert_int_equal(head.len + tail.len, total);
	assert_int_equal(capture_past_head(&c), total > head.len);
	capture_release(&c);
}

static void head_and_tail_of_any_stream(void **state)
{
	static const size_t limits[] = { 0, 1, 2, 3, 100, 1001, 20000 };
	static const size_t totals[] = { 0, 1, 2, 50, 99, 100, 101, 1000, 1001, 20000, 20001, 50000 };
	static const size_t steps[] = { 1, 3, 64, 4096, 65536 };
	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		for (size_t j = 0; j < ARRAY_LEN(totals); j++)
			for (size_t k = 0; k < ARRAY_LEN(steps); k++)
				check(limits[i], totals[j], steps[k]);
}

static void a_ring_says_what_it_lost(void **state)
{
	struct ring r = { .max = 8 };
	AUTO(buf_release) struct buf out = { 0 };
	assert_int_equal(ring_add(&r, "abcdef", 6), 0);
	assert_int_equal(ring_add(&r, "ghij", 4), 2);
	assert_int_equal(ring_add(&r, "0123456789", 10), 10);
	assert_int_equal(ring_add(&r, "", 0), 0);
	ring_copy(&r, 3, &out);
	assert_string_equal(buf_str(&out), "789");
	buf_reset(&out);
	ring_copy(&r, 100, &out);
	assert_string_equal(buf_str(&out), "23456789");
	ring_release(&r);
	assert_int_equal(r.len, 0);
	assert_int_equal(ring_add(&r, "x", 1), 0);
	ring_release(&r);
}

static void memory_follows_the_output(void **state)
{
	struct ring r = { .max = 4u << 20 };
	ring_add(&r, "x", 1);
	assert_true(r.cap <= 4096);
	ring_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(head_and_tail_of_any_stream),
		cmocka_unit_test(a_ring_says_what_it_lost),
		cmocka_unit_test(memory_follows_the_output),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
