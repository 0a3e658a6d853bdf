/* line/run: frames that are sent, frames that are sent again, and runs of a former server that PID 1 replays. Each
 * of these is reported once, complete, and after its end. */
#include "manager/line/run.h"

#include "base/alloc.h"
#include "tests/unit/unit.h"

static struct config config = { .max_stdout_chars = 1000, .max_stderr_chars = 1000 };

struct bench {
	struct loop *loop;
	struct dispatch d;
	struct buf sent;
	struct run_waiter waiter; /* a run of ours, whose result carries reports */
	uint32_t call;
	struct run_result told;
	struct fail failed;
	unsigned ends;
};

static struct bench b;

static void keep_frames(struct dispatch *d, const struct buf *frames)
{
	buf_add(&b.sent, frames->data, frames->len);
}

static int set_up(void **state)
{
	b = (struct bench){ .loop = loop_new() };
	dispatch_init(&b.d, b.loop, &config, keep_frames);
	b.d.open = true;
	return 0;
}

static int tear_down(void **state)
{
	runs_release(&b.d);
	assert_null(b.waiter.run);
	dispatch_release(&b.d);
	buf_release(&b.sent);
	run_result_release(&b.told);
	fail_release(&b.failed);
	loop_free(b.loop);
	return 0;
}

static int feed(enum frame_type type, uint32_t call, const char *payload)
{
	struct wire_frame frame = {
		.type = (uint8_t)type, .call = call, .payload = (const uint8_t *)payload, .n = strlen(payload)
	};
	return runs_frame(&b.d, &frame);
}

/* How many frames of this type and call were sent, or are about to be. */
static unsigned sent(enum frame_type type, uint32_t call)
{
	unsigned n = 0;
	dispatch_flush(&b.d);
	for (size_t at = 0; at < b.sent.len;) {
		struct frame_header h = frame_header_read(b.sent.data + at);
		n += h.type == type && h.call == call;
		at += FRAME_HEADER_SIZE + h.length;
	}
	return n;
}

static void replay(uint32_t call, const char *out, bool ended)
{
	assert_int_equal(feed(FRAME_CALL, call, "{\"kind\":\"execute\",\"state\":\"running\"}"), 0);
	assert_int_equal(feed(FRAME_OUT, call, out), 0);
	if (ended)
		assert_int_equal(feed(FRAME_END, call, "{\"ending\":\"ok\",\"duration_ms\":5}"), 0);
}

/* PID 1's first hello names a run of an earlier server. */
static void inherit(uint32_t call, enum run_kind kind)
{
	struct wire_hello hello = { .calls = { { .number = call, .kind = kind } }, .n_calls = 1 };
	runs_inherit(&b.d, &hello);
	b.d.last_call = call;
}

static void on_end(struct run_waiter *w, struct run_result *result, const struct fail *f)
{
	b.ends++;
	run_result_release(&b.told);
	fail_release(&b.failed);
	if (f)
		fail_copy(&b.failed, f);
	if (!result)
		return;
	b.told = *result;
	*result = (struct run_result){ 0 };
}

static void start_with(struct run_spec spec)
{
	AUTO(fail_release) struct fail f = { 0 };
	b.waiter = (struct run_waiter){ .on_end = on_end };
	if (!spec.text) {
		spec.text = "1";
		spec.len = 1;
	}
	if (!spec.timeout_seconds)
		spec.timeout_seconds = 30;
	b.call = run_start(&b.d, &spec, &b.waiter, &f);
	assert_int_not_equal(b.call, 0);
}

static void start(void)
{
	start_with((struct run_spec){ .wait_ms = RUN_WAIT_FOR_END });
}

/* Runs a cell from start to end; its result carries all pending reports. */
static void run_one(void)
{
	start();
	assert_int_equal(feed(FRAME_END, b.call, "{\"ending\":\"ok\"}"), 0);
}

static void earlier_runs_are_reported_once(void **state)
{
	inherit(3, RUN_CODE);
	inherit(5, RUN_CODE);
	b.d.last_call = 7;
	replay(3, "three", true);
	replay(5, "five", false);
	assert_true(runs_busy(&b.d));

	run_one();
	assert_int_equal(b.told.n_earlier, 2);
	assert_int_equal(b.told.earlier[0].seq, 3);
	assert_true(b.told.earlier[0].ended);
	assert_string_equal(b.told.earlier[0].result.stdout_text, "three");
	assert_int_equal(b.told.earlier[1].seq, 5);
	assert_false(b.told.earlier[1].ended);
	/* Only reported runs are acknowledged. */
	assert_int_equal(sent(FRAME_ACK, 3), 1);
	assert_int_equal(sent(FRAME_ACK, 5), 0);

	assert_int_equal(feed(FRAME_OUT, 5, " and six"), 0);
	assert_int_equal(feed(FRAME_END, 5, "{\"ending\":\"error\"}"), 0);
	assert_false(runs_busy(&b.d));
	run_one();
	assert_int_equal(b.told.n_earlier, 1);
	assert_string_equal(b.told.earlier[0].result.stdout_text, "five and six");
	assert_int_equal(b.told.earlier[0].result.ending, ENDING_ERROR);
	assert_int_equal(sent(FRAME_ACK, 5), 1);
	run_one();
	assert_int_equal(b.told.n_earlier, 0);
}

/* The acknowledgement and the frame are sent in one write, so PID 1 wakes up once. */
static void an_acknowledgement_is_sent_with_the_next_frame(void **state)
{
	run_one();
	buf_reset(&b.sent);
	start();
	struct frame_header first = frame_header_read(b.sent.data);
	assert_int_equal(first.type, FRAME_ACK);
	assert_int_equal(first.call, 1);
	assert_int_equal(frame_header_read(b.sent.data + FRAME_HEADER_SIZE).type, FRAME_EXECUTE);

	/* Without another frame the acknowledgement is sent alone. */
	assert_int_equal(feed(FRAME_END, b.call, "{\"ending\":\"ok\"}"), 0);
	buf_reset(&b.sent);
	loop_skip(b.loop, 10);
	assert_int_equal(frame_header_read(b.sent.data).type, FRAME_ACK);

	/* The number of waiting acknowledgements is limited, and those of a broken connection are dropped. */
	run_one();
	dispatch_drop_acks(&b.d);
	buf_reset(&b.sent);
	for (uint32_t i = 100; i < 104; i++)
		dispatch_ack(&b.d, i);
	assert_int_equal(b.sent.len, 4 * FRAME_HEADER_SIZE);
}

/* The connection broke before the report, so PID 1 sends the output from the start. */
static void a_replay_replaces_the_output(void **state)
{
	inherit(1, RUN_CODE);
	replay(1, "once", true);
	replay(1, "once", true);
	run_one();
	assert_int_equal(b.told.n_earlier, 1);
	assert_string_equal(b.told.earlier[0].result.stdout_text, "once");
}

static void unknown_and_refused_runs_are_acknowledged_and_dropped(void **state)
{
	inherit(2, RUN_TERMINAL);
	/* A run that this server abandoned. */
	assert_int_equal(feed(FRAME_CALL, 3, "{\"kind\":\"execute\"}"), 0);
	assert_int_equal(feed(FRAME_OUT, 3, "x"), 0);
	assert_int_equal(feed(FRAME_END, 3, "{\"ending\":\"ok\"}"), 0);
	assert_int_equal(sent(FRAME_ACK, 3), 1);
	/* A run that PID 1 refused: nothing ran. */
	assert_int_equal(feed(FRAME_CALL, 2, "{\"kind\":\"terminal\"}"), 0);
	assert_true(runs_busy(&b.d));
	assert_int_equal(feed(FRAME_END, 2, "{\"ending\":\"refused\"}"), 0);
	assert_int_equal(sent(FRAME_ACK, 2), 1);
	b.d.last_call = 3;
	run_one();
	assert_int_equal(b.told.n_earlier, 0);
}

static void a_late_frame_or_an_invalid_mark_breaks_the_protocol(void **state)
{
	inherit(1, RUN_CODE);
	replay(1, "done", true);
	assert_true(feed(FRAME_OUT, 1, "more") < 0);
	start();
	assert_true(feed(FRAME_MARK, b.call, "{\"mark\":0,\"state\":\"running\"}") < 0);
	assert_true(feed(FRAME_MARK, b.call, "[]") < 0);
}

static void runs_unknown_to_pid_1_are_sent_again(void **state)
{
	b.d.open = false;
	start();
	assert_int_equal(sent(FRAME_EXECUTE, 1), 0);
	b.d.open = true;
	runs_resume(&b.d, /* last_known= */ 0);
	assert_int_equal(sent(FRAME_EXECUTE, 1), 1);
	/* PID 1 knows the run now and will replay it. */
	runs_resume(&b.d, 1);
	assert_int_equal(sent(FRAME_EXECUTE, 1), 1);
	assert_int_equal(feed(FRAME_CALL, 1, "{}"), 0);
	assert_int_equal(feed(FRAME_END, 1, "{\"ending\":\"ok\"}"), 0);
	assert_int_equal(b.ends, 1);
	assert_int_equal(sent(FRAME_ACK, 1), 1);
}

static void a_refused_run_has_not_begun(void **state)
{
	start();
	assert_int_equal(feed(FRAME_END, 1, "{\"ending\":\"refused\",\"detail\":\"too many\"}"), 0);
	assert_int_equal(b.failed.kind, FAIL_BUSY);
	assert_int_equal(b.failed.cause, CAUSE_QUEUE_FULL);
	assert_string_equal(b.failed.message, "too many");
}

static void an_abandoned_run_is_interrupted_and_not_reported(void **state)
{
	start_with((struct run_spec){ .kind = RUN_TERMINAL, .wait_ms = RUN_WAIT_FOR_END });
	run_abandon(&b.waiter);
	assert_int_equal(sent(FRAME_INTERRUPT, 1), 1);
	assert_int_equal(feed(FRAME_END, 1, "{\"ending\":\"interrupted\"}"), 0);
	assert_int_equal(sent(FRAME_ACK, 1), 1);
	assert_int_equal(b.ends, 0);
	assert_false(runs_busy(&b.d));
}

static void a_cut_run_keeps_its_output(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	start();
	assert_int_equal(feed(FRAME_OUT, 1, "half"), 0);
	cause_set(&f, FAIL_DIED, CAUSE_OOM, "no memory");
	runs_cut(&b.d, ENDING_CONTAINER_DIED, &f);
	assert_int_equal(b.ends, 1);
	assert_int_equal(b.told.ending, ENDING_CONTAINER_DIED);
	assert_int_equal(b.told.cause, CAUSE_OOM);
	assert_string_equal(b.told.detail, "no memory");
	assert_string_equal(b.told.stdout_text, "half");
}

static void an_oversized_run_is_rejected_before_it_is_sent(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	assert_int_equal(run_start(&b.d, &(struct run_spec){ .text = "\xff", .len = 1 }, &b.waiter, &f), 0);
	assert_int_equal(f.cause, CAUSE_TOO_LONG);
	struct run_spec large = { .text = "x", .len = CODE_BYTES_MAX + 1 };
	assert_int_equal(run_start(&b.d, &large, &b.waiter, &f), 0);
	assert_int_equal(f.cause, CAUSE_TOO_LONG);
	assert_int_equal(b.d.last_call, 0);
	assert_int_equal(b.sent.len, 0);
}

/* --- runs that outlive their call ---------------------------------------------------------------------------------- */

static void stop_loop(void *ctx)
{
	loop_stop(ctx, 0);
}

/* Runs the loop until all due timers have fired. */
static void turn(void)
{
	struct timer *t = timer_new(b.loop, stop_loop, b.loop);
	timer_start(t, 5, 0);
	loop_run(b.loop);
	timer_free(t);
}

static void mark(uint32_t call, unsigned number)
{
	AUTO(freep) char *payload = xasprintf(
		"{\"mark\":%u,\"state\":\"running\",\"duration_ms\":7,\"stdout_bytes\":0,\"stderr_bytes\":0}", number);
	assert_int_equal(feed(FRAME_MARK, call, payload), 0);
}

/* A run whose caller stopped waiting after its first piece. */
static void start_kept(const char *out)
{
	start_with((struct run_spec){ .wait_ms = 0 });
	assert_int_equal(feed(FRAME_OUT, b.call, out), 0);
	turn();
	assert_int_equal(sent(FRAME_TAKE, b.call), 1);
	assert_int_equal(b.ends, 0);
	mark(b.call, 1);
	assert_int_equal(b.ends, 1);
}

static void join(uint32_t call, uint64_t wait_ms)
{
	AUTO(fail_release) struct fail f = { 0 };
	b.waiter = (struct run_waiter){ .on_end = on_end };
	assert_int_equal(run_join(&b.d, call, wait_ms, &b.waiter, &f), 0);
}

static void a_wait_that_times_out_returns_the_output_so_far(void **state)
{
	start_kept("one");
	assert_int_equal(b.told.ending, ENDING_RUNNING);
	assert_int_equal(b.told.run, 1);
	assert_int_equal(b.told.duration_ms, 7);
	assert_string_equal(b.told.stdout_text, "one");
	assert_int_equal(sent(FRAME_ACK, 1), 1);
	assert_true(runs_busy(&b.d));

	/* The next wait returns only new output, and an end that came in between. */
	assert_int_equal(feed(FRAME_OUT, 1, "two"), 0);
	assert_int_equal(feed(FRAME_END, 1, "{\"ending\":\"ok\"}"), 0);
	assert_int_equal(sent(FRAME_ACK, 1), 1);
	join(1, 1000);
	assert_int_equal(b.ends, 1);
	turn();
	assert_int_equal(b.ends, 2);
	assert_int_equal(b.told.ending, ENDING_OK);
	assert_string_equal(b.told.stdout_text, "two");
	assert_int_equal(sent(FRAME_ACK, 1), 2);

	AUTO(fail_release) struct fail f = { 0 };
	assert_int_equal(run_join(&b.d, 1, 0, &b.waiter, &f), -1);
	assert_int_equal(f.cause, CAUSE_RUN_TOLD);
	assert_int_equal(run_join(&b.d, 2, 0, &b.waiter, &f), -1);
	assert_int_equal(f.cause, CAUSE_NO_RUN);
}

static void an_end_without_a_waiter_is_reported_once(void **state)
{
	start_kept("one");
	run_one();
	assert_int_equal(b.told.n_earlier, 1);
	assert_false(b.told.earlier[0].ended);
	assert_int_equal(feed(FRAME_OUT, 1, "rest"), 0);
	assert_int_equal(feed(FRAME_END, 1, "{\"ending\":\"error\"}"), 0);
	run_one();
	assert_int_equal(b.told.n_earlier, 1);
	assert_true(b.told.earlier[0].ended);
	assert_string_equal(b.told.earlier[0].result.stdout_text, "rest");
	run_one();
	assert_int_equal(b.told.n_earlier, 0);
}

static void a_run_has_one_waiter_at_a_time(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	start();
	struct run_waiter second = { .on_end = on_end };
	assert_int_equal(run_join(&b.d, 1, 0, &second, &f), -1);
	assert_int_equal(f.cause, CAUSE_RUN_WAITED);
}

/* The acknowledgement of a piece was lost with its connection. */
static void delivered_output_is_not_repeated_after_a_replay(void **state)
{
	start_kept("one");
	runs_resume(&b.d, 1);
	assert_int_equal(feed(FRAME_CALL, 1, "{\"kind\":\"execute\",\"state\":\"running\",\"told\":0}"), 0);
	assert_int_equal(feed(FRAME_OUT, 1, "one"), 0);
	mark(1, 1);
	assert_int_equal(sent(FRAME_ACK, 1), 2);
	assert_int_equal(feed(FRAME_OUT, 1, "two"), 0);
	assert_int_equal(feed(FRAME_END, 1, "{\"ending\":\"ok\"}"), 0);
	join(1, 0);
	turn();
	assert_string_equal(b.told.stdout_text, "two");
}

/* The wait was cancelled while its output was being fetched. */
static void output_of_a_cancelled_wait_is_kept(void **state)
{
	start_with((struct run_spec){ .wait_ms = 0 });
	assert_int_equal(feed(FRAME_OUT, 1, "one"), 0);
	turn();
	run_leave(&b.waiter);
	mark(1, 1);
	assert_int_equal(b.ends, 0);
	assert_int_equal(sent(FRAME_ACK, 1), 0);
	assert_int_equal(feed(FRAME_ERROR, 1, "{\"type\":\"E\"}"), 0);
	join(1, 0);
	turn();
	mark(1, 2);
	assert_string_equal(b.told.stdout_text, "one");
	assert_string_equal(b.told.error_type, "E");
	assert_int_equal(sent(FRAME_ACK, 1), 1);
}

static void a_wait_ends_without_a_connection(void **state)
{
	start_with((struct run_spec){ .wait_ms = 0 });
	assert_int_equal(feed(FRAME_OUT, 1, "one"), 0);
	b.d.open = false;
	turn();
	assert_int_equal(b.ends, 1);
	assert_int_equal(b.told.ending, ENDING_RUNNING);
	assert_string_equal(b.told.stdout_text, "");
	b.d.open = true;
	runs_resume(&b.d, 1);
	replay(1, "one and more", true);
	join(1, 0);
	turn();
	assert_string_equal(b.told.stdout_text, "one and more");
}

/* If a run is queued behind one that no call waits for, a call with wait 0 is answered although the run has not
 * begun. */
static void a_run_queued_behind_a_kept_run_is_reported(void **state)
{
	start_kept("one");
	start_with((struct run_spec){ .wait_ms = 0 });
	turn();
	assert_int_equal(feed(FRAME_MARK, 2, "{\"mark\":1,\"state\":\"queued\",\"behind\":1}"), 0);
	assert_int_equal(b.told.ending, ENDING_RUNNING);
	assert_true(b.told.queued);
	assert_int_equal(b.told.behind, 1);
	assert_int_equal(b.told.n_earlier, 1);

	/* The next results report the queued run, and say whether an earlier one did. */
	for (int i = 0; i < 2; i++) {
		start_with((struct run_spec){ .kind = RUN_TERMINAL, .wait_ms = RUN_WAIT_FOR_END });
		assert_int_equal(feed(FRAME_END, b.call, "{\"ending\":\"ok\"}"), 0);
		assert_int_equal(b.told.n_earlier, 2);
		assert_true(b.told.earlier[1].seq == 2 && b.told.earlier[1].queued);
		assert_int_equal(b.told.earlier[1].queue_reported, i);
	}
}

/* The end of the run ahead is unknown, so the client gets an answer at once and can decide to wait. */
static void a_run_queued_behind_a_client_is_reported(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct run_waiter client = { .on_end = on_end, .client = 1 }, other = { .on_end = on_end, .client = 2 };
	struct run_spec spec = { .timeout_seconds = 7200, .wait_ms = RUN_WAIT_FOR_END, .text = "1", .len = 1 };
	assert_int_equal(run_start(&b.d, &spec, &client, &f), 1);
	start();
	assert_int_equal(run_start(&b.d, &spec, &other, &f), 3);
	loop_skip(b.loop, 30000);
	assert_int_equal(sent(FRAME_TAKE, 2), 1);
	assert_int_equal(sent(FRAME_TAKE, 3), 0);
	assert_int_equal(feed(FRAME_MARK, 2, "{\"mark\":1,\"state\":\"queued\",\"behind\":1}"), 0);
	assert_true(b.told.queued);
	assert_int_equal(b.told.behind, 1);
	assert_int_equal(b.told.n_earlier, 0);
	runs_end_client(&b.d, 1);
	assert_int_equal(sent(FRAME_INTERRUPT, 1), 1);
	runs_end_client(&b.d, 2);
}

/* A client has given up silently. The next call reports that the old run still runs, and can join it. */
static void a_long_run_without_a_reader_is_reported(void **state)
{
	for (enum run_kind kind = RUN_CODE; kind <= RUN_TERMINAL; kind++) {
		AUTO(fail_release) struct fail f = { 0 };
		struct run_waiter gone = { .on_end = on_end };
		struct run_spec spec = {
			.kind = kind, .timeout_seconds = 300, .wait_ms = RUN_WAIT_FOR_END, .text = "1", .len = 1
		};
		uint32_t old = run_start(&b.d, &spec, &gone, &f);
		assert_int_equal(feed(FRAME_OUT, old, "one"), 0);
		start_with((struct run_spec){ .kind = !kind, .wait_ms = RUN_WAIT_FOR_END });
		assert_int_equal(feed(FRAME_END, b.call, "{\"ending\":\"ok\"}"), 0);
		assert_int_equal(b.told.n_earlier, 0);
		loop_skip(b.loop, 60000);

		start_with((struct run_spec){ .kind = !kind, .wait_ms = RUN_WAIT_FOR_END });
		assert_int_equal(feed(FRAME_END, b.call, "{\"ending\":\"ok\"}"), 0);
		assert_int_equal(b.told.n_earlier, 1);
		assert_int_equal(b.told.earlier[0].seq, old);
		assert_int_equal(b.told.earlier[0].kind, kind);
		assert_false(b.told.earlier[0].ended);
		assert_in_range(b.told.earlier[0].age_ms, 60000, 70000);

		spec.timeout_seconds = 200;
		start_with(spec);
		uint32_t queued = b.call;
		loop_skip(b.loop, 1000);
		assert_int_equal(sent(FRAME_TAKE, queued), 1);
		AUTO(freep) char *behind = xasprintf("{\"mark\":1,\"state\":\"queued\",\"behind\":%u}", old);
		assert_int_equal(feed(FRAME_MARK, queued, behind), 0);
		assert_int_equal(b.told.ending, ENDING_RUNNING);
		assert_int_equal(b.told.behind, old);
		assert_int_equal(b.told.n_earlier, 1);
		join(old, 1000);
		assert_null(gone.run);
		assert_int_equal(b.told.ending, ENDING_RUNNING);
		assert_string_equal(b.told.stdout_text, "");
		assert_int_equal(feed(FRAME_END, old, "{\"ending\":\"ok\"}"), 0);
		assert_string_equal(b.told.stdout_text, "one");
		join(queued, 1000);
		assert_int_equal(feed(FRAME_END, queued, "{\"ending\":\"ok\"}"), 0);
	}
}

/* The client of the first run timed out or cancelled, and then only sends its next call. */
static void a_run_queued_behind_an_abandoned_run_is_reported(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct run_waiter gone = { .on_end = on_end };
	struct run_spec spec = { .timeout_seconds = 30, .wait_ms = RUN_WAIT_FOR_END, .text = "1", .len = 1 };
	assert_int_equal(run_start(&b.d, &spec, &gone, &f), 1);
	loop_skip(b.loop, 6000);
	start_with(spec);
	loop_skip(b.loop, 1000);
	assert_int_equal(feed(FRAME_MARK, 2, "{\"mark\":1,\"state\":\"queued\",\"behind\":1}"), 0);
	assert_true(b.told.queued && b.told.behind == 1 && !b.told.behind_prompts);
	assert_true(run_is_waited(&b.d, 1));
}

/* --- runs that ask ------------------------------------------------------------------------------------------------ */

#define ASKS "{\"state\":\"waiting\",\"interactive\":true,\"inputs\":%d,\"prompt\":\"Name? \"%s}"

static void feed_prompt(enum frame_type type, uint32_t call, int inputs, const char *more)
{
	AUTO(freep) char *payload = xasprintf(ASKS, inputs, more);
	assert_int_equal(feed(type, call, payload), 0);
}

static void wait_for_end(unsigned number) /* the terminal is a process of its own */
{
	while (b.ends < number)
		turn();
}

static void start_asking(enum run_kind kind)
{
	unsigned before = b.ends;
	start_with((struct run_spec){ .kind = kind, .wait_ms = 60000, .interactive = true });
	assert_int_equal(feed(FRAME_OUT, b.call, "one\n"), 0);
	feed_prompt(FRAME_PROMPT, b.call, 0, ",\"password\":true");
	turn();
	assert_int_equal(sent(FRAME_TAKE, b.call), 1);
	feed_prompt(FRAME_MARK, b.call, 0, ",\"mark\":1,\"password\":true");
	wait_for_end(before + 1);
	assert_int_equal(b.told.ending, ENDING_WAITING);
	assert_string_equal(b.told.stdout_text, "one\n");
	assert_string_equal(b.told.prompt, "Name? ");
	assert_true(b.told.password);
}

static int answer(const char *text, struct fail *f)
{
	return run_input(&b.d, b.call, text, strlen(text), f);
}

static void a_prompt_is_answered_once(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	start_asking(RUN_CODE);
	/* A caller that joins again is answered at once. */
	join(1, 60000);
	turn();
	feed_prompt(FRAME_MARK, 1, 0, ",\"mark\":2");
	assert_int_equal(b.ends, 2);
	assert_int_equal(b.told.ending, ENDING_WAITING);
	assert_int_equal(answer("Bob", &f), 0);
	assert_int_equal(sent(FRAME_INPUT, 1), 1);
	assert_int_equal(answer("again", &f), -1);
	assert_int_equal(f.cause, CAUSE_NO_PROMPT);
	join(1, 60000);
	feed_prompt(FRAME_PROMPT, 1, 0, ""); /* PID 1 sent it before it had the answer */
	turn();
	assert_int_equal(b.ends, 2);
	assert_int_equal(feed(FRAME_END, 1, "{\"ending\":\"ok\"}"), 0);
	assert_int_equal(b.told.ending, ENDING_OK);
}

/* The answer is sent again until PID 1 confirms it, and a new server knows it. */
static void an_answer_survives_a_broken_connection(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	start_asking(RUN_CODE);
	b.d.open = false;
	assert_int_equal(answer("Bob", &f), 0);
	assert_int_equal(sent(FRAME_INPUT, 1), 0);
	b.d.open = true;
	runs_resume(&b.d, 1);
	assert_int_equal(sent(FRAME_INPUT, 1), 1);
	feed_prompt(FRAME_CALL, 1, 0, ",\"kind\":\"execute\",\"told\":1");
	assert_int_equal(answer("not asked", &f), -1);
	feed_prompt(FRAME_PROMPT, 1, 1, "");
	runs_resume(&b.d, 1);
	assert_int_equal(sent(FRAME_INPUT, 1), 1);
	assert_int_equal(answer("second", &f), 0);
	assert_int_equal(sent(FRAME_INPUT, 1), 2);
}

static void a_prompt_of_a_former_servers_run_is_reported(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	inherit(4, RUN_TERMINAL);
	b.call = 4;
	feed_prompt(FRAME_CALL, 4, 2, ",\"kind\":\"terminal\",\"rows\":10,\"cols\":30");
	run_one();
	assert_int_equal(b.told.n_earlier, 1);
	assert_true(b.told.earlier[0].waits_for_input);
	b.call = 4;
	join(4, 60000);
	turn();
	assert_int_equal(feed(FRAME_OUT, 4, "\x1b[1mbold\x1b[0m? "), 0);
	feed_prompt(FRAME_MARK, 4, 2, ",\"mark\":1");
	wait_for_end(2);
	assert_int_equal(b.told.ending, ENDING_WAITING);
	assert_string_equal(b.told.stdout_text, "bold?\n");
	assert_int_equal(answer("y", &f), 0);
	assert_non_null(memmem(b.sent.data, b.sent.len, "{\"number\":3,\"text\":\"y\\r\"}", 25));
}

static void joining_a_prompting_command_waits_for_new_output(void **state)
{
	start_asking(RUN_TERMINAL);
	join(1, 60000);
	turn();
	assert_int_equal(sent(FRAME_TAKE, 1), 1);
	feed_prompt(FRAME_PROMPT, 1, 0, "");
	turn();
	assert_int_equal(sent(FRAME_TAKE, 1), 2);
}

static void input_for_a_run_that_takes_none_is_rejected(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	assert_int_equal(run_input(&b.d, 7, "x", 1, &f), -1);
	assert_int_equal(f.cause, CAUSE_NO_RUN);
	start_kept("one");
	assert_int_equal(answer("x", &f), -1);
	assert_int_equal(f.cause, CAUSE_NOT_INTERACTIVE);
	assert_int_equal(feed(FRAME_END, 1, "{\"ending\":\"ok\"}"), 0);
	assert_int_equal(answer("x", &f), -1);
	assert_int_equal(f.cause, CAUSE_NO_PROMPT);
	start_asking(RUN_TERMINAL);
	AUTO(freep) char *much = xcalloc(1, 70000);
	memset(much, 'x', 69999);
	assert_int_equal(answer(much, &f), -1);
	assert_int_equal(f.cause, CAUSE_INPUT_SIZE);
	join(b.call, 60000);
	assert_int_equal(answer("x", &f), -1);
	assert_int_equal(f.cause, CAUSE_RUN_WAITED);
	assert_int_equal(sent(FRAME_INPUT, b.call), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(earlier_runs_are_reported_once),
		TEST(an_acknowledgement_is_sent_with_the_next_frame),
		TEST(a_replay_replaces_the_output),
		TEST(unknown_and_refused_runs_are_acknowledged_and_dropped),
		TEST(a_late_frame_or_an_invalid_mark_breaks_the_protocol),
		TEST(runs_unknown_to_pid_1_are_sent_again),
		TEST(a_refused_run_has_not_begun),
		TEST(an_abandoned_run_is_interrupted_and_not_reported),
		TEST(a_cut_run_keeps_its_output),
		TEST(an_oversized_run_is_rejected_before_it_is_sent),
		TEST(a_wait_that_times_out_returns_the_output_so_far),
		TEST(an_end_without_a_waiter_is_reported_once),
		TEST(a_run_has_one_waiter_at_a_time),
		TEST(delivered_output_is_not_repeated_after_a_replay),
		TEST(output_of_a_cancelled_wait_is_kept),
		TEST(a_wait_ends_without_a_connection),
		TEST(a_run_queued_behind_a_kept_run_is_reported),
		TEST(a_run_queued_behind_a_client_is_reported),
		TEST(a_long_run_without_a_reader_is_reported),
		TEST(a_run_queued_behind_an_abandoned_run_is_reported),
		TEST(a_prompt_is_answered_once),
		TEST(an_answer_survives_a_broken_connection),
		TEST(a_prompt_of_a_former_servers_run_is_reported),
		TEST(joining_a_prompting_command_waits_for_new_output),
		TEST(input_for_a_run_that_takes_none_is_rejected),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
