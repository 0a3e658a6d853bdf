/* A server's answers to an attached program: bodies and events as JSON. Each input is one of them. */
#include "base/alloc.h"
#include "manager/json/codec.h"
#include "tests/fuzz/fuzz.h"

static void check_text(const char *s)
{
	CHECK(!s || utf8_valid(s, strlen(s)));
}

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

static void check_copies(const json_t *json)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct copy_result *v;
	size_t n;
	if (copy_results_decode(json_object_get(json, "files"), &v, &n, &f) < 0)
		CHECK(f.message);
	for (size_t i = 0; i < n; i++) {
		check_text(v[i].path);
		CHECK(v[i].success == !v[i].failure.kind);
		copy_result_release(&v[i]);
	}
	free(v);
}

static void check_display(const json_t *event)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(mime_bundle_release) struct mime_bundle bundle = { 0 };
	struct shown_display display;
	const json_t *json = json_object_get(event, "display");
	if (json && display_decode(json, &display, &bundle, &f) == 0)
		check_sendable(display_encode(&display));
}

int fuzz_one(const uint8_t *data, size_t n)
{
	AUTO(fail_release) struct fail f = { 0 };
	json_auto_t *json = json_loadb((const char *)data, n, JSON_ALLOW_NUL, NULL);
	if (!json)
		return 0;
	fail_decode(json, &f);
	CHECK(f.kind && f.message);
	check_text(f.hint);
	check_sendable(fail_encode(&f));
	check_result(json);
	check_asked(json);
	check_details(json);
	check_copies(json);
	check_display(json);
	return 0;
}
