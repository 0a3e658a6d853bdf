/* http/parser: what a message is, where it ends, and what is rejected because proxies disagree about it. */
#include "http/parser.h"

#include "base/alloc.h"
#include "tests/unit/unit.h"

struct seen {
	struct buf log; /* "head METHOD TARGET|status", "body …", "end" */
	struct http_parser *parser;
	bool pause;
};

static void saw_head(void *ctx, const struct http_head *h)
{
	struct seen *s = ctx;
	buf_printf(&s->log, "[%s%s%s%s %lld", h->status ? "" : h->method_name, h->status ? "" : " ",
		   h->status ? "" : (const char *)h->target.data, h->upgrade ? " upgrade" : "", (long long)h->length);
	if (h->status)
		buf_printf(&s->log, " status %d", h->status);
	buf_printf(&s->log, "%s]", h->keep_alive ? "" : " close");
	if (s->pause)
		http_parser_pause(s->parser);
}

static void saw_body(void *ctx, const void *data, size_t n)
{
	buf_add(&((struct seen *)ctx)->log, data, n);
}

static void saw_end(void *ctx)
{
	buf_add_str(&((struct seen *)ctx)->log, "$");
}

static const struct http_parser_ops ops = { saw_head, saw_body, saw_end };

/* Feeds the text in pieces of `step` bytes and compares the log; "400 …" expects a rejection with this sentence.
 * finish: the connection ends after the text. */
static void check(enum http_role role, const char *text, size_t n, size_t step, bool finish, const char *expected)
{
	struct seen s = { 0 };
	s.parser = http_parser_new(role, &ops, &s);
	int failed = 0;
	for (size_t at = 0; at < n && !failed && !http_parser_upgraded(s.parser);) {
		ssize_t used = http_parser_feed(s.parser, text + at, MIN(step, n - at));
		failed = used < 0;
		at += used > 0 ? (size_t)used : 0;
	}
	if (!failed && finish)
		failed = http_parser_finish(s.parser) < 0;
	if (failed) {
		struct http_wrong wrong = http_parser_wrong(s.parser);
		buf_reset(&s.log);
		buf_printf(&s.log, "%d %s", wrong.status, wrong.sentence);
	}
	assert_string_equal(buf_str(&s.log), expected);
	buf_release(&s.log);
	http_parser_free(s.parser);
}

/* Pieces of every size give the same result: the ends of packets do not matter. */
static void check_all(enum http_role role, const char *text, bool finish, const char *expected)
{
	size_t n = strlen(text);
	for (size_t step = 1; step <= MIN(n, (size_t)40); step++)
		check(role, text, n, step, finish, expected);
	check(role, text, n, n, finish, expected);
}

#define REQUEST(text, expected) check_all(HTTP_SERVER, text, false, expected)
#define RESPONSE(text, expected) check_all(HTTP_CLIENT, text, true, expected)
#define HOST "Host: h\r\n"

static void requests_are_read(void **state)
{
	REQUEST("GET /a?b=c HTTP/1.1\r\n" HOST "\r\n", "[GET /a?b=c 0]$");
	REQUEST("\r\n\r\nGET / HTTP/1.1\r\n" HOST "\r\n", "[GET / 0]$");
	REQUEST("POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello", "[POST / 5]hello$");
	REQUEST("POST / HTTP/1.1\r\n" HOST
		"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n2;x=y\r\n !\r\n0\r\nT: v\r\n\r\n",
		"[POST / -1]hello !$");
	REQUEST("GET / HTTP/1.0\r\n\r\n", "[GET / 0 close]$");
	REQUEST("GET / HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n", "[GET / 0 close]$");
	REQUEST("GET /1 HTTP/1.1\r\n" HOST "\r\nPUT /2 HTTP/1.1\r\n" HOST
		"Content-Length: 1\r\n\r\nxDELETE /3 HTTP/1.1\r\n" HOST "\r\n",
		"[GET /1 0]$[PUT /2 1]x$[DELETE /3 0]$");
	REQUEST("PROPFIND / HTTP/1.1\r\n" HOST "\r\n", "[PROPFIND / 0]$");
}

static void upgrades_end_the_parsing(void **state)
{
	REQUEST("GET / HTTP/1.1\r\n" HOST "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x01x",
		"[GET / upgrade 0]$");
	/* With a body it is an ordinary request. */
	REQUEST("POST / HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\nab",
		"[POST / upgrade 2]ab$");
	RESPONSE("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x81",
		 "[ upgrade -1 status 101]$");
}

static void declined_upgrades_leave_the_connection_usable(void **state)
{
	static const char text[] = "GET / HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: x\r\n\r\n";
	struct seen s = { 0 };
	s.parser = http_parser_new(HTTP_SERVER, &ops, &s);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(http_parser_feed(s.parser, text, sizeof(text) - 1), sizeof(text) - 1);
		assert_true(http_parser_upgraded(s.parser));
		http_parser_decline_upgrade(s.parser);
		assert_true(http_parser_idle(s.parser));
	}
	assert_string_equal(buf_str(&s.log), "[GET / upgrade 0]$[GET / upgrade 0]$");
	buf_release(&s.log);
	http_parser_free(s.parser);
}

static void a_pause_comes_before_the_body(void **state)
{
	static const char text[] = "POST / HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nab";
	struct seen s = { .pause = true };
	s.parser = http_parser_new(HTTP_SERVER, &ops, &s);
	ssize_t used = http_parser_feed(s.parser, text, sizeof(text) - 1);
	assert_int_equal(used, sizeof(text) - 3);
	assert_string_equal(buf_str(&s.log), "[POST / 2]");
	assert_int_equal(http_parser_feed(s.parser, text + used, 2), 2);
	assert_string_equal(buf_str(&s.log), "[POST / 2]ab$");
	buf_release(&s.log);
	http_parser_free(s.parser);
}

static void ambiguous_lengths_are_refused(void **state)
{
	REQUEST("POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"400 the message has both Content-Length and Transfer-Encoding");
	REQUEST("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
		"400 the message has both Content-Length and Transfer-Encoding");
	REQUEST("POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
		"400 there is more than one Content-Length");
	REQUEST("POST / HTTP/1.1\r\n" HOST "Content-Length: 5, 5\r\n\r\nhello",
		"400 Content-Length is not a single number");
	REQUEST("POST / HTTP/1.1\r\n" HOST "Content-Length: +5\r\n\r\nhello",
		"400 Content-Length is not a single number");
	REQUEST("POST / HTTP/1.1\r\n" HOST "Content-Length: 99999999999999999999\r\n\r\n",
		"400 Content-Length is not a single number");
	REQUEST("POST / HTTP/1.1\r\n" HOST "Content-Length: 9999999999999999999\r\n\r\n",
		"400 Content-Length is too large");
	REQUEST("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"400 Transfer-Encoding is not part of HTTP/1.0");
	REQUEST("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		"501 the only supported Transfer-Encoding is 'chunked'");
	REQUEST("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"501 the only supported Transfer-Encoding is 'chunked'");
	REQUEST("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: xchunked\r\n\r\n",
		"501 the only supported Transfer-Encoding is 'chunked'");
}

static void malformed_heads_are_refused(void **state)
{
	REQUEST("GET / HTTP/1.1\r\n" HOST "A: b\r\n c\r\n\r\n", "400 a header field is folded over two lines");
	REQUEST("GET / HTTP/1.1\r\n Host: h\r\n\r\n", "400 a header field is folded over two lines");
	REQUEST("GET / HTTP/1.1\n" HOST "\r\n", "400 a line of the head ends without a carriage return");
	REQUEST("GET / HTTP/1.1\nHost: h\n\n", "400 a line of the head ends without a carriage return");
	REQUEST("GET / HTTP/1.1\r\n" HOST "A: b\rC: d\r\n\r\n", "400 the head has a carriage return inside a line");
	REQUEST("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400 there is more than one Host field");
	REQUEST("GET / HTTP/1.1\r\nA: b\r\n\r\n", "400 the Host field is missing");
	REQUEST("GET http://b/x HTTP/1.1\r\nHost: a\r\n\r\n", "400 the target and Host name different hosts");
	REQUEST("GET http://a HTTP/1.0\r\n\r\n", "400 the target and Host name different hosts");
	REQUEST("GET http://a:1?q HTTP/1.1\r\nHost: a\r\n\r\n", "400 the target and Host name different hosts");
	REQUEST("GET http://b@a/ HTTP/1.1\r\nHost: a\r\n\r\n", "400 the target and Host name different hosts");
	REQUEST("GET /\r\n\r\n", "400 the request line is not 'METHOD TARGET HTTP/1.1'");
	REQUEST("GET / a HTTP/1.1\r\n" HOST "\r\n", "400 the request line has a space in its target");
	REQUEST("GET  / HTTP/1.1\r\n" HOST "\r\n", "400 the request line has a space in its target");
	REQUEST("GET / HTTP/2.0\r\n" HOST "\r\n", "505 only HTTP/1.1 and HTTP/1.0 are supported");
	REQUEST("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505 only HTTP/1.1 and HTTP/1.0 are supported");
	REQUEST("GET / HTTP/1.2\r\n" HOST "\r\n", "505 only HTTP/1.1 and HTTP/1.0 are supported");
	REQUEST("GET / HTTP/1.1x\r\n" HOST "\r\n", "400 the request line does not end with a version of HTTP");
	REQUEST("GET / HTTP/0.9\r\n\r\n", "505 only HTTP/1.1 and HTTP/1.0 are supported");
	REQUEST("BREW / HTTP/1.1\r\n" HOST "\r\n", "501 the method is unknown");
	REQUEST("GET / HTTP/1.1\r\n" HOST "A : b\r\n\r\n", "400 a header field is not 'Name: value'");
	REQUEST("GET / HTTP/1.1\r\n" HOST ": b\r\n\r\n", "400 a header field is not 'Name: value'");
	REQUEST("GET / HTTP/1.1\r\n" HOST "A: \x01\r\n\r\n", "400 a header field has a character that is not allowed");
	REQUEST("GET / HTTP/1.1\r\n" HOST "no colon\r\n\r\n", "400 a header field is not 'Name: value'");
	check(HTTP_SERVER, "GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n", 30, 30, false, "400 the head has a NUL byte");
	REQUEST("\x16\x03\x01\x02\r\n\r\n", "400 the request line is not 'METHOD TARGET HTTP/1.1'");
}

static void malformed_chunks_are_refused(void **state)
{
#define CHUNKED "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"
	REQUEST(CHUNKED "x\r\n", "400 the chunks of the body are malformed");
	REQUEST(CHUNKED "-1\r\n", "400 the chunks of the body are malformed");
	REQUEST(CHUNKED "ffffffffffffffffff\r\n", "400 the chunks of the body are malformed");
	REQUEST(CHUNKED "1\r\nab\r\n", "400 the chunks of the body are malformed");
	REQUEST(CHUNKED "1\nab\r\n", "400 the chunks of the body are malformed");
	REQUEST(CHUNKED "1 \r\na\r\n", "400 the chunks of the body are malformed");
}

static void large_heads_are_refused(void **state)
{
	AUTO(buf_release) struct buf text = { 0 };
	buf_add_str(&text, "GET /");
	for (int i = 0; i < 17000; i++)
		buf_add_str(&text, "x");
	check(HTTP_SERVER, buf_str(&text), text.len, 1000, false,
	      "431 the request line and header fields are longer than 16 KiB");
	buf_reset(&text);
	buf_add_str(&text, "GET / HTTP/1.1\r\n" HOST);
	for (int i = 0; i < 64; i++)
		buf_printf(&text, "a%d: b\r\n", i);
	buf_add_str(&text, "\r\n");
	check(HTTP_SERVER, buf_str(&text), text.len, 100, false, "431 there are more than 64 header fields");
	buf_reset(&text);
	buf_add_str(&text, CHUNKED "0\r\nT: ");
	for (int i = 0; i < 17000; i++)
		buf_add_str(&text, "x");
	check(HTTP_SERVER, buf_str(&text), text.len, 1000, false, "431 the trailer fields are too long");
}

static void responses_are_read(void **state)
{
	RESPONSE("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", "[ 2 status 200]ab$");
	RESPONSE("HTTP/1.1 204 No Content\r\n\r\n", "[ -1 status 204]$");
	RESPONSE("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		 "[ -1 status 100]$[ 0 status 200]$");
	RESPONSE("HTTP/1.1 200 OK\r\n\r\nto the end", "[ -1 status 200 close]to the end$");
	RESPONSE("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", "400 the connection ended inside a message");
	RESPONSE("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab",
		 "400 the connection ended inside a message");
	RESPONSE("HTTP/1.1 200", "400 the connection ended inside a message");
}

static void answers_to_head_have_no_body(void **state)
{
	struct seen s = { 0 };
	static const char text[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
	s.parser = http_parser_new(HTTP_CLIENT, &ops, &s);
	http_parser_expect_no_body(s.parser);
	assert_int_equal(http_parser_feed(s.parser, text, sizeof(text) - 1), sizeof(text) - 1);
	assert_string_equal(buf_str(&s.log), "[ 5 status 200]$");
	buf_release(&s.log);
	http_parser_free(s.parser);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_read),
		cmocka_unit_test(upgrades_end_the_parsing),
		cmocka_unit_test(declined_upgrades_leave_the_connection_usable),
		cmocka_unit_test(a_pause_comes_before_the_body),
		cmocka_unit_test(ambiguous_lengths_are_refused),
		cmocka_unit_test(malformed_heads_are_refused),
		cmocka_unit_test(malformed_chunks_are_refused),
		cmocka_unit_test(large_heads_are_refused),
		cmocka_unit_test(responses_are_read),
		cmocka_unit_test(answers_to_head_have_no_body),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
