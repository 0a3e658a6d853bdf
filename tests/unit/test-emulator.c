/* line/emulator: a terminal in a process that may be lost, and the answers that wait for it. */
/* evidence: emulator */
#include "manager/line/emulator.h"

#include <signal.h>

#include "base/alloc.h"
#include "manager/line/run.h"
#include "tests/unit/unit.h"

#define RESET_AND_FILL                                                                                                 \
	"\x1b"                                                                                                         \
	"c\x1b#8"

static struct config config = { .max_stdout_chars = 10000, .max_stderr_chars = 1000 };

static struct {
	struct loop *loop;
	struct emulator *e;
	unsigned shown;
	char *text, *prompt, *trouble;
	bool application_keys;
	/* For tests with a run. */
	struct dispatch d;
	struct run_waiter waiter;
	unsigned ends;
	struct run_result told;
} b;

static void forget(void)
{
	free(b.text);
	free(b.prompt);
	free(b.trouble);
	b.text = b.prompt = b.trouble = NULL;
}

static void on_shown(void *ctx, const struct shown_screen *screen)
{
	forget();
	b.shown++;
	b.text = screen->text ? xstrdup(screen->text) : NULL;
	b.prompt = screen->prompt ? xstrdup(screen->prompt) : NULL;
	b.trouble = screen->trouble ? xstrdup(screen->trouble) : NULL;
	b.application_keys = screen->application_keys;
	loop_stop(b.loop, 0);
}

static void swallow_frames(struct dispatch *d, const struct buf *frames)
{
}

static int set_up(void **state)
{
	memset(&b, 0, sizeof(b));
	signal(SIGPIPE, SIG_IGN);
	b.loop = loop_new();
	dispatch_init(&b.d, b.loop, &config, swallow_frames);
	b.d.open = true;
	return 0;
}

static int tear_down(void **state)
{
	runs_release(&b.d);
	dispatch_release(&b.d);
	run_result_release(&b.told);
	emulator_free(b.e);
	forget();
	loop_free(b.loop);
	return 0;
}

static void start(const char *program, int rows, int cols)
{
	b.e = emulator_new(&(struct emulator_spec){
		.loop = b.loop, .program = program, .rows = rows, .cols = cols, .on_shown = on_shown });
}

static void feed(const void *bytes, size_t n)
{
	unsigned before = b.shown;
	emulator_feed(b.e, bytes, n);
	assert_true(emulator_busy(b.e));
	loop_run(b.loop);
	assert_int_equal(b.shown, before + 1);
	assert_false(emulator_busy(b.e));
}

static void shows(const char *bytes, const char *want)
{
	feed(bytes, strlen(bytes));
	assert_null(b.trouble);
	assert_string_equal(b.text, want);
}

static void fails(const char *bytes, size_t n, const char *why)
{
	feed(bytes, n);
	assert_non_null(b.trouble);
	assert_non_null(strstr(b.trouble, why));
}

static void bytes_become_screens(void **state)
{
	start(NULL, 4, 20);
	shows("one\r\nName? ", "one\nName?\n");
	assert_string_equal(b.prompt, "Name?");
	assert_false(b.application_keys);
	shows("Bob\x1b[?1h", "Name? Bob\n");
	assert_true(b.application_keys);
	emulator_reset(b.e);
	shows("anew", "anew\n");
}

static void a_feed_over_the_limit_leaves_an_empty_screen(void **state)
{
	AUTO(buf_release) struct buf bytes = { 0 };
	start(NULL, 200, 500);
	shows("before", "before\n");
	for (int i = 0; i < 2000; i++)
		buf_add_str(&bytes, RESET_AND_FILL);
	uint64_t began = loop_now_ms();
	fails((char *)bytes.data, bytes.len, "too long");
	assert_true(loop_now_ms() - began < 3000);
	shows("after", "after\n");
}

static void bytes_beyond_the_limit_of_a_feed_are_left_out(void **state)
{
	size_t n = 5u << 20;
	char *much = xcalloc(1, n);
	memset(much, '\a', n);
	memcpy(much + n - 4, "end.", 4);
	start(NULL, 4, 20);
	feed(much, n);
	free(much);
	assert_null(b.trouble);
	assert_non_null(strstr(b.text, "bytes left out"));
	assert_non_null(strstr(b.text, "end."));
}

static void a_failed_emulator_loses_only_the_screen(void **state)
{
	start("/nonexistent", 4, 20);
	fails("x", 1, "cannot be started");
	b.e = emulator_free(b.e);
	start("false", 4, 20);
	fails("x", 1, "failed");
	b.e = emulator_free(b.e);
	start("yes", 4, 20);
	fails("x", 1, "protocol");
}

/* evidence: loop-work */
static void a_hanging_emulator_is_killed(void **state)
{
	start("sleep", 1000, 1000);
	emulator_feed(b.e, "x", 1);
	loop_skip(b.loop, 3000);
	assert_int_equal(b.shown, 1);
	assert_non_null(strstr(b.trouble, "in time"));
}

/* --- reports of a run ------------------------------------------------------------------------------------------------ */

static void on_end(struct run_waiter *w, struct run_result *result, const struct fail *f)
{
	assert_null(f);
	run_result_release(&b.told);
	b.told = *result;
	*result = (struct run_result){ 0 };
	b.ends++;
	loop_stop(b.loop, 0);
}

static uint32_t begin(enum run_kind kind, uint64_t wait_ms)
{
	AUTO(fail_release) struct fail f = { 0 };
	b.waiter = (struct run_waiter){ .on_end = on_end };
	return run_start(&b.d,
			 &(struct run_spec){ .kind = kind,
					     .wait_ms = wait_ms,
					     .timeout_seconds = 30,
					     .text = "x",
					     .len = 1,
					     .interactive = kind == RUN_TERMINAL },
			 &b.waiter, &f);
}

static void frame(enum frame_type type, uint32_t call, const char *payload)
{
	const struct wire_frame f = {
		.type = (uint8_t)type, .call = call, .payload = (const uint8_t *)payload, .n = strlen(payload)
	};
	assert_int_equal(runs_frame(&b.d, &f), 0);
}

static void ends(unsigned number, enum ending ending, const char *text)
{
	if (b.ends < number)
		loop_run(b.loop);
	assert_int_equal(b.ends, number);
	assert_int_equal(b.told.ending, ending);
	assert_string_equal(b.told.stdout_text, text);
	assert_null(b.told.raw);
}

#define END_OK "{\"ending\":\"ok\"}"

static void an_end_is_reported_after_its_screen_is_drawn(void **state)
{
	uint32_t call = begin(RUN_TERMINAL, 60000);
	frame(FRAME_OUT, call, "\x1b[1mone\x1b[0m\r\n");
	frame(FRAME_END, call, END_OK);
	assert_int_equal(b.ends, 0);
	ends(1, ENDING_OK, "one\n");
	call = begin(RUN_TERMINAL, 60000);
	frame(FRAME_END, call, END_OK);
	ends(2, ENDING_OK, "");
}

static void a_kept_run_is_reported_with_its_screen(void **state)
{
	uint32_t kept = begin(RUN_TERMINAL, 60000);
	frame(FRAME_OUT, kept, "\x1b[1mone\x1b[0m\r\n");
	run_leave(&b.waiter);
	frame(FRAME_END, kept, END_OK);
	frame(FRAME_END, begin(RUN_CODE, RUN_WAIT_FOR_END), END_OK);
	ends(1, ENDING_OK, "");
	assert_int_equal(b.told.n_earlier, 1);
	assert_true(b.told.earlier[0].ended);
	assert_string_equal(b.told.earlier[0].result.stdout_text, "one\n");
}

/* The screen has already been fed with the bytes that are replayed. */
static void a_replay_while_it_is_drawn_is_shown_once(void **state)
{
	uint32_t call = begin(RUN_TERMINAL, 60000);
	frame(FRAME_OUT, call, "one");
	frame(FRAME_END, call, END_OK);
	frame(FRAME_CALL, call, "{\"kind\":\"terminal\",\"state\":\"running\",\"interactive\":true}");
	frame(FRAME_OUT, call, "one");
	frame(FRAME_END, call, END_OK);
	ends(1, ENDING_OK, "one\n");
}

static void a_caller_that_leaves_and_joins_again_gets_all_output(void **state)
{
	uint32_t call = begin(RUN_TERMINAL, 60000);
	AUTO(fail_release) struct fail f = { 0 };
	frame(FRAME_OUT, call, "one");
	frame(FRAME_END, call, END_OK);
	run_leave(&b.waiter);
	assert_int_equal(run_join(&b.d, call, 0, &b.waiter, &f), 0);
	ends(1, ENDING_OK, "one\n");
}

static void a_cut_does_not_wait_for_a_screen(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	uint32_t call = begin(RUN_TERMINAL, 60000);
	frame(FRAME_OUT, call, "\x1b[1mone\x1b[0m\r\ntwo\r\n");
	frame(FRAME_END, call, END_OK);
	cause_set(&f, FAIL_DIED, CAUSE_STOPPED, "stopped");
	runs_cut(&b.d, ENDING_INTERRUPTED, &f);
	assert_int_equal(b.ends, 1);
	ends(1, ENDING_INTERRUPTED, "one\ntwo\n");
}

/* evidence: loop-work */
static void only_the_end_of_long_output_is_cleaned_without_a_screen(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(buf_release) struct buf bytes = { 0 };
	uint32_t call = begin(RUN_TERMINAL, 60000);
	config.max_stdout_chars = 300000;
	for (int i = 0; i < 300; i++)
		buf_printf(&bytes, "%-1021d\r\n", i);
	frame(FRAME_OUT, call, buf_str(&bytes));
	frame(FRAME_END, call, END_OK);
	cause_set(&f, FAIL_DIED, CAUSE_STOPPED, "stopped");
	runs_cut(&b.d, ENDING_INTERRUPTED, &f);
	config.max_stdout_chars = 10000;
	assert_int_equal(b.ends, 1);
	assert_true(b.told.stdout_truncated);
	static const char note[] = "[44756 bytes cut]\n";
	assert_memory_equal(b.told.stdout_text, note, strlen(note));
	assert_non_null(strstr(b.told.stdout_text, "\n299 "));
	assert_null(strstr(b.told.stdout_text, "\n9 "));
}

static void a_lost_screen_keeps_the_text_and_the_run(void **state)
{
	AUTO(buf_release) struct buf bytes = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *size =
		xstrdup("{\"kind\":\"terminal\",\"state\":\"running\",\"interactive\":true,\"rows\":200,\"cols\":500}");
	struct wire_hello hello = { .calls = { { .number = 1, .kind = RUN_TERMINAL } }, .n_calls = 1 };
	runs_inherit(&b.d, &hello);
	b.d.last_call = 1;
	frame(FRAME_CALL, 1, size);
	b.waiter = (struct run_waiter){ .on_end = on_end };
	assert_int_equal(run_join(&b.d, 1, 60000, &b.waiter, &f), 0);
	buf_add_str(&bytes, "text");
	for (int i = 0; i < 2000; i++)
		buf_add_str(&bytes, RESET_AND_FILL);
	buf_add_str(&bytes, "\r\n");
	frame(FRAME_OUT, 1, buf_str(&bytes));
	frame(FRAME_END, 1, END_OK);
	ends(1, ENDING_OK,
	     "⟦the screen could not be shown: this output takes the terminal emulator too long to draw⟧\ntext\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(bytes_become_screens),
		TEST(a_feed_over_the_limit_leaves_an_empty_screen),
		TEST(bytes_beyond_the_limit_of_a_feed_are_left_out),
		TEST(a_failed_emulator_loses_only_the_screen),
		TEST(a_hanging_emulator_is_killed),
		TEST(an_end_is_reported_after_its_screen_is_drawn),
		TEST(a_kept_run_is_reported_with_its_screen),
		TEST(a_replay_while_it_is_drawn_is_shown_once),
		TEST(a_caller_that_leaves_and_joins_again_gets_all_output),
		TEST(a_cut_does_not_wait_for_a_screen),
		TEST(only_the_end_of_long_output_is_cleaned_without_a_screen),
		TEST(a_lost_screen_keeps_the_text_and_the_run),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
