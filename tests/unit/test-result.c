/* mcp/result: text for models, structured content for programs, and the bounds on both. */
#include "tests/unit/unit.h"

#include "tests/unit/pictures.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/utf8.h"
#include "mcp/display.h"
#include "mcp/image.h"
#include "mcp/result.h"
#include "mcp/text.h"

static char empty[] = "";
static char png[] = PNG_32;

static struct run_result ok_run(char *out)
{
	return (struct run_result){ .stdout_text = out, .stderr_text = empty, .stdout_bytes = strlen(out) };
}

/* The result of a run that printed, warned, showed and returned in this order. The parts are valid until the next call. */
static const struct run_result *in_order(struct run_result *r)
{
	static struct run_part parts[64];
	size_t n = 0;
	if (r->stdout_text && *r->stdout_text)
		parts[n++] = (struct run_part){ .kind = PART_STDOUT, .text = r->stdout_text };
	if (r->stderr_text && *r->stderr_text)
		parts[n++] = (struct run_part){ .kind = PART_STDERR, .text = r->stderr_text };
	for (size_t i = 0; i < r->n_displays; i++)
		parts[n++] = (struct run_part){ .kind = PART_DISPLAY, .display = i };
	if (r->result.n)
		parts[n++] = (struct run_part){ .kind = PART_RESULT };
	if (r->error_type)
		parts[n++] = (struct run_part){ .kind = PART_ERROR };
	r->parts = parts;
	r->n_parts = n;
	return r;
}

static const struct run_context code = { .session_id = "s1", .timeout_seconds = 30 };

static const char *text_of(const json_t *result)
{
	return json_string_value(json_object_get(json_array_get(json_object_get(result, "content"), 0), "text"));
}

static const json_t *fields_of(const json_t *result)
{
	return json_object_get(json_object_get(result, "_meta"), RESULT_META);
}

static size_t blocks_of(const json_t *result)
{
	return json_array_size(json_object_get(result, "content"));
}

static void expect_text(struct run_result *run, const char *want)
{
	json_auto_t *result = result_of_run(in_order(run), &code);
	assert_string_equal(text_of(result), want);
	assert_true(json_is_false(json_object_get(result, "isError")));
	assert_null(json_object_get(result, "structuredContent"));
}

#define TIMEOUT_WAYS                                                                                                   \
	"Raise `timeout` (at most 300, this was 30), use `wait` to get an early answer while it runs, or split the work into smaller cells."
#define TIMEOUT_STEP "Variables, imports and files are kept. " TIMEOUT_WAYS

static void results_are_worded_for_models(void **state)
{
	struct mime_part value[] = { { (char *)"text/plain", (char *)"42", 2 } };
	char hello[] = "hello\n", warn[] = "careful\nvery\n", type[] = "ValueError", message[] = "bad";
	char traceback[] = "Traceback:\n  line 1\nValueError: bad", detail[] = "variables are kept";
	struct run_result run = ok_run(empty);
	expect_text(&run, "(no output)");
	run = ok_run(hello);
	expect_text(&run, "hello");
	run.result = (struct mime_bundle){ value, 1 };
	expect_text(&run, "hello\n⟦result⟧ 42");
	run.stderr_text = warn;
	expect_text(&run, "hello\n⟦stderr⟧\ncareful\nvery\n⟦result⟧ 42");
	run = ok_run(hello);
	run.ending = ENDING_ERROR;
	run.error_type = type;
	run.error_message = message;
	run.error_traceback = traceback;
	expect_text(&run, "⟦error⟧ ValueError: bad\nhello\n⟦traceback⟧\nTraceback:\n  line 1");
	run = ok_run(hello);
	run.ending = ENDING_TIMEOUT;
	expect_text(&run, "⟦timeout⟧ stopped after 30 s\nhello\n⟦hint⟧ " TIMEOUT_STEP);
	run.detail = detail;
	expect_text(&run, "⟦timeout⟧ variables are kept\nhello\n⟦hint⟧ " TIMEOUT_WAYS);
	run = ok_run(hello);
	run.ending = ENDING_ERROR;
	run.has_exit_code = true;
	run.exit_code = 2;
	expect_text(&run, "⟦error⟧ exit code 2\nhello");
	run.signal = 9;
	expect_text(&run, "⟦error⟧ killed by signal 9 (SIGKILL)\nhello");
	run = ok_run(hello);
	run.stdout_truncated = true;
	run.stdout_bytes = 1234567;
	expect_text(&run, "hello\n⟦note⟧ The output was cut: the program wrote 1234567 bytes in all.");
}

static void fields_are_complete(void **state)
{
	static const char *const names[] = {
		"success",	"ending",	    "session_id",	"stdout", "stderr",	 "result",
		"error",	"display_outputs",  "exit_code",	"signal", "duration_ms", "stdout_bytes",
		"stderr_bytes", "stdout_truncated", "stderr_truncated", "hint"
	};
	struct run_result run = ok_run(empty);
	run.memory_peak = 7;
	json_auto_t *result = result_of_run(in_order(&run), &code);
	const json_t *fields = fields_of(result);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!json_object_get(fields, names[i]))
			fail_msg("no field %s", names[i]);
	assert_true(json_is_true(json_object_get(fields, "success")));
	assert_int_equal(json_integer_value(json_object_get(fields, "memory_peak")), 7);
	run.ending = ENDING_OOM;
	struct run_context structured = code;
	structured.structured = true;
	json_auto_t *both = result_of_run(in_order(&run), &structured);
	assert_true(json_is_false(json_object_get(fields_of(both), "success")));
	assert_true(json_equal(fields_of(both), json_object_get(both, "structuredContent")));
}

/* The line that a client reads. Keys keep their order. */
static char *bytes_of(const json_t *result)
{
	char *line = json_dumps(result, JSON_COMPACT);
	assert_non_null(line);
	return line;
}

static void interactive_results_refer_to_the_document_of_apps(void **state)
{
	static const char *const types[] = { "text/html", "application/vnd.plotly.v1+json",
					     "application/vnd.vegalite.v5+json", "application/vnd.bokehjs_exec.v0+json",
					     "application/vnd.jupyter.widget-view+json" };
	struct run_context apps = code, structured = code;
	apps.app = apps.structured = structured.structured = true;
	for (size_t i = 0; i < 2 * ARRAY_LEN(types); i++) {
		struct mime_part part = { .type = (char *)types[i / 2], .data = (char *)"{\"a\": 1}", .len = 8 };
		struct mime_bundle bundle = { .parts = &part, .n = 1 };
		struct run_result run = ok_run(empty);
		if (i % 2) {
			run.displays = &bundle;
			run.n_displays = 1;
		} else {
			run.result = bundle;
		}
		json_auto_t *with = result_of_run(in_order(&run), &apps);
		json_auto_t *without = result_of_run(in_order(&run), &structured);
		json_t *meta = json_object_get(with, "_meta");
		assert_string_equal(json_string_value(json_object_get(json_object_get(meta, "ui"), "resourceUri")),
				    "ui://husk/output");
		assert_string_equal(json_string_value(json_object_get(meta, "ui/resourceUri")), "ui://husk/output");
		json_object_del(meta, "ui");
		json_object_del(meta, "ui/resourceUri");
		AUTO(freep) char *left = bytes_of(with), *plain = bytes_of(without);
		assert_string_equal(left, plain);
		assert_null(strstr(plain, "ui://"));
		assert_null(strstr(plain, "\"ui"));
	}
}

/* Without anything to show, the answer is the same for all clients, byte by byte. */
static void plain_results_do_not_refer_to_the_document_of_apps(void **state)
{
	char hello[] = "hello";
	struct run_result run = ok_run(hello);
	struct run_context apps = code;
	apps.app = true;
	json_auto_t *with = result_of_run(in_order(&run), &apps), *without = result_of_run(in_order(&run), &code);
	AUTO(freep) char *a = bytes_of(with), *b = bytes_of(without);
	assert_string_equal(a, b);
}

static void long_text_keeps_head_and_tail_of_each_part(void **state)
{
	AUTO(freep) char *out = xmalloc(400001);
	AUTO(freep) char *err = xstrdup("short error");
	for (size_t i = 0; i < 200000; i++)
		memcpy(out + 2 * i, "é", 2);
	out[400000] = '\0';
	struct run_result run = ok_run(out);
	run.stderr_text = err;
	json_auto_t *result = result_of_run(in_order(&run), &code);
	const char *text = text_of(result);
	size_t chars = utf8_count(text, strlen(text));
	assert_in_range(chars, ANSWER_CHARS - 400, ANSWER_CHARS);
	assert_non_null(strstr(text, "characters cut"));
	assert_non_null(strstr(text, "⟦stderr⟧ short error"));
	assert_memory_equal(text, "éé", 4);
	assert_null(json_object_get(fields_of(result), "stdout"));
	assert_int_equal(json_integer_value(json_object_get(fields_of(result), "stdout_chars")), 200000);
}

static json_int_t int_at(const json_t *o, const char *key, const char *inner)
{
	const json_t *value = json_object_get(o, key);
	return json_integer_value(inner ? json_object_get(value, inner) : value);
}

/* A text is sent once: in the text block, or in full in the structured content if that is requested. */
static void long_texts_are_counted_in_meta(void **state)
{
	AUTO(freep) char *fits = xmalloc(RESULT_META_TEXT_MAX + 1);
	AUTO(freep) char *over = xmalloc(RESULT_META_TEXT_MAX + 3);
	char type[] = "ValueError";
	memset(fits, 'x', RESULT_META_TEXT_MAX);
	fits[RESULT_META_TEXT_MAX] = '\0';
	(void)snprintf(over, RESULT_META_TEXT_MAX + 3, "%sé", fits);
	json_int_t chars = RESULT_META_TEXT_MAX + 1;
	struct mime_part parts[] = { { (char *)"text/plain", over, strlen(over) },
				     { (char *)"text/html", (char *)"<b>x</b>", 8 } };
	struct mime_part shown[] = { { (char *)"text/plain", over, strlen(over) } };
	struct mime_bundle displays[] = { { shown, 1 } };
	struct earlier_result before = { .seq = 1, .ended = true, .result = ok_run(over) };
	struct run_result run = ok_run(fits);
	run.stderr_text = over;
	run.ending = ENDING_ERROR;
	run.error_type = type;
	run.error_message = run.error_traceback = over;
	run.result = (struct mime_bundle){ parts, 2 };
	run.displays = displays;
	run.n_displays = 1;
	run.earlier = &before;
	run.n_earlier = 1;
	struct run_context structured = code;
	structured.structured = true;
	json_auto_t *result = result_of_run(in_order(&run), &structured);
	const json_t *brief = fields_of(result), *full = json_object_get(result, "structuredContent");

	assert_string_equal(json_string_value(json_object_get(brief, "stdout")), fits);
	assert_null(json_object_get(brief, "stdout_chars"));
	assert_null(json_object_get(brief, "stderr"));
	assert_int_equal(int_at(brief, "stderr_chars", NULL), chars);
	assert_null(json_object_get(json_object_get(brief, "error"), "traceback"));
	assert_int_equal(int_at(brief, "error", "traceback_chars"), chars);
	assert_int_equal(int_at(brief, "error", "message_chars"), chars);
	assert_null(json_object_get(json_object_get(brief, "result"), "text/plain"));
	assert_non_null(json_object_get(json_object_get(brief, "result"), "text/html"));
	assert_int_equal(int_at(brief, "result_chars", "text/plain"), chars);
	assert_null(json_object_get(json_array_get(json_object_get(brief, "display_outputs"), 0), "data"));
	assert_int_equal(int_at(json_array_get(json_object_get(brief, "earlier"), 0), "stdout_chars", NULL), chars);

	assert_string_equal(json_string_value(json_object_get(full, "stderr")), over);
	assert_string_equal(json_string_value(json_object_get(json_object_get(full, "error"), "traceback")), over);
	assert_string_equal(json_string_value(json_object_get(json_object_get(full, "result"), "text/plain")), over);
	assert_null(json_object_get(full, "result_chars"));
	const json_t *display = json_array_get(json_object_get(full, "display_outputs"), 0);
	assert_string_equal(json_string_value(json_object_get(display, "data")), over);
	const json_t *earlier = json_array_get(json_object_get(full, "earlier"), 0);
	assert_string_equal(json_string_value(json_object_get(earlier, "stdout")), over);
}

static void a_second_cut_counts_correctly(void **state)
{
	AUTO(freep) char *out = xmalloc(60001);
	memset(out, 'x', 60000);
	out[60000] = '\0';
	struct run_part parts[] = { { .kind = PART_STDOUT, .text = out },
				    { .kind = PART_GAP, .bytes = 940000 },
				    { .kind = PART_STDOUT, .text = out } };
	struct run_result run = ok_run(out);
	run.stdout_truncated = true;
	run.stdout_bytes = 1000000;
	run.parts = parts;
	run.n_parts = ARRAY_LEN(parts);
	json_auto_t *result = result_of_run(&run, &code);
	assert_non_null(strstr(text_of(result), "⟦… the middle is cut …⟧"));
	assert_null(strstr(text_of(result), "characters cut"));
	assert_non_null(strstr(text_of(result), "⟦note⟧ The output was cut: the program wrote 1000000 bytes in all."));
}

static void without_limits_the_line_is_still_bounded(void **state)
{
	size_t n = 8u << 20;
	AUTO(freep) char *out = xmalloc(n + 1);
	memset(out, '\t', n);
	memset(out, 'x', 10);
	out[n - 1] = 'y';
	out[n] = '\0';
	struct run_result run = ok_run(out);
	run.stderr_text = out;
	struct run_context structured = code;
	structured.structured = true;
	json_auto_t *result = result_of_run(in_order(&run), &structured);
	assert_true(json_dumpb(result, NULL, 0, JSON_COMPACT) < RESULT_LINE_MAX);
	assert_true(json_is_true(json_object_get(json_object_get(result, "structuredContent"), "stdout_truncated")));
}

static struct mime_bundle picture_of(struct mime_part parts[2], const char *type, char *data)
{
	parts[0] = (struct mime_part){ (char *)type, data, strlen(data) };
	parts[1] = (struct mime_part){ (char *)"text/plain", (char *)"<Figure>", 8 };
	return (struct mime_bundle){ parts, 2 };
}

static void pictures_become_blocks(void **state)
{
	struct mime_part parts[2][2];
	struct mime_bundle displays[1] = { picture_of(parts[0], "image/png", png) };
	struct run_result run = ok_run(empty);
	run.displays = displays;
	run.n_displays = 1;
	run.result = picture_of(parts[1], "image/png", png);
	json_auto_t *result = result_of_run(in_order(&run), &code);
	assert_int_equal(blocks_of(result), 3);
	assert_string_equal(text_of(result), "⟦picture 1⟧\n⟦picture 2⟧");
	const json_t *block = json_array_get(json_object_get(result, "content"), 1);
	assert_string_equal(json_string_value(json_object_get(block, "type")), "image");
	assert_string_equal(json_string_value(json_object_get(block, "mimeType")), "image/png");
	assert_string_equal(json_string_value(json_object_get(block, "data")), png);
	const json_t *listed = json_array_get(json_object_get(fields_of(result), "display_outputs"), 0);
	assert_string_equal(json_string_value(json_object_get(listed, "type")), "image/png");
	assert_true(json_integer_value(json_object_get(listed, "size")) > 60);
	assert_null(json_object_get(listed, "data"));
}

/* A display that only reserved a place for later updates. */
static void an_empty_display_is_not_shown(void **state)
{
	char out[] = "text";
	struct mime_bundle displays[1] = { 0 };
	struct run_result run = ok_run(out);
	run.displays = displays;
	run.n_displays = 1;
	json_auto_t *result = result_of_run(in_order(&run), &code);
	assert_string_equal(text_of(result), "text");
	assert_int_equal(json_array_size(json_object_get(fields_of(result), "display_outputs")), 0);
}

/* A client that gets an invalid picture rejects the whole answer. */
static void invalid_pictures_are_left_out(void **state)
{
	static char bad[][80] = { "not base64!", "AAAA", "iVBORw0KGgo",
				  "====",	 "",	 "iVBORw0KGgoAAAANSUhEUgAAH0EAAAABCAQAAAC1HAwC" };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct mime_part parts[2];
		struct mime_bundle displays[1] = { picture_of(parts, "image/png", bad[i]) };
		struct run_result run = ok_run(empty);
		run.displays = displays;
		run.n_displays = 1;
		json_auto_t *result = result_of_run(in_order(&run), &code);
		assert_int_equal(blocks_of(result), 1);
		assert_non_null(strstr(text_of(result), "1 image was left out: not a whole, valid PNG"));
	}
}

/* Each kind is accepted complete, whatever its label says. It is rejected with a missing, an additional or a
 * changed byte. */
static void pictures_are_checked_to_the_last_byte(void **state)
{
	static const struct {
		const char *data, *type;
	} good[] = { { PNG_32, "image/png" },
		     { JPEG_32, "image/jpeg" },
		     { GIF_32, "image/gif" },
		     { WEBP_32, "image/webp" },
		     { WEBP_LOSSLESS_32, "image/webp" } };
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		AUTO(buf_release) struct buf raw = { 0 };
		const char *type = NULL;
		size_t bytes = 0;
		AUTO(freep) char *taken = image_take(good[i].data, strlen(good[i].data), &type, &bytes);
		assert_string_equal(taken, good[i].data);
		assert_string_equal(type, good[i].type);
		base64_decode(good[i].data, strlen(good[i].data), &raw);
		assert_int_equal(bytes, raw.len);
		for (size_t n = 0; n <= raw.len + 1; n++) {
			AUTO(buf_release) struct buf text = { 0 }, cut = { 0 };
			buf_add(&cut, raw.data, MIN(n, raw.len));
			buf_add(&cut, "x", n > raw.len);
			base64_encode(cut.data, cut.len, &text);
			AUTO(freep) char *half = image_take(buf_str(&text), text.len, &type, &bytes);
			if ((half != NULL) != (n == raw.len))
				fail_msg("%s: %zu of %zu bytes", good[i].type, n, raw.len);
		}
	}
	/* White space is ignored. */
	const char *type;
	size_t bytes;
	AUTO(freep) char *gif =
		image_take("R0lG\nODdhAwACAIEAAMgKCgAAAAAAAAAAACwAAAAAAwACAAAIBgABCBwYEAA7\n", 62, &type, &bytes);
	assert_string_equal(gif, GIF_32);
	/* 8001 pixels wide. */
	AUTO(buf_release) struct buf raw = { 0 }, wide = { 0 };
	base64_decode(GIF_32, strlen(GIF_32), &raw);
	raw.data[6] = 8001 & 0xff;
	raw.data[7] = 8001 >> 8;
	base64_encode(raw.data, raw.len, &wide);
	assert_null(image_take(buf_str(&wide), wide.len, &type, &bytes));
	/* One bit of a PNG. */
	AUTO(buf_release) struct buf flipped = { 0 };
	raw.len = 0;
	base64_decode(PNG_32, strlen(PNG_32), &raw);
	raw.data[raw.len / 2] ^= 1;
	base64_encode(raw.data, raw.len, &flipped);
	assert_null(image_take(buf_str(&flipped), flipped.len, &type, &bytes));
}

/* The text of a cell with prints, tables and plots, and the blocks for clients that keep their order. */
static void text_and_displays_keep_their_order(void **state)
{
	char train[] = "Train:\n", test[] = "Test:", warn[] = "careful\n", after[] = "after\n", table[] = "a  b\n1  2";
	struct mime_part plain[] = { { (char *)"text/plain", table, strlen(table) },
				     { (char *)"text/html", (char *)"<b>", 3 } };
	struct mime_part picture[2];
	struct mime_bundle displays[] = { { plain, 2 }, picture_of(picture, "image/png", png) };
	struct run_part parts[] = { { .kind = PART_STDOUT, .text = train }, { .kind = PART_DISPLAY, .display = 0 },
				    { .kind = PART_STDOUT, .text = test },  { .kind = PART_DISPLAY, .display = 1 },
				    { .kind = PART_STDOUT, .text = after }, { .kind = PART_STDERR, .text = warn },
				    { .kind = PART_GAP, .bytes = 12 },	    { .kind = PART_STDOUT, .text = after } };
	struct run_result run = ok_run(empty);
	run.displays = displays;
	run.n_displays = 2;
	run.parts = parts;
	run.n_parts = ARRAY_LEN(parts);
	json_auto_t *result = result_of_run(&run, &code);
	assert_string_equal(text_of(result), "Train:\n⟦display⟧\na  b\n1  2\n⟦stdout⟧\nTest:\n⟦picture 1⟧\nafter\n"
					     "⟦stderr⟧ careful\n⟦… 12 bytes cut …⟧\n⟦stdout⟧\nafter\n"
					     "⟦note⟧ The text was cut.");
	struct run_context between = code;
	between.interleaved = true;
	json_auto_t *second = result_of_run(&run, &between);
	const json_t *content = json_object_get(second, "content");
	assert_int_equal(json_array_size(content), 3);
	const char *last = json_string_value(json_object_get(json_array_get(content, 2), "text"));
	assert_true(strncmp(last, "after\n⟦stderr⟧", strlen("after\n⟦stderr⟧")) == 0);
	assert_string_equal(json_string_value(json_object_get(json_array_get(content, 1), "type")), "image");
}

/* A message that does not fit the first line is only in the traceback, complete. */
static void errors_are_shown_once(void **state)
{
	char type[] = "KeyError", message[] = "'nope'\nmore", traceback[] = "line 1\nKeyError: 'nope'\nmore";
	struct run_result run = ok_run(empty);
	run.ending = ENDING_ERROR;
	run.error_type = type;
	run.error_message = message;
	run.error_traceback = traceback;
	expect_text(&run, "⟦error⟧ KeyError\n⟦traceback⟧\nline 1\nKeyError: 'nope'\nmore");
	char calls[] = "Error in f()\n1: f('nope')";
	run.error_traceback = calls;
	expect_text(&run, "⟦error⟧\nKeyError: 'nope'\nmore\n⟦traceback⟧\nError in f()\n1: f('nope')");
	char one[] = "bad", stack[] = "Error: bad\n    at f (cell:1:7)", name[] = "Error", alone[] = "Error: bad";
	char coded[] = "Error [ERR_BAD]: bad\n    at f (cell:1:7)", other[] = "Error [ERR_BAD]: worse";
	run.error_type = name;
	run.error_message = one;
	run.error_traceback = stack;
	expect_text(&run, "⟦error⟧ Error: bad\n⟦traceback⟧     at f (cell:1:7)");
	/* The names of Node's own errors have a code. */
	run.error_traceback = coded;
	expect_text(&run, "⟦error⟧ Error: bad\n⟦traceback⟧     at f (cell:1:7)");
	*strchr(coded, '\n') = '\0';
	expect_text(&run, "⟦error⟧ Error: bad");
	run.error_traceback = other;
	expect_text(&run, "⟦error⟧ Error: bad\n⟦traceback⟧ Error [ERR_BAD]: worse");
	run.error_traceback = alone;
	expect_text(&run, "⟦error⟧ Error: bad");
	run.ending = ENDING_TIMEOUT;
	run.error_traceback = stack;
	expect_text(&run,
		    "⟦timeout⟧ stopped after 30 s\n⟦traceback⟧\nError: bad\n    at f (cell:1:7)\n⟦hint⟧ " TIMEOUT_STEP);
}

static void pictures_over_the_limits_are_counted(void **state)
{
	enum { N = 12 };
	struct mime_part parts[N][2];
	struct mime_bundle displays[N];
	struct run_result run = ok_run(empty);
	for (int i = 0; i < N; i++)
		displays[i] = picture_of(parts[i], "image/png", png);
	run.displays = displays;
	run.n_displays = N;
	json_auto_t *result = result_of_run(in_order(&run), &code);
	assert_int_equal(blocks_of(result), 1 + PICTURES_MAX);
	assert_non_null(strstr(text_of(result), "4 pictures were left out: an answer holds 8 pictures"));

	AUTO(freep) char *big = png_of_size(450000);
	displays[0] = picture_of(parts[0], "image/png", big);
	displays[1] = picture_of(parts[1], "image/png", big);
	run.n_displays = 3;
	json_auto_t *second = result_of_run(in_order(&run), &code);
	assert_int_equal(blocks_of(second), 3);
	assert_non_null(strstr(text_of(second), "1 picture was left out"));
	assert_true(json_dumpb(second, NULL, 0, JSON_COMPACT) < RESULT_LINE_AIM);

	/* The only picture is sent, although space was reserved for a long text. */
	AUTO(freep) char *most = png_of_size(700000);
	struct run_context long_texts = code;
	long_texts.max_chars = 1000000;
	displays[0] = picture_of(parts[0], "image/png", most);
	run.n_displays = 1;
	json_auto_t *third = result_of_run(in_order(&run), &long_texts);
	assert_int_equal(blocks_of(third), 2);
}

static void html_does_not_flood(void **state)
{
	AUTO(freep) char *html = xmalloc(3000001);
	memset(html, 'h', 3000000);
	html[3000000] = '\0';
	struct mime_part parts[] = { { (char *)"text/html", html, 3000000 } };
	struct mime_part small[] = { { (char *)"text/html", (char *)"<b>x</b>", 8 },
				     { (char *)"text/plain", (char *)"x", 1 },
				     { (char *)"application/vnd.husk.frame+json", (char *)"{}", 2 } };
	struct mime_part latex[] = { { (char *)"text/latex", (char *)"$x^2$", 5 } };
	struct mime_bundle displays[] = { { parts, 1 }, { small, 3 }, { latex, 1 } };
	struct run_result run = ok_run(empty);
	run.displays = displays;
	run.n_displays = 3;
	run.displays_dropped = 5;
	json_auto_t *result = result_of_run(in_order(&run), &code);
	assert_string_equal(
		text_of(result),
		"⟦display⟧ (text/html, 3000000 bytes)\n⟦display⟧ x\n⟦display⟧ $x^2$\n"
		"⟦note⟧ 5 displays were dropped: too many or too large for one run; the last pictures are kept");
	const json_t *list = json_object_get(fields_of(result), "display_outputs");
	assert_null(json_object_get(json_array_get(list, 0), "data"));
	assert_string_equal(json_string_value(json_object_get(json_array_get(list, 1), "data")), "<b>x</b>");
	assert_string_equal(json_string_value(json_object_get(json_array_get(list, 2), "type")), "text/latex");
	assert_int_equal(json_array_size(list), 3);
}

static void markup_of_a_drawing_does_not_flood(void **state)
{
	AUTO(freep) char *svg = xasprintf("<svg>%*s</svg>", 11000, "");
	AUTO(freep) char *printed = xasprintf("[1] \"%s\"", svg);
	struct mime_part parts[] = { { (char *)"text/plain", printed, strlen(printed) },
				     { (char *)"image/svg+xml", svg, strlen(svg) } };
	struct mime_part small = { (char *)"image/svg+xml", (char *)"<svg/>", 6 };
	struct mime_bundle displays[] = { { parts, 2 }, { &small, 1 }, { parts, 1 } };
	struct run_result run = ok_run(empty);
	run.displays = displays;
	run.n_displays = 2;
	json_auto_t *result = result_of_run(in_order(&run), &code);
	assert_string_equal(text_of(result), "⟦display⟧ (image/svg+xml, 11011 bytes)\n⟦display⟧ <svg/>");
	/* A text that is not a drawing is shown. */
	run.displays = displays + 2;
	run.n_displays = 1;
	json_auto_t *other = result_of_run(in_order(&run), &code);
	assert_true(strlen(text_of(other)) > 5000);
}

static void queued_runs_share_a_line(void **state)
{
	struct earlier_result before[] = { { .seq = 2, .queued = true }, { .seq = 3, .queued = true } };
	struct run_result run = ok_run(empty);
	run.ending = ENDING_RUNNING;
	run.run = 4;
	run.queued = true;
	run.behind = 1;
	run.behind_prompts = true;
	run.earlier = before;
	run.n_earlier = 2;
	json_auto_t *result = result_of_run(&run, &code);
	assert_string_equal(
		text_of(result),
		"⟦earlier, queued: run 2, 3⟧ {run: N, interrupt: true} removes one.\n⟦this call⟧\n"
		"⟦queued⟧ run 4 is queued behind run 1, which waits for input, and has not begun\n"
		"⟦hint⟧ Answer run 1 first with {run: 1, input: \"…\"}. {run: 1, interrupt: true} ends run 1, so that this one "
		"begins; {run: 4, wait: 60} waits for it.");

	/* The next answer lists them again only if there is another one. */
	before[0].queue_reported = true;
	json_auto_t *other = result_of_run(&run, &code);
	assert_non_null(strstr(text_of(other), "⟦earlier, queued: run 2, 3⟧"));
	before[1].queue_reported = true;
	json_auto_t *later = result_of_run(&run, &code);
	assert_ptr_equal(strstr(text_of(later), "⟦queued⟧ run 4"), text_of(later));
}

static void the_same_hint_is_given_once(void **state)
{
	struct earlier_result before = { .seq = 1, .ended = true };
	char type[] = "ModuleNotFoundError", message[] = "No module named 'zoo'";
	struct run_result run = ok_run(empty);
	run.ending = ENDING_ERROR;
	run.error_type = type;
	run.error_message = message;
	before.result = run;
	run.earlier = &before;
	run.n_earlier = 1;
	json_auto_t *result = result_of_run(&run, &code);
	const char *first = strstr(text_of(result), "pip install zoo");
	assert_non_null(first);
	assert_null(strstr(first + 1, "pip install zoo"));
}

static void variables_that_a_later_restart_lost_are_not_called_kept(void **state)
{
	struct earlier_result before[] = { { .seq = 1, .ended = true }, { .seq = 3, .ended = true } };
	struct run_result run = ok_run(empty);
	run.ending = ENDING_INTERRUPTED;
	before[0].result = before[1].result = run;
	run = ok_run(empty);
	run.run = 2;
	run.kernel_restarted = true;
	run.earlier = before;
	run.n_earlier = 2;
	json_auto_t *result = result_of_run(&run, &code);
	assert_string_equal(text_of(result),
			    "⟦earlier cell 1: interrupted⟧ ⟦interrupted⟧ interrupted before it was done\n"
			    "⟦earlier cell 3: interrupted⟧\n⟦interrupted⟧ interrupted before it was done\n"
			    "⟦hint⟧ Variables, imports and files are kept.\n⟦this call⟧\n(no output)");
	before[1].result.kernel_restarted = true;
	run.kernel_restarted = false;
	json_auto_t *other = result_of_run(&run, &code);
	assert_null(strstr(text_of(other), "are kept.\n⟦earlier"));
}

static void expect_fail(enum fail_kind kind, const char *message, json_t *active, const char *want)
{
	AUTO(fail_release) struct fail f = { 0 };
	fail_set(&f, kind, "%s", message);
	json_auto_t *result =
		result_of_fail(&f, &(struct fail_context){ .active_sessions = active, .structured = true });
	assert_string_equal(text_of(result), want);
	assert_true(json_is_true(json_object_get(result, "isError")));
	assert_true(json_is_false(json_object_get(json_object_get(result, "structuredContent"), "success")));
}

static void failures_keep_the_words_of_the_reference(void **state)
{
	json_auto_t *none = json_array();
	json_auto_t *one = json_pack("[{s:s,s:s,s:s}]", "session_id", "abc", "runtime", "python", "status", "running");
	expect_fail(FAIL_NOT_FOUND, "Session 'x' not found", none,
		    "ValueError: Session 'x' not found\nHint: No active sessions. Call create_session first.");
	expect_fail(FAIL_NOT_FOUND, "Session 'x' not found", one,
		    "ValueError: Session 'x' not found\nActive sessions: abc (python, running)\n"
		    "Hint: Use one of the active session_ids listed above.");
	expect_fail(FAIL_INVALID, "timeout is bad", one,
		    "INVALID_INPUT: timeout is bad\nHint: Correct the arguments and call again.");
	expect_fail(FAIL_ENGINE, "no engine", none, "RuntimeError: no engine");
	expect_fail(FAIL_BUSY, "still starting", none, "RuntimeError: still starting");
	expect_fail(FAIL_TIMEOUT, "too slow", none, "TimeoutError: too slow");
	AUTO(fail_release) struct fail f = { 0 };
	fail_set(&f, FAIL_DIED, "segmentation fault (SIGSEGV)");
	json_auto_t *died = result_of_fail(
		&f, &(struct fail_context){ .session_id = "x", .active_sessions = none, .fields_in_meta = true });
	assert_memory_equal(text_of(died), "CONTAINER_DIED: segmentation fault (SIGSEGV)\nHint: ", 51);
	assert_null(json_object_get(died, "structuredContent"));
	assert_string_equal(json_string_value(json_object_get(fields_of(died), "error")),
			    "CONTAINER_DIED: segmentation fault (SIGSEGV)");
}

static void invalid_text_of_an_engine_is_cleaned(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	fail_set(&f, FAIL_ENGINE, "docker said \xff\x1b[31m!");
	json_auto_t *result = result_of_fail(&f, &(struct fail_context){ .structured = true });
	assert_string_equal(text_of(result), "RuntimeError: docker said \xef\xbf\xbd!");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results_are_worded_for_models),
		cmocka_unit_test(fields_are_complete),
		cmocka_unit_test(interactive_results_refer_to_the_document_of_apps),
		cmocka_unit_test(plain_results_do_not_refer_to_the_document_of_apps),
		cmocka_unit_test(long_text_keeps_head_and_tail_of_each_part),
		cmocka_unit_test(long_texts_are_counted_in_meta),
		cmocka_unit_test(a_second_cut_counts_correctly),
		cmocka_unit_test(without_limits_the_line_is_still_bounded),
		cmocka_unit_test(pictures_become_blocks),
		cmocka_unit_test(an_empty_display_is_not_shown),
		cmocka_unit_test(invalid_pictures_are_left_out),
		cmocka_unit_test(pictures_are_checked_to_the_last_byte),
		cmocka_unit_test(text_and_displays_keep_their_order),
		cmocka_unit_test(errors_are_shown_once),
		cmocka_unit_test(pictures_over_the_limits_are_counted),
		cmocka_unit_test(html_does_not_flood),
		cmocka_unit_test(markup_of_a_drawing_does_not_flood),
		cmocka_unit_test(queued_runs_share_a_line),
		cmocka_unit_test(the_same_hint_is_given_once),
		cmocka_unit_test(variables_that_a_later_restart_lost_are_not_called_kept),
		cmocka_unit_test(failures_keep_the_words_of_the_reference),
		cmocka_unit_test(invalid_text_of_an_engine_is_cleaned),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
