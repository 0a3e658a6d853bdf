/* The JSON form of the manager's structs: they survive encoding, and invalid JSON is rejected. */
/* evidence: attach-bounds */
#include "base/alloc.h"
#include "base/deadline.h"
#include "manager/json/codec.h"
#include "tests/unit/unit.h"

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
		"{\"ending\":\"ok\",\"result\":{\"text/plain\": 1}}",
		"{\"ending\":\"ok\",\"displays\":[[]]}",
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
				       { .source = "/etc/hostname" },
				       { .session_id = "t", .variable = "df" } };
	struct copy_request r = { .session_id = "s", .imports = items, .n = ARRAY_LEN(items) };
	json_auto_t *json = copy_request_encode(&r);
	const json_t *files = json_object_get(json, "files"), *first = json_array_get(files, 0);
	assert_int_equal(json_array_size(files), ARRAY_LEN(items));
	assert_string_equal(json_string_value(json_object_get(json_array_get(files, 3), "variable")), "df");
	assert_string_equal(json_string_value(json_object_get(first, "content")), "YQD/");
	assert_string_equal(json_string_value(json_object_get(first, "encoding")), "base64");
	assert_null(json_object_get(json_array_get(files, 1), "encoding"));
	assert_string_equal(json_string_value(json_object_get(json_array_get(files, 2), "source")), "/etc/hostname");
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

static void a_checkpoint_has_a_name_or_the_number_of_a_run(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct checkpoint_request save = { 0 }, undo = { 0 }, drop = { 0 }, keep = { 0 }, other = { 0 };
	assert_int_equal(checkpoint_request_decode(&save, "save", "12", &f), 0);
	assert_int_equal(save.action, CHECKPOINT_SAVE);
	assert_string_equal(save.name, "12");
	assert_int_equal(checkpoint_request_decode(&undo, "undo", "12", &f), 0);
	assert_null(undo.name);
	assert_int_equal(undo.run, 12);
	assert_int_equal(checkpoint_request_decode(&drop, "drop", "a", &f), 0);
	assert_int_equal(drop.action, CHECKPOINT_DROP);
	assert_string_equal(drop.name, "a");
	assert_int_equal(checkpoint_request_decode(&keep, "keep", "7", &f), 0);
	assert_int_equal(keep.action, CHECKPOINT_KEEP);
	assert_string_equal(keep.name, "7");
	assert_int_equal(checkpoint_request_decode(&other, "fly", "a", &f), -1);
	assert_int_equal(f.kind, FAIL_INVALID);
}

static void an_answer_about_checkpoints_survives_encoding(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(checkpoint_answer_release) struct checkpoint_answer got = { 0 };
	struct checkpoint_info v[] = { { .run = 1, .age_ms = 2, .bytes = 3 }, { .name = TEXT("b"), .run = 2 } };
	struct restored restored = { .run = 1, .missing = { 2, 3 }, .n_missing = 2 };
	struct checkpoint_info branch = { .name = TEXT("c"), .state = TEXT("busy"), .runs = { 4, 6 }, .n_runs = 2 };
	struct checkpoint_answer a = { .saved = &v[1],
				       .restored = &restored,
				       .note = TEXT("Back."),
				       .checkpoints = v,
				       .n_checkpoints = 2,
				       .branches = &branch,
				       .n_branches = 1 };
	strv_add(&v[0].lost, "a thread");
	strv_add(&a.dropped, "d");
	json_auto_t *json = checkpoint_answer_encode(&a);
	assert_int_equal(checkpoint_answer_decode(json, &got, &f), 0);
	assert_string_equal(got.saved->name, "b");
	assert_int_equal(got.restored->missing[1], 3);
	assert_string_equal(got.note, "Back.");
	assert_int_equal(got.n_checkpoints, 2);
	assert_null(got.checkpoints[0].name);
	assert_string_equal(got.checkpoints[0].lost.v[0], "a thread");
	assert_int_equal(got.checkpoints[0].bytes, 3);
	assert_null(got.checkpoints[0].state);
	assert_string_equal(got.branches[0].state, "busy");
	assert_int_equal(got.branches[0].runs[1], 6);
	assert_string_equal(got.dropped.v[0], "d");
	strv_release(&v[0].lost);
	strv_release(&a.dropped);
}

static void a_wrong_answer_about_checkpoints_is_rejected(void **state)
{
	static const char *const wrong[] = { "{\"saved\":5}",
					     "{\"note\":5}",
					     "{\"checkpoints\":[5]}",
					     "{\"branches\":[5]}",
					     "{\"dropped\":5}",
					     "{\"saved\":{\"run\":-1}}",
					     "{\"restored\":{\"run\":-1}}" };
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		AUTO(fail_release) struct fail f = { 0 };
		AUTO(checkpoint_answer_release) struct checkpoint_answer got = { 0 };
		json_auto_t *json = json_loads(wrong[i], 0, NULL);
		assert_int_equal(checkpoint_answer_decode(json, &got, &f), -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_result_survives_encoding),
		cmocka_unit_test(encoding_ends_at_its_deadline),
		cmocka_unit_test(an_inconsistent_result_is_rejected),
		cmocka_unit_test(details_survive_encoding),
		cmocka_unit_test(content_may_be_any_bytes),
		cmocka_unit_test(a_failure_keeps_its_kind_cause_and_message),
		cmocka_unit_test(an_answer_about_checkpoints_survives_encoding),
		cmocka_unit_test(a_wrong_answer_about_checkpoints_is_rejected),
		cmocka_unit_test(a_checkpoint_has_a_name_or_the_number_of_a_run),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
