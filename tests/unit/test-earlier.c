/* manager/earlier: what PID 1 replays of a former server's runs is told once, whole, and not before it has ended. */
#include "manager/line/earlier.h"
#include "tests/unit/unit.h"

static struct config config = { .max_stdout_chars = 1000, .max_stderr_chars = 1000 };

static int feed(struct earlier *e, enum frame_type type, uint32_t call, const char *payload)
{
	struct wire_frame frame = {
		.type = (uint8_t)type, .call = call, .payload = (const uint8_t *)payload, .n = strlen(payload)
	};
	return earlier_frame(e, &frame);
}

static void replay(struct earlier *e, uint32_t call, const char *out, bool ended)
{
	assert_int_equal(feed(e, FRAME_CALL, call, "{\"kind\":\"execute\",\"state\":\"running\"}"), 0);
	assert_int_equal(feed(e, FRAME_OUT, call, out), 0);
	if (ended)
		assert_int_equal(feed(e, FRAME_END, call, "{\"ending\":\"ok\",\"duration_ms\":5}"), 0);
}

static void is_told_once(void **state)
{
	struct earlier e;
	earlier_init(&e, &config);
	e.last_call = 7;
	replay(&e, 3, "three", true);
	replay(&e, 5, "five", false);
	assert_int_equal(earlier_running(&e, /* terminal= */ false), 1);
	assert_int_equal(earlier_running(&e, /* terminal= */ true), 0);

	AUTO(run_result_release) struct run_result first = { 0 }, second = { 0 }, third = { 0 };
	earlier_tell(&e, &first);
	assert_int_equal(first.n_earlier, 2);
	assert_int_equal(first.earlier[0].seq, 3);
	assert_true(first.earlier[0].ended);
	assert_string_equal(first.earlier[0].result.stdout_text, "three");
	assert_int_equal(first.earlier[1].seq, 5);
	assert_false(first.earlier[1].ended);

	assert_int_equal(feed(&e, FRAME_OUT, 5, " and six"), 0);
	assert_int_equal(feed(&e, FRAME_END, 5, "{\"ending\":\"error\"}"), 0);
	earlier_tell(&e, &second);
	assert_int_equal(second.n_earlier, 1);
	assert_string_equal(second.earlier[0].result.stdout_text, "five and six");
	assert_int_equal(second.earlier[0].result.ending, ENDING_ERROR);
	earlier_tell(&e, &third);
	assert_int_equal(third.n_earlier, 0);
	earlier_release(&e);
}

/* The stream broke before anybody was told: PID 1 starts over. */
static void a_replay_starts_over(void **state)
{
	struct earlier e;
	earlier_init(&e, &config);
	e.last_call = 1;
	replay(&e, 1, "once", true);
	replay(&e, 1, "once", true);
	AUTO(run_result_release) struct run_result told = { 0 };
	earlier_tell(&e, &told);
	assert_int_equal(told.n_earlier, 1);
	assert_string_equal(told.earlier[0].result.stdout_text, "once");
	earlier_release(&e);
}

static void others_are_acknowledged_and_forgotten(void **state)
{
	struct earlier e;
	earlier_init(&e, &config);
	e.last_call = 2;
	/* A call of this server's own that it gave up on. */
	assert_int_equal(feed(&e, FRAME_CALL, 3, "{\"kind\":\"execute\"}"), 0);
	assert_int_equal(feed(&e, FRAME_OUT, 3, "x"), 0);
	assert_int_equal(feed(&e, FRAME_END, 3, "{\"ending\":\"ok\"}"), 1);
	/* A call that PID 1 would not take: nothing ran. */
	assert_int_equal(feed(&e, FRAME_CALL, 2, "{\"kind\":\"terminal\"}"), 0);
	assert_int_equal(earlier_running(&e, /* terminal= */ true), 1);
	assert_int_equal(feed(&e, FRAME_END, 2, "{\"ending\":\"refused\"}"), 1);
	AUTO(run_result_release) struct run_result told = { 0 };
	earlier_tell(&e, &told);
	assert_int_equal(told.n_earlier, 0);
	earlier_release(&e);
}

static void a_frame_after_the_end_breaks_the_protocol(void **state)
{
	struct earlier e;
	earlier_init(&e, &config);
	e.last_call = 1;
	replay(&e, 1, "done", true);
	assert_true(feed(&e, FRAME_OUT, 1, "more") < 0);
	earlier_release(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_told_once),
		cmocka_unit_test(a_replay_starts_over),
		cmocka_unit_test(others_are_acknowledged_and_forgotten),
		cmocka_unit_test(a_frame_after_the_end_breaks_the_protocol),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
