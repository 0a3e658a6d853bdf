/* Requests for a session of another server are passed on to it: to the unix socket of a server of this user, or over TCP
 * to a server that shares only the store. Both servers are on one loop, over the fake engine. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "api/local.h"
#include "base/alloc.h"
#include "http/server.h"
#include "kernels/protocol.h"
#include "tests/unit/api-bench.h"
#include "tests/unit/unit.h"

#define SSE "Accept: text/event-stream\r\n"

/* The other server. It has one of these two. */
static struct manager *other;
static struct conversation *owner;
static struct local_server *server;
static struct api *other_api;
static struct config theirs;
static char *session, *address;
static bool created;

static void on_created(void *ctx UNUSED, const struct create_result *result, const struct fail *f)
{
	assert_null(f);
	session = xstrdup(result->session->id);
	created = true;
}

static void close_other(void)
{
	if (other_api)
		api_cancel(other_api);
	other_api = api_free(other_api);
	other = manager_free(other);
	server = local_server_free(server, /* manager_gone= */ true);
}

static int listen_at(uint16_t port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				  .sin_port = htons(port) };
	socklen_t n = sizeof(sa);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, n), 0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &n), 0);
	free(address);
	address = xasprintf("127.0.0.1:%u", ntohs(sa.sin_port));
	return fd;
}

static int begin(void **state, bool tcp)
{
	struct strv none = { 0 };
	api_bench_begin(state);
	api->spec.for_all = true;
	int fd = tcp ? listen_at(0) : -1;
	theirs = b.config;
	theirs.advertise = address;
	other = manager_new(b.loop, &theirs);
	owner = conversation_open(other, &(struct conversation_spec){ .id = "theirs" });
	struct api_spec spec = {
		.loop = b.loop, .config = &theirs, .manager = other, .conversation = owner, .for_all = tcp
	};
	if (!tcp) {
		server = local_server_new(&spec, /* api= */ NULL);
	} else {
		AUTO(freep) char *origin = xasprintf("http://%s", address);
		other_api = api_new(&spec);
		assert_int_equal(api_listen_tcp(other_api, fd, NULL, origin, &none), 0);
	}
	AUTO(fail_release) struct fail f = { 0 };
	created = false;
	struct create_request request = { .runtime = runtime_find("python"), .name = "sales", .on_done = on_created };
	assert_non_null(manager_create(owner, &request, &f));
	FAKE_UNTIL(fake, created);
	return 0;
}

static int begin_socket(void **state)
{
	return begin(state, /* tcp= */ false);
}

static int begin_tcp(void **state)
{
	return begin(state, /* tcp= */ true);
}

static int end(void **state)
{
	fake_on_call = NULL;
	close_other();
	free(take_ptr(session));
	free(take_ptr(address));
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
		api_call("GET", "http://husk/v1/sessions/sales/runs?limit=1", NULL, NULL);
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

static int dial_other(void)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	sa.sin_port = htons((uint16_t)strtoul(strrchr(address, ':') + 1, NULL, 10));
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	return fd;
}

/* The fields of forwarded requests mean nothing in a request that is not from a peer. */
/* evidence: server-proofs */
static void only_peers_say_for_whom_they_ask(void **state)
{
	AUTO(freep) char *target = xasprintf("/v1/sessions/%s", session);
	AUTO(reply_release) struct reply here =
		api_call_remote("GET", target, "Husk-Forwarded: local\r\nHusk-Tenant: local\r\n", NULL);
	assert_int_equal(here.status, 401);
	AUTO(buf_release) struct buf got = { 0 };
	AUTO(freep) char *request = xasprintf("GET %s HTTP/1.1\r\nHost: %s\r\nHusk-Forwarded: local\r\n"
					      "Husk-Tenant: local\r\nConnection: close\r\n\r\n",
					      target, address);
	AUTO(closep) int fd = dial_other();
	api_send(fd, request);
	api_read_until(fd, &got, "\r\n\r\n");
	assert_non_null(strstr(buf_str(&got), " 401 "));
}

static void answer_anything(void *ctx UNUSED, struct http_request *r)
{
	http_reply(r, 200, NULL, "{\"stdout\": \"forged\"}", 20);
}

/* Another program listens on the address of a server that has ended: with plain HTTP, and with another secret. */
static void a_server_without_the_key_is_not_believed(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	uint16_t port = (uint16_t)strtoul(strrchr(address, ':') + 1, NULL, 10);
	api_cancel(other_api);
	other_api = api_free(other_api);
	struct http_server *impostor =
		http_server_new(b.loop, &(struct http_server_spec){ http_limits_default, answer_anything, NULL });
	struct tls_context *guess = tls_context_shared("a guess", &f);
	assert_int_equal(http_server_listen(impostor, listen_at(port), NULL, NULL), 0);
	AUTO(reply_release) struct reply plain = call("POST", "/runs", "Prefer: wait=5\r\n", "{\"text\": \"1\"}");
	http_server_accept_peers(impostor, guess);
	AUTO(reply_release) struct reply guessed = call("POST", "/runs", "Prefer: wait=5\r\n", "{\"text\": \"1\"}");
	http_server_free(impostor);
	tls_context_free(guess);
	assert_string_equal(text_of(&plain, "cause"), "other_server");
	assert_string_equal(text_of(&guessed, "cause"), "other_server");
}

int main(void)
{
#define BOTH(name)                                                                                                     \
	cmocka_unit_test_setup_teardown(name, begin_socket, end), cmocka_unit_test_setup_teardown(name, begin_tcp, end)
	const struct CMUnitTest tests[] = {
		BOTH(the_server_of_the_session_answers),
		BOTH(the_other_server_gets_the_path_that_was_checked),
		BOTH(streams_end_with_their_client),
		BOTH(a_session_without_a_server_is_taken_over),
		BOTH(a_server_that_ends_during_the_request_is_reported),
		cmocka_unit_test_setup_teardown(only_peers_say_for_whom_they_ask, begin_tcp, end),
		cmocka_unit_test_setup_teardown(a_server_without_the_key_is_not_believed, begin_tcp, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
