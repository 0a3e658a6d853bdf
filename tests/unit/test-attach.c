/* Attaching over the fake engine, both ends on one loop: calls, and which client they belong to. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "api/sockets.h"
#include "attach/client-private.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/work.h"
#include "kernels/protocol.h"
#include "tests/unit/attach-bench.h"
#include "tests/unit/unit.h"

/* The number of connections that a server accepts. */
#define CONNECTIONS 256

/* --- calls --------------------------------------------------------------------------------------------------------- */

static void on_display(void *ctx, const struct shown_display *display)
{
	struct got *g = ctx;
	if (display->clear)
		buf_add_str(&g->live[0], "<clear>");
	else
		buf_printf(&g->live[0], "<%s %s %d>", display->bundle->parts[0].type, display->id ? display->id : "",
			   display->update);
}

static struct run_request a_wait(struct got *g, uint64_t number)
{
	forget(g);
	return (struct run_request){
		.session_id = session, .run = number, .has_wait = true, .wait_seconds = 60, .on_done = on_ran, .ctx = g
	};
}

static struct op *run_as_agent(struct got *g, const char *text)
{
	struct run_request request = a_run(g, text);
	return manager_run(conversation, &request, &g->fail);
}

static struct fake_call *call_number(uint32_t number)
{
	FAKE_UNTIL(fake, fake_call_find(fake_only(fake), number));
	return fake_call_find(fake_only(fake), number);
}

/* --- runs ---------------------------------------------------------------------------------------------------------- */

static void show_things(struct fake_container *c, struct fake_call *call)
{
	fake_call_out(c, call, "first\n");
	fake_call_give(c, call, FRAME_DISPLAY, "{\"data\": {\"image/png\": \"iVBORw0KGgo=\"}}");
	fake_call_out(c, call, "second\n");
	fake_call_end(c, call, "ok");
}

static void test_a_run(void **state)
{
	fake_on_call = show_things;
	assert_non_null(run(attach, &got, "plot()"));
	FAKE_UNTIL(fake, got.done);
	assert_int_equal(got.fail.kind, FAIL_NONE);
	assert_int_equal(got.ending, ENDING_OK);
	assert_int_equal(got.run, 1);
	assert_string_equal(got.text, "first\nsecond\n");
	assert_string_equal(buf_str(&got.live[0]), "first\nsecond\n");
	assert_int_equal(got.parts, 3);
	assert_int_equal(got.displays, 1);
	assert_string_equal(got.mime, "image/png iVBORw0KGgo=");
}

#define LARGE (400u << 10)

static void show_much(struct fake_container *c, struct fake_call *call)
{
	AUTO(freep) char *data = xmalloc(LARGE + 1);
	memset(data, 'A', LARGE);
	data[LARGE] = '\0';
	AUTO(freep) char *payload = xasprintf("{\"data\": {\"image/png\": \"%s\"}}", data);
	fake_call_give(c, call, FRAME_DISPLAY, payload);
	fake_call_end(c, call, "ok");
}

/* A worker encodes the result, not the loop. */
static void test_a_large_result_is_whole(void **state)
{
	fake_on_call = show_much;
	assert_non_null(run(attach, &got, "plot()"));
	FAKE_UNTIL(fake, got.done);
	assert_int_equal(got.fail.kind, FAIL_NONE);
	assert_int_equal(got.ending, ENDING_OK);
	assert_int_equal(strlen(got.mime), strlen("image/png ") + LARGE);
	/* The client disconnects while its answer is made, and the server keeps running. */
	forget(&got);
	struct attach_call *call = run(attach, &got, "plot()");
	FAKE_UNTIL(fake, work_is_running());
	attach_cancel(call);
	FAKE_UNTIL(fake, !work_is_running());
	assert_false(got.done);
	fake_on_call = NULL;
	assert_non_null(run(attach, &got, "1"));
	FAKE_UNTIL(fake, got.done);
	assert_int_equal(got.ending, ENDING_OK);
}

static void show_and_clear(struct fake_container *c, struct fake_call *call)
{
	fake_call_out(c, call, "a");
	fake_call_give(c, call, FRAME_DISPLAY, "{\"data\": {\"text/html\": \"x\"}, \"display_id\": \"d\"}");
	fake_call_give(c, call, FRAME_DISPLAY,
		       "{\"data\": {\"text/html\": \"y\"}, \"display_id\": \"d\", \"update\": true}");
	fake_call_out(c, call, "b");
	fake_call_give(c, call, FRAME_DISPLAY, "{\"data\": {}, \"clear\": true}");
	fake_call_end(c, call, "ok");
}

static void test_displays_are_sent_while_the_run_lasts(void **state)
{
	struct run_request request = a_run(&got, "show()");
	request.on_display = on_display;
	fake_on_call = show_and_clear;
	assert_non_null(attach_run(attach, &request, &got.fail));
	FAKE_UNTIL(fake, got.done);
	assert_string_equal(buf_str(&got.live[0]), "a<text/html d 0><text/html d 1>b<clear>");
}

static void show_much_and_more(struct fake_container *c, struct fake_call *call)
{
	AUTO(freep) char *data = xmalloc(LARGE + 1);
	memset(data, 'A', LARGE);
	data[LARGE] = '\0';
	AUTO(freep) char *payload = xasprintf("{\"data\": {\"text/html\": \"%s\"}, \"display_id\": \"d\"}", data);
	fake_call_out(c, call, "a");
	fake_call_give(c, call, FRAME_DISPLAY, payload);
	fake_call_out(c, call, "b");
	fake_call_give(c, call, FRAME_DISPLAY, "{\"data\": {\"text/html\": \"y\"}, \"display_id\": \"e\"}");
	fake_call_give(c, call, FRAME_DISPLAY, payload);
	fake_call_out(c, call, "c");
	fake_call_end(c, call, "ok");
}

/* evidence: loop-work */
/* A worker encodes the large displays, and later ones wait for it. */
static void test_large_displays_keep_their_place(void **state)
{
	struct run_request request = a_run(&got, "show()");
	request.on_display = on_display;
	fake_on_call = show_much_and_more;
	assert_non_null(attach_run(attach, &request, &got.fail));
	FAKE_UNTIL(fake, got.done);
	assert_string_equal(buf_str(&got.live[0]), "a<text/html d 0>b<text/html e 0><text/html d 0>c");
	assert_int_equal(got.displays, 3);
}

#define TAIL (100u << 10)

static void write_much(struct fake_container *c, struct fake_call *call)
{
	AUTO(freep) char *tail = xmalloc(TAIL + 1);
	memset(tail, 'x', TAIL);
	tail[TAIL] = '\0';
	fake_call_out(c, call, "a");
	fake_call_give(c, call, FRAME_OUT_TAIL, tail);
	fake_call_end(c, call, "ok");
}

/* Worker jobs that run until a byte arrives in their pipe. */
static atomic_int waiting;

static void wait_for_byte(void *ctx)
{
	char byte;
	waiting++;
	assert_int_equal(read(*(int *)ctx, &byte, 1), 1);
}

static void on_waited(void *ctx UNUSED, bool forgotten UNUSED)
{
}

static void hold_rendering(int *from, const char *name)
{
	work_start(b.loop,
		   &(struct work_spec){
			   .fn = wait_for_byte, .on_done = on_waited, .ctx = from, .render = true, .session = name });
}

/* The first blocked job delays the job that prepares the end of the run, the second the job that cleans the text.
 * Until then there is no answer, while another session gets its own. */
/* evidence: loop-work */
static void test_a_long_tail_is_cleaned_off_the_loop(void **state)
{
	int first[2], second[2];
	AUTO(freep) char *idle = create();
	struct run_request request = a_run(&got, "print()"), quick = a_run(&other, "1");
	request.on_display = on_display;
	quick.session_id = idle;
	assert_int_equal(pipe2(first, O_CLOEXEC), 0);
	assert_int_equal(pipe2(second, O_CLOEXEC), 0);
	hold_rendering(first, "one");
	fake_on_call = write_much;
	assert_non_null(attach_run(attach, &request, &got.fail));
	FAKE_UNTIL(fake, got.live[0].len);
	fake_on_call = NULL;
	assert_non_null(manager_run(conversation, &quick, &other.fail));
	FAKE_UNTIL(fake, other.done);
	hold_rendering(second, "two");
	assert_int_equal(write(first[1], "", 1), 1);
	FAKE_UNTIL(fake, waiting == 2);
	for (int i = 0; i < 3; i++) {
		quick = a_run(&other, "1");
		quick.session_id = idle;
		assert_non_null(manager_run(conversation, &quick, &other.fail));
		FAKE_UNTIL(fake, other.done);
	}
	bool early = got.done;
	assert_int_equal(write(second[1], "", 1), 1);
	FAKE_UNTIL(fake, got.done && !work_is_running());
	assert_false(early);
	assert_int_equal(got.ending, ENDING_OK);
	assert_int_equal(got.live[0].len, 1 + TAIL);
	for (int i = 0; i < 2; i++) {
		close(first[i]);
		close(second[i]);
	}
}

static void test_an_interrupt_ends_the_run_and_is_reported(void **state)
{
	fake_on_call = do_nothing;
	struct attach_call *call = run(attach, &got, "while True: pass");
	assert_non_null(call);
	call_number(1);
	attach_interrupt(call);
	FAKE_UNTIL(fake, got.done);
	assert_int_equal(got.ending, ENDING_INTERRUPTED);
}

static void test_a_cancelled_call_is_not_answered(void **state)
{
	fake_on_call = do_nothing;
	struct attach_call *call = run(attach, &got, "while True: pass");
	call_number(1);
	attach_cancel(call);
	FAKE_UNTIL(fake, !fake_call_find(fake_only(fake), 1));
	assert_false(got.done);
	fake_on_call = NULL;
	assert_non_null(run(attach, &got, "1"));
	FAKE_UNTIL(fake, got.done);
	assert_int_equal(got.ending, ENDING_OK);
}

static void test_invalid_requests_are_rejected_with_a_reason(void **state)
{
	struct run_request request = a_run(&got, "1");
	request.session_id = "aaaaaaaaaaaaaaaaaaaaaaaaaa";
	assert_non_null(attach_run(attach, &request, &got.fail));
	FAKE_UNTIL(fake, got.done);
	assert_int_equal(got.fail.kind, FAIL_NOT_FOUND);
	assert_int_equal(cause_of(&got.fail), CAUSE_NO_SESSION);

	request = a_run(&got, "1");
	request.interactive = true; /* invalid without a wait */
	assert_null(attach_run(attach, &request, &got.fail));
	assert_int_equal(got.fail.kind, FAIL_INVALID);
}

/* evidence: attach-bounds */
static void test_too_many_requests_are_rejected(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct run_request request = a_run(&got, "1");
	fake_on_call = do_nothing;
	for (int i = 0; i < ATTACH_CALLS_MAX; i++)
		assert_non_null(attach_run(attach, &request, &f));
	assert_null(attach_run(attach, &request, &f));
	assert_int_equal(f.kind, FAIL_BUSY);

	struct buf large = { 0 };
	memset(buf_reserve(&large, ATTACH_REQUEST_MAX), 'x', ATTACH_REQUEST_MAX);
	large.len = ATTACH_REQUEST_MAX;
	request.text = buf_str(&large);
	request.len = large.len;
	struct attach *a = connect_client();
	assert_null(attach_run(a, &request, &f));
	assert_int_equal(f.kind, FAIL_LIMIT);
	attach_free(a);
	buf_release(&large);
}

/* --- whose runs these are ------------------------------------------------------------------------------------------ */

/* evidence: attach-runs */
static void test_runs_of_a_client_and_of_the_agent_do_not_mix(void **state)
{
	fake_on_call = do_nothing;
	/* The agent leaves a run behind. */
	struct run_request request = a_run(&got, "slow()");
	request.has_wait = true;
	assert_non_null(manager_run(conversation, &request, &got.fail));
	FAKE_UNTIL(fake, got.done);
	assert_int_equal(got.ending, ENDING_RUNNING);
	fake_call_end(fake_only(fake), call_number(1), "ok");

	/* A client's result does not report it. The client leaves a run too. */
	request = a_run(&other, "other()");
	request.has_wait = true;
	assert_non_null(attach_run(attach, &request, &other.fail));
	FAKE_UNTIL(fake, other.done);
	assert_int_equal(other.ending, ENDING_RUNNING);
	assert_int_equal(other.run, 2);
	assert_int_equal(other.earlier, 0);

	/* The agent gets the report of its own run, and cannot join another one. */
	assert_non_null(run_as_agent(&got, "1"));
	fake_call_end(fake_only(fake), call_number(3), "ok");
	FAKE_UNTIL(fake, got.done);
	assert_int_equal(got.earlier, 1);
	request = a_wait(&got, 2);
	assert_null(manager_run(conversation, &request, &got.fail));
	assert_int_equal(cause_of(&got.fail), CAUSE_RUN_FOREIGN);

	/* Another client cannot join it either. */
	struct attach *second = connect_client();
	request = a_wait(&got, 2);
	assert_null(attach_run(second, &request, &got.fail));
	assert_int_equal(cause_of(&got.fail), CAUSE_RUN_FOREIGN);
	attach_free(second);

	fake_call_end(fake_only(fake), call_number(2), "ok");
	request = a_wait(&other, 2);
	assert_non_null(attach_run(attach, &request, &other.fail));
	FAKE_UNTIL(fake, other.done);
	assert_int_equal(other.ending, ENDING_OK);
}

/* Every user of the session can interrupt its interpreter. The end is reported to the client that began the run. */
static void test_another_clients_run_can_be_interrupted(void **state)
{
	fake_on_call = do_nothing;
	assert_non_null(run(attach, &other, "other()"));
	call_number(1);
	struct run_request request = a_wait(&got, 1);
	request.interrupt = true;
	assert_non_null(manager_run(conversation, &request, &got.fail));
	FAKE_UNTIL(fake, got.done && other.done);
	assert_int_equal(got.fail.kind, FAIL_NONE);
	assert_int_equal(got.ending, ENDING_OK);
	assert_int_equal(got.cause, CAUSE_RUN_FOREIGN);
	assert_non_null(strstr(got.detail, "was interrupted; its output goes to that client"));
	assert_int_equal(other.ending, ENDING_INTERRUPTED);

	/* The same in the other direction. */
	assert_non_null(run_as_agent(&got, "agent()"));
	call_number(2);
	request = a_wait(&other, 2);
	request.interrupt = true;
	assert_non_null(attach_run(attach, &request, &other.fail));
	FAKE_UNTIL(fake, got.done && other.done);
	assert_int_equal(other.cause, CAUSE_RUN_FOREIGN);
	assert_int_equal(got.ending, ENDING_INTERRUPTED);
}

/* evidence: attach-runs */
static void test_runs_end_with_the_client(void **state)
{
	fake_on_call = do_nothing;
	assert_non_null(run(attach, &got, "waited_for()"));
	struct run_request request = a_run(&other, "left()");
	request.has_wait = true;
	assert_non_null(attach_run(attach, &request, &other.fail));
	FAKE_UNTIL(fake, other.done);
	attach = attach_free(attach);
	/* Both runs are interrupted, and acknowledged. */
	FAKE_UNTIL(fake, !fake_call_find(fake_only(fake), 1) && !fake_call_find(fake_only(fake), 2));
	assert_false(got.done);
	fake_on_call = NULL;
	assert_non_null(run_as_agent(&got, "1"));
	FAKE_UNTIL(fake, got.done);
	assert_int_equal(got.earlier, 0);
}

static void test_two_clients_at_once(void **state)
{
	struct attach *second = connect_client();
	assert_non_null(run(attach, &got, "1"));
	assert_non_null(run(second, &other, "2"));
	FAKE_UNTIL(fake, got.done && other.done);
	assert_int_equal(got.ending, ENDING_OK);
	assert_int_equal(other.ending, ENDING_OK);
	assert_int_not_equal(got.run, other.run);
	attach_free(second);
}

/* --- the other calls ----------------------------------------------------------------------------------------------- */

static void on_info(void *ctx, const struct session_details *d, const struct fail *f)
{
	struct got *g = ctx;
	g->done = true;
	if (f) {
		fail_copy(&g->fail, f);
		return;
	}
	g->id = xstrdup(d->session.id);
	g->n = d->status->n_variables;
	g->text = xstrdup(d->session.runtime);
}

static void on_found(void *ctx, const struct session_info *info, const struct fail *f)
{
	struct got *g = ctx;
	g->done = true;
	if (f)
		fail_copy(&g->fail, f);
	else
		g->text = xstrdup(info->runtime);
}

static void on_stop(void *ctx, const struct fail *f)
{
	struct got *g = ctx;
	g->done = true;
	if (f)
		fail_copy(&g->fail, f);
}

static void on_answer(void *ctx, const struct query_answer *a, const struct fail *f)
{
	struct got *g = ctx;
	g->done = true;
	if (f)
		fail_copy(&g->fail, f);
	else
		g->text = xasprintf("%s %zu %zu %d", a->matches[0], a->start, a->end, a->more);
}

/* The fake PID 1 answers with the code itself. */
static void test_queries(void **state)
{
	static const char code[] = "{\"status\":\"ok\",\"matches\":[\"äb\"],\"start\":1,\"end\":3,\"more\":true}";
	struct query_request request = {
		QUERY_COMPLETE, session, code, strlen(code), .on_done = on_answer, .ctx = &got
	};
	forget(&got);
	assert_non_null(attach_query(attach, &request, &got.fail));
	FAKE_UNTIL(fake, got.done);
	assert_string_equal(got.text, "äb 1 3 1");
	/* No answer comes, and the connection breaks. */
	forget(&got);
	request.len = 0;
	assert_non_null(attach_query(attach, &request, &got.fail));
	FAKE_UNTIL(fake, fake_only(fake)->pid1->queries == 2);
	fake_break(fake_stream(fake_only(fake)), FAIL_ENGINE, CAUSE_NONE, "a cable");
	FAKE_UNTIL(fake, got.done);
	assert_int_equal(got.fail.cause, CAUSE_RECONNECTING);
}

static void test_sessions(void **state)
{
	struct fail *f = &got.fail;
	forget(&got);
	assert_non_null(attach_info(
		attach, &(struct info_request){ .session_id = session, .on_done = on_info, .ctx = &got }, f));
	FAKE_UNTIL(fake, got.done);
	assert_string_equal(got.id, session);
	assert_string_equal(got.text, "python");
	assert_int_equal(got.n, 1);

	AUTO(freep) char *made = create();
	forget(&got);
	assert_non_null(attach_find(
		attach, &(struct attach_find_request){ .session_id = made, .on_done = on_found, .ctx = &got }, f));
	FAKE_UNTIL(fake, got.done);
	assert_string_equal(got.text, "python");

	forget(&got);
	assert_non_null(
		attach_stop(attach, &(struct stop_request){ .session_id = made, .on_done = on_stop, .ctx = &got }, f));
	FAKE_UNTIL(fake, got.done);
	assert_int_equal(got.fail.kind, FAIL_NONE);
	assert_int_equal(fake_count(fake), 1);

	forget(&got);
	assert_non_null(attach_find(
		attach, &(struct attach_find_request){ .session_id = made, .on_done = on_found, .ctx = &got }, f));
	FAKE_UNTIL(fake, got.done);
	assert_int_equal(cause_of(&got.fail), CAUSE_NO_SESSION);
}

/* --- a connection that ends ---------------------------------------------------------------------------------------- */

static void test_a_server_that_ends_answers_everything(void **state)
{
	fake_on_call = do_nothing;
	assert_non_null(run(attach, &got, "1"));
	assert_non_null(run(attach, &other, "2"));
	call_number(2);
	close_server();
	FAKE_UNTIL(fake, lost.kind);
	assert_true(got.done && other.done);
	assert_int_equal(got.fail.kind, FAIL_DIED);
	assert_int_equal(cause_of(&got.fail), CAUSE_NO_SERVER);
	assert_null(run(attach, &got, "3"));
	assert_int_equal(cause_of(&got.fail), CAUSE_NO_SERVER);
}

static bool is_closed(int fd)
{
	char rest[4096];
	return recv(fd, rest, sizeof(rest), MSG_DONTWAIT) == 0;
}

/* evidence: attach-bounds */
/* Bytes that are not HTTP are answered and end the connection. Other clients are not affected. */
static void test_a_client_that_violates_the_protocol_is_disconnected(void **state)
{
	static const char *const bad[] = { "no HTTP\r\n\r\n",
					   "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: "
					   "chunked\r\n\r\n" };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		AUTO(closep) int fd = local_server_connect(server);
		assert_int_equal(write(fd, bad[i], strlen(bad[i])), strlen(bad[i]));
		FAKE_UNTIL(fake, is_closed(fd));
	}
	assert_non_null(run(attach, &got, "1"));
	FAKE_UNTIL(fake, got.done);
	assert_int_equal(got.ending, ENDING_OK);
}

/* evidence: attach-bounds */
static void test_silent_and_excess_clients_are_disconnected(void **state)
{
	int silent[CONNECTIONS + 1];
	char path[512];
	attach = attach_free(attach);
	for (int i = 0; i < 20; i++)
		fake_turn(fake, fake_real_ms(), "the end of the connection");
	assert_int_equal(count_sockets(path, sizeof(path)), 1);
	for (int i = 0; i < CONNECTIONS + 1; i++) {
		while ((silent[i] = sockets_dial(path)) == -EAGAIN)
			fake_turn(fake, fake_real_ms(), "a server that accepts");
		assert_true(silent[i] >= 0);
	}
	/* The last client takes the place of the one that has been silent for longest. */
	FAKE_UNTIL(fake, is_closed(silent[0]));
	assert_false(is_closed(silent[1]));
	/* A client that sends no request is disconnected and frees its place. */
	loop_skip(b.loop, 11000);
	FAKE_UNTIL(fake, is_closed(silent[1]) && is_closed(silent[CONNECTIONS]));
	attach = connect_client();
	assert_non_null(run(attach, &got, "1"));
	FAKE_UNTIL(fake, got.done);
	for (int i = 0; i < CONNECTIONS + 1; i++)
		close(silent[i]);
}

/* evidence: attach-bounds */
/* Answers that a client does not read are bounded, and other clients do not wait for them. */
static void test_a_client_that_does_not_read_is_disconnected(void **state)
{
	AUTO(buf_release) struct buf requests = { 0 };
	for (int i = 0; i < 20000; i++)
		buf_printf(&requests, "GET /v1/sessions/%s?brief=true HTTP/1.1\r\nHost: a\r\n\r\n", session);
	AUTO(closep) int fd = local_server_connect(server);
	/* The client sends until the server stops reading from it. */
	size_t sent = 0;
	for (int stuck = 0; stuck < 20; stuck++) {
		ssize_t n = send(fd, requests.data + sent, requests.len - sent, MSG_DONTWAIT);
		if (n > 0)
			stuck = 0;
		sent += n > 0 ? (size_t)n : 0;
		fake_turn(fake, fake_real_ms(), "a reader");
	}
	assert_true(sent < requests.len);
	assert_non_null(run(attach, &got, "1"));
	FAKE_UNTIL(fake, got.done);
	assert_int_equal(got.ending, ENDING_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, attach_bench_begin, attach_bench_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_run),
		TEST(test_a_large_result_is_whole),
		TEST(test_displays_are_sent_while_the_run_lasts),
		TEST(test_large_displays_keep_their_place),
		TEST(test_a_long_tail_is_cleaned_off_the_loop),
		TEST(test_an_interrupt_ends_the_run_and_is_reported),
		TEST(test_a_cancelled_call_is_not_answered),
		TEST(test_invalid_requests_are_rejected_with_a_reason),
		TEST(test_too_many_requests_are_rejected),
		TEST(test_runs_of_a_client_and_of_the_agent_do_not_mix),
		TEST(test_another_clients_run_can_be_interrupted),
		TEST(test_runs_end_with_the_client),
		TEST(test_two_clients_at_once),
		TEST(test_queries),
		TEST(test_sessions),
		TEST(test_a_server_that_ends_answers_everything),
		TEST(test_a_client_that_violates_the_protocol_is_disconnected),
		TEST(test_silent_and_excess_clients_are_disconnected),
		TEST(test_a_client_that_does_not_read_is_disconnected),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
