/* The manager's end of the relay, with a web server: requests with and without the login, rejected requests, and
 * credit. */
/* evidence: index-paths */
#include "manager/deps/gateway.h"

#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>

#include "base/alloc.h"
#include "base/fetch.h"
#include "tests/unit/http-server.h"
#include "tests/unit/unit.h"

#define LOGIN "Basic bWU6czpjcmV0" /* me:s:cret */
#define BIG (1u << 20)
#define DEADLINE_MS 20000

static struct http_server server;
static struct loop *loop;
static struct config config;
static struct dispatch dispatch;
static struct upstreams upstreams;
static struct gateway *gateway;
static struct buf sent; /* frames to PID 1 */
static uint32_t number = RELAY_NUMBER_FIRST;

/* --- the index --------------------------------------------------------------------------------------------------- */

static void reply(int fd, const char *status, const char *fields, const char *body)
{
	dprintf(fd, "HTTP/1.1 %s\r\nContent-Length: %zu\r\nSet-Cookie: session=geheim\r\n%s\r\n%s", status,
		strlen(body), fields, body);
}

static void big_reply(int fd)
{
	static char piece[32768];
	memset(piece, 'x', sizeof(piece));
	dprintf(fd, "HTTP/1.1 200 OK\r\nContent-Length: %u\r\n\r\n", BIG);
	for (size_t at = 0; at < BIG; at += sizeof(piece))
		if (write(fd, piece, sizeof(piece)) < 0)
			return;
}

/* A host name, not an address, that resolves to this machine. */
static const char *this_machine(void)
{
	static char name[256];
	assert_int_equal(gethostname(name, sizeof(name) - 1), 0);
	return name;
}

static void answer(const char *request, int fd)
{
	bool login = strstr(request, "Authorization: " LOGIN "\r\n");
	if (!login)
		reply(fd, "401 Unauthorized", "WWW-Authenticate: Basic\r\n", "who?");
	else if (strstr(request, "/big "))
		big_reply(fd);
	else if (strstr(request, "/cut "))
		dprintf(fd, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
	else if (strstr(request, "/moved "))
		reply(fd, "302 Found", "Location: /files/there\r\n", "");
	else if (strstr(request, "/private "))
		reply(fd, "302 Found", "Location: http://10.255.255.1:9/latest\r\n", "");
	else if (strstr(request, "/rebound "))
		dprintf(fd, "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: http://%s:%u/latest\r\n\r\n",
			this_machine(), server.port);
	else if (strstr(request, "/local "))
		reply(fd, "302 Found", "Location: http://127.0.0.2:9/latest\r\n", "");
	else if (strstr(request, "/page "))
		reply(fd, "200 OK", "Content-Type: text/html\r\nETag: \"e\"\r\n", "<a href=\"/files/x.whl\">x</a>");
	else if (strstr(request, "/echo "))
		reply(fd, "200 OK", "Content-Type: text/plain\r\n",
		      strstr(request, "X-Evil")		 ? "evil" :
		      strstr(request, "ange: bytes=0-1") ? "range" :
							   "plain");
	else
		reply(fd, "200 OK", "Content-Type: text/plain\r\n", "file");
}

/* --- PID 1 ------------------------------------------------------------------------------------------------------- */

static void send_frames(struct dispatch *d UNUSED, const struct buf *frames)
{
	buf_add(&sent, frames->data, frames->len);
}

static int give(uint8_t type, uint32_t call, const void *payload, size_t n)
{
	return gateway_frame(gateway, &(struct wire_frame){ .type = type, .call = call, .payload = payload, .n = n });
}

static int ask(const char *method, const char *target, const char *headers)
{
	AUTO(freep) char *get = xasprintf("{\"port\":%u,\"method\":\"%s\",\"target\":\"%s\",\"headers\":%s}",
					  upstreams.n ? upstreams.v[0].port : 1, method, target, headers);
	return give(FRAME_RELAY_GET, ++number, get, strlen(get));
}

struct reply {
	int status, end_status;
	json_t *answer;
	char *error;
	size_t bytes, data_frames;
	struct buf body;
	bool ended;
};

static void reply_release(struct reply *r)
{
	json_decref(r->answer);
	free(r->error);
	buf_release(&r->body);
	*r = (struct reply){ 0 };
}

static void read_frame(struct reply *r, const struct frame_header *h, const uint8_t *payload)
{
	if (h->call != number)
		return;
	if (h->type == FRAME_RELAY_ANSWER) {
		r->answer = json_loadb((const char *)payload, h->length, 0, NULL);
		r->status = (int)json_integer_value(json_object_get(r->answer, "status"));
	} else if (h->type == FRAME_RELAY_DATA) {
		buf_add(&r->body, payload, h->length);
		r->bytes += h->length;
		r->data_frames++;
	} else if (h->type == FRAME_RELAY_END) {
		json_auto_t *end = json_loadb((const char *)payload, h->length, 0, NULL);
		const char *error = json_string_value(json_object_get(end, "error"));
		r->error = error ? xstrdup(error) : NULL;
		r->end_status = (int)json_integer_value(json_object_get(end, "status"));
		r->ended = true;
	}
}

static void take_sent(struct reply *r)
{
	while (sent.len >= FRAME_HEADER_SIZE) {
		struct frame_header h = frame_header_read(sent.data);
		read_frame(r, &h, sent.data + FRAME_HEADER_SIZE);
		buf_consume(&sent, FRAME_HEADER_SIZE + h.length);
	}
}

static void on_tick(void *ctx UNUSED)
{
	loop_stop(loop, 0);
}

/* Runs the loop until the request has ended, or its window is full. */
static void wait_for(struct reply *r, size_t bytes)
{
	struct timer *tick = timer_new(loop, on_tick, NULL);
	uint64_t until = loop_now_ms() + DEADLINE_MS;
	timer_start(tick, 1, 1);
	while (!r->ended && (!bytes || r->bytes < bytes) && loop_now_ms() < until) {
		loop_run(loop);
		take_sent(r);
	}
	timer_free(tick);
	assert_true(r->ended || (bytes && r->bytes >= bytes));
}

static void get(struct reply *r, const char *target)
{
	reply_release(r);
	assert_int_equal(ask("GET", target, "{}"), 0);
	wait_for(r, 0);
}

static const char *header(const struct reply *r, const char *name)
{
	return json_string_value(json_object_get(json_object_get(r->answer, "headers"), name));
}

/* --- tests ------------------------------------------------------------------------------------------------------- */

static void nothing_is_loaded_before_the_first_request(void **state)
{
	assert_false(fetch_is_loaded());
}

static void the_login_is_added_and_cookies_are_not_passed_on(void **state)
{
	AUTO(reply_release) struct reply r = { 0 };
	get(&r, "/simple/file");
	assert_int_equal(r.status, 200);
	assert_string_equal(buf_str(&r.body), "file");
	assert_int_equal(json_integer_value(json_object_get(r.answer, "length")), 4);
	assert_null(header(&r, "set-cookie"));
	assert_null(r.error);
	assert_true(fetch_is_loaded());
}

static void head_has_no_body(void **state)
{
	AUTO(reply_release) struct reply r = { 0 };
	assert_int_equal(ask("HEAD", "/simple/file", "{}"), 0);
	wait_for(&r, 0);
	assert_int_equal(r.status, 200);
	assert_int_equal(r.bytes, 0);
	assert_int_equal(json_integer_value(json_object_get(r.answer, "length")), 4);
}

static void only_known_headers_pass(void **state)
{
	AUTO(reply_release) struct reply r = { 0 };
	assert_int_equal(ask("GET", "/simple/echo",
			     "{\"range\":\"bytes=0-1\",\"x-evil\":\"1\",\"accept\":\"a\\r\\nX-Evil: 1\"}"),
			 0);
	wait_for(&r, 0);
	assert_string_equal(buf_str(&r.body), "range");
}

static void urls_outside_the_index_are_rejected(void **state)
{
	static const char *const bad[] = { "/",		  "/admin",	  "/simple/../admin",  "/simple/%2e%2e/admin",
					   "/simpler",	  "/files/x.whl", "/simple/..;/admin", "/simple/x;y",
					   "/simple/%2fx" };
	AUTO(reply_release) struct reply r = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		get(&r, bad[i]);
		assert_int_equal(r.end_status, 403);
		assert_int_equal(r.status, 0);
	}
}

static void linked_urls_may_be_requested(void **state)
{
	AUTO(reply_release) struct reply r = { 0 };
	get(&r, "/simple/page");
	assert_string_equal(buf_str(&r.body), "<a href=\"/files/x.whl\">x</a>");
	assert_string_equal(header(&r, "etag"), "\"e\"");
	assert_null(json_object_get(r.answer, "length"));
	get(&r, "/files/x.whl");
	assert_int_equal(r.status, 200);
	get(&r, "/files/x.whl.metadata");
	assert_int_equal(r.status, 200);
	get(&r, "/files/y.whl");
	assert_int_equal(r.end_status, 403);
}

static void a_redirect_within_the_index_is_passed_on(void **state)
{
	AUTO(reply_release) struct reply r = { 0 };
	get(&r, "/simple/moved");
	assert_int_equal(r.status, 302);
	AUTO(freep) char *local = upstream_local(&upstreams.v[0]);
	AUTO(freep) char *want = xasprintf("%s/files/there", local);
	assert_string_equal(header(&r, "location"), want);
	get(&r, "/files/there");
	assert_int_equal(r.status, 200);
}

static void no_redirect_leads_to_this_machine(void **state)
{
	AUTO(reply_release) struct reply r = { 0 };
	get(&r, "/simple/local");
	assert_int_equal(r.status, 0);
	assert_int_equal(r.end_status, 502);
	assert_non_null(strstr(gateway_trouble(gateway), "redirects to"));
}

/* evidence: index-paths */
/* Behind a proxy the index's address is unknown, so it counts as public. */
static void a_public_index_does_not_redirect_to_private_addresses(void **state)
{
	static const char *const places[] = { "/simple/private", "/simple/rebound", "/simple/local" };
	AUTO(reply_release) struct reply r = { 0 };
	AUTO(freep) char *right = upstreams.v[0].origin, *proxy = xasprintf("http://127.0.0.1:%u", server.port);
	upstreams.v[0].origin = xstrdup("http://index.example:7777");
	setenv("http_proxy", proxy, 1);
	setenv("no_proxy", this_machine(), 1);
	get(&r, "/simple/file");
	assert_int_equal(r.status, 200);
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		get(&r, places[i]);
		assert_int_equal(r.status, 0);
		assert_int_equal(r.end_status, 502);
		assert_non_null(strstr(gateway_trouble(gateway), "redirects to"));
	}
	unsetenv("http_proxy");
	unsetenv("no_proxy");
	free(upstreams.v[0].origin);
	upstreams.v[0].origin = take_ptr(right);
}

static void a_wrong_login_is_explained(void **state)
{
	AUTO(reply_release) struct reply r = { 0 };
	upstreams.v[0].password[0]++;
	get(&r, "/simple/file");
	upstreams.v[0].password[0]--;
	assert_int_equal(r.status, 401);
	assert_null(header(&r, "www-authenticate"));
	assert_non_null(strstr(gateway_trouble(gateway), "rejects the login"));
	assert_null(strstr(gateway_trouble(gateway), "cret"));
}

static void an_incomplete_answer_is_an_error(void **state)
{
	AUTO(reply_release) struct reply r = { 0 };
	get(&r, "/simple/cut");
	assert_int_equal(r.status, 200);
	assert_non_null(r.error);
}

static void data_waits_for_credit(void **state)
{
	AUTO(reply_release) struct reply r = { 0 };
	assert_int_equal(ask("GET", "/simple/big", "{}"), 0);
	wait_for(&r, RELAY_WINDOW);
	size_t credited = 0;
	while (!r.ended) {
		assert_true(r.bytes - credited <= RELAY_WINDOW);
		uint32_t n = (uint32_t)(r.bytes - credited);
		uint8_t credit[4] = { (uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n };
		credited += n;
		assert_int_equal(give(FRAME_RELAY_CREDIT, number, credit, 4), 0);
		wait_for(&r, MIN(credited + RELAY_WINDOW, BIG + 1));
	}
	assert_int_equal(r.bytes, BIG);
	assert_null(r.error);
}

static void a_cancelled_request_is_dropped(void **state)
{
	AUTO(reply_release) struct reply r = { 0 };
	assert_int_equal(ask("GET", "/simple/big", "{}"), 0);
	wait_for(&r, 1);
	assert_int_equal(give(FRAME_RELAY_CANCEL, number, NULL, 0), 0);
	assert_int_equal(give(FRAME_RELAY_CREDIT, number, "\0\0\0\1", 4), 0);
	get(&r, "/simple/file");
	assert_int_equal(r.status, 200);
}

static void an_answer_larger_than_the_install_limit_fails(void **state)
{
	AUTO(reply_release) struct reply r = { 0 };
	config.dependency_max_size = 1;
	get(&r, "/simple/file");
	config.dependency_max_size = 1u << 30;
	assert_non_null(r.error);
	assert_non_null(strstr(gateway_trouble(gateway), "DEPENDENCY_MAX_SIZE"));
}

static void invalid_frames_from_pid_1_are_rejected(void **state)
{
	AUTO(reply_release) struct reply r = { 0 };
	assert_int_equal(give(FRAME_RELAY_GET, ++number, "[]", 2), -EPROTO);
	assert_int_equal(ask("POST", "/simple/", "{}"), -EPROTO);
	assert_int_equal(ask("GET", "simple", "{}"), -EPROTO);
	assert_int_equal(ask("GET", "/a b", "{}"), -EPROTO);
	assert_int_equal(give(FRAME_RELAY_CREDIT, number, "x", 1), -EPROTO);
	assert_int_equal(ask("GET", "/simple/big", "{}"), 0);
	assert_int_equal(give(FRAME_RELAY_CREDIT, number, "\1\0\0\0", 4), -EPROTO);
	number--;
	assert_int_equal(ask("GET", "/simple/big", "{}"), -EPROTO); /* the same number again */
	for (unsigned i = 1; i < RELAY_REQUESTS_MAX; i++)
		assert_int_equal(ask("GET", "/simple/big", "{}"), 0);
	assert_int_equal(ask("GET", "/simple/big", "{}"), -EPROTO);
	gateway_reset(gateway);
	get(&r, "/simple/file");
	assert_int_equal(r.status, 200);
}

static void an_unreachable_index_is_reported(void **state)
{
	AUTO(reply_release) struct reply r = { 0 };
	AUTO(freep) char *right = upstreams.v[0].origin;
	upstreams.v[0].origin = xstrdup("http://127.0.0.1:1");
	get(&r, "/simple/file");
	free(upstreams.v[0].origin);
	upstreams.v[0].origin = take_ptr(right);
	assert_int_equal(r.end_status, 502);
	assert_non_null(strstr(r.error, "could not be read"));
}

static int set_up(void **state)
{
	AUTO(strv_release) struct strv sources = { 0 }, env = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	http_server_start(&server, answer);
	loop = loop_new();
	config.dependency_max_size = 1u << 30;
	dispatch_init(&dispatch, loop, &config, send_frames);
	strv_addf(&sources, "A=http://me:s%%3Acret@127.0.0.1:%u/simple/", server.port);
	assert_int_equal(upstreams_take(&upstreams, &env, &sources, &f), 0);
	gateway = gateway_new(&(struct gateway_spec){
		.loop = loop, .config = &config, .dispatch = &dispatch, .upstreams = &upstreams });
	return 0;
}

static int tear_down(void **state)
{
	gateway = gateway_free(gateway);
	upstreams_release(&upstreams);
	dispatch_release(&dispatch);
	buf_release(&sent);
	loop = loop_free(loop);
	http_server_stop(&server);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_loaded_before_the_first_request),
		cmocka_unit_test(the_login_is_added_and_cookies_are_not_passed_on),
		cmocka_unit_test(head_has_no_body),
		cmocka_unit_test(only_known_headers_pass),
		cmocka_unit_test(urls_outside_the_index_are_rejected),
		cmocka_unit_test(linked_urls_may_be_requested),
		cmocka_unit_test(a_redirect_within_the_index_is_passed_on),
		cmocka_unit_test(no_redirect_leads_to_this_machine),
		cmocka_unit_test(a_public_index_does_not_redirect_to_private_addresses),
		cmocka_unit_test(a_wrong_login_is_explained),
		cmocka_unit_test(an_incomplete_answer_is_an_error),
		cmocka_unit_test(data_waits_for_credit),
		cmocka_unit_test(a_cancelled_request_is_dropped),
		cmocka_unit_test(an_answer_larger_than_the_install_limit_fails),
		cmocka_unit_test(invalid_frames_from_pid_1_are_rejected),
		cmocka_unit_test(an_unreachable_index_is_reported),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
