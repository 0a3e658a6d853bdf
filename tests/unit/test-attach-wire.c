/* The messages between attached programs and servers: frames, bounds, and structs that survive encoding. */
/* evidence: attach-bounds */
#include "attach/codec.h"
#include "attach/served.h"
#include "attach/wire.h"
#include "base/alloc.h"
#include "base/deadline.h"
#include "tests/unit/unit.h"

/* --- frames -------------------------------------------------------------------------------------------------------- */

static struct attach_reader reader;

static int setup(void **state)
{
	attach_reader_init(&reader, ATTACH_CLIENT);
	return 0;
}

static int teardown(void **state)
{
	attach_reader_release(&reader);
	return 0;
}

static void feed(enum attach_frame type, uint32_t call, const char *payload)
{
	AUTO(buf_release) struct buf frame = { 0 };
	frame_append(&frame, type, call, payload, strlen(payload));
	attach_reader_feed(&reader, frame.data, frame.len);
}

static int next(struct attach_message *m)
{
	const char *why = NULL;
	int r = attach_reader_next(&reader, m, &why);
	assert_true(r >= 0 || why);
	return r;
}

static void expect_breach(void)
{
	struct attach_message m = { 0 };
	int r;
	while ((r = next(&m)) > 0)
		attach_message_release(&m);
	assert_int_equal(r, -1);
	attach_reader_release(&reader);
	attach_reader_init(&reader, ATTACH_CLIENT);
}

static void pieces_of_two_messages_may_mix(void **state)
{
	struct attach_message m = { 0 };
	feed(ATTACH_HELLO, 0, "{}");
	assert_int_equal(next(&m), 1);
	attach_message_release(&m);
	feed(ATTACH_MORE, 1, "{\"a\":");
	feed(ATTACH_MORE, 2, "{\"b\":");
	feed(ATTACH_CALL, 2, "2}");
	assert_int_equal(next(&m), 1);
	assert_int_equal(m.call, 2);
	assert_int_equal(json_integer_value(json_object_get(m.json, "b")), 2);
	attach_message_release(&m);
	feed(ATTACH_CALL, 1, "1}");
	assert_int_equal(next(&m), 1);
	assert_int_equal(json_integer_value(json_object_get(m.json, "a")), 1);
	attach_message_release(&m);
	/* A message that is cancelled before its end is not kept. */
	feed(ATTACH_MORE, 3, "{\"c\":");
	feed(ATTACH_CANCEL, 3, "");
	assert_int_equal(next(&m), 1);
	assert_int_equal(reader.held, 0);
	assert_int_equal(next(&m), 0);
}

static void an_invalid_message_ends_the_connection(void **state)
{
	static const char *const bad[] = { "", "[]", "3", "{", "{\"a\":1,\"a\":2}", "{\"a\":\"\\u0000\"}", "{}{}" };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		feed(ATTACH_HELLO, 0, bad[i]);
		expect_breach();
	}
	feed(ATTACH_CALL, 1, "{}");
	expect_breach();
	feed(ATTACH_HELLO, 0, "{}");
	feed(ATTACH_HELLO, 0, "{}");
	expect_breach();
	feed(ATTACH_HELLO, 7, "{}");
	expect_breach();
	/* Messages that only a server sends, and unknown ones. */
	feed(ATTACH_HELLO, 0, "{}");
	feed(ATTACH_ANSWER, 1, "{}");
	expect_breach();
	feed(77, 0, "{}");
	expect_breach();
	feed(ATTACH_HELLO, 0, "{}");
	feed(ATTACH_CANCEL, 1, "not empty");
	expect_breach();
}

static void sizes_are_bounded(void **state)
{
	AUTO(freep) char *piece = xmalloc(ATTACH_PIECE_MAX + 2);
	memset(piece, ' ', ATTACH_PIECE_MAX + 1);
	piece[ATTACH_PIECE_MAX + 1] = '\0';
	feed(ATTACH_HELLO, 0, piece);
	expect_breach();

	struct attach_message m = { 0 };
	piece[ATTACH_PIECE_MAX] = '\0';
	feed(ATTACH_HELLO, 0, "{}");
	assert_int_equal(next(&m), 1);
	attach_message_release(&m);
	for (size_t sent = 0; sent < ATTACH_REQUEST_MAX; sent += ATTACH_PIECE_MAX) {
		feed(ATTACH_MORE, 1 + (uint32_t)(sent / ATTACH_PIECE_MAX % 2), piece);
		assert_int_equal(next(&m), 0);
	}
	feed(ATTACH_MORE, 1, " ");
	expect_breach();

	feed(ATTACH_HELLO, 0, "{}");
	for (uint32_t i = 1; i <= ATTACH_CALLS_MAX + 2; i++)
		feed(ATTACH_MORE, i, "{");
	expect_breach();
}

static void a_long_message_is_sent_in_pieces(void **state)
{
	AUTO(buf_release) struct buf text = { 0 }, frames = { 0 };
	memset(buf_reserve(&text, 1 << 20), 'x', 1 << 20);
	text.len = 1 << 20;
	json_auto_t *hello = json_object(), *call = json_pack("{s:s}", "text", buf_str(&text));
	struct attach_message m = { 0 };
	assert_int_equal(attach_put(&frames, ATTACH_CLIENT, ATTACH_HELLO, 0, hello), 0);
	assert_int_equal(attach_put(&frames, ATTACH_CLIENT, ATTACH_CALL, 1, call), 0);
	for (size_t i = 0; i < frames.len; i += 60000)
		attach_reader_feed(&reader, frames.data + i, MIN(frames.len - i, (size_t)60000));
	assert_int_equal(next(&m), 1);
	attach_message_release(&m);
	assert_int_equal(next(&m), 1);
	assert_true(json_equal(m.json, call));
	attach_message_release(&m);
	assert_int_equal(reader.held, 0);
}

/* --- full queues ---------------------------------------------------------------------------------------------------- */

static struct buf written;
static size_t room_left;

static void write_frames(struct served_host *host UNUSED, const struct buf *frames)
{
	buf_add(&written, frames->data, frames->len);
}

static size_t room(const struct served_host *host UNUSED)
{
	return room_left;
}

static struct served *a_call(struct served_host *host)
{
	static const struct served_type type = { .name = "test", .size = sizeof(struct served) };
	struct served *s = new0(struct served);
	if (!host->write) {
		*host = (struct served_host){ .write = write_frames, .room = room };
		list_init(&host->calls);
	}
	*s = (struct served){ .type = &type, .host = host, .number = 1 };
	list_append(&host->calls, &s->node);
	host->n_calls++;
	return s;
}

static json_t *long_text(size_t n)
{
	AUTO(freep) char *text = xmalloc(n + 1);
	memset(text, 'x', n);
	text[n] = '\0';
	return json_pack("{s:s}", "text", text);
}

/* The one answer that was written, read like a client reads it. The caller owns it. */
static json_t *the_answer(size_t *ret_bytes)
{
	struct attach_reader from;
	const char *why = NULL;
	struct attach_message m = { 0 };
	json_t *answer = NULL;
	*ret_bytes = 0;
	attach_reader_init(&from, ATTACH_SERVER);
	from.begun = true;
	attach_reader_feed(&from, written.data, written.len);
	while (attach_reader_next(&from, &m, &why) > 0) {
		assert_null(answer);
		*ret_bytes += m.n;
		if (m.type == ATTACH_ANSWER)
			answer = take_ptr(m.json);
		attach_message_release(&m);
	}
	assert_null(why);
	attach_reader_release(&from);
	buf_release(&written);
	return answer;
}

static const char *kind_of(const json_t *answer)
{
	return json_string_value(json_object_get(json_object_get(answer, "fail"), "kind"));
}

static void a_note_may_be_long_and_is_not_an_answer(void **state)
{
	struct served_host host = { 0 };
	struct served *s = a_call(&host);
	size_t bytes;
	room_left = SIZE_MAX;
	served_note(s, long_text(ATTACH_REQUEST_MAX + 1));
	assert_true(written.len > ATTACH_REQUEST_MAX);
	json_auto_t *none = the_answer(&bytes);
	assert_null(none);
	served_note(s, long_text(ATTACH_ANSWER_MAX));
	assert_int_equal(written.len, 0);
	/* The call continues and gets its one answer. */
	served_answer(s, json_object());
	json_auto_t *answer = the_answer(&bytes);
	assert_non_null(json_object_get(answer, "result"));
	assert_int_equal(host.n_calls, 0);

	served_answer(a_call(&host), long_text(ATTACH_ANSWER_MAX));
	json_auto_t *too_long = the_answer(&bytes);
	assert_string_equal(kind_of(too_long), "limit");
}

static void a_long_answer_fails_if_the_queue_is_full(void **state)
{
	AUTO(freep) char *file = xcalloc(1, 2 << 20);
	struct served_host host = { 0 };
	size_t bytes;
	room_left = 3 << 20;
	served_answer_bytes(a_call(&host), json_object(), file, 2 << 20);
	json_auto_t *given = the_answer(&bytes);
	assert_non_null(json_object_get(given, "result"));
	assert_int_equal(bytes, 2 << 20);

	room_left = 1 << 20;
	served_answer_bytes(a_call(&host), json_object(), file, 2 << 20);
	json_auto_t *refused = the_answer(&bytes);
	assert_string_equal(kind_of(refused), "busy");
	assert_int_equal(bytes, 0);

	/* A short answer always fits. */
	room_left = 0;
	served_answer(a_call(&host), json_object());
	json_auto_t *brief = the_answer(&bytes);
	assert_non_null(json_object_get(brief, "result"));
}

/* --- structs ------------------------------------------------------------------------------------------------------- */

#define TEXT(s) ((char[]){ s })

static void a_result_survives_encoding(void **state)
{
	struct mime_part value[] = { { TEXT("text/plain"), TEXT("2"), 1 }, { TEXT("text/html"), TEXT("<b>2</b>"), 8 } };
	struct mime_part png = { TEXT("image/png"), TEXT("iVBORw0KGgo="), 12 };
	struct mime_bundle display = { &png, 1 };
	struct run_part parts[] = { { PART_STDOUT, .text = TEXT("out\n") },
				    { PART_DISPLAY, .display = 0 },
				    { PART_GAP, .bytes = 12 },
				    { PART_STDERR, .text = TEXT("err") },
				    { PART_RESULT },
				    { PART_ERROR } };
	struct run_result r = {
		.ending = ENDING_WAITING,
		.run = 7,
		.behind = 6,
		.prompt = TEXT("who? "),
		.password = true,
		.cause = CAUSE_OOM,
		.detail = TEXT("a sentence"),
		.parts = parts,
		.n_parts = ARRAY_LEN(parts),
		.stdout_text = TEXT("out\n"),
		.stderr_text = TEXT("err"),
		.stdout_bytes = 1ull << 40,
		.stdout_truncated = true,
		.kept_run = 7,
		.kept_whole = true,
		.result = { value, 2 },
		.error_type = TEXT("E"),
		.error_traceback = TEXT("t"),
		.displays = &display,
		.n_displays = 1,
		.displays_dropped = 3,
		.has_exit_code = true,
		.exit_code = -3,
		.signal = 9,
		.duration_ms = 12,
		.memory_peak = 1,
		.memory_limit = 2,
		.memory_files = 3,
		.oom_kills = 4,
		.kernel_restarted = true,
		.lost = TEXT("x, y"),
		.kernel_gone = true,
		.notice = TEXT("soon"),
	};
	AUTO(run_result_release) struct run_result got = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	json_auto_t *json = run_result_encode(&r);
	assert_int_equal(run_result_decode(json, &got, &f), 0);
	json_auto_t *again = run_result_encode(&got);
	assert_true(json_equal(json, again));
	assert_int_equal(got.ending, ENDING_WAITING);
	assert_int_equal(got.cause, CAUSE_OOM);
	assert_int_equal(got.stdout_bytes, 1ull << 40);
	assert_true(got.has_exit_code && got.exit_code == -3 && got.signal == 9 && got.password && got.kernel_gone);
	assert_string_equal(got.prompt, "who? ");
	assert_string_equal(got.result.parts[1].data, "<b>2</b>");
	assert_int_equal(got.n_parts, ARRAY_LEN(parts));
	assert_int_equal(got.parts[2].bytes, 12);
	assert_string_equal(got.parts[3].text, "err");
	assert_null(got.error_message);
}

/* evidence: loop-work */
static void encoding_ends_at_its_deadline(void **state)
{
	struct mime_part parts[] = { { .type = (char *)"text/plain", .data = (char *)"a", .len = 1 },
				     { .type = (char *)"text/html", .data = (char *)"b", .len = 1 } };
	struct mime_bundle displays[] = { { .parts = parts, .n = 2 }, { .parts = parts, .n = 2 } };
	struct run_part places[] = { { .kind = PART_DISPLAY },
				     { .kind = PART_DISPLAY, .display = 1 },
				     { .kind = PART_RESULT } };
	const struct run_result r = { .result = { .parts = parts, .n = 2 },
				      .displays = displays,
				      .n_displays = 2,
				      .displays_dropped = 3,
				      .parts = places,
				      .n_parts = 3,
				      .stdout_text = (char *)"",
				      .stderr_text = (char *)"" };
	AUTO(run_result_release) struct run_result got = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	deadline_set(1);
	while (!deadline_passed())
		continue;
	json_auto_t *json = run_result_encode(&r);
	deadline_set(0);
	assert_int_equal(run_result_decode(json, &got, &f), 0);
	assert_int_equal(got.result.n, 1);
	assert_int_equal(got.n_displays, 2);
	assert_int_equal(got.displays[0].n + got.displays[1].n, 0);
	assert_int_equal(got.displays_dropped, 5);
}

static void an_inconsistent_result_is_rejected(void **state)
{
	static const char *const bad[] = {
		"{}",
		"{\"ending\":\"splendid\"}",
		"{\"ending\":\"ok\",\"stdout\":1}",
		"{\"ending\":\"ok\",\"run\":-1}",
		"{\"ending\":\"ok\",\"run\":99999999999}",
		"{\"ending\":\"ok\",\"parts\":[{\"kind\":\"display\"}]}",
		"{\"ending\":\"ok\",\"parts\":[{\"kind\":\"result\"}]}",
		"{\"ending\":\"ok\",\"parts\":[{\"kind\":\"error\"}]}",
		"{\"ending\":\"ok\",\"parts\":[3]}",
		"{\"ending\":\"ok\",\"result\":[{\"type\":\"text/plain\"}]}",
		"{\"ending\":\"ok\",\"displays\":[{}]}",
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		AUTO(run_result_release) struct run_result got = { 0 };
		AUTO(fail_release) struct fail f = { 0 };
		json_auto_t *json = json_loads(bad[i], 0, NULL);
		assert_non_null(json);
		assert_int_equal(run_result_decode(json, &got, &f), -1);
		assert_non_null(f.message);
	}
}

static void a_request_survives_encoding(void **state)
{
	struct env_var env[] = { { "A", "1" }, { "B", "two words" } };
	struct run_request r = { .kind = RUN_TERMINAL,
				 .session_id = "s",
				 .text = "make",
				 .len = 4,
				 .interactive = true,
				 .rows = 50,
				 .cols = 132,
				 .has_wait = true,
				 .timeout_seconds = 600,
				 .env = env,
				 .n_env = 2,
				 .cwd = "/tmp" };
	AUTO(freep) struct env_var *got_env = NULL;
	AUTO(fail_release) struct fail f = { 0 };
	struct run_request got;
	json_auto_t *json = run_request_encode(&r);
	assert_int_equal(run_request_decode(json, &got, &got_env, &f), 0);
	json_auto_t *again = run_request_encode(&got);
	assert_true(json_equal(json, again));
	assert_true(got.has_wait && got.wait_seconds == 0 && got.interactive && got.cols == 132);
	assert_string_equal(got.env[1].value, "two words");
}

static void an_invalid_request_is_rejected(void **state)
{
	static const char *const bad[] = {
		"{\"kind\":\"code\",\"text\":\"1\"}",
		"{\"kind\":\"code\",\"session\":\"s\"}",
		"{\"kind\":\"code\",\"session\":\"s\",\"text\":\"1\",\"run\":2}",
		"{\"kind\":\"install\",\"session\":\"s\",\"text\":\"1\"}",
		"{\"kind\":\"code\",\"session\":\"s\",\"text\":\"1\",\"interrupt\":true}",
		"{\"kind\":\"code\",\"session\":\"s\",\"text\":\"1\",\"input\":\"x\"}",
		"{\"kind\":\"code\",\"session\":\"s\",\"text\":\"1\",\"interactive\":true}",
		"{\"kind\":\"code\",\"session\":\"s\",\"run\":1,\"env\":{\"A\":\"b\"}}",
		"{\"kind\":\"terminal\",\"session\":\"s\",\"text\":\"1\",\"restart\":true}",
		"{\"kind\":\"code\",\"session\":\"s\",\"text\":\"1\",\"env\":{\"A\":1}}",
		"{\"kind\":\"code\",\"session\":\"s\",\"text\":\"1\",\"wait\":9999999}",
		"{\"kind\":\"terminal\",\"session\":\"s\",\"text\":\"1\",\"rows\":1000}",
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		AUTO(freep) struct env_var *env = NULL;
		AUTO(fail_release) struct fail f = { 0 };
		struct run_request got;
		json_auto_t *json = json_loads(bad[i], 0, NULL);
		assert_non_null(json);
		assert_int_equal(run_request_decode(json, &got, &env, &f), -1);
		assert_int_equal(f.kind, FAIL_INVALID);
	}
}

static void details_survive_encoding(void **state)
{
	struct variable x = { TEXT("x"), TEXT("DataFrame"), TEXT("(3, 2)"), 1000 };
	struct session_status status = { .answered = true,
					 .busy = true,
					 .memory = 5,
					 .memory_limit = 6,
					 .disks = { { TEXT("/workspace"), 1, 2 } },
					 .n_disks = 1,
					 .has_variables = true,
					 .variables = &x,
					 .n_variables = 1,
					 .more = 4 };
	struct run_info run = { .number = 3, .kind = RUN_TERMINAL, .state = "running", .age_ms = 100 };
	struct session_details d = { .session = { .id = "s",
						  .runtime = "r",
						  .status = "running",
						  .age_seconds = 9,
						  .limits = { .pids = 512 } },
				     .left_seconds = UINT64_MAX,
				     .idle_left_seconds = 0,
				     .runs = &run,
				     .n_runs = 1,
				     .status = &status };
	AUTO(freep) struct run_info *runs = NULL;
	AUTO(session_status_release) struct session_status got_status = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	struct session_details got;
	json_auto_t *json = session_details_encode(&d);
	assert_int_equal(session_details_decode(json, &got, &runs, &got_status, &f), 0);
	json_auto_t *again = session_details_encode(&got);
	assert_true(json_equal(json, again));
	assert_true(got.left_seconds == UINT64_MAX && got.idle_left_seconds == 0);
	assert_int_equal(got.runs[0].kind, RUN_TERMINAL);
	assert_string_equal(got.status->variables[0].shape, "(3, 2)");
	assert_int_equal(got.session.limits.pids, 512);
}

static void content_may_be_any_bytes(void **state)
{
	struct import_item items[] = { { .content = "a\0\xff", .content_len = 3, .destination = "x" },
				       { .content = "text", .content_len = 4 },
				       { .source = "/etc/hostname" } };
	struct copy_request r = { .session_id = "s", .imports = items, .n = 3 };
	AUTO(copy_parts_release) struct copy_parts parts = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	struct copy_request got;
	json_auto_t *json = copy_request_encode(&r);
	assert_int_equal(copy_request_decode(json, &got, &parts, &f), 0);
	assert_int_equal(got.n, 3);
	assert_true(got.imports[0].base64 && !got.imports[1].base64);
	assert_string_equal(got.imports[0].content, "YQD/");
	assert_string_equal(got.imports[1].content, "text");
	assert_string_equal(got.imports[2].source, "/etc/hostname");
}

static void a_failure_keeps_its_kind_cause_and_message(void **state)
{
	AUTO(fail_release) struct fail f = { 0 }, got = { 0 }, none = { 0 };
	cause_set(&f, FAIL_BUSY, CAUSE_QUEUE_FULL, "much");
	fail_hint(&f, "wait");
	json_auto_t *json = fail_encode(&f);
	fail_decode(json, &got);
	assert_int_equal(got.kind, FAIL_BUSY);
	assert_int_equal(cause_of(&got), CAUSE_QUEUE_FULL);
	assert_string_equal(got.message, "much");
	assert_string_equal(got.hint, "wait");
	fail_decode(NULL, &none);
	assert_int_equal(none.kind, FAIL_INTERNAL);
}

#define FRAMES(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FRAMES(pieces_of_two_messages_may_mix),
		FRAMES(an_invalid_message_ends_the_connection),
		FRAMES(sizes_are_bounded),
		FRAMES(a_long_message_is_sent_in_pieces),
		cmocka_unit_test(a_note_may_be_long_and_is_not_an_answer),
		cmocka_unit_test(a_long_answer_fails_if_the_queue_is_full),
		cmocka_unit_test(a_result_survives_encoding),
		cmocka_unit_test(encoding_ends_at_its_deadline),
		cmocka_unit_test(an_inconsistent_result_is_rejected),
		cmocka_unit_test(a_request_survives_encoding),
		cmocka_unit_test(an_invalid_request_is_rejected),
		cmocka_unit_test(details_survive_encoding),
		cmocka_unit_test(content_may_be_any_bytes),
		cmocka_unit_test(a_failure_keeps_its_kind_cause_and_message),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
