/* kernels/runs/run and kernels/runs/sender: a run is kept until its ACK, sent once, and replayed to a new
 * controller. */
#include <errno.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "kernels/runs/requests.h"
#include "kernels/runs/sender.h"
#include "kernels/system/frames.h"
#include "tests/unit/unit.h"

struct fixture {
	struct runs runs;
	struct sender sender;
	int fds[2];
	struct buf got;
};

static int set_up(void **state)
{
	struct fixture *x = new0(struct fixture);
	runs_init(&x->runs, /* limits= */ NULL);
	sender_init(&x->sender, &x->runs);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, x->fds) < 0)
		return -1;
	*state = x;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *x = *state;
	sender_release(&x->sender);
	runs_release(&x->runs);
	buf_release(&x->got);
	close(x->fds[0]);
	close(x->fds[1]);
	free(x);
	return 0;
}

static struct run *add(struct fixture *x, uint32_t number, const char *limit)
{
	struct run *c = NULL;
	AUTO(freep) char *payload = xasprintf("{\"code\":\"x\",\"stdout_limit\":%s}", limit);
	assert_int_equal(runs_add(&x->runs, number, RUN_EXECUTE, payload, strlen(payload), &c), 0);
	return c;
}

static void receive(struct fixture *x)
{
	for (ssize_t n; (n = recv(x->fds[1], buf_reserve(&x->got, 65536), 65536, MSG_DONTWAIT)) > 0;)
		x->got.len += (size_t)n;
}

/* Sends and receives until nothing is left; returns the types of the received frames in order. */
static const char *exchange(struct fixture *x)
{
	static char types[4096];
	size_t n = 0;
	buf_reset(&x->got);
	for (int r = 1; r > 0;) {
		r = sender_flush(&x->sender, x->fds[0]);
		assert_true(r >= 0);
		receive(x);
	}
	for (size_t at = 0; at < x->got.len; at += frame_size(x->got.data + at)) {
		uint8_t type = frame_header_read(x->got.data + at).type;
		types[n++] = "?h??EEIAS???????oedrx!vc%OR"[type];
		assert_true(at + frame_size(x->got.data + at) <= x->got.len);
	}
	types[n] = '\0';
	return types;
}

static void ok(struct run *c)
{
	run_end(c, &(struct run_ending){ .ending = "ok" });
}

static void frames_come_in_order_once(void **state)
{
	struct fixture *x = *state;
	struct run *c = add(x, 1, "100");
	run_start(c);
	run_output(c, RUN_STDOUT, "a", 1);
	run_output(c, RUN_STDOUT, "b", 1);
	run_output(c, RUN_STDERR, "c", 1);
	run_structured(c, FRAME_DISPLAY, "{}", 2);
	assert_string_equal(exchange(x), "oed"); /* a and b in one frame */
	run_output(c, RUN_STDOUT, "d", 1);
	run_structured(c, FRAME_RESULT, "{}", 2);
	ok(c);
	assert_string_equal(exchange(x), "or!");
	assert_string_equal(exchange(x), "");
	assert_false(sender_pending(&x->sender));
}

static void sent_frames_are_not_extended(void **state)
{
	struct fixture *x = *state;
	struct run *c = add(x, 1, "100");
	run_start(c);
	run_output(c, RUN_STDOUT, "abc", 3);
	assert_string_equal(exchange(x), "o");
	run_output(c, RUN_STDOUT, "def", 3);
	assert_string_equal(exchange(x), "o");
	assert_int_equal(frame_header_read(x->got.data).length, 3);
	ok(c);
}

static void a_new_controller_gets_all_frames(void **state)
{
	struct fixture *x = *state;
	struct run *first = add(x, 1, "100"), *second = add(x, 2, "100"), *third = add(x, 3, "100");
	run_start(first);
	run_output(first, RUN_STDOUT, "abc", 3);
	ok(first);
	run_start(second);
	run_output(second, RUN_STDERR, "x", 1);
	assert_string_equal(exchange(x), "o!e");
	sender_reset(&x->sender);
	assert_string_equal(exchange(x), "co!cec");
	runs_ack(&x->runs, 1);
	runs_ack(&x->runs, 2); /* it has not ended, so it stays */
	runs_ack(&x->runs, 77);
	assert_int_equal(x->runs.count, 2);
	sender_reset(&x->sender);
	assert_string_equal(exchange(x), "cec");
	ok(second);
	ok(third);
	assert_string_equal(exchange(x), "!!");
}

static void an_ack_in_the_middle_of_a_frame(void **state)
{
	struct fixture *x = *state;
	struct run *c = add(x, 1, "8000000");
	AUTO(freep) char *big = xcalloc(1, 3000000);
	run_start(c);
	run_output(c, RUN_STDOUT, big, 3000000);
	ok(c);
	assert_int_equal(sender_flush(&x->sender, x->fds[0]), 1);
	runs_ack(&x->runs, 1);
	assert_int_equal(x->runs.count, 1);
	struct run *next = add(x, 2, "100");
	run_start(next);
	ok(next);
	/* The current frame is sent completely; the rest of the run, which is no longer wanted, is not. */
	assert_string_equal(exchange(x), "o!");
	assert_int_equal(x->runs.count, 1);
}

static void a_controller_that_disconnects_within_a_frame(void **state)
{
	struct fixture *x = *state;
	struct run *c = add(x, 1, "8000000");
	AUTO(freep) char *big = xcalloc(1, 3000000);
	run_start(c);
	run_output(c, RUN_STDOUT, big, 3000000);
	assert_int_equal(sender_flush(&x->sender, x->fds[0]), 1);
	run_output(c, RUN_STDOUT, "more", 4);
	ok(c);
	receive(x);
	buf_reset(&x->got);
	sender_reset(&x->sender);
	assert_string_equal(exchange(x), "coo!");
	runs_ack(&x->runs, 1);
	assert_int_equal(x->runs.count, 0);
}

static void tails_come_before_the_end(void **state)
{
	struct fixture *x = *state;
	struct run *c = add(x, 1, "10");
	run_start(c);
	run_output(c, RUN_STDOUT, "0123456789abcdef", 16);
	ok(c);
	assert_string_equal(exchange(x), "oO!");
	assert_memory_equal(x->got.data + FRAME_HEADER_SIZE, "01234", 5);
	assert_memory_equal(x->got.data + 2 * FRAME_HEADER_SIZE + 5, "bcdef", 5);
	assert_non_null(strstr(buf_str(&x->got) + 3 * FRAME_HEADER_SIZE + 10, "\"stdout_bytes\":16"));
}

static void show(struct run *c, const char *message, const char *id, bool update)
{
	run_display(c, message, strlen(message), id, update);
}

/* A display after the head is full leaves its place in the tail: a frame without content. */
static void the_tail_marks_the_places_of_displays(void **state)
{
	struct fixture *x = *state;
	struct run *c = add(x, 1, "10");
	run_start(c);
	run_output(c, RUN_STDOUT, "0123456789", 10);
	show(c, "{\"data\":{}}", NULL, false);
	run_output(c, RUN_STDOUT, "ab", 2);
	run_output(c, RUN_STDERR, "e", 1);
	run_output(c, RUN_STDERR, "f", 1); /* joins the piece before it */
	run_output(c, RUN_STDOUT, "c", 1);
	run_output(c, RUN_STDERR, "g", 1); /* does not join */
	ok(c);
	/* Live: the head, the display, stderr twice. Then the tail: "89", "ab", "c" and three places. */
	assert_string_equal(exchange(x), "odeeOOOOOO!");
}

static size_t count(const char *types, char type)
{
	size_t n = 0;
	for (; *types; types++)
		n += *types == type;
	return n;
}

static void an_update_takes_the_place_of_the_last(void **state)
{
	struct fixture *x = *state;
	struct run *c = add(x, 1, "10000");
	run_start(c);
	show(c, "{\"data\":{\"text/plain\":\"0\"}}", "bar", false);
	for (int i = 1; i <= 600; i++) {
		AUTO(freep) char *message = xasprintf("{\"data\":{\"text/plain\":\"%d\"}}", i);
		show(c, message, "bar", true);
		run_output(c, RUN_STDOUT, ".", 1);
		if (i == 300)
			assert_int_equal(count(exchange(x), 'd'), 2);
	}
	ok(c);
	assert_int_equal(c->displays_dropped, 0);
	assert_true(c->displays <= 3);
	assert_int_equal(count(exchange(x), 'd'), 1);
	assert_non_null(memmem(x->got.data, x->got.len, "\"600\"", 5));
	/* The same for a new controller. */
	sender_reset(&x->sender);
	assert_int_equal(count(exchange(x), 'd'), 2);
	assert_null(memmem(x->got.data, x->got.len, "\"599\"", 5));
}

static void cleared_output_is_not_kept(void **state)
{
	struct fixture *x = *state;
	struct run *c = add(x, 1, "10");
	run_start(c);
	for (int i = 0; i < 300; i++) {
		run_clear(c, /* wait= */ true);
		show(c, "{\"data\":{\"text/plain\":\"x\"}}", NULL, false);
		run_output(c, RUN_STDOUT, "0123456789abcdef", 16);
	}
	assert_int_equal(c->displays_dropped, 0);
	run_clear(c, /* wait= */ true); /* nothing follows, so the output stays */
	ok(c);
	assert_string_equal(exchange(x), "ddoO!");
	assert_non_null(memmem(x->got.data, x->got.len, "\"clear\":true", 12));
	assert_non_null(memmem(x->got.data, x->got.len, "\"stdout_bytes\":16", 17));
	c = add(x, 2, "10");
	run_start(c);
	run_output(c, RUN_STDOUT, "abc", 3);
	run_clear(c, /* wait= */ false);
	ok(c);
	assert_string_equal(exchange(x), "d!");
}

static void progress_only_past_the_head_and_not_too_often(void **state)
{
	struct fixture *x = *state;
	struct run *c = add(x, 1, "10");
	run_start(c);
	run_output(c, RUN_STDOUT, "01234", 5);
	exchange(x);
	sender_progress(&x->sender, 100000);
	assert_string_equal(exchange(x), "");
	run_output(c, RUN_STDOUT, "\xc3\xa4", 2);
	sender_progress(&x->sender, 100000);
	assert_string_equal(exchange(x), "%");
	run_output(c, RUN_STDOUT, "x", 1);
	sender_progress(&x->sender, 100499);
	assert_string_equal(exchange(x), "");
	sender_progress(&x->sender, 100500);
	assert_string_equal(exchange(x), "%");
	sender_progress(&x->sender, 200000);
	assert_string_equal(exchange(x), ""); /* nothing new */
	ok(c);
}

/* evidence: pid1-oom */
static void displays_are_bounded(void **state)
{
	struct fixture *x = *state;
	struct run *c = add(x, 1, "10");
	AUTO(freep) char *big = xmalloc(9u << 20);
	memset(big, ' ', 9u << 20);
	run_start(c);
	for (int i = 0; i < 4; i++)
		run_structured(c, FRAME_DISPLAY, big, 9u << 20);
	assert_int_equal(c->displays_dropped, 2);
	for (unsigned i = 0; i < CALL_DISPLAYS_MAX; i++)
		run_structured(c, FRAME_DISPLAY, "{}", 2);
	assert_int_equal(c->displays_dropped, 4);
	run_structured(c, FRAME_ERROR, "{}", 2); /* an error is never dropped */
	assert_int_equal(c->displays_dropped, 4);
	ok(c);
	assert_int_equal(x->runs.display_bytes, 2 * (9u << 20) + 98 * 2 + 2);
	sender_reset(&x->sender);
	runs_ack(&x->runs, 1);
	assert_int_equal(x->runs.display_bytes, 0);
}

/* evidence: pid1-oom */
static void output_of_all_runs_is_bounded(void **state)
{
	enum { CHUNK = 64 << 10, EACH = 16 << 20, CALLS = 32 };
	struct fixture *x = *state;
	AUTO(freep) char *chunk = xmalloc(CHUNK);
	size_t kept = 0;
	memset(chunk, 'x', CHUNK);
	for (uint32_t n = 1; n <= CALLS; n++) {
		struct run *c = add(x, n, "8388608");
		run_start(c);
		for (size_t i = 0; i < EACH / CHUNK; i++) {
			run_output(c, RUN_STDOUT, chunk, CHUNK);
			run_output(c, RUN_STDERR, chunk, CHUNK);
		}
		ok(c);
		kept += c->log.len;
		assert_true(c->log.len >= (size_t)RUN_STREAMS * RUN_OUTPUT_MIN / 2); /* each run keeps at least a part
		                                                                      * of its output */
	}
	assert_true(kept <= RUNS_OUTPUT_BYTES_MAX + (size_t)CALLS * (RUN_STREAMS * RUN_OUTPUT_MIN + 4096));
}

static void run_numbers_rise_and_runs_are_bounded(void **state)
{
	struct fixture *x = *state;
	struct run *c = NULL;
	assert_int_equal(runs_add(&x->runs, 0, RUN_EXECUTE, "{}", 2, &c), -EPROTO);
	assert_int_equal(runs_add(&x->runs, 1, RUN_EXECUTE, "[]", 2, &c), -EPROTO);
	assert_int_equal(runs_add(&x->runs, 1, RUN_EXECUTE, "", 0, &c), -EPROTO);
	assert_int_equal(runs_add(&x->runs, 5, RUN_TERMINAL, "{}", 2, &c), 0);
	assert_int_equal(c->state, RUN_ENDED); /* rejected: it has no command */
	assert_int_equal(runs_add(&x->runs, 5, RUN_TERMINAL, "{}", 2, &c), 1);
	assert_int_equal(runs_add(&x->runs, 4, RUN_TERMINAL, "{}", 2, &c), 1);
	for (uint32_t i = 6; i < 6 + CALLS_MAX - 1; i++)
		add(x, i, "1");
	assert_int_equal(runs_add(&x->runs, 5000, RUN_EXECUTE, "{\"code\":\"\"}", 11, &c), -EBUSY);
	assert_int_equal(x->runs.last_number, 5000);
	assert_int_equal(runs_next(&x->runs, RUN_EXECUTE, 0)->number, 6);
	assert_null(runs_next(&x->runs, RUN_TERMINAL, 0));
}

static void a_queue_is_bounded_by_its_bytes(void **state)
{
	struct fixture *x = *state;
	AUTO(freep) char *cell = xmalloc(CODE_BYTES_MAX + 16);
	struct run *c = NULL;
	size_t len = 0;
	memset(cell, ' ', CODE_BYTES_MAX + 16);
	memcpy(cell, "{\"code\":\"", 9);
	len = CODE_BYTES_MAX;
	memcpy(cell + len - 2, "\"}", 2);
	for (uint32_t n = 1; n <= QUEUE_BYTES_MAX / CODE_BYTES_MAX; n++)
		assert_int_equal(runs_add(&x->runs, n, RUN_EXECUTE, cell, len, &c), 0);
	assert_int_equal(runs_add(&x->runs, 10, RUN_EXECUTE, cell, len, &c), -EBUSY);
	run_start(runs_find(&x->runs, 1));
	ok(runs_find(&x->runs, 1)); /* an ended run no longer counts */
	assert_int_equal(runs_add(&x->runs, 11, RUN_EXECUTE, cell, len, &c), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(frames_come_in_order_once),
		TEST(sent_frames_are_not_extended),
		TEST(a_new_controller_gets_all_frames),
		TEST(an_ack_in_the_middle_of_a_frame),
		TEST(a_controller_that_disconnects_within_a_frame),
		TEST(tails_come_before_the_end),
		TEST(the_tail_marks_the_places_of_displays),
		TEST(an_update_takes_the_place_of_the_last),
		TEST(cleared_output_is_not_kept),
		TEST(progress_only_past_the_head_and_not_too_often),
		TEST(displays_are_bounded),
		TEST(output_of_all_runs_is_bounded),
		TEST(run_numbers_rise_and_runs_are_bounded),
		TEST(a_queue_is_bounded_by_its_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
