#include "kernels/packages/http.h"

#include "base/alloc.h"
#include "tests/unit/unit.h"

/* Parses the text as a request; '\1' in it becomes NUL. The caller frees the text. */
static int parse(char **text, const char *request, struct http_request *ret)
{
	*text = xstrdup(request);
	size_t n = strlen(request);
	for (size_t i = 0; i < n; i++)
		if ((*text)[i] == '\1')
			(*text)[i] = '\0';
	return http_parse(*text, n, ret);
}

static void a_request_is_read(void **state)
{
	AUTO(freep) char *text = NULL;
	struct http_request r;
	assert_int_equal(
		parse(&text,
		      "GET /simple/x/?a=b HTTP/1.1\r\nHost: h\r\nACCEPT:  a/b;q=1 \r\nAuthorization: Basic x\r\n"
		      "Cookie: c\r\nAccept: second\r\nUser-Agent: pip\r\nContent-Length: 0\r\n\r\n",
		      &r),
		1);
	assert_false(r.head);
	assert_string_equal(r.target, "/simple/x/?a=b");
	assert_int_equal(r.n_headers, 2);
	assert_string_equal(r.headers[0].name, "accept");
	assert_string_equal(r.headers[0].value, "a/b;q=1");
	assert_string_equal(r.headers[1].value, "pip");
	free(take_ptr(text));
	assert_int_equal(parse(&text, "HEAD / HTTP/1.1\r\n\r\n", &r), 1);
	assert_true(r.head);
}

static void an_incomplete_request_waits(void **state)
{
	static const char *const halves[] = { "", "GET", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: h\r\n\r",
					      "POST / HTTP/1.1\r\n" };
	struct http_request r;
	for (size_t i = 0; i < ARRAY_LEN(halves); i++) {
		AUTO(freep) char *text = NULL;
		assert_int_equal(parse(&text, halves[i], &r), 0);
	}
}

static void unknown_requests_are_rejected(void **state)
{
	static const struct {
		const char *request;
		int status;
	} bad[] = {
		{ "POST / HTTP/1.1\r\n\r\n", -405 },
		{ "CONNECT h:443 HTTP/1.1\r\n\r\n", -405 },
		{ "get / HTTP/1.1\r\n\r\n", -405 },
		{ "GET / HTTP/1.0\r\n\r\n", -505 },
		{ "GET http://h/ HTTP/1.1\r\n\r\n", -400 },
		{ "GET //h/\t HTTP/1.1\r\n\r\n", -400 },
		{ "GET /a b HTTP/1.1\r\n\r\n", -400 },
		{ "GET /\xc3\xa9 HTTP/1.1\r\n\r\n", -400 },
		{ "GET /\1 HTTP/1.1\r\n\r\n", -400 },
		{ "GET / HTTP/1.1\nHost: h\r\n\r\n", -400 },
		{ "GET / HTTP/1.1\r\nno colon\r\n\r\n", -400 },
		{ "GET / HTTP/1.1\r\n folded: x\r\n\r\n", -400 },
		{ "GET / HTTP/1.1\r\n: x\r\n\r\n", -400 },
		{ "GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", -413 },
		{ "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", -413 },
		{ "\r\n\r\n", -400 },
		{ "GET\r\n\r\n", -400 },
	};
	struct http_request r;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		AUTO(freep) char *text = NULL;
		assert_int_equal(parse(&text, bad[i].request, &r), bad[i].status);
	}
}

static void sizes_are_bounded(void **state)
{
	AUTO(buf_release) struct buf b = { 0 };
	struct http_request r;
	buf_add_str(&b, "GET /");
	while (b.len < HTTP_TARGET_MAX + 100)
		buf_add_str(&b, "x");
	buf_add_str(&b, " HTTP/1.1\r\n\r\n");
	assert_int_equal(http_parse((char *)b.data, b.len, &r), -414);
	buf_reset(&b);
	buf_add_str(&b, "GET / HTTP/1.1\r\n");
	while (b.len < HTTP_HEAD_MAX)
		buf_add_str(&b, "A: b\r\n");
	buf_add_str(&b, "\r\n");
	assert_int_equal(http_parse((char *)b.data, b.len, &r), -431);
	assert_int_equal(http_parse((char *)b.data, HTTP_HEAD_MAX, &r), -431);
}

static void invalid_header_values_are_left_out(void **state)
{
	AUTO(freep) char *text = NULL;
	struct http_request r;
	assert_int_equal(parse(&text, "GET / HTTP/1.1\r\nAccept: \xff\r\nRange: bytes=0-1\r\n\r\n", &r), 1);
	assert_int_equal(r.n_headers, 1);
	assert_string_equal(r.headers[0].name, "range");
}

static void an_answer_is_written(void **state)
{
	AUTO(buf_release) struct buf out = { 0 };
	http_put_error(&out, 403, "no\n");
	assert_string_equal(buf_str(&out), "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\n"
					   "Content-Length: 3\r\nConnection: close\r\n\r\nno\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_read),
		cmocka_unit_test(an_incomplete_request_waits),
		cmocka_unit_test(unknown_requests_are_rejected),
		cmocka_unit_test(sizes_are_bounded),
		cmocka_unit_test(invalid_header_values_are_left_out),
		cmocka_unit_test(an_answer_is_written),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
