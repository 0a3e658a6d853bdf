/* Both ends of an attached connection: a hostile client's bytes for a server, and a hostile server's for a client.
 * The first byte of an input chooses the end, the next one how it is cut. */
#include "attach/codec.h"
#include "attach/wire.h"
#include "base/alloc.h"
#include "tests/fuzz/fuzz.h"

static void check_text(const char *s)
{
	CHECK(!s || utf8_valid(s, strlen(s)));
}

/* --- a client's requests ------------------------------------------------------------------------------------------- */

static void check_run(const json_t *json)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) struct env_var *env = NULL;
	struct run_request r;
	if (run_request_decode(json, &r, &env, &f) < 0) {
		CHECK(f.message);
		return;
	}
	CHECK(r.session_id && (r.text || r.run) && r.rows >= 0 && r.rows <= RUN_ROWS_MAX &&
	      r.input_len <= RUN_INPUT_MAX);
	CHECK(!r.text || strlen(r.text) == r.len);
	check_sendable(run_request_encode(&r));
}

static void check_copy(const json_t *json)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(copy_parts_release) struct copy_parts parts = { 0 };
	struct copy_request r;
	if (copy_request_decode(json, &r, &parts, &f) < 0) {
		CHECK(f.message);
		return;
	}
	CHECK(r.session_id && r.n && !r.imports != !r.exports);
	check_sendable(copy_request_encode(&r));
}

static void check_create(const json_t *json)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(create_parts_release) struct create_parts parts = { 0 };
	struct create_request r;
	if (create_request_decode(json, &r, &parts, &f) < 0) {
		CHECK(f.message);
		return;
	}
	CHECK(r.runtime);
	check_sendable(create_request_encode(&r));
}

static void check_query(const json_t *json)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct query_request r;
	if (query_request_decode(json, &r, &f) < 0) {
		CHECK(f.message);
		return;
	}
	CHECK(r.session_id && r.code && strlen(r.code) == r.len && r.kind < QUERY_KINDS);
	check_sendable(query_request_encode(&r));
}

/* --- a server's answers -------------------------------------------------------------------------------------------- */

/* Data that was read can be written and read again. */
static void check_result(const json_t *json)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(run_result_release) struct run_result r = { 0 }, again = { 0 };
	if (run_result_decode(json, &r, &f) < 0) {
		CHECK(f.message);
		return;
	}
	CHECK(r.stdout_text && r.stderr_text && ending_name(r.ending));
	for (size_t i = 0; i < r.n_parts; i++) {
		CHECK(r.parts[i].kind != PART_DISPLAY || r.parts[i].display < r.n_displays);
		CHECK(r.parts[i].kind != PART_RESULT || r.result.n);
		CHECK(r.parts[i].kind != PART_ERROR || r.error_type);
	}
	json_auto_t *encoded = run_result_encode(&r);
	check_sendable(json_incref(encoded));
	CHECK(run_result_decode(encoded, &again, &f) == 0 && again.n_parts == r.n_parts &&
	      again.n_displays == r.n_displays && again.ending == r.ending);
}

static void check_asked(const json_t *json)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(query_answer_release) struct query_answer a = { 0 };
	if (query_answer_decode(json, &a, &f) < 0) {
		CHECK(f.message);
		return;
	}
	CHECK(a.kind < QUERY_KINDS && a.start <= a.end && a.indent && (!a.found || a.text));
	for (size_t i = 0; i < a.n_matches; i++)
		check_text(a.matches[i]);
	check_sendable(query_answer_encode(&a));
}

static void check_details(const json_t *json)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) struct run_info *runs = NULL;
	AUTO(session_status_release) struct session_status status = { 0 };
	struct session_details d;
	if (session_details_decode(json, &d, &runs, &status, &f) < 0) {
		CHECK(f.message);
		return;
	}
	CHECK(d.session.id && d.session.runtime && d.session.status && d.status->n_disks <= STATUS_DISKS_MAX);
	check_sendable(session_details_encode(&d));
}

static void check_sessions(const json_t *json)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) struct session_info *v = NULL;
	size_t n = 0;
	if (sessions_decode(json, &v, &n, &f) == 0)
		check_sendable(sessions_encode(v, n));
}

static void check_copies(const json_t *json)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct copy_result *v;
	size_t n;
	if (copy_results_decode(json, &v, &n, &f) == 0)
		check_sendable(copy_results_encode(v, n));
	for (size_t i = 0; i < n; i++)
		copy_result_release(&v[i]);
	free(v);
}

static void check_note(const json_t *note)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(mime_bundle_release) struct mime_bundle bundle = { 0 };
	struct shown_display display;
	const json_t *json = json_object_get(note, "display");
	if (json && display_decode(json, &display, &bundle, &f) == 0)
		check_sendable(display_encode(&display));
}

static void check_answer(const json_t *answer)
{
	AUTO(fail_release) struct fail f = { 0 };
	const json_t *result = json_object_get(answer, "result");
	fail_decode(json_object_get(answer, "fail"), &f);
	CHECK(f.kind && f.message);
	check_text(f.hint);
	check_sendable(fail_encode(&f));
	check_result(result);
	check_asked(result);
	check_details(result);
	check_sessions(result);
	check_copies(result);
}

static void on_message(const struct attach_message *m, enum attach_side from)
{
	bool has_json =
		m->type == ATTACH_HELLO || m->type == ATTACH_CALL || m->type == ATTACH_NOTE || m->type == ATTACH_ANSWER;
	CHECK(has_json == json_is_object(m->json) && m->n <= ATTACH_PIECE_MAX);
	CHECK((m->type == ATTACH_HELLO) == (m->call == 0));
	if (from == ATTACH_CLIENT && m->type == ATTACH_CALL) {
		check_run(m->json);
		check_copy(m->json);
		check_create(m->json);
		check_query(m->json);
	} else if (m->type == ATTACH_ANSWER) {
		check_answer(m->json);
	} else if (m->type == ATTACH_NOTE) {
		check_note(m->json);
	}
}

int fuzz_one(const uint8_t *data, size_t n)
{
	if (n < 2)
		return 0;
	struct pieces pieces = pieces_of(data + 1, n - 1);
	AUTO(attach_reader_release) struct attach_reader reader;
	enum attach_side from = data[0] & 1 ? ATTACH_SERVER : ATTACH_CLIENT;
	const uint8_t *piece;
	size_t size;
	int r = 0;
	attach_reader_init(&reader, from);
	while (r >= 0 && pieces_next(&pieces, &piece, &size)) {
		const char *why = NULL;
		struct attach_message m = { 0 };
		attach_reader_feed(&reader, piece, size);
		while ((r = attach_reader_next(&reader, &m, &why)) > 0) {
			on_message(&m, from);
			attach_message_release(&m);
		}
		CHECK(r == 0 || why);
		CHECK(reader.held <= ATTACH_ANSWER_MAX);
	}
	return 0;
}
