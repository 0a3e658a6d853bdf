/* manager/gate/inject: placeholders in requests become secrets where these allow it, and nowhere else. */
#include <errno.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "manager/gate/inject.h"
#include "manager/model/cause.h"
#include "tests/unit/unit.h"

#define KEY "husk-secret-aaaaaaaaaaaaaaaaaaaaaaaaaa"
#define TOKEN "husk-secret-bbbbbbbbbbbbbbbbbbbbbbbbbb"
#define QUERY "husk-secret-cccccccccccccccccccccccccc"
#define BASIC "husk-secret-dddddddddddddddddddddddddd"
#define OTHER "husk-secret-eeeeeeeeeeeeeeeeeeeeeeeeee"
#define ALL KEY TOKEN QUERY BASIC OTHER

struct bench {
	struct inject *inject;
	struct secret_set *secrets;
	struct buf up, down;
	struct fail fail;
};

static void take_up(void *ctx, const void *data, size_t n)
{
	buf_add(&((struct bench *)ctx)->up, data, n);
}

static void take_down(void *ctx, const void *data, size_t n)
{
	buf_add(&((struct bench *)ctx)->down, data, n);
}

static struct gate_secret *add(struct bench *b, const char *name, const char *placeholder, const char *value,
			       const char *host)
{
	struct gate_secret *s = secret_set_add(b->secrets);
	s->name = xstrdup(name);
	s->placeholder = xstrdup(placeholder);
	s->value = xstrdup(value);
	strv_add(&s->hosts, host);
	return s;
}

static struct bench *bench_new(void)
{
	static const struct inject_ops ops = { take_up, take_down };
	struct bench *b = new0(struct bench);
	b->secrets = secret_set_new();
	add(b, "KEY", KEY, "value-of-key", "api.example.com:443");
	add(b, "TOKEN", TOKEN, "value-of-token", "api.example.com:443")->header = xstrdup("x-token");
	add(b, "QUERY", QUERY, "value of/query", "api.example.com:443")->query = xstrdup("key");
	add(b, "BASIC", BASIC, "value-of-basic", "api.example.com:443")->basic = xstrdup("ada");
	add(b, "OTHER", OTHER, "value-of-other", "other.example.com:443");
	b->inject = inject_new("api.example.com", 443, b->secrets, &ops, b);
	return b;
}

static void bench_free(struct bench *b)
{
	inject_free(b->inject);
	assert_null(secret_set_unref(b->secrets));
	buf_release(&b->up);
	buf_release(&b->down);
	fail_release(&b->fail);
	free(b);
}

static int request(struct bench *b, const char *text)
{
	return inject_request(b->inject, text, strlen(text), &b->fail);
}

static int response(struct bench *b, const char *text)
{
	return inject_response(b->inject, text, strlen(text), &b->fail);
}

/* A request with these lines after the Host field, and what reaches the server. */
static char *sent(const char *target, const char *lines)
{
	struct bench *b = bench_new();
	AUTO(freep) char *text = xasprintf("GET %s HTTP/1.1\r\nHost: api.example.com\r\n%s\r\n", target, lines);
	assert_int_equal(request(b, text), 0);
	char *up = xstrdup(buf_str(&b->up));
	bench_free(b);
	return up;
}

static void expect(const char *target, const char *lines, const char *expected_target, const char *expected_lines)
{
	AUTO(freep) char *up = sent(target, lines);
	AUTO(freep) char *expected =
		xasprintf("GET %s HTTP/1.1\r\nhost: api.example.com\r\n%s\r\n", expected_target, expected_lines);
	assert_string_equal(up, expected);
}

static char *basic(const char *text)
{
	struct buf b = { 0 };
	buf_add_str(&b, "Authorization: Basic ");
	base64_encode(text, strlen(text), &b);
	buf_add_str(&b, "\r\n");
	return buf_steal_str(&b);
}

/* --- where a secret is used ---------------------------------------------------------------------------------------- */

static void each_secret_is_used_only_where_it_may_be(void **state UNUSED)
{
	expect("/", "Authorization: Bearer " ALL "\r\n", "/",
	       "authorization: Bearer value-of-key" TOKEN QUERY BASIC OTHER "\r\n");
	expect("/", "X-Token: " ALL "\r\n", "/", "x-token: value-of-keyvalue-of-token" QUERY BASIC OTHER "\r\n");
	expect("/" ALL "?a=" ALL "&key=" ALL "&key2=" ALL "&" ALL, "",
	       "/" ALL "?a=" ALL "&key=" KEY TOKEN "value%20of%2Fquery" BASIC OTHER "&key2=" ALL "&" ALL, "");
}

static void a_secret_of_a_query_is_for_its_host_alone(void **state UNUSED)
{
	struct bench *b = bench_new();
	b->secrets->v[b->secrets->n - 1].query = xstrdup("key");
	assert_int_equal(request(b, "GET /?key=" OTHER " HTTP/1.1\r\nHost: api.example.com\r\n\r\n"), 0);
	assert_non_null(strstr(buf_str(&b->up), "/?key=" OTHER " "));
	bench_free(b);
}

static void basic_credentials_are_decoded(void **state UNUSED)
{
	AUTO(freep) char *any = basic("git:" KEY), *any_expected = basic("git:value-of-key");
	AUTO(freep) char *named = basic("ada:" BASIC), *named_expected = basic("ada:value-of-basic");
	AUTO(freep) char *wrong = basic("eve:" BASIC), *foreign = basic("ada:" OTHER);
	any_expected[0] = named_expected[0] = 'a';
	expect("/", any, "/", any_expected);
	expect("/", named, "/", named_expected);
	wrong[0] = foreign[0] = 'a';
	expect("/", wrong, "/", wrong);
	expect("/", foreign, "/", foreign);
}

static void fields_of_the_connection_get_no_secret(void **state UNUSED)
{
	expect("/", "Expect: " KEY "\r\nConnection: " KEY "\r\n", "/", "expect: " KEY "\r\nconnection: " KEY "\r\n");
}

static void a_body_passes_unchanged(void **state UNUSED)
{
	struct bench *b = bench_new();
	assert_int_equal(request(b, "POST / HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 38\r\n\r\n" KEY), 0);
	assert_string_equal(buf_str(&b->up),
			    "POST / HTTP/1.1\r\nhost: api.example.com\r\ncontent-length: 38\r\n\r\n" KEY);
	assert_null(inject_used(b->inject));
	buf_reset(&b->up);
	assert_int_equal(request(b, "POST / HTTP/1.1\r\nHost: api.example.com\r\nX: " KEY
				    "\r\nTransfer-Encoding: chunked\r\n\r\n26;x=" KEY "\r\n" KEY "\r\n0\r\nX: " KEY
				    "\r\n\r\nGET /2 HTTP/1.1\r\nHost: api.example.com\r\n\r\n"),
			 0);
	assert_string_equal(buf_str(&b->up), "POST / HTTP/1.1\r\nhost: api.example.com\r\nx: value-of-key\r\n"
					     "transfer-encoding: chunked\r\n\r\n26\r\n" KEY "\r\n0\r\n\r\n"
					     "GET /2 HTTP/1.1\r\nhost: api.example.com\r\n\r\n");
	assert_string_equal(inject_used(b->inject), "KEY");
	bench_free(b);
}

static void bytes_may_arrive_one_by_one(void **state UNUSED)
{
	static const char text[] =
		"POST /?key=" QUERY " HTTP/1.1\r\nHost: api.example.com\r\nX-Token: " TOKEN
		"\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n";
	struct bench *b = bench_new();
	for (size_t i = 0; text[i]; i++)
		assert_int_equal(inject_request(b->inject, &text[i], 1, &b->fail), 0);
	assert_string_equal(buf_str(&b->up), "POST /?key=value%20of%2Fquery HTTP/1.1\r\nhost: api.example.com\r\n"
					     "x-token: value-of-token\r\ncontent-length: 3\r\n\r\nabc"
					     "GET / HTTP/1.1\r\nhost: api.example.com:443\r\n\r\n");
	bench_free(b);
}

/* --- what is refused ----------------------------------------------------------------------------------------------- */

static void requests_that_two_readers_could_read_differently_are_refused(void **state UNUSED)
{
	static const struct {
		const char *text;
		int status;
	} cases[] = {
		{ "GET / HTTP/1.1\r\nHost: evil.example.com\r\n\r\n", 421 },
		{ "GET / HTTP/1.1\r\nHost: api.example.com:80\r\n\r\n", 421 },
		{ "GET / HTTP/1.1\r\nHost: api.example.com.evil.com\r\n\r\n", 421 },
		{ "GET / HTTP/1.0\r\n\r\n", 421 },
		{ "GET / HTTP/1.1\r\nHost: api.example.com\r\nHost: evil.example.com\r\n\r\n", 400 },
		{ "GET https://evil.example.com/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n", 400 },
		{ "CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com\r\n\r\n", 400 },
		{ "POST / HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
		  400 },
		{ "POST / HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n", 400 },
		{ "POST / HTTP/1.1\r\nHost: api.example.com\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501 },
		{ "POST / HTTP/1.1\r\nHost: api.example.com\r\nTransfer-Encoding : chunked\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nHost: api.example.com\r\n X: folded\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\nHost: api.example.com\n\n", 400 },
		{ "GET / HTTP/1.1\r\nHost: api.example.com\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", 501 },
		{ "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505 },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct bench *b = bench_new();
		AUTO(freep) char *status = xasprintf("HTTP/1.1 %d ", cases[i].status);
		assert_int_equal(request(b, cases[i].text), -EPROTO);
		assert_memory_equal(buf_str(&b->down), status, strlen(status));
		assert_int_equal(b->up.len, 0);
		assert_int_equal(cause_of(&b->fail), CAUSE_GATE_HTTP);
		bench_free(b);
	}
}

static void nothing_follows_a_refused_request(void **state UNUSED)
{
	struct bench *b = bench_new();
	assert_int_equal(request(b, "GET / HTTP/1.1\r\nHost: evil.example.com\r\nContent-Length: 3\r\n\r\nabc"
				    "GET / HTTP/1.1\r\nHost: api.example.com\r\nX: " KEY "\r\n\r\n"),
			 -EPROTO);
	assert_int_equal(b->up.len, 0);
	bench_free(b);
}

static void a_head_has_a_limit_after_its_values_are_filled_in(void **state UNUSED)
{
	struct bench *b = bench_new();
	AUTO(buf_release) struct buf text = { 0 };
	AUTO(freep) char *big = xmalloc(SECRET_VALUE_MAX + 1);
	memset(big, 'x', SECRET_VALUE_MAX);
	big[SECRET_VALUE_MAX] = 0;
	free(b->secrets->v[0].value);
	b->secrets->v[0].value = take_ptr(big);
	buf_add_str(&text, "GET / HTTP/1.1\r\nHost: api.example.com\r\nX: ");
	for (int i = 0; i < 17; i++)
		buf_add_str(&text, KEY);
	buf_add_str(&text, "\r\n\r\n");
	assert_int_equal(request(b, buf_str(&text)), -EPROTO);
	assert_non_null(strstr(buf_str(&b->down), "431"));
	assert_int_equal(b->up.len, 0);
	bench_free(b);
}

static void too_many_unanswered_requests_are_refused(void **state UNUSED)
{
	struct bench *b = bench_new();
	for (int i = 0; i < INJECT_REQUESTS_MAX; i++)
		assert_int_equal(request(b, "GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n"), 0);
	assert_int_equal(request(b, "GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n"), -EPROTO);
	bench_free(b);
}

/* --- answers ------------------------------------------------------------------------------------------------------- */

#define GET "GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n"

static void secrets_in_the_head_of_an_answer_are_hidden(void **state UNUSED)
{
	struct bench *b = bench_new();
	AUTO(freep) char *login = basic("ada:" BASIC);
	AUTO(freep) char *text = xasprintf("GET / HTTP/1.1\r\nHost: api.example.com\r\n%s\r\n", login);
	AUTO(freep) char *plain = basic("ada:value-of-basic");
	AUTO(freep) char *answer =
		xasprintf("HTTP/1.1 200 value-of-key\r\nX-Echo: a value-of-key value%%20of%%2Fquery b\r\n"
			  "%sContent-Length: 12\r\n\r\nvalue-of-key",
			  plain);
	assert_int_equal(request(b, text), 0);
	assert_int_equal(response(b, answer), 0);
	/* A body is the host's own: SECURITY.md says so. */
	assert_string_equal(buf_str(&b->down),
			    "HTTP/1.1 200 OK\r\nx-echo: a " KEY " " QUERY " b\r\n"
			    "authorization: Basic [removed]\r\ncontent-length: 12\r\n\r\nvalue-of-key");
	bench_free(b);
}

static void answers_belong_to_their_requests(void **state UNUSED)
{
	struct bench *b = bench_new();
	assert_int_equal(request(b, "HEAD / HTTP/1.1\r\nHost: api.example.com\r\n\r\n" GET), 0);
	assert_int_equal(response(b, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
				     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
			 0);
	assert_string_equal(buf_str(&b->down),
			    "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
			    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
	assert_true(inject_ended(b->inject));
	bench_free(b);
}

static void an_answer_that_was_cut_off_is_not_complete(void **state UNUSED)
{
	struct bench *b = bench_new();
	assert_int_equal(request(b, GET), 0);
	assert_int_equal(response(b, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"), 0);
	assert_false(inject_ended(b->inject));
	bench_free(b);
}

static void an_answer_without_a_length_ends_with_its_connection(void **state UNUSED)
{
	struct bench *b = bench_new();
	assert_int_equal(request(b, GET), 0);
	assert_int_equal(response(b, "HTTP/1.1 200 OK\r\n\r\nabc"), 0);
	assert_string_equal(buf_str(&b->down), "HTTP/1.1 200 OK\r\n\r\nabc");
	assert_true(inject_ended(b->inject));
	bench_free(b);
}

static void a_broken_answer_is_reported(void **state UNUSED)
{
	struct bench *b = bench_new();
	assert_int_equal(request(b, GET), 0);
	assert_int_equal(response(b, "HTTP/1.1 200 OK\nX: value-of-key\n\n"), -EPROTO);
	assert_memory_equal(buf_str(&b->down), "HTTP/1.1 502 ", 13);
	assert_null(strstr(buf_str(&b->down), "value-of-key"));
	bench_free(b);
}

/* --- WebSocket ------------------------------------------------------------------------------------------------------ */

#define UPGRADE                                                                                                        \
	"GET /ws HTTP/1.1\r\nHost: api.example.com\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX: " KEY "\r\n\r\n"

static void a_websocket_passes_after_its_upgrade(void **state UNUSED)
{
	struct bench *b = bench_new();
	assert_int_equal(request(b, UPGRADE "early" KEY), 0);
	assert_non_null(strstr(buf_str(&b->up), "x: value-of-key\r\n\r\n"));
	assert_null(strstr(buf_str(&b->up), "early"));
	buf_reset(&b->up);
	assert_int_equal(
		response(b,
			 "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\nhello"),
		0);
	assert_string_equal(buf_str(&b->up), "early" KEY);
	assert_non_null(strstr(buf_str(&b->down), "\r\n\r\nhello"));
	assert_int_equal(request(b, KEY), 0);
	assert_string_equal(buf_str(&b->up), "early" KEY KEY);
	bench_free(b);
}

static void requests_continue_after_a_declined_upgrade(void **state UNUSED)
{
	struct bench *b = bench_new();
	assert_int_equal(request(b, UPGRADE GET), 0);
	buf_reset(&b->up);
	assert_int_equal(response(b, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"), 0);
	assert_string_equal(buf_str(&b->up), "GET / HTTP/1.1\r\nhost: api.example.com\r\n\r\n");
	bench_free(b);
}

static void an_upgrade_without_a_request_is_refused(void **state UNUSED)
{
	struct bench *b = bench_new();
	assert_int_equal(request(b, GET), 0);
	assert_int_equal(
		response(b, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n"),
		-EPROTO);
	bench_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_secret_is_used_only_where_it_may_be),
		cmocka_unit_test(a_secret_of_a_query_is_for_its_host_alone),
		cmocka_unit_test(basic_credentials_are_decoded),
		cmocka_unit_test(fields_of_the_connection_get_no_secret),
		cmocka_unit_test(a_body_passes_unchanged),
		cmocka_unit_test(bytes_may_arrive_one_by_one),
		cmocka_unit_test(requests_that_two_readers_could_read_differently_are_refused),
		cmocka_unit_test(nothing_follows_a_refused_request),
		cmocka_unit_test(a_head_has_a_limit_after_its_values_are_filled_in),
		cmocka_unit_test(too_many_unanswered_requests_are_refused),
		cmocka_unit_test(secrets_in_the_head_of_an_answer_are_hidden),
		cmocka_unit_test(answers_belong_to_their_requests),
		cmocka_unit_test(an_answer_that_was_cut_off_is_not_complete),
		cmocka_unit_test(an_answer_without_a_length_ends_with_its_connection),
		cmocka_unit_test(a_broken_answer_is_reported),
		cmocka_unit_test(a_websocket_passes_after_its_upgrade),
		cmocka_unit_test(requests_continue_after_a_declined_upgrade),
		cmocka_unit_test(an_upgrade_without_a_request_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
