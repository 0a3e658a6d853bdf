/* A server for all sessions of its state folder passes requests on to the servers that have the sessions. Both servers
 * are on one loop, over the fake engine. */
#include "api/local.h"
#include "base/alloc.h"
#include "kernels/protocol.h"
#include "tests/unit/api-bench.h"
#include "tests/unit/unit.h"

#define SSE "Accept: text/event-stream\r\n"

/* The other server. */
static struct manager *other;
static struct conversation *owner;
static struct local_server *server;
static char *session;
static bool created;

static void on_created(void *ctx UNUSED, const struct create_result *result, const struct fail *f)
{
	assert_null(f);
	session = xstrdup(result->session->id);
	created = true;
}

static void close_other(void)
{
	other = manager_free(other);
	server = local_server_free(server, /* manager_gone= */ true);
}

static int begin(void **state)
{
	api_bench_begin(state);
	api->spec.for_all = true;
	other = manager_new(b.loop, &b.config);
	owner = conversation_open(other, &(struct conversation_spec){ .id = "theirs" });
	server = local_server_new(
		&(struct api_spec){ .loop = b.loop, .config = &b.config, .manager = other, .conversation = owner },
		/* api= */ NULL);
	AUTO(fail_release) struct fail f = { 0 };
	created = false;
	struct create_request request = { .runtime = runtime_find("python"), .name = "sales", .on_done = on_created };
	assert_non_null(manager_create(owner, &request, &f));
	FAKE_UNTIL(fake, created);
	return 0;
}

static int end(void **state)
{
	fake_on_call = NULL;
	close_other();
	free(take_ptr(session));
	return api_bench_end(state);
}

static struct reply call(const char *method, const char *rest, const char *fields, const char *body)
{
	AUTO(freep) char *target = xasprintf("/v1/sessions/%s%s", session, rest);
	return api_call(method, target, fields, body);
}

static const char *text_of(const struct reply *r, const char *name)
{
	const char *text = json_string_value(json_object_get(r->json, name));
	return text ? text : "";
}

static void show(struct fake_container *c, struct fake_call *run)
{
	fake_call_out(c, run, "first\n");
	fake_call_end(c, run, "ok");
}

static void hold(struct fake_container *c UNUSED, struct fake_call *run UNUSED)
{
}

static void the_server_of_the_session_answers(void **state)
{
	fake_on_call = show;
	AUTO(reply_release) struct reply r = call("POST", "/runs", "Prefer: wait=30\r\n", "{\"text\": \"print()\"}");
	assert_int_equal(r.status, 200);
	assert_string_equal(text_of(&r, "stdout"), "first\n");
	AUTO(reply_release) struct reply details = call("GET", "", NULL, NULL);
	assert_string_equal(text_of(&details, "id"), session);
	AUTO(reply_release) struct reply by_name = api_call("GET", "/v1/sessions/sales", NULL, NULL);
	assert_string_equal(text_of(&by_name, "id"), session);
	AUTO(reply_release) struct reply head = call("HEAD", "", NULL, NULL);
	assert_int_equal(head.status, 200);
	/* Failures are passed on too. */
	AUTO(reply_release) struct reply wrong = call("GET", "/runs/99", NULL, NULL);
	assert_string_equal(text_of(&wrong, "cause"), "no_run");
	struct session_place place;
	assert_false(manager_find_session(conversation, session, &place));
}

/* The other server must find the route for which the key was checked, however the client writes the path. */
static void the_other_server_gets_the_path_that_was_checked(void **state)
{
	AUTO(reply_release) struct reply escaped = api_call("GET", "/v1/%73essions/sales?brief=true", NULL, NULL);
	assert_int_equal(escaped.status, 200);
	assert_string_equal(text_of(&escaped, "id"), session);
	AUTO(reply_release) struct reply origin =
		api_call("GET", "http://a/v1/sessions/sales/runs?limit=1", NULL, NULL);
	assert_int_equal(origin.status, 200);
	assert_non_null(json_object_get(origin.json, "runs"));
	AUTO(reply_release) struct reply number = call("GET", "/runs/a%3Fb%20c", NULL, NULL);
	assert_int_equal(number.status, 404);
	assert_string_equal(text_of(&number, "detail"), "There is no run 'a?b c'.");
}

static void streams_end_with_their_client(void **state)
{
	AUTO(buf_release) struct buf got = { 0 };
	AUTO(buf_release) struct buf request = { 0 };
	static const char body[] = "{\"text\": \"while True: pass\", \"attached\": true}";
	fake_on_call = hold;
	int fd = api_connect();
	buf_printf(&request, "POST /v1/sessions/%s/runs HTTP/1.1\r\nHost: a\r\nContent-Length: %zu\r\n" SSE "\r\n%s",
		   session, strlen(body), body);
	api_send(fd, buf_str(&request));
	api_read_until(fd, &got, "event: run.queued");
	struct fake_call *run = fake_call_find(fake_only(fake), 1);
	assert_non_null(run);
	fake_call_out(fake_only(fake), run, "live\n");
	api_read_until(fd, &got, "\"text\":\"live\\n\"");
	close(fd);
	FAKE_UNTIL(fake, run->interrupted);
}

static void a_session_without_a_server_is_taken_over(void **state)
{
	close_other();
	AUTO(reply_release) struct reply r = call("POST", "/runs", "Prefer: wait=30\r\n", "{\"text\": \"1\"}");
	assert_int_equal(r.status, 200);
	assert_string_equal(text_of(&r, "ending"), "ok");
}

static void a_server_that_ends_during_the_request_is_reported(void **state)
{
	AUTO(buf_release) struct buf got = { 0 };
	AUTO(buf_release) struct buf request = { 0 };
	fake_on_call = hold;
	AUTO(closep) int fd = api_connect();
	buf_printf(&request,
		   "POST /v1/sessions/%s/runs HTTP/1.1\r\nHost: a\r\nContent-Length: 13\r\nPrefer: wait=30\r\n\r\n"
		   "{\"text\": \"1\"}",
		   session);
	api_send(fd, buf_str(&request));
	FAKE_UNTIL(fake, fake_call_find(fake_only(fake), 1));
	close_other();
	api_read_until(fd, &got, "\r\n\r\n");
	assert_non_null(strstr(buf_str(&got), " 502 "));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(the_server_of_the_session_answers),
		TEST(the_other_server_gets_the_path_that_was_checked),
		TEST(streams_end_with_their_client),
		TEST(a_session_without_a_server_is_taken_over),
		TEST(a_server_that_ends_during_the_request_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
