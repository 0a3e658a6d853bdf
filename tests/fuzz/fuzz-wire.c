/* The manager's end of the frames, from the bytes of a hostile PID 1 to the line that a client gets. */
#include "base/alloc.h"
#include "manager/line/collect.h"
#include "manager/line/wire.h"
#include "mcp/result.h"
#include "tests/fuzz/fuzz.h"

#define CHARS_MAX 60
/* The note between head and tail. */
#define NOTE_CHARS 150

static const struct config config = {
	.max_stdout_chars = CHARS_MAX,
	.max_stderr_chars = CHARS_MAX,
	.max_result_chars = CHARS_MAX,
	.max_traceback_chars = CHARS_MAX,
};

static void check_text(const char *s, size_t max_chars)
{
	if (!s)
		return;
	size_t n = strlen(s);
	CHECK(utf8_valid(s, n) && !strchr(s, 0x1b));
	CHECK(utf8_count(s, n) <= max_chars + NOTE_CHARS);
}

static void check_bundle(const struct mime_bundle *b)
{
	for (size_t i = 0; i < b->n; i++) {
		CHECK(strchr(b->parts[i].type, '/') && b->parts[i].len == strlen(b->parts[i].data));
		CHECK(utf8_valid(b->parts[i].data, b->parts[i].len));
	}
}

static void finish(struct collect *c)
{
	AUTO(run_result_release) struct run_result r = { 0 };
	(void)collect_refused(c);
	collect_finish(c, &r);
	CHECK(r.stdout_text && r.stderr_text);
	check_text(r.stdout_text, CHARS_MAX);
	check_text(r.stderr_text, CHARS_MAX);
	check_text(r.error_message, CHARS_MAX);
	check_text(r.error_traceback, CHARS_MAX);
	check_text(r.error_type, 200);
	check_text(r.detail, 1000);
	check_bundle(&r.result);
	for (size_t i = 0; i < r.n_displays; i++)
		check_bundle(&r.displays[i]);
	check_sendable(result_of_run(
		&r, &(struct run_context){ .session_id = "s", .timeout_seconds = 30, .structured = true }));
}

/* False if PID 1 broke the protocol. */
static bool on_frame(struct collect *c, const struct wire_frame *frame)
{
	if (frame->type == FRAME_HELLO) {
		AUTO(fail_release) struct fail f = { 0 };
		struct wire_hello hello;
		bool fine = wire_read_hello(frame, &hello, &f) == 0;
		CHECK(fine ? hello.version >= PROTOCOL_VERSION_MIN && hello.version <= PROTOCOL_VERSION :
			     f.message != NULL);
		return fine;
	}
	if (frame->type == FRAME_EVENT) {
		AUTO(wire_event_release) struct wire_event event = { 0 };
		wire_read_event(frame, &event);
		check_text(event.detail, 1000);
		return true;
	}
	if (frame->type == FRAME_PROMPT || frame->type == FRAME_MARK || frame->type == FRAME_CALL) {
		AUTO(wire_prompt_release) struct wire_prompt q;
		wire_read_prompt(frame, &q);
		check_text(q.prompt, 1000);
		CHECK(q.rows >= 1 && q.rows <= TERMINAL_ROWS_MAX && q.cols >= 1 && q.cols <= TERMINAL_COLS_MAX);
	}
	if (frame->type == FRAME_PROMPT)
		return true;
	if (frame->type == FRAME_END) {
		AUTO(wire_console_end_release) struct wire_console_end end;
		wire_read_console_end(frame, &end);
		check_text(end.detail, 1000);
		CHECK(end.exit_code >= 0 && end.exit_code <= 255 && end.signal >= 0 && end.signal < 128);
	}
	int r = collect_frame(c, frame);
	if (r == 1)
		finish(c);
	return r >= 0;
}

int fuzz_one(const uint8_t *data, size_t n)
{
	struct pieces pieces = pieces_of(data, n);
	AUTO(wire_release) struct wire wire = { 0 };
	struct collect *c = collect_new(&config);
	const uint8_t *piece;
	size_t size;
	bool fine = true;
	while (fine && pieces_next(&pieces, &piece, &size)) {
		struct wire_frame frame;
		int r;
		wire_feed(&wire, piece, size);
		while (fine && (r = wire_next(&wire, &frame)) != 0)
			fine = r > 0 && on_frame(c, &frame);
	}
	/* A session that is lost in the middle still shows its output so far. */
	finish(c);
	collect_free(c);
	return 0;
}
