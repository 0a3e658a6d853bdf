/* Two servers with one store and no state folder in common: one passes requests on to the other over TCP. Both are on
 * one loop, over the fake engine. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <time.h>

#include "api/server.h"
#include "base/alloc.h"
#include "http/server.h"
#include "tests/unit/api-bench.h"
#include "tests/unit/unit.h"

/* The other server. */
static struct config theirs;
static struct manager *other;
static struct conversation *owner;
static struct api *other_api;
static char *session, *address;
static bool created;

static void on_created(void *ctx UNUSED, const struct create_result *result, const struct fail *f)
{
	assert_null(f);
	session = xstrdup(result->session->id);
	created = true;
}

static int listen_somewhere(void)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(sa);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, n), 0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &n), 0);
	free(address);
	address = xasprintf("127.0.0.1:%u", ntohs(sa.sin_port));
	return fd;
}

static int begin(void **state)
{
	struct strv none = { 0 };
	api_bench_begin(state);
	api->spec.for_all = true;
	int fd = listen_somewhere();
	theirs = b.config;
	theirs.advertise = address;
	other = manager_new(b.loop, &theirs);
	owner = conversation_open(other, &(struct conversation_spec){ .id = "theirs" });
	other_api = api_new(&(struct api_spec){
		.loop = b.loop, .config = &theirs, .manager = other, .conversation = owner, .for_all = true });
	AUTO(freep) char *origin = xasprintf("http://%s", address);
	assert_int_equal(api_listen_tcp(other_api, fd, NULL, origin, &none), 0);
	AUTO(fail_release) struct fail f = { 0 };
	created = false;
	struct create_request request = { .runtime = runtime_find("python"), .on_done = on_created };
	assert_non_null(manager_create(owner, &request, &f));
	FAKE_UNTIL(fake, created);
	return 0;
}

static void close_other(void)
{
	if (other_api)
		api_cancel(other_api);
	other_api = api_free(other_api);
	other = manager_free(other);
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

static void a_request_is_passed_on_to_another_machine(void **state)
{
	fake_on_call = show;
	AUTO(reply_release) struct reply r = call("POST", "/runs", "Prefer: wait=30\r\n", "{\"text\": \"print()\"}");
	assert_int_equal(r.status, 200);
	assert_string_equal(text_of(&r, "stdout"), "first\n");
	/* The proof is between the servers. */
	AUTO(freep) char *field = reply_field(&r, "husk-server");
	assert_null(field);
	struct session_place place;
	assert_false(manager_find_session(conversation, session, &place));
}

static void a_stream_is_passed_on_to_another_machine(void **state)
{
	AUTO(buf_release) struct buf got = { 0 };
	AUTO(buf_release) struct buf request = { 0 };
	static const char body[] = "{\"text\": \"while True: pass\", \"attached\": true}";
	fake_on_call = hold;
	int fd = api_connect();
	buf_printf(&request,
		   "POST /v1/sessions/%s/runs HTTP/1.1\r\nHost: a\r\nContent-Length: %zu\r\n"
		   "Accept: text/event-stream\r\n\r\n%s",
		   session, strlen(body), body);
	api_send(fd, buf_str(&request));
	api_read_until(fd, &got, "event: run.queued");
	struct fake_call *run = fake_call_find(fake_only(fake), 1);
	assert_non_null(run);
	fake_call_out(fake_only(fake), run, "live\n");
	api_read_until(fd, &got, "\"text\":\"live\\n\"");
	/* The end of the client reaches the other server, which interrupts the run. */
	close(fd);
	FAKE_UNTIL(fake, run->interrupted);
}

/* A proof is for one address: here the other server has another one than the row says. */
static void a_proof_for_another_address_is_rejected(void **state)
{
	theirs.advertise = (char *)"127.0.0.1:1";
	AUTO(reply_release) struct reply r = call("POST", "/runs", "Prefer: wait=5\r\n", "{\"text\": \"1\"}");
	assert_string_equal(text_of(&r, "cause"), "other_server");
	theirs.advertise = address;
}

/* The status of a request with this proof to the other server. */
static int status_with(const char *proof)
{
	AUTO(freep) char *request =
		xasprintf("GET /v1/sessions/%s HTTP/1.1\r\nHost: a\r\nHusk-Server: %s\r\n"
			  "Husk-Forwarded: local\r\nHusk-Tenant: local\r\nConnection: close\r\n\r\n",
			  session, proof);
	AUTO(buf_release) struct buf got = { 0 };
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	sa.sin_port = htons((uint16_t)strtoul(strrchr(address, ':') + 1, NULL, 10));
	AUTO(closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	api_send(fd, request);
	api_read_until(fd, &got, "\r\n\r\n");
	return (int)strtoul(buf_str(&got) + strlen("HTTP/1.1 "), NULL, 10);
}

#define NONCE "0123456789abcdef0123456789abcdef"

/* A proof that the key signed, of this age. The caller owns it. */
static char *proof_of(const char *target, uint64_t age)
{
	char signature[MANAGER_SIGNATURE_SIZE];
	unsigned long long at = (unsigned long long)time(NULL) - age;
	AUTO(freep) char *text =
		xasprintf("server 1\n%s\nGET\n%s\n%llu " NONCE "\nlocal\nlocal\n\n", address, target, at);
	manager_sign(other, text, signature);
	return xasprintf("%llu " NONCE " %s", at, signature);
}

/* evidence: server-proofs */
static void only_a_fresh_proof_of_the_key_is_accepted(void **state)
{
	AUTO(reply_release) struct reply loads_the_key = call("GET", "", NULL, NULL);
	AUTO(freep) char *target = xasprintf("/v1/sessions/%s", session);
	AUTO(freep) char *good = proof_of(target, 0);
	AUTO(freep) char *old = proof_of(target, 100);
	AUTO(freep) char *elsewhere = proof_of("/v1/sessions", 0);
	AUTO(freep) char *forged = xstrdup(good);
	forged[strlen(forged) - 5] ^= 1;
	assert_int_equal(loads_the_key.status, 200);
	assert_int_equal(status_with(good), 200);
	assert_int_equal(status_with(old), 401);
	assert_int_equal(status_with(elsewhere), 401);
	assert_int_equal(status_with(forged), 401);
	assert_int_equal(status_with("x"), 401);
	assert_int_equal(status_with("1 2 3"), 401);
	assert_int_equal(status_with(""), 401);
	/* Without a proof the other fields mean nothing. */
	AUTO(reply_release) struct reply plain =
		api_call_remote("GET", target, "Husk-Forwarded: local\r\nHusk-Tenant: local\r\n", NULL);
	assert_int_equal(plain.status, 401);
}

static void answer_anything(void *ctx UNUSED, struct http_request *r)
{
	http_reply(r, 200, NULL, "{\"stdout\": \"forged\"}", 20);
}

/* Another program listens on the address of a server that has ended. */
static void a_server_without_the_key_is_not_believed(void **state)
{
	api_cancel(other_api);
	other_api = api_free(other_api);
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	sa.sin_port = htons((uint16_t)strtoul(strrchr(address, ':') + 1, NULL, 10));
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(listen(fd, 16), 0);
	struct http_server *impostor =
		http_server_new(b.loop, &(struct http_server_spec){ http_limits_default, answer_anything, NULL });
	assert_int_equal(http_server_listen(impostor, fd, NULL, NULL), 0);
	AUTO(reply_release) struct reply r = call("POST", "/runs", "Prefer: wait=5\r\n", "{\"text\": \"1\"}");
	http_server_free(impostor);
	assert_string_equal(text_of(&r, "cause"), "other_server");
}

static void a_session_of_a_dead_server_is_taken_over(void **state)
{
	close_other();
	fake_on_call = show;
	AUTO(reply_release) struct reply r = call("POST", "/runs", "Prefer: wait=30\r\n", "{\"text\": \"1\"}");
	assert_int_equal(r.status, 200);
	assert_string_equal(text_of(&r, "ending"), "ok");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_request_is_passed_on_to_another_machine, begin, end),
		cmocka_unit_test_setup_teardown(a_stream_is_passed_on_to_another_machine, begin, end),
		cmocka_unit_test_setup_teardown(a_proof_for_another_address_is_rejected, begin, end),
		cmocka_unit_test_setup_teardown(only_a_fresh_proof_of_the_key_is_accepted, begin, end),
		cmocka_unit_test_setup_teardown(a_server_without_the_key_is_not_believed, begin, end),
		cmocka_unit_test_setup_teardown(a_session_of_a_dead_server_is_taken_over, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
