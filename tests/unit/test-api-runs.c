/* The routes of runs and events, over the fake engine. */
#include "base/alloc.h"
#include "kernels/protocol.h"
#include "tests/unit/api-bench.h"
#include "tests/unit/unit.h"

#define SSE "Accept: text/event-stream\r\n"

static char *session;

static int begin(void **state)
{
	api_bench_begin(state);
	session = api_create();
	return 0;
}

static int end(void **state)
{
	fake_on_call = NULL;
	free(take_ptr(session));
	return api_bench_end(state);
}

static struct reply call(const char *method, const char *rest, const char *fields, const char *body)
{
	AUTO(freep) char *target = xasprintf("/v1/sessions/%s/%s", session, rest);
	return api_call(method, target, fields, body);
}

static const char *text_of(const struct reply *r, const char *name)
{
	const char *text = json_string_value(json_object_get(r->json, name));
	return text ? text : "";
}

static void show_all(struct fake_container *c, struct fake_call *run)
{
	fake_call_out(c, run, "first\n");
	fake_call_give(c, run, FRAME_DISPLAY,
		       "{\"data\": {\"image/png\": \"iVBORw0KGgo=\", \"text/plain\": \"<Figure>\"}}");
	fake_call_out(c, run, "second\n");
}

static void show(struct fake_container *c, struct fake_call *run)
{
	show_all(c, run);
	fake_call_end(c, run, "ok");
}

static void show_and_return(struct fake_container *c, struct fake_call *run)
{
	show_all(c, run);
	fake_call_give(c, run, FRAME_RESULT, "{\"data\": {\"text/plain\": \"42\"}}");
	fake_call_end(c, run, "ok");
}

static void hold(struct fake_container *c UNUSED, struct fake_call *run UNUSED)
{
}

static struct fake_call *held(uint32_t number)
{
	FAKE_UNTIL(fake, fake_call_find(fake_only(fake), number));
	return fake_call_find(fake_only(fake), number);
}

static void a_wait_returns_the_whole_run(void **state)
{
	fake_on_call = show;
	AUTO(reply_release) struct reply r = call("POST", "runs", "Prefer: wait=30\r\n", "{\"text\": \"plot()\"}");
	assert_int_equal(r.status, 200);
	assert_string_equal(text_of(&r, "ending"), "ok");
	assert_string_equal(text_of(&r, "stdout"), "first\nsecond\n");
	assert_string_equal(text_of(&r, "text"), "plot()");
	assert_int_equal(json_array_size(json_object_get(r.json, "parts")), 3);
	AUTO(reply_release) struct reply again = call("GET", "runs/1", NULL, NULL);
	assert_string_equal(text_of(&again, "stdout"), "first\nsecond\n");
}

static void without_a_wait_the_answer_names_the_run(void **state)
{
	fake_on_call = hold;
	AUTO(reply_release) struct reply r = call("POST", "runs", NULL, "{\"text\": \"1\"}");
	AUTO(freep) char *location = reply_field(&r, "Location");
	assert_int_equal(r.status, 202);
	assert_non_null(strstr(location, "/runs/1"));
	AUTO(reply_release) struct reply now = call("GET", "runs/1", NULL, NULL);
	assert_string_equal(text_of(&now, "state"), "running");
	fake_call_end(fake_only(fake), held(1), "ok");
	AUTO(reply_release) struct reply wait = call("GET", "events?run=1&wait=30&after=0", NULL, NULL);
	assert_int_equal(wait.status, 200);
	FAKE_UNTIL(fake, !fake_call_find(fake_only(fake), 1) || fake_call_find(fake_only(fake), 1)->ended);
}

static void a_wait_that_is_over_leaves_the_run(void **state)
{
	fake_on_call = hold;
	AUTO(reply_release) struct reply r = call("POST", "runs", "Prefer: wait=1\r\n", "{\"text\": \"1\"}");
	assert_int_equal(r.status, 202);
	assert_false(held(1)->interrupted);
}

/* Starts a run on a connection of its own, which the caller closes. */
static int start(const char *fields, const char *body)
{
	int fd = api_connect();
	AUTO(buf_release) struct buf request = { 0 };
	buf_printf(&request, "POST /v1/sessions/%s/runs HTTP/1.1\r\nHost: husk\r\nContent-Length: %zu\r\n%s\r\n%s",
		   session, strlen(body), fields, body);
	api_send(fd, buf_str(&request));
	return fd;
}

static void a_run_can_be_streamed(void **state)
{
	AUTO(buf_release) struct buf got = { 0 };
	fake_on_call = show_and_return;
	AUTO(closep) int fd = start(SSE, "{\"text\": \"plot()\"}");
	api_read_until(fd, &got, "0\r\n\r\n");
	const char *text = buf_str(&got);
	assert_non_null(strstr(text, "text/event-stream"));
	assert_non_null(strstr(strstr(text, "event: run.ended"), "\"result\":{\"text/plain\":\"42\"}"));
	assert_non_null(strstr(text, "\"text\":\"first\\n\""));
	assert_true(strstr(text, "first") < strstr(text, "event: run.display"));
	assert_true(strstr(text, "event: run.display") < strstr(text, "second"));
}

static void an_attached_run_ends_with_its_client(void **state)
{
	static const char *const ways[] = { SSE, "Prefer: wait=30\r\n" };
	for (uint32_t i = 0; i < ARRAY_LEN(ways); i++) {
		fake_on_call = hold;
		int fd = start(ways[i], "{\"text\": \"while True: pass\", \"attached\": true}");
		struct fake_call *run = held(i + 1);
		AUTO(buf_release) struct buf got = { 0 };
		if (i == 0)
			api_read_until(fd, &got, "event: run.queued");
		close(fd);
		FAKE_UNTIL(fake, run->interrupted);
	}
}

#define MINE "Husk-Client: me\r\n"

/* The stream of an attached run stays open at a prompt. Only the client that started the run can answer. */
static void an_attached_run_goes_on_after_a_prompt(void **state)
{
	AUTO(buf_release) struct buf got = { 0 };
	fake_on_call = hold;
	AUTO(closep) int fd = start(SSE MINE, "{\"text\": \"input()\", \"attached\": true, \"interactive\": true}");
	fake_call_out(fake_only(fake), held(1), "before\n");
	fake_call_give(fake_only(fake), held(1), FRAME_PROMPT,
		       "{\"state\":\"waiting\",\"interactive\":true,\"inputs\":0,\"prompt\":\"name: \"}");
	api_read_until(fd, &got, "event: run.prompt");
	assert_non_null(strstr(buf_str(&got), "\"text\":\"before\\n\""));
	AUTO(reply_release) struct reply other = call("POST", "runs/1/input", NULL, "{\"text\": \"mallory\"}");
	assert_string_equal(text_of(&other, "cause"), "run_foreign");
	AUTO(reply_release) struct reply mine = call("POST", "runs/1/input", MINE, "{\"text\": \"alice\"}");
	assert_int_equal(mine.status, 204);
	fake_call_out(fake_only(fake), held(1), "after\n");
	fake_call_end(fake_only(fake), held(1), "ok");
	api_read_until(fd, &got, "event: run.ended");
	api_read_until(fd, &got, "\r\n0\r\n\r\n");
	const char *text = buf_str(&got);
	assert_true(strstr(text, "event: run.prompt") < strstr(text, "\"text\":\"after\\n\""));
	assert_non_null(strstr(text, "\"ending\":\"ok\""));
}

/* At a prompt nothing waits for the run, but it can be interrupted. */
static void an_attached_run_can_be_interrupted_at_a_prompt(void **state)
{
	AUTO(buf_release) struct buf got = { 0 };
	fake_on_call = hold;
	AUTO(closep) int fd = start(SSE, "{\"text\": \"input()\", \"attached\": true, \"interactive\": true}");
	fake_call_give(fake_only(fake), held(1), FRAME_PROMPT,
		       "{\"state\":\"waiting\",\"interactive\":true,\"inputs\":0,\"prompt\":\"name: \"}");
	api_read_until(fd, &got, "event: run.prompt");
	AUTO(reply_release) struct reply stop = call("POST", "runs/1/interrupt", NULL, NULL);
	assert_int_equal(stop.status, 204);
	api_read_until(fd, &got, "event: run.ended");
	assert_non_null(strstr(buf_str(&got), "\"ending\":\"interrupted\""));
}

static void results_of_other_runs_do_not_report_an_attached_run(void **state)
{
	fake_on_call = hold;
	AUTO(closep) int fd = start(SSE, "{\"text\": \"1\", \"attached\": true}");
	(void)held(1);
	AUTO(fail_release) struct fail f = { 0 };
	struct run_request wait = { .session_id = session, .run = 1, .has_wait = true };
	assert_null(manager_run(conversation, &wait, &f));
	assert_int_equal(cause_of(&f), CAUSE_RUN_FOREIGN);
}

/* A client that sends its request and closes at once. */
static void an_attached_run_ends_with_a_client_that_leaves_early(void **state)
{
	fake_on_call = hold;
	int fd = start("Prefer: wait=30\r\n", "{\"text\": \"while True: pass\", \"attached\": true}");
	close(fd);
	struct fake_call *run = held(1);
	FAKE_UNTIL(fake, run->interrupted);
}

/* --- ends among dropped events ------------------------------------------------------------------------------------- */

static void give_much(struct fake_container *c, struct fake_call *run)
{
	static char line[8192];
	memset(line, 'x', sizeof(line) - 2);
	line[sizeof(line) - 2] = '\n';
	for (int i = 0; i < 10; i++)
		fake_call_out(c, run, line);
	fake_call_end(c, run, "ok");
}

/* Runs cells until the events of the first were dropped. */
static void drop_first_run(void)
{
	b.config.record_max_size_per_session = 64u << 10;
	fake_on_call = give_much;
	for (int i = 0; i < 3; i++) {
		AUTO(reply_release) struct reply r = call("POST", "runs", "Prefer: wait=30\r\n", "{\"text\": \"1\"}");
		assert_int_equal(r.status, 200);
		assert_string_equal(text_of(&r, "ending"), "ok");
	}
}

static void the_stream_of_a_run_ends_although_its_end_was_dropped(void **state)
{
	drop_first_run();
	AUTO(reply_release) struct reply r = call("GET", "runs/1", SSE, NULL);
	assert_int_equal(r.status, 200);
	assert_non_null(strstr(r.body, "event: gap"));
	assert_null(strstr(r.body, "event: run.ended"));
}

static void the_stream_of_a_session_ends_although_its_end_is_hidden(void **state)
{
	AUTO(freep) char *path = xasprintf("/v1/sessions/%s", session);
	AUTO(freep) char *request = xasprintf("GET %s/events?only=run HTTP/1.1\r\nHost: husk\r\n" SSE "\r\n", path);
	AUTO(buf_release) struct buf got = { 0 };
	AUTO(closep) int fd = api_connect();
	api_send(fd, request);
	api_read_until(fd, &got, "\r\n\r\n");
	AUTO(reply_release) struct reply r = api_call("DELETE", path, NULL, NULL);
	assert_int_equal(r.status, 204);
	api_read_until(fd, &got, "0\r\n\r\n");
	assert_null(strstr(buf_str(&got), "session.ended"));
}

static void the_end_of_a_session_can_be_read_later(void **state)
{
	AUTO(freep) char *path = xasprintf("/v1/sessions/%s", session);
	AUTO(reply_release) struct reply stopped = api_call("DELETE", path, NULL, NULL);
	AUTO(reply_release) struct reply r = call("GET", "events?after=0", NULL, NULL);
	const json_t *events = json_object_get(r.json, "events");
	const json_t *last = json_array_get(events, json_array_size(events) - 1);
	assert_string_equal(json_string_value(json_object_get(last, "event")), "session.ended");
	AUTO(reply_release) struct reply stream = call("GET", "events?after=0", SSE, NULL);
	assert_non_null(strstr(stream.body, "event: session.ended"));
	/* Browsers connect again after a stream has ended, but not after 404. */
	AUTO(freep) char *known = xasprintf(SSE "Last-Event-ID: %lld\r\n",
					    (long long)json_integer_value(json_object_get(last, "number")));
	AUTO(reply_release) struct reply none = call("GET", "events", known, NULL);
	assert_int_equal(none.status, 404);
	assert_string_equal(json_string_value(json_object_get(none.json, "cause")), "no_session");
}

static void the_stream_of_a_run_continues_after_a_number(void **state)
{
	fake_on_call = show;
	AUTO(reply_release) struct reply run = call("POST", "runs", "Prefer: wait=30\r\n", "{\"text\": \"1\"}");
	AUTO(reply_release) struct reply all = call("GET", "events?only=run.display", NULL, NULL);
	json_t *display = json_array_get(json_object_get(all.json, "events"), 0);
	AUTO(freep) char *known = xasprintf(SSE "Last-Event-ID: %lld\r\n",
					    (long long)json_integer_value(json_object_get(display, "number")));
	AUTO(reply_release) struct reply rest = call("GET", "runs/1", known, NULL);
	assert_null(strstr(rest.body, "first"));
	assert_non_null(strstr(rest.body, "second"));
	assert_non_null(strstr(rest.body, "event: run.ended"));
	AUTO(reply_release) struct reply bad = call("GET", "runs/1", SSE "Last-Event-ID: x\r\n", NULL);
	assert_int_equal(bad.status, 400);
}

static void another_run_survives_its_client(void **state)
{
	AUTO(buf_release) struct buf got = { 0 };
	fake_on_call = hold;
	int fd = start(SSE, "{\"text\": \"1\"}");
	api_read_until(fd, &got, "event: run.started");
	close(fd);
	AUTO(reply_release) struct reply r = call("GET", "runs/1", NULL, NULL);
	assert_string_equal(text_of(&r, "state"), "running");
	assert_false(held(1)->interrupted);
}

static void an_attached_run_needs_a_connection(void **state)
{
	AUTO(reply_release) struct reply r = call("POST", "runs", NULL, "{\"text\": \"1\", \"attached\": true}");
	assert_int_equal(r.status, 400);
}

static void a_run_can_be_interrupted(void **state)
{
	fake_on_call = hold;
	AUTO(reply_release) struct reply r = call("POST", "runs", NULL, "{\"text\": \"1\"}");
	struct fake_call *run = held(1);
	AUTO(reply_release) struct reply stop = call("POST", "runs/1/interrupt", NULL, NULL);
	assert_int_equal(stop.status, 204);
	FAKE_UNTIL(fake, run->interrupted);
}

static void a_run_that_has_ended_cannot_be_interrupted(void **state)
{
	AUTO(reply_release) struct reply run = call("POST", "runs", "Prefer: wait=30\r\n", "{\"text\": \"1\"}");
	AUTO(reply_release) struct reply stop = call("POST", "runs/1/interrupt", NULL, NULL);
	AUTO(reply_release) struct reply input = call("POST", "runs/1/input", NULL, "{\"text\": \"yes\"}");
	assert_int_equal(stop.status, 409);
	assert_string_equal(text_of(&stop, "cause"), "run_told");
	assert_int_equal(input.status, 409);
}

static void input_needs_a_prompt(void **state)
{
	fake_on_call = hold;
	AUTO(reply_release) struct reply r = call("POST", "runs", NULL, "{\"text\": \"1\"}");
	(void)held(1);
	AUTO(reply_release) struct reply input = call("POST", "runs/1/input", NULL, "{\"text\": \"yes\"}");
	assert_int_equal(input.status, 400);
	assert_string_equal(text_of(&input, "cause"), "not_interactive");
}

static void unknown_runs_are_not_found(void **state)
{
	static const char *const paths[] = { "runs/7", "runs/0", "runs/x", "runs/99999999999", "runs/7/outputs/0" };
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		AUTO(reply_release) struct reply r = call("GET", paths[i], NULL, NULL);
		assert_int_equal(r.status, 404);
		assert_string_equal(text_of(&r, "cause"), "no_run");
		AUTO(reply_release) struct reply stream = call("GET", paths[i], SSE, NULL);
		assert_int_equal(stream.status, 404);
	}
}

/* evidence: http-sandbox */
static void an_output_has_its_own_type_and_a_sandbox(void **state)
{
	fake_on_call = show;
	AUTO(reply_release) struct reply r = call("POST", "runs", "Prefer: wait=30\r\n", "{\"text\": \"plot()\"}");
	AUTO(reply_release) struct reply picture = call("GET", "runs/1/outputs/1", NULL, NULL);
	AUTO(freep) char *type = reply_field(&picture, "Content-Type");
	AUTO(freep) char *policy = reply_field(&picture, "Content-Security-Policy");
	assert_int_equal(picture.status, 200);
	assert_string_equal(type, "image/png");
	assert_memory_equal(picture.body, "\x89PNG", 4);
	assert_non_null(strstr(policy, "sandbox allow-scripts"));
	AUTO(reply_release) struct reply text = call("GET", "runs/1/outputs/1", "Accept: text/plain\r\n", NULL);
	assert_string_equal(text.body, "<Figure>");
	AUTO(reply_release) struct reply none = call("GET", "runs/1/outputs/3", NULL, NULL);
	assert_int_equal(none.status, 404);
}

static void runs_are_listed_in_pages(void **state)
{
	for (int i = 0; i < 3; i++) {
		AUTO(reply_release) struct reply r = call("POST", "runs", "Prefer: wait=30\r\n", "{\"text\": \"1\"}");
		assert_int_equal(r.status, 200);
	}
	AUTO(reply_release) struct reply page = call("GET", "runs?limit=2", NULL, NULL);
	json_t *first = json_array_get(json_object_get(page.json, "runs"), 0);
	assert_int_equal(json_integer_value(json_object_get(first, "run")), 3);
	assert_true(json_is_true(json_object_get(page.json, "more")));
	AUTO(reply_release) struct reply rest = call("GET", "runs?before=2", NULL, NULL);
	assert_int_equal(json_array_size(json_object_get(rest.json, "runs")), 1);
	assert_true(json_is_false(json_object_get(rest.json, "more")));
}

static void events_continue_after_a_number(void **state)
{
	AUTO(reply_release) struct reply r = call("POST", "runs", "Prefer: wait=30\r\n", "{\"text\": \"1\"}");
	AUTO(reply_release) struct reply all = call("GET", "events?after=0", NULL, NULL);
	json_t *events = json_object_get(all.json, "events");
	json_int_t next = json_integer_value(json_object_get(all.json, "next"));
	assert_true(json_array_size(events) >= 4);
	AUTO(freep) char *after = xasprintf("events?after=%lld", (long long)next);
	AUTO(reply_release) struct reply none = call("GET", after, NULL, NULL);
	assert_int_equal(json_array_size(json_object_get(none.json, "events")), 0);
	AUTO(freep) char *last =
		xasprintf("Last-Event-ID: %lld\r\n",
			  (long long)json_integer_value(json_object_get(json_array_get(events, 1), "number")));
	AUTO(reply_release) struct reply rest = call("GET", "events", last, NULL);
	assert_int_equal(json_array_size(json_object_get(rest.json, "events")), json_array_size(events) - 2);
	AUTO(reply_release) struct reply bad = call("GET", "events?after=x", NULL, NULL);
	assert_int_equal(bad.status, 400);
}

static void events_can_be_of_one_kind_only(void **state)
{
	AUTO(reply_release) struct reply run = call("POST", "runs", "Prefer: wait=30\r\n", "{\"text\": \"1\"}");
	AUTO(reply_release) struct reply r = call("GET", "events?only=run.ended", NULL, NULL);
	const json_t *events = json_object_get(r.json, "events");
	assert_int_equal(json_array_size(events), 1);
	assert_string_equal(json_string_value(json_object_get(json_array_get(events, 0), "event")), "run.ended");
	AUTO(reply_release) struct reply sessions = call("GET", "events?only=session", NULL, NULL);
	assert_non_null(strstr(sessions.body, "session.created"));
	assert_null(strstr(sessions.body, "run."));
	static const char *const unknown[] = { "events?only=bad", "events?only=runs", "events?only=run.",
					       "events?only=" };
	for (size_t i = 0; i < ARRAY_LEN(unknown); i++) {
		AUTO(reply_release) struct reply poll = call("GET", unknown[i], NULL, NULL);
		AUTO(reply_release) struct reply stream = call("GET", unknown[i], SSE, NULL);
		assert_int_equal(poll.status, 400);
		assert_int_equal(stream.status, 400);
	}
}

static void polling_from_now_on_names_a_number(void **state)
{
	AUTO(reply_release) struct reply now = call("GET", "events?after=now", NULL, NULL);
	json_int_t next = json_integer_value(json_object_get(now.json, "next"));
	assert_int_equal(json_array_size(json_object_get(now.json, "events")), 0);
	assert_true(next > 0);
	AUTO(reply_release) struct reply r = call("POST", "runs", "Prefer: wait=30\r\n", "{\"text\": \"1\"}");
	AUTO(freep) char *after = xasprintf("events?only=run.ended&after=%lld", (long long)next);
	AUTO(reply_release) struct reply rest = call("GET", after, NULL, NULL);
	assert_int_equal(json_array_size(json_object_get(rest.json, "events")), 1);
	/* `next` also counts the events that `only` leaves out. */
	AUTO(reply_release) struct reply hidden = call("GET", "events?only=files&after=0", NULL, NULL);
	assert_true(json_integer_value(json_object_get(hidden.json, "next")) > next);
}

static void show_large(struct fake_container *c, struct fake_call *run)
{
	AUTO(buf_release) struct buf display = { 0 };
	buf_add_str(&display, "{\"data\": {\"text/plain\": \"");
	for (int i = 0; i < 700 << 10; i++)
		buf_add(&display, "x", 1);
	buf_add_str(&display, "\"}}");
	for (int i = 0; i < 4; i++)
		fake_call_give(c, run, FRAME_DISPLAY, buf_str(&display));
	fake_call_end(c, run, "ok");
}

static void polling_divides_large_events(void **state)
{
	fake_on_call = show_large;
	AUTO(reply_release) struct reply r = call("POST", "runs", "Prefer: wait=30\r\n", "{\"text\": \"1\"}");
	AUTO(reply_release) struct reply one = call("GET", "events?only=run.display", NULL, NULL);
	assert_int_equal(json_array_size(json_object_get(one.json, "events")), 2);
	AUTO(freep) char *after = xasprintf("events?only=run.display&after=%lld",
					    (long long)json_integer_value(json_object_get(one.json, "next")));
	AUTO(reply_release) struct reply two = call("GET", after, NULL, NULL);
	assert_int_equal(json_array_size(json_object_get(two.json, "events")), 2);
}

static void two_readers_see_the_same_events(void **state)
{
	AUTO(buf_release) struct buf one = { 0 };
	AUTO(buf_release) struct buf two = { 0 };
	AUTO(freep) char *request =
		xasprintf("GET /v1/sessions/%s/events?after=now HTTP/1.1\r\nHost: husk\r\n" SSE "\r\n", session);
	AUTO(closep) int first = api_connect();
	AUTO(closep) int second = api_connect();
	api_send(first, request);
	api_send(second, request);
	api_read_until(first, &one, "\r\n\r\n");
	api_read_until(second, &two, "\r\n\r\n");
	fake_on_call = show;
	AUTO(reply_release) struct reply r = call("POST", "runs", "Prefer: wait=30\r\n", "{\"text\": \"1\"}");
	api_read_until(first, &one, "event: run.ended");
	api_read_until(second, &two, "event: run.ended");
	assert_string_equal(strstr(buf_str(&one), "event: run.queued"), strstr(buf_str(&two), "event: run.queued"));
}

static void the_stream_of_all_sessions_names_each(void **state)
{
	AUTO(freep) char *other = api_create();
	AUTO(reply_release) struct reply r = api_call("GET", "/v1/events", NULL, NULL);
	assert_int_equal(r.status, 200);
	assert_non_null(strstr(r.body, session));
	assert_non_null(strstr(r.body, other));
	AUTO(reply_release) struct reply foreign = api_call("GET", "/v1/events", "Husk-Conversation: other\r\n", NULL);
	assert_int_equal(json_array_size(json_object_get(foreign.json, "events")), 0);
}

static void show_much(struct fake_container *c, struct fake_call *run)
{
	AUTO(freep) char *data = xcalloc(1, (400 << 10) + 1);
	memset(data, 'A', 400 << 10);
	AUTO(freep) char *payload = xasprintf("{\"data\": {\"image/png\": \"%s\"}}", data);
	for (int i = 0; i < 3; i++)
		fake_call_give(c, run, FRAME_DISPLAY, payload);
	fake_call_end(c, run, "ok");
}

/* Each answer is a copy, so clients that do not read could fill memory. */
static void long_records_wait_for_readers(void **state)
{
	int fds[48];
	AUTO(freep) char *request = xasprintf("GET /v1/sessions/%s/runs/1 HTTP/1.1\r\nHost: husk\r\n\r\n", session);
	fake_on_call = show_much;
	AUTO(reply_release) struct reply r = call("POST", "runs", "Prefer: wait=30\r\n", "{\"text\": \"1\"}");
	assert_int_equal(r.status, 200);
	assert_true(r.raw.len > 256 << 10);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		fds[i] = api_connect();
		api_send(fds[i], request);
	}
	struct reply last = { 0 };
	for (int i = 0; i < 50 && last.status != 503; i++) {
		reply_release(&last);
		last = call("GET", "runs/1", NULL, NULL);
	}
	assert_int_equal(last.status, 503);
	AUTO(freep) char *retry = reply_field(&last, "Retry-After");
	assert_non_null(retry);
	reply_release(&last);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		close(fds[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_wait_returns_the_whole_run),
		TEST(long_records_wait_for_readers),
		TEST(without_a_wait_the_answer_names_the_run),
		TEST(a_wait_that_is_over_leaves_the_run),
		TEST(a_run_can_be_streamed),
		TEST(an_attached_run_ends_with_its_client),
		TEST(an_attached_run_goes_on_after_a_prompt),
		TEST(an_attached_run_can_be_interrupted_at_a_prompt),
		TEST(results_of_other_runs_do_not_report_an_attached_run),
		TEST(an_attached_run_ends_with_a_client_that_leaves_early),
		TEST(the_stream_of_a_run_ends_although_its_end_was_dropped),
		TEST(the_stream_of_a_session_ends_although_its_end_is_hidden),
		TEST(the_end_of_a_session_can_be_read_later),
		TEST(the_stream_of_a_run_continues_after_a_number),
		TEST(another_run_survives_its_client),
		TEST(an_attached_run_needs_a_connection),
		TEST(a_run_can_be_interrupted),
		TEST(a_run_that_has_ended_cannot_be_interrupted),
		TEST(input_needs_a_prompt),
		TEST(unknown_runs_are_not_found),
		TEST(an_output_has_its_own_type_and_a_sandbox),
		TEST(runs_are_listed_in_pages),
		TEST(events_continue_after_a_number),
		TEST(events_can_be_of_one_kind_only),
		TEST(polling_from_now_on_names_a_number),
		TEST(polling_divides_large_events),
		TEST(two_readers_see_the_same_events),
		TEST(the_stream_of_all_sessions_names_each),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
