#include "manager/line/collect.h"

#include <errno.h>

#include "base/alloc.h"
#include "manager/line/run-output.h"
#include "tests/unit/unit.h"

static const struct config config = {
	.max_stdout_chars = 20,
	.max_stderr_chars = 20,
	.max_result_chars = 10,
	.max_traceback_chars = 50,
};

static int feed(struct collect *c, uint8_t type, const char *payload)
{
	struct wire_frame frame = { .type = type, .payload = (const uint8_t *)payload, .n = strlen(payload) };
	return collect_frame(c, &frame);
}

static void collect_freep(struct collect **c)
{
	collect_free(*c);
}

static void test_a_plain_run(void **state)
{
	AUTO(collect_freep) struct collect *c = collect_new(&config);
	AUTO(run_result_release) struct run_result r = { 0 };
	assert_int_equal(feed(c, FRAME_OUT, "hi\n"), 0);
	assert_int_equal(feed(c, FRAME_RESULT, "{\"data\":{\"text/plain\":\"2\"}}"), 0);
	assert_int_equal(
		feed(c, FRAME_END, "{\"ending\":\"ok\",\"duration_ms\":12,\"stdout_bytes\":3,\"kernel\":\"kept\"}"), 1);
	assert_false(collect_refused(c));
	collect_finish(c, &r);
	assert_int_equal(r.ending, ENDING_OK);
	assert_string_equal(r.stdout_text, "hi\n");
	assert_string_equal(r.stderr_text, "");
	assert_string_equal(r.result.parts[0].data, "2");
	assert_int_equal(r.duration_ms, 12);
	assert_false(r.kernel_restarted);
	assert_false(r.stdout_truncated);
}

static void test_nothing_after_the_end(void **state)
{
	AUTO(collect_freep) struct collect *c = collect_new(&config);
	assert_int_equal(feed(c, FRAME_END, "{\"ending\":\"ok\"}"), 1);
	assert_int_equal(feed(c, FRAME_OUT, "late"), -EPROTO);
	assert_int_equal(feed(c, FRAME_END, "{\"ending\":\"ok\"}"), -EPROTO);
}

/* evidence: input-bounds */
static void test_hostile_frames(void **state)
{
	AUTO(collect_freep) struct collect *c = collect_new(&config);
	AUTO(freep) char *much = xmalloc(100);
	memset(much, 'x', 99);
	much[99] = '\0';
	assert_int_equal(feed(c, FRAME_OUT, much), -EPROTO); /* 20 characters are at most 80 bytes */
	assert_int_equal(feed(c, FRAME_RESULT, "[]"), -EPROTO);
	assert_int_equal(feed(c, FRAME_ERROR, "garbage"), -EPROTO);
	assert_int_equal(feed(c, FRAME_HELLO, "{}"), -EPROTO);
	assert_int_equal(feed(c, FRAME_RESULT, "{\"data\":7}"), 0);
	assert_int_equal(feed(c, FRAME_DISPLAY, "{\"data\":{\"image/png\":\"not base64!\",\"text/plain\":\"x\"}}"), 0);
	AUTO(run_result_release) struct run_result r = { 0 };
	collect_finish(c, &r);
	assert_int_equal(r.result.n, 0);
	assert_int_equal(r.displays[0].n, 1);
}

static void test_a_replay_replaces_the_output(void **state)
{
	AUTO(collect_freep) struct collect *c = collect_new(&config);
	AUTO(run_result_release) struct run_result r = { 0 };
	feed(c, FRAME_OUT, "one");
	feed(c, FRAME_DISPLAY, "{\"data\":{\"text/plain\":\"x\"},\"display_id\":\"a\"}");
	feed(c, FRAME_CALL, "{\"kind\":\"execute\",\"state\":\"running\"}");
	feed(c, FRAME_OUT, "one");
	feed(c, FRAME_END, "{\"ending\":\"ok\",\"stdout_bytes\":3}");
	collect_finish(c, &r);
	assert_string_equal(r.stdout_text, "one");
	assert_int_equal(r.n_displays, 0);
}

static void test_the_last_pictures_are_kept(void **state)
{
	AUTO(collect_freep) struct collect *c = collect_new(&config);
	AUTO(run_result_release) struct run_result r = { 0 };
	feed(c, FRAME_DISPLAY, "{\"data\":{\"text/plain\":\"text\"}}");
	for (unsigned i = 0; i < CALL_DISPLAYS_MAX + 20; i++)
		feed(c, FRAME_DISPLAY, "{\"data\":{\"image/png\":\"AAAA\"}}");
	feed(c, FRAME_DISPLAY, "{\"data\":{\"text/plain\":\"more\"}}");
	feed(c, FRAME_END, "{\"ending\":\"ok\",\"displays_dropped\":22}");
	collect_finish(c, &r);
	assert_int_equal(r.n_displays, 1 + CALL_DISPLAYS_MAX + 20);
	assert_int_equal(r.displays_dropped, 22);
	for (size_t i = 0; i < r.n_displays; i++)
		assert_int_equal(r.displays[i].n, i == 0 || i > 21);
}

static void test_displays_update_in_place(void **state)
{
	AUTO(collect_freep) struct collect *c = collect_new(&config);
	AUTO(run_result_release) struct run_result r = { 0 };
	feed(c, FRAME_DISPLAY, "{\"data\":{\"text/plain\":\"1\"},\"display_id\":\"a\"}");
	feed(c, FRAME_DISPLAY, "{\"data\":{\"text/plain\":\"2\"}}");
	feed(c, FRAME_DISPLAY, "{\"data\":{\"text/plain\":\"3\"},\"display_id\":\"a\",\"update\":true}");
	feed(c, FRAME_DISPLAY, "{\"data\":{\"application/json\":{\"k\":[1]}}}");
	collect_finish(c, &r);
	assert_int_equal(r.n_displays, 3);
	assert_string_equal(r.displays[0].parts[0].data, "3");
	assert_string_equal(r.displays[2].parts[0].data, "{\"k\":[1]}");
}

static void test_head_and_tail_with_a_gap(void **state)
{
	AUTO(collect_freep) struct collect *c = collect_new(&config);
	AUTO(run_result_release) struct run_result r = { 0 };
	feed(c, FRAME_OUT, "0123456789abcdefghij\xc3");
	feed(c, FRAME_OUT_TAIL, "\xa4klmnopqrstuvwxyzABCD");
	feed(c, FRAME_END, "{\"ending\":\"ok\",\"stdout_bytes\":1000000}");
	collect_finish(c, &r);
	assert_true(r.stdout_truncated);
	assert_int_equal(strncmp(r.stdout_text, "0123456789\n", 11), 0);
	assert_non_null(strstr(r.stdout_text, "1000000 bytes total, showing the first 10 and the last 10 characters"));
	assert_string_equal(r.stdout_text + strlen(r.stdout_text) - 10, "uvwxyzABCD");
	assert_null(strstr(r.stdout_text, "\xef\xbf\xbd"));
}

/* The parts as one line: kinds, and texts in quotes. */
static char *order_of(const struct run_result *r)
{
	static const char *const names[] = { "out", "err", "display", "result", "error", "gap" };
	struct buf b = { 0 };
	for (size_t i = 0; i < r->n_parts; i++) {
		buf_printf(&b, "%s%s", i ? " " : "", names[r->parts[i].kind]);
		if (r->parts[i].text)
			buf_printf(&b, "'%s'", r->parts[i].text);
		if (r->parts[i].kind == PART_DISPLAY)
			buf_printf(&b, "%zu", r->parts[i].display);
		if (r->parts[i].kind == PART_GAP)
			buf_printf(&b, "%llu", (unsigned long long)r->parts[i].bytes);
	}
	return buf_steal_str(&b);
}

struct step {
	uint8_t type;
	const char *payload;
};

static void check_order(const struct step *steps, const char *want)
{
	AUTO(collect_freep) struct collect *c = collect_new(&config);
	AUTO(run_result_release) struct run_result r = { 0 };
	for (; steps->payload; steps++)
		assert_true(feed(c, steps->type, steps->payload) >= 0);
	collect_finish(c, &r);
	AUTO(freep) char *got = order_of(&r);
	assert_string_equal(got, want);
}

#define SHOW(text)                                                                                                     \
	{                                                                                                              \
		FRAME_DISPLAY, "{\"data\":{\"text/plain\":\"" text "\"}}"                                              \
	}

static void test_everything_is_in_order(void **state)
{
	check_order((const struct step[]){ { FRAME_OUT, "a" },
					   { FRAME_OUT, "b\n" },
					   { FRAME_ERR, "warn\n" },
					   SHOW("1"),
					   { FRAME_OUT, "c\n" },
					   SHOW("2"),
					   { FRAME_RESULT, "{\"data\":{\"text/plain\":\"3\"}}" },
					   { FRAME_ERROR, "{\"type\":\"E\"}" },
					   { 0 } },
		    "out'ab\n' err'warn\n' display0 out'c\n' display1 result error");
}

static void test_order_survives_a_cut(void **state)
{
	/* The last parts keep their places in the order: here the display and the piece of stderr. */
	check_order(
		(const struct step[]){ { FRAME_OUT, "head" },
				       SHOW("before"),
				       SHOW("in the tail"),
				       { FRAME_ERR, "also" },
				       { FRAME_OUT_TAIL, "x" },
				       { FRAME_OUT_TAIL, "" },
				       { FRAME_OUT_TAIL, "y" },
				       { FRAME_OUT_TAIL, "" },
				       { FRAME_ERR_TAIL, "z" },
				       { FRAME_END, "{\"ending\":\"ok\",\"stdout_bytes\":1006,\"stderr_bytes\":5}" },
				       { 0 } },
		"out'head' display0 gap1000 out'x' display1 out'y' err'alsoz'");
	/* More places than parts. */
	check_order(
		(const struct step[]){ { FRAME_OUT_TAIL, "" }, { FRAME_OUT_TAIL, "" }, { FRAME_OUT_TAIL, "y" }, { 0 } },
		"out'y'");
	/* In the form that version 1 of PID 1 sends. */
	check_order(
		(const struct step[]){
			{ FRAME_OUT, "h" }, SHOW("1"), { FRAME_OUT_TAIL, "t" }, { FRAME_ERR_TAIL, "e" }, { 0 } },
		"out'h' display0 out't' err'e'");
}

static void test_a_rewritten_line_moves_to_the_end(void **state)
{
	check_order((const struct step[]){ { FRAME_ERR, "\r 10%" },
					   { FRAME_OUT, "step 1\n" },
					   { FRAME_ERR, "\r 20%" },
					   { FRAME_OUT, "step 2\n" },
					   { FRAME_ERR, "\r100%\n" },
					   { 0 } },
		    "out'step 1\nstep 2\n' err'100%\n'");
}

/* evidence: loop-work */
/* If each piece copied the line before it, 114 KB would take 1.26 GB. */
static void test_rewriting_a_line_often_copies_little(void **state)
{
	static const char *const openings[] = { "\rx", "\bx", "\rx\n\rlonger than before" };
	for (size_t k = 0; k < ARRAY_LEN(openings); k++) {
		AUTO(run_output_release) struct run_output p = { 0 };
		AUTO(freep) char *line = xmalloc(64 << 10);
		memset(line, 'y', 64 << 10);
		run_output_add(&p, PART_STDOUT, "first\n", 6);
		run_output_add(&p, PART_STDOUT, line, 64 << 10);
		for (int i = 0; i < 20000; i++) {
			run_output_add(&p, PART_STDERR, "e\n", 2);
			run_output_add(&p, PART_STDOUT, openings[k], strlen(openings[k]));
		}
		size_t total = p.bytes[0] + p.bytes[1], held = 0;
		assert_true(run_output_mend(&p) <= 2 * total);
		for (size_t i = 0; i < p.n; i++)
			held += p.v[i].bytes.cap;
		/* The smallest buffer has 256 bytes. */
		assert_true(held <= 4 * total + p.n * 256);
	}
}

static void test_cleared_output_is_removed(void **state)
{
	check_order((const struct step[]){ { FRAME_OUT, "old" },
					   SHOW("old"),
					   { FRAME_DISPLAY, "{\"data\":{},\"clear\":true}" },
					   { FRAME_OUT, "new" },
					   SHOW("new"),
					   { FRAME_END, "{\"ending\":\"ok\",\"stdout_bytes\":3}" },
					   { 0 } },
		    "out'new' display0");
}

static void test_characters_join_across_pieces(void **state)
{
	check_order((const struct step[]){ { FRAME_OUT, "a\xc3" }, { FRAME_ERR, "e" }, { FRAME_OUT, "\xa4z" }, { 0 } },
		    "out'a' err'e' out'äz'");
	check_order((const struct step[]){ { FRAME_OUT, "a\xc3" }, { FRAME_OUT_TAIL, "\xa4z" }, { 0 } }, "out'aäz'");
}

static void test_each_stream_keeps_its_head_and_tail(void **state)
{
	check_order((const struct step[]){ { FRAME_OUT, "0123456789abcdef" },
					   { FRAME_ERR, "warn" },
					   { FRAME_OUT, "ghijklmnopqrstuvwxyz" },
					   { 0 } },
		    "out'0123456789' gap6 err'warn' gap10 out'qrstuvwxyz'");
}

static void test_results_and_errors_are_cut(void **state)
{
	AUTO(collect_freep) struct collect *c = collect_new(&config);
	AUTO(run_result_release) struct run_result r = { 0 };
	feed(c, FRAME_RESULT, "{\"data\":{\"text/plain\":\"0123456789ABCDEF\"}}");
	feed(c, FRAME_ERROR, "{\"type\":\"E\",\"message\":\"m\",\"traceback\":\"\\u001b[31mred\\u001b[0m\"}");
	feed(c, FRAME_END, "{\"ending\":\"error\"}");
	collect_finish(c, &r);
	assert_non_null(strstr(r.result.parts[0].data, "16 chars total"));
	assert_string_equal(r.error_traceback, "red");
}

/* evidence: success */
static void test_an_unknown_ending_is_not_success(void **state)
{
	AUTO(collect_freep) struct collect *c = collect_new(&config);
	AUTO(run_result_release) struct run_result r = { 0 };
	feed(c, FRAME_END, "{}");
	collect_finish(c, &r);
	assert_int_not_equal(r.ending, ENDING_OK);
}

/* Strings that are too long to be parsed are still passed on, wherever they are. */
static void test_long_strings_are_whole(void **state)
{
	enum { LONG = 5000 };
	char text[LONG + 1];
	memset(text, 'A', LONG);
	text[LONG] = '\0';
	AUTO(collect_freep) struct collect *c = collect_new(&config);
	AUTO(run_result_release) struct run_result r = { 0 };
	AUTO(freep) char *flat =
		xasprintf("{\"data\":{\"image/png\":\"%s\",\"text/html\":\"<b>%s\",\"text/plain\":\"x\"}}", text, text);
	AUTO(freep) char *nested =
		xasprintf("{\"data\":{\"application/json\":{\"a\":[\"%s\"]},\"image/png\":\"%s\"}}", text, text);
	AUTO(freep) char *named = xasprintf("{\"display_id\":\"%s1\",\"data\":{\"text/plain\":\"one\"}}", text);
	AUTO(freep) char *other =
		xasprintf("{\"display_id\":\"%s2\",\"update\":true,\"data\":{\"text/plain\":\"two\"}}", text);
	AUTO(freep) char *broken = xasprintf("{\"data\":{\"image/png\":\"%s\"}", text);
	assert_int_equal(feed(c, FRAME_DISPLAY, flat), 0);
	assert_int_equal(feed(c, FRAME_DISPLAY, nested), 0);
	assert_int_equal(feed(c, FRAME_DISPLAY, named), 0);
	assert_int_equal(feed(c, FRAME_DISPLAY, other), 0);
	assert_int_equal(feed(c, FRAME_DISPLAY, broken), -EPROTO);
	assert_int_equal(feed(c, FRAME_END, "{\"ending\":\"ok\"}"), 1);
	collect_finish(c, &r);
	assert_int_equal(r.n_displays, 4);
	assert_int_equal(r.displays[0].n, 3);
	assert_string_equal(r.displays[0].parts[0].data, text);
	assert_int_equal(r.displays[0].parts[1].len, 3 + LONG);
	assert_int_equal(r.displays[1].parts[0].len, strlen("{\"a\":[\"\"]}") + LONG);
	assert_string_equal(r.displays[1].parts[1].data, text);
	assert_string_equal(r.displays[2].parts[0].data, "one");
	assert_string_equal(r.displays[3].parts[0].data, "two");
}

/* A short message is parsed and printed again. */
static void test_numbers_are_passed_on(void **state)
{
	AUTO(collect_freep) struct collect *c = collect_new(&config);
	AUTO(run_result_release) struct run_result r = { 0 };
	assert_int_equal(feed(c, FRAME_RESULT, "{\"data\":{\"application/json\":[0.1,0.30000000000000004,7]}}"), 0);
	collect_finish(c, &r);
	assert_string_equal(r.result.parts[0].data, "[0.1,0.30000000000000004,7]");
}

/* evidence: loop-work */
/* Objects and lists in a bundle are passed on unchanged. Invalid JSON is rejected. */
static void test_trees_are_passed_on(void **state)
{
	AUTO(collect_freep) struct collect *c = collect_new(&config);
	AUTO(run_result_release) struct run_result r = { 0 };
	AUTO(buf_release) struct buf list = { 0 };
	buf_add_str(&list, "[0");
	for (int i = 0; i < 5000; i++)
		buf_add_str(&list, ", 1");
	buf_add_str(&list, "]");
	AUTO(freep) char *good = xasprintf(
		"{\"data\":{\"application/json\":%s,\"text/plain\":\"x\",\"image/png\":{}},\"display_id\":\"a\"}",
		buf_str(&list));
	AUTO(freep) char *bad = xasprintf("{\"data\":{\"application/json\":[%s}}", buf_str(&list));
	assert_int_equal(feed(c, FRAME_DISPLAY, good), 0);
	assert_int_equal(feed(c, FRAME_DISPLAY, bad), -EPROTO);
	collect_finish(c, &r);
	assert_int_equal(r.n_displays, 1);
	assert_int_equal(r.displays[0].n, 2);
	assert_string_equal(r.displays[0].parts[0].data, buf_str(&list));
	assert_string_equal(r.displays[0].parts[1].data, "x");
}

/* A million members, in each place where a session can send them. A parser could not be stopped, and would take 110
 * MB. */
static void test_objects_of_many_members_are_not_parsed(void **state)
{
	AUTO(buf_release) struct buf many = { 0 };
	for (int i = 0; i < 200000; i++)
		buf_printf(&many, "%s\"a/%d\":1", i ? "," : "", i);
	AUTO(freep) char *beside = xasprintf("{\"data\":{\"text/plain\":\"x\"},\"metadata\":{%s}}", buf_str(&many));
	AUTO(freep) char *types = xasprintf("{\"data\":{\"text/plain\":\"x\",%s}}", buf_str(&many));
	AUTO(freep) char *top = xasprintf("{\"data\":{\"text/plain\":\"x\"},%s}", buf_str(&many));
	AUTO(freep) char *pairs =
		xasprintf("{\"data\":{\"application/json\":{\"\\ud83d\\ude00\":0,%s}}}", buf_str(&many));
	AUTO(freep) char *error = xasprintf("{\"type\":\"E\",\"message\":\"m\",%s}", buf_str(&many));
	const char *const displays[] = { beside, types, top, pairs };
	static const size_t parts[] = { 1, 0, 0, 1 };
	AUTO(collect_freep) struct collect *c = collect_new(&config);
	AUTO(run_result_release) struct run_result r = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(displays); i++)
		assert_int_equal(feed(c, FRAME_DISPLAY, displays[i]), 0);
	assert_int_equal(feed(c, FRAME_ERROR, error), 0);
	collect_finish(c, &r);
	assert_int_equal(r.n_displays, ARRAY_LEN(displays));
	for (size_t i = 0; i < ARRAY_LEN(displays); i++)
		assert_int_equal(r.displays[i].n, parts[i]);
	assert_true(r.displays[3].parts[0].len > 2000000);
	assert_string_equal(r.error_type, "Error");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_plain_run),
		cmocka_unit_test(test_nothing_after_the_end),
		cmocka_unit_test(test_long_strings_are_whole),
		cmocka_unit_test(test_numbers_are_passed_on),
		cmocka_unit_test(test_trees_are_passed_on),
		cmocka_unit_test(test_objects_of_many_members_are_not_parsed),
		cmocka_unit_test(test_hostile_frames),
		cmocka_unit_test(test_a_replay_replaces_the_output),
		cmocka_unit_test(test_the_last_pictures_are_kept),
		cmocka_unit_test(test_displays_update_in_place),
		cmocka_unit_test(test_head_and_tail_with_a_gap),
		cmocka_unit_test(test_everything_is_in_order),
		cmocka_unit_test(test_order_survives_a_cut),
		cmocka_unit_test(test_a_rewritten_line_moves_to_the_end),
		cmocka_unit_test(test_rewriting_a_line_often_copies_little),
		cmocka_unit_test(test_cleared_output_is_removed),
		cmocka_unit_test(test_characters_join_across_pieces),
		cmocka_unit_test(test_each_stream_keeps_its_head_and_tail),
		cmocka_unit_test(test_results_and_errors_are_cut),
		cmocka_unit_test(test_an_unknown_ending_is_not_success),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
