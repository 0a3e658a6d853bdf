/* The manager on the fake engine: what callers get while others read, and detached runs. */
#include "tests/unit/journal-rig.h"

/* --- what a model gets ------------------------------------------------------------------------------------------- */

static void start_kept(const char *id)
{
	forget();
	struct run_request request = {
		.kind = RUN_CODE, .session_id = id, .text = "1", .len = 1, .has_wait = true, .on_done = on_ran
	};
	assert_non_null(manager_run(conversation, &request, &got.fail));
	FAKE_UNTIL(fake, got.done);
	assert_int_equal(got.ending, ENDING_RUNNING);
}

static void a_result_is_reported_once_even_if_it_is_read(void **state)
{
	struct log all = { 0 };
	AUTO(freep) char *id = create();
	fake_on_call = do_nothing;
	read_from(&all, id, 0, 0);
	start_kept(id);
	end(1);
	FAKE_UNTIL(fake, has(&all, "run.ended 1"));
	record(id, 1);
	assert_non_null(call(1));
	fake_on_call = NULL;
	run(id);
	assert_int_equal(got.earlier, 1);
	FAKE_UNTIL(fake, !call(1));
	run(id);
	assert_int_equal(got.earlier, 0);
	log_release(&all);
}

static void a_detached_run_is_acknowledged_when_its_end_was_fetched(void **state)
{
	struct log all = { 0 };
	AUTO(freep) char *id = create();
	fake_on_call = do_nothing;
	read_from(&all, id, 0, 0);
	uint32_t n = detach(id);
	out(n, "x");
	end(n);
	FAKE_UNTIL(fake, has(&all, "run.ended"));
	fake_on_call = NULL;
	run(id); /* its result does not report the detached run */
	assert_int_equal(got.earlier, 0);
	assert_non_null(call(n));
	record(id, n);
	FAKE_UNTIL(fake, !call(n));
	record(id, n);
	assert_string_equal(buf_str(&seen.parts), "x");
	log_release(&all);
}

static void a_reader_of_the_run_also_fetches_its_end(void **state)
{
	struct log one = { 0 };
	AUTO(freep) char *id = create();
	fake_on_call = do_nothing;
	uint32_t n = detach(id);
	read_from(&one, id, n, 0);
	end(n);
	FAKE_UNTIL(fake, !call(n));
	assert_true(has(&one, "run.ended 1 ok"));
	log_release(&one);
}

static void a_request_with_its_number_gets_a_detached_run(void **state)
{
	AUTO(freep) char *id = create();
	fake_on_call = do_nothing;
	uint32_t n = detach(id);
	forget();
	struct run_request join = { .session_id = id, .run = n, .wait_seconds = 9, .on_done = on_ran };
	assert_non_null(manager_run(conversation, &join, &got.fail));
	end(n);
	FAKE_UNTIL(fake, got.done);
	assert_int_equal(got.ending, ENDING_OK);
	FAKE_UNTIL(fake, !call(n));
}

static void a_detached_run_is_interrupted_and_kept(void **state)
{
	AUTO(freep) char *id = create();
	fake_on_call = do_nothing;
	uint32_t n = detach(id);
	forget();
	struct run_request stop = {
		.session_id = id, .run = n, .interrupt = true, .detached = true, .on_done = on_started
	};
	assert_non_null(manager_run(conversation, &stop, &got.fail));
	FAKE_UNTIL(fake, got.done && call(n)->ended);
	assert_true(call(n)->interrupted);
	FAKE_UNTIL(fake, (record(id, n), seen.state == RECORD_ENDED));
	assert_string_equal(seen.ending, "interrupted");
}

static void the_next_server_does_not_report_a_detached_run(void **state)
{
	AUTO(freep) char *id = create();
	fake_on_call = do_nothing;
	uint32_t n = detach(id);
	out(n, "kept");
	end(n);
	manager_free(manager);
	open_server();
	fake_on_call = NULL;
	run(id);
	assert_int_equal(got.earlier, 0);
	assert_non_null(call(n));
	record(id, n);
	assert_string_equal(buf_str(&seen.parts), "kept");
	FAKE_UNTIL(fake, !call(n));
}

static void a_stored_end_is_acknowledged_without_a_fetch(void **state)
{
	b.config.history_keeps_code = true;
	AUTO(freep) char *id = create();
	fake_on_call = do_nothing;
	uint32_t n = detach(id);
	out(n, "kept");
	end(n);
	FAKE_UNTIL(fake, !call(n));
	manager_free(manager);
	open_server();
	record(id, n);
	assert_string_equal(seen.text, "code");
	assert_int_equal(seen.outputs, 1);
}

static void runs_end_in_the_record_with_their_session(void **state)
{
	struct log all = { 0 };
	AUTO(freep) char *id = create();
	fake_on_call = do_nothing;
	read_from(&all, id, 0, JOURNAL_NOW);
	uint32_t n = detach(id);
	fake_die(fake_only(fake), 137, /* oom= */ true);
	FAKE_UNTIL(fake, has(&all, "session.ended"));
	assert_true(has(&all, "run.ended 1 container_died\nlimit.reached memory\nsession.ended"));
	record(id, n);
	assert_string_equal(seen.ending, "container_died");
	log_release(&all);
}

static void an_attached_clients_run_is_recorded(void **state)
{
	AUTO(freep) char *id = create();
	forget();
	struct run_request request = { .kind = RUN_CODE,
				       .session_id = id,
				       .text = "1",
				       .len = 1,
				       .client = 7,
				       .by = "husk repl",
				       .timeout_seconds = 60,
				       .on_done = on_ran };
	assert_non_null(manager_run(conversation, &request, &got.fail));
	FAKE_UNTIL(fake, got.done);
	record(id, 1);
	assert_string_equal(seen.by, "husk repl");
	assert_string_equal(seen.ending, "ok");
}

static void a_prompt_and_its_answer_are_recorded_without_the_input(void **state)
{
	struct log all = { 0 };
	AUTO(freep) char *id = create();
	fake_on_call = do_nothing;
	read_from(&all, id, 0, JOURNAL_NOW);
	forget();
	struct run_request request = { .kind = RUN_CODE,
				       .session_id = id,
				       .text = "1",
				       .len = 1,
				       .interactive = true,
				       .detached = true,
				       .on_done = on_started };
	assert_non_null(manager_run(conversation, &request, &got.fail));
	FAKE_UNTIL(fake, got.done && call(1));
	fake_call_give(fake_only(fake), call(1), FRAME_PROMPT,
		       "{\"state\":\"waiting\",\"interactive\":true,\"inputs\":0,\"prompt\":\"name? \"}");
	FAKE_UNTIL(fake, has(&all, "run.prompt 1 name? "));
	record(id, 1);
	assert_int_equal(seen.state, RECORD_WAITING);
	assert_int_equal(seen.prompts, 1);
	assert_int_equal(seen.answered, 0);
	forget();
	struct run_request answer = {
		.session_id = id, .run = 1, .input = "secret", .input_len = 6, .detached = true, .on_done = on_started
	};
	assert_non_null(manager_run(conversation, &answer, &got.fail));
	FAKE_UNTIL(fake, got.done && has(&all, "run.answered 1\n"));
	assert_false(has(&all, "secret"));
	record(id, 1);
	assert_int_equal(seen.state, RECORD_RUNNING);
	assert_int_equal(seen.answered, 1);
	log_release(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		JOURNAL_TEST(a_result_is_reported_once_even_if_it_is_read),
		JOURNAL_TEST(a_detached_run_is_acknowledged_when_its_end_was_fetched),
		JOURNAL_TEST(a_reader_of_the_run_also_fetches_its_end),
		JOURNAL_TEST(a_request_with_its_number_gets_a_detached_run),
		JOURNAL_TEST(a_detached_run_is_interrupted_and_kept),
		JOURNAL_TEST(the_next_server_does_not_report_a_detached_run),
		JOURNAL_TEST(a_stored_end_is_acknowledged_without_a_fetch),
		JOURNAL_TEST(runs_end_in_the_record_with_their_session),
		JOURNAL_TEST(an_attached_clients_run_is_recorded),
		JOURNAL_TEST(a_prompt_and_its_answer_are_recorded_without_the_input),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
