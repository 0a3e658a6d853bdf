/* base/hello and the gate's checks: which bytes a session can send to the host that it has dialled. */
#include <errno.h>

#include "base/alloc.h"
#include "base/hello.h"
#include "manager/gate/checks.h"
#include "manager/model/cause.h"
#include "tests/unit/unit.h"

#define HOST "api.example.com"

static struct bench {
	struct gate_filter *filter;
	struct buf up, down;
	struct fail fail;
} b;

static int teardown(void **state UNUSED)
{
	if (b.filter)
		b.filter->type->free(b.filter);
	buf_release(&b.up);
	buf_release(&b.down);
	fail_release(&b.fail);
	b = (struct bench){ 0 };
	return 0;
}

static int session(const struct buf *data)
{
	return b.filter->type->from_session(b.filter, data->data, data->len, &b.up, &b.down, &b.fail);
}

static int host(const void *data, size_t n)
{
	return b.filter->type->from_upstream(b.filter, data, n, &b.up, &b.down, &b.fail);
}

/* --- messages ---------------------------------------------------------------------------------------------------- */

static void put_number(struct buf *out, size_t value, size_t bytes)
{
	while (bytes--)
		buf_add(out, &(uint8_t){ (uint8_t)(value >> 8 * bytes) }, 1);
}

static void put_record(struct buf *out, uint8_t type, const void *data, size_t n)
{
	put_number(out, type, 1);
	put_number(out, 0x0303, 2);
	put_number(out, n, 2);
	buf_add(out, data, n);
}

static void put_name(struct buf *extensions, const char *name)
{
	size_t n = strlen(name);
	put_number(extensions, 0, 2);
	put_number(extensions, n + 5, 2);
	put_number(extensions, n + 3, 2);
	put_number(extensions, 0, 1);
	put_number(extensions, n, 2);
	buf_add(extensions, name, n);
}

/* A ClientHello with these names in its records, each of at most `piece` bytes. */
static void put_hello(struct buf *out, const char *const *names, size_t n, size_t piece)
{
	AUTO(buf_release) struct buf body = { 0 }, extensions = { 0 }, message = { 0 };
	put_number(&extensions, 0xfe0d, 2); /* as browsers send it to every server */
	put_number(&extensions, 0, 2);
	for (size_t i = 0; i < n; i++)
		put_name(&extensions, names[i]);
	put_number(&body, 0x0303, 2);
	for (int i = 0; i < 32; i++)
		put_number(&body, 7, 1);
	put_number(&body, 0, 1);
	put_number(&body, 2, 2);
	put_number(&body, 0x1301, 2);
	put_number(&body, 1, 1);
	put_number(&body, 0, 1);
	put_number(&body, extensions.len, 2);
	buf_add(&body, extensions.data, extensions.len);
	put_number(&message, 1, 1);
	put_number(&message, body.len, 3);
	buf_add(&message, body.data, body.len);
	for (size_t at = 0; at < message.len; at += piece)
		put_record(out, HELLO_HANDSHAKE, message.data + at, MIN(piece, message.len - at));
}

static void put_hello_for(struct buf *out, const char *name)
{
	put_hello(out, &name, *name ? 1 : 0, SIZE_MAX / 2);
}

static const uint8_t retry_random[32] = { 0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c,
					  0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb,
					  0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c };

static void put_server_hello(struct buf *out, bool retry)
{
	AUTO(buf_release) struct buf message = { 0 };
	put_number(&message, 2, 1);
	put_number(&message, 38, 3);
	put_number(&message, 0x0303, 2);
	for (size_t i = 0; i < 32; i++)
		put_number(&message, retry ? retry_random[i] : 9, 1);
	put_number(&message, 0, 4);
	put_record(out, HELLO_HANDSHAKE, message.data, message.len);
}

/* --- TLS --------------------------------------------------------------------------------------------------------- */

static int setup_tls(void **state UNUSED)
{
	b = (struct bench){ .filter = check_tls_new(HOST) };
	return 0;
}

static void test_a_hello_that_names_the_host_passes(void **state UNUSED)
{
	AUTO(buf_release) struct buf hello = { 0 }, answer = { 0 };
	put_hello(&hello, (const char *const[]){ "API.example.com" }, 1, 11);
	/* Nothing passes before all of it is there. */
	for (size_t i = 0; i < hello.len; i++) {
		assert_int_equal(b.up.len, 0);
		assert_int_equal(session(&(struct buf){ .data = hello.data + i, .len = 1 }), 0);
	}
	assert_int_equal(b.up.len, hello.len);
	assert_memory_equal(b.up.data, hello.data, hello.len);
	put_server_hello(&answer, /* retry= */ false);
	for (size_t i = 0; i < answer.len; i++)
		assert_int_equal(host(answer.data + i, 1), 0);
	assert_memory_equal(b.down.data, answer.data, answer.len);
	/* Afterwards the bytes are not looked at. */
	assert_int_equal(session(&(struct buf){ .data = (uint8_t *)"any", .len = 3 }), 0);
	assert_int_equal(b.up.len, hello.len + 3);
}

static void expect_refused(const struct buf *hello)
{
	assert_int_equal(session(hello), -EPROTO);
	assert_int_equal(cause_of(&b.fail), CAUSE_GATE_MISMATCH);
	assert_int_equal(b.up.len, 0);
	assert_memory_equal(b.down.data, "\x15\x03\x03\x00\x02\x02\x31", 7);
}

/* evidence: gate-checks */
static void test_other_hellos_are_refused(void **state)
{
	static const char *const lists[][3] = { { "" },
						{ "other.example.com" },
						{ "example.com" },
						{ "api.example.com.evil.example" },
						{ "api.example.com." } };
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		AUTO(buf_release) struct buf hello = { 0 };
		put_hello_for(&hello, lists[i][0]);
		expect_refused(&hello);
		teardown(state);
		setup_tls(state);
	}
	AUTO(buf_release) struct buf two = { 0 };
	put_hello(&two, (const char *const[]){ HOST, "other.example.com" }, 2, 4000);
	expect_refused(&two);
}

static void test_bytes_that_are_not_tls_are_refused(void **state)
{
	static const char *const starts[] = { "GET / HTTP/1.1\r\n", "\x16\x02\x01\x00\x05hello",
					      "\x17\x03\x03\x00\x01x", "\x16\x03\x01\xff\xffxxxx", "SSH-2.0-OpenSSH" };
	static const size_t sizes[] = { 16, 10, 6, 9, 15 };
	for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
		AUTO(buf_release) struct buf data = { 0 };
		buf_add(&data, starts[i], sizes[i]);
		expect_refused(&data);
		teardown(state);
		setup_tls(state);
	}
	/* A hello that never ends. */
	AUTO(buf_release) struct buf endless = { 0 };
	static const uint8_t zeroes[16000];
	put_record(&endless, HELLO_HANDSHAKE, "\x01\x00\xff\xff", 4);
	put_record(&endless, HELLO_HANDSHAKE, zeroes, sizeof(zeroes));
	put_record(&endless, HELLO_HANDSHAKE, zeroes, 1000);
	expect_refused(&endless);
}

static void test_other_records_inside_a_hello_are_refused(void **state UNUSED)
{
	AUTO(buf_release) struct buf whole = { 0 }, data = { 0 };
	put_hello(&whole, (const char *const[]){ HOST }, 1, 20);
	buf_add(&data, whole.data, 25);
	put_record(&data, HELLO_CHANGE_CIPHER, "\x01", 1);
	buf_add(&data, whole.data + 25, whole.len - 25);
	expect_refused(&data);
}

/* A server that asks for a second hello reads the name in it. */
static void test_a_second_hello_is_checked_too(void **state)
{
	AUTO(buf_release) struct buf first = { 0 }, again = { 0 }, evil = { 0 }, good = { 0 };
	put_hello_for(&first, HOST);
	put_server_hello(&again, /* retry= */ true);
	put_record(&evil, HELLO_CHANGE_CIPHER, "\x01", 1);
	put_hello(&evil, (const char *const[]){ "other.example.com" }, 1, 20);
	put_record(&good, HELLO_CHANGE_CIPHER, "\x01", 1);
	put_hello_for(&good, HOST);
	/* Sent before the server has asked, it waits. */
	assert_int_equal(session(&first), 0);
	assert_int_equal(session(&evil), 0);
	assert_int_equal(b.up.len, first.len + 6);
	assert_int_equal(host(again.data, again.len), -EPROTO);
	assert_int_equal(cause_of(&b.fail), CAUSE_GATE_MISMATCH);
	assert_int_equal(b.up.len, first.len + 6);
	teardown(state);
	setup_tls(state);
	assert_int_equal(session(&first), 0);
	assert_int_equal(host(again.data, again.len), 0);
	assert_int_equal(session(&good), 0);
	assert_int_equal(b.up.len, first.len + good.len);
	assert_int_equal(session(&(struct buf){ .data = (uint8_t *)"any", .len = 3 }), 0);
	assert_int_equal(b.up.len, first.len + good.len + 3);
}

static void test_early_data_does_not_wait(void **state UNUSED)
{
	AUTO(buf_release) struct buf data = { 0 };
	put_hello_for(&data, HOST);
	put_record(&data, HELLO_CHANGE_CIPHER, "\x01", 1);
	put_record(&data, HELLO_DATA, "early", 5);
	assert_int_equal(session(&data), 0);
	assert_int_equal(b.up.len, data.len);
	/* Only a second hello waits, and not without a limit. */
	AUTO(buf_release) struct buf more = { 0 };
	static const uint8_t zeroes[16000];
	for (int i = 0; i < 5; i++)
		put_record(&more, HELLO_HANDSHAKE, zeroes, sizeof(zeroes));
	assert_int_equal(session(&more), -EPROTO);
}

/* --- rules ------------------------------------------------------------------------------------------------------ */

static int answer_of(const struct rule *rule, uint16_t port, const char *bytes)
{
	(void)teardown(NULL);
	b.filter = checks_new(rule, HOST, port);
	return b.filter ? session(&(struct buf){ .data = (uint8_t *)(uintptr_t)bytes, .len = strlen(bytes) }) : 0;
}

/* evidence: gate-checks */
static void test_ports_80_and_443_are_checked_unless_the_rule_says_otherwise(void **state UNUSED)
{
	static const char other[] = "GET / HTTP/1.1\r\nHost: other.example.com\r\n\r\n";
	static const struct rule plain, tcp = { .tcp = true }, endpoint = { .address = (char *)(uintptr_t) "10.1.2.3" };
	assert_int_equal(answer_of(&plain, 443, other), -EPROTO);
	assert_int_equal(cause_of(&b.fail), CAUSE_GATE_MISMATCH);
	assert_int_equal(answer_of(&plain, 80, other), -EPROTO);
	assert_int_equal(cause_of(&b.fail), CAUSE_GATE_HTTP);
	assert_null(checks_new(&plain, HOST, 5432));
	for (int i = 0; i < 2; i++) {
		assert_null(checks_new(&tcp, HOST, i ? 80 : 443));
		assert_null(checks_new(&endpoint, HOST, i ? 80 : 443));
	}
}

/* --- HTTP -------------------------------------------------------------------------------------------------------- */

static int setup_http(void **state UNUSED)
{
	b = (struct bench){ .filter = check_http_new(HOST, 80) };
	return 0;
}

static int say(const char *text)
{
	return session(&(struct buf){ .data = (uint8_t *)(uintptr_t)text, .len = strlen(text) });
}

static void test_requests_for_the_host_pass(void **state UNUSED)
{
	assert_int_equal(say("GET /a HTTP/1.1\r\nHost: api.example.com\r\n\r\nGET /b HTTP/1.1\r\nHost: "
			     "api.example.com:80\r\n\r\n"),
			 0);
	assert_string_equal(buf_str(&b.up), "GET /a HTTP/1.1\r\nhost: api.example.com\r\n\r\nGET /b HTTP/1.1\r\nhost: "
					    "api.example.com:80\r\n\r\n");
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
	assert_int_equal(host(answer, sizeof(answer) - 1), 0);
	assert_string_equal(buf_str(&b.down), "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
}

/* evidence: gate-checks */
static void test_requests_for_other_hosts_are_refused(void **state)
{
	static const char *const requests[] = {
		"GET / HTTP/1.1\r\nHost: other.example.com\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: api.example.com:8080\r\n\r\n",
		"GET / HTTP/1.1\r\n\r\n",
		"GET http://other.example.com/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
		"GET http://api.example.com/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: api.example.com\r\nHost: other.example.com\r\n\r\n",
		"CONNECT other.example.com:443 HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"SSH-2.0-OpenSSH_9.2\r\n\r\n",
	};
	for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
		assert_int_equal(say(requests[i]), -EPROTO);
		assert_int_equal(cause_of(&b.fail), CAUSE_GATE_HTTP);
		assert_int_equal(b.up.len, 0);
		assert_memory_equal(buf_str(&b.down), "HTTP/1.1 ", 9);
		teardown(state);
		setup_http(state);
	}
	/* The second request of a connection. */
	assert_int_equal(say("GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n"), 0);
	size_t before = b.up.len;
	assert_int_equal(say("GET / HTTP/1.1\r\nHost: other.example.com\r\n\r\n"), -EPROTO);
	assert_int_equal(b.up.len, before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_hello_that_names_the_host_passes, setup_tls, teardown),
		cmocka_unit_test_setup_teardown(test_other_hellos_are_refused, setup_tls, teardown),
		cmocka_unit_test_setup_teardown(test_bytes_that_are_not_tls_are_refused, setup_tls, teardown),
		cmocka_unit_test_setup_teardown(test_a_second_hello_is_checked_too, setup_tls, teardown),
		cmocka_unit_test_setup_teardown(test_other_records_inside_a_hello_are_refused, setup_tls, teardown),
		cmocka_unit_test_teardown(test_ports_80_and_443_are_checked_unless_the_rule_says_otherwise, teardown),
		cmocka_unit_test_setup_teardown(test_early_data_does_not_wait, setup_tls, teardown),
		cmocka_unit_test_setup_teardown(test_requests_for_the_host_pass, setup_http, teardown),
		cmocka_unit_test_setup_teardown(test_requests_for_other_hosts_are_refused, setup_http, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
