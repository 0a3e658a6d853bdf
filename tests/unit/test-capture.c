/* kernels/runs/capture: head and count do not depend on how a stream is cut into pieces; and the ring buffer. */
#include "kernels/runs/capture.h"
#include "tests/unit/unit.h"

static void check(size_t limit, size_t total, size_t step)
{
	struct capture c;
	size_t head = 0;
	capture_init(&c, limit);
	for (size_t at = 0; at < total; at += step)
		head += capture_add(&c, MIN(step, total - at));
	assert_int_equal(c.total, total);
	assert_int_equal(head, MIN(total, limit - limit / 2));
	assert_int_equal(capture_past_head(&c), total > head);
	capture_clear(&c);
	assert_int_equal(capture_add(&c, 1), limit > 0);
}

static void any_stream_keeps_its_head(void **state)
{
	static const size_t limits[] = { 0, 1, 2, 3, 100, 1001, 20000 };
	static const size_t totals[] = { 0, 1, 2, 50, 99, 100, 101, 1000, 1001, 20000, 20001, 50000 };
	static const size_t steps[] = { 1, 3, 64, 4096, 65536 };
	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		for (size_t j = 0; j < ARRAY_LEN(totals); j++)
			for (size_t k = 0; k < ARRAY_LEN(steps); k++)
				check(limits[i], totals[j], steps[k]);
}

static void a_ring_counts_the_bytes_that_it_dropped(void **state)
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

static void memory_use_follows_the_output(void **state)
{
	struct ring r = { .max = 4u << 20 };
	ring_add(&r, "x", 1);
	assert_true(r.cap <= 4096);
	ring_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_stream_keeps_its_head),
		cmocka_unit_test(a_ring_counts_the_bytes_that_it_dropped),
		cmocka_unit_test(memory_use_follows_the_output),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
