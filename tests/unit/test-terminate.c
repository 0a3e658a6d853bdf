/* manager/gate/terminate between a client and a server with real TLS: who is verified, and what each side sees. */
#include "manager/gate/terminate.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/authority.h"
#include "manager/model/cause.h"
#include "tests/unit/unit.h"

#define HOST "api.example.com"
#define KEY "husk-secret-aaaaaaaaaaaaaaaaaaaaaaaaaa"
#define GET "GET / HTTP/1.1\r\nHost: " HOST "\r\nX: " KEY "\r\n\r\n"

struct bench {
	struct authority *ours, *theirs; /* the session's and the internet's */
	struct tls_context *named, *trusts_theirs, *trusts_ours, *site;
	struct secret_set *secrets;
	struct gate_filter *filter;
	struct tls *client, *server;
	struct buf to_filter_up, to_filter_down; /* bytes on their way from the client, and from the server */
	struct buf seen_by_server, seen_by_client;
	bool client_closed; /* it got a close_notify */
	struct fail fail;
	int r;
};

static struct authority *authority(uint8_t first)
{
	AUTO(fail_release) struct fail f = { 0 };
	uint8_t seed[AUTHORITY_SEED_BYTES] = { first, 2, 3 };
	struct authority *a = authority_new(seed, "Husk test", &f);
	assert_non_null(a);
	return a;
}

static struct tls_context *trust(const struct authority *a)
{
	AUTO(fail_release) struct fail f = { 0 };
	char path[] = "/tmp/husk-test-ca-XXXXXX";
	AUTO(closep) int fd = mkstemp(path);
	assert_int_equal(write(fd, authority_pem(a), strlen(authority_pem(a))), strlen(authority_pem(a)));
	struct tls_context *c = tls_context_client(path, &f);
	assert_non_null(c);
	unlink(path);
	return c;
}

static struct tls_context *named(const struct authority *a, const char *host)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(buf_release) struct buf certificate = { 0 }, key = { 0 };
	assert_int_equal(authority_issue(a, host, &certificate, &key, &f), 0);
	struct tls_context *c = tls_context_named(host, &certificate, &key, &f);
	assert_non_null(c);
	return c;
}

static struct bench *bench_with(const char *site, bool known)
{
	struct bench *b = new0(struct bench);
	b->ours = authority(1);
	b->theirs = authority(2);
	b->named = named(b->ours, HOST);
	b->trusts_ours = trust(b->ours);
	b->trusts_theirs = trust(known ? b->theirs : b->ours);
	tls_context_offer_http1(b->trusts_theirs);
	tls_context_offer_http1(b->trusts_ours);
	b->site = named(b->theirs, site);
	b->secrets = secret_set_new();
	struct gate_secret *s = secret_set_add(b->secrets);
	s->name = xstrdup("KEY");
	s->placeholder = xstrdup(KEY);
	s->value = xstrdup("value-of-key");
	strv_add(&s->hosts, HOST ":443");
	b->filter = terminate_new(&(struct terminate_spec){
		.host = HOST, .port = 443, .session = b->named, .upstream = b->trusts_theirs, .secrets = b->secrets });
	assert_non_null(b->filter);
	b->client = tls_new(b->trusts_ours, HOST);
	b->server = tls_new(b->site, NULL);
	return b;
}

static void bench_free(struct bench *b)
{
	b->filter->type->free(b->filter);
	tls_free(b->client);
	tls_free(b->server);
	tls_context_free(b->named);
	tls_context_free(b->trusts_ours);
	tls_context_free(b->trusts_theirs);
	tls_context_free(b->site);
	assert_null(secret_set_unref(b->secrets));
	authority_free(b->ours);
	authority_free(b->theirs);
	buf_release(&b->to_filter_up);
	buf_release(&b->to_filter_down);
	buf_release(&b->seen_by_server);
	buf_release(&b->seen_by_client);
	fail_release(&b->fail);
	free(b);
}

typedef int (*step_fn)(struct gate_filter *f, const void *data, size_t n, struct buf *up, struct buf *down,
		       struct fail *fail);

static void deliver(struct bench *b, struct buf *up, struct buf *down)
{
	if (up->len)
		(void)tls_receive(b->server, up->data, up->len, &b->seen_by_server, &b->to_filter_down);
	if (down->len && tls_receive(b->client, down->data, down->len, &b->seen_by_client, &b->to_filter_up) == 1)
		b->client_closed = true;
}

/* Passes bytes until nothing moves any more. */
static void pump(struct bench *b)
{
	while (b->r == 0 && (b->to_filter_up.len || b->to_filter_down.len)) {
		AUTO(buf_release) struct buf up = { 0 }, down = { 0 };
		struct buf *from = b->to_filter_up.len ? &b->to_filter_up : &b->to_filter_down;
		AUTO(buf_release) struct buf data = *from;
		step_fn step =
			from == &b->to_filter_up ? b->filter->type->from_session : b->filter->type->from_upstream;
		*from = (struct buf){ 0 };
		b->r = step(b->filter, data.data, data.len, &up, &down, &b->fail);
		deliver(b, &up, &down);
	}
}

static void say(struct bench *b, struct tls *who, const char *text, struct buf *way)
{
	assert_int_equal(tls_send(who, text, strlen(text), way), 0);
	pump(b);
}

static void a_request_reaches_the_host_with_its_secret(void **state UNUSED)
{
	struct bench *b = bench_with(HOST, true);
	say(b, b->client, GET, &b->to_filter_up);
	assert_string_equal(buf_str(&b->seen_by_server), "GET / HTTP/1.1\r\nhost: " HOST "\r\nx: value-of-key\r\n\r\n");
	say(b, b->server, "HTTP/1.1 200 OK\r\nX: value-of-key\r\nContent-Length: 2\r\n\r\nok", &b->to_filter_down);
	assert_string_equal(buf_str(&b->seen_by_client),
			    "HTTP/1.1 200 OK\r\nx: " KEY "\r\ncontent-length: 2\r\n\r\nok");
	assert_string_equal(terminate_used(b->filter), "KEY");
	assert_int_equal(b->r, 0);
	bench_free(b);
}

static void expect_refusal_in_an_answer(struct bench *b, const char *words)
{
	say(b, b->client, GET, &b->to_filter_up);
	assert_int_equal(b->r, -EPROTO);
	assert_int_equal(b->seen_by_server.len, 0);
	assert_memory_equal(buf_str(&b->seen_by_client), "HTTP/1.1 502 ", 13);
	if (!strstr(buf_str(&b->seen_by_client), words))
		fail_msg("no '%s' in: %s", words, buf_str(&b->seen_by_client));
	bench_free(b);
}

static void a_host_of_an_unknown_authority_gets_nothing(void **state UNUSED)
{
	expect_refusal_in_an_answer(bench_with(HOST, false), "issuer certificate");
}

static void a_host_with_a_certificate_for_another_name_gets_nothing(void **state UNUSED)
{
	struct bench *b = bench_with("evil.example.com", true);
	tls_free(b->server);
	tls_context_free(b->site);
	/* Answers every name, as such a host would. */
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(buf_release) struct buf certificate = { 0 }, key = { 0 };
	assert_int_equal(authority_issue(b->theirs, "evil.example.com", &certificate, &key, &f), 0);
	b->site = tls_context_named(HOST, &certificate, &key, &f);
	b->server = tls_new(b->site, NULL);
	expect_refusal_in_an_answer(b, "hostname mismatch");
}

static void a_host_that_hangs_up_is_reported(void **state UNUSED)
{
	struct bench *b = bench_with(HOST, true);
	AUTO(buf_release) struct buf up = { 0 }, down = { 0 };
	assert_int_equal(tls_send(b->client, GET, strlen(GET), &b->to_filter_up), 0);
	AUTO(buf_release) struct buf hello = b->to_filter_up;
	b->to_filter_up = (struct buf){ 0 };
	assert_int_equal(b->filter->type->from_session(b->filter, hello.data, hello.len, &up, &down, &b->fail), 0);
	assert_int_equal(down.len, 0);
	assert_int_equal(b->filter->type->upstream_ended(b->filter, &up, &down, &b->fail), 0);
	deliver(b, &(struct buf){ 0 }, &down);
	pump(b);
	assert_int_equal(b->r, -EPROTO);
	assert_int_equal(cause_of(&b->fail), CAUSE_GATE_UPSTREAM);
	assert_non_null(strstr(buf_str(&b->seen_by_client), "closed the connection"));
	bench_free(b);
}

static void another_name_in_the_hello_is_refused(void **state UNUSED)
{
	struct bench *b = bench_with(HOST, true);
	tls_free(b->client);
	b->client = tls_new(b->trusts_ours, "evil.example.com");
	(void)tls_send(b->client, GET, strlen(GET), &b->to_filter_up);
	pump(b);
	assert_int_equal(b->r, -EPROTO);
	assert_int_equal(cause_of(&b->fail), CAUSE_GATE_TLS);
	assert_non_null(strstr(b->fail.message, "another host"));
	assert_non_null(strstr(tls_error(b->client), "unrecognized name"));
	bench_free(b);
}

/* A hello of OpenSSL 3 for `openssl s_client -noservername`, and of a client that lists only h2, are made by clients of
 * their own in tests/e2e; here the first bytes are not TLS at all. */
static void bytes_that_are_not_tls_are_refused(void **state UNUSED)
{
	struct bench *b = bench_with(HOST, true);
	buf_add_str(&b->to_filter_up, GET);
	pump(b);
	assert_int_equal(b->r, -EPROTO);
	assert_int_equal(cause_of(&b->fail), CAUSE_GATE_TLS);
	assert_int_equal(b->seen_by_server.len, 0);
	bench_free(b);
}

static void bytes_before_the_host_answers_are_bounded(void **state UNUSED)
{
	struct bench *b = bench_with(HOST, true);
	AUTO(buf_release) struct buf up = { 0 }, down = { 0 };
	AUTO(freep) char *flood = xcalloc(1, GATE_FILTER_STEP);
	assert_int_equal(b->filter->type->from_session(b->filter, flood, GATE_FILTER_STEP, &up, &down, &b->fail), 0);
	assert_int_equal(b->filter->type->from_session(b->filter, flood, 1, &up, &down, &b->fail), -EPROTO);
	bench_free(b);
}

static void a_complete_answer_is_closed_properly_and_a_cut_one_is_not(void **state UNUSED)
{
	for (int whole = 0; whole < 2; whole++) {
		struct bench *b = bench_with(HOST, true);
		AUTO(buf_release) struct buf up = { 0 }, down = { 0 };
		say(b, b->client, GET, &b->to_filter_up);
		say(b, b->server,
		    whole ? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" :
			    "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok",
		    &b->to_filter_down);
		assert_int_equal(b->filter->type->upstream_ended(b->filter, &up, &down, &b->fail), 0);
		deliver(b, &up, &down);
		assert_int_equal(b->client_closed, whole);
		bench_free(b);
	}
}

static void the_same_seed_makes_the_same_authority(void **state UNUSED)
{
	struct bench *b = bench_with(HOST, true);
	struct authority *again = authority(1);
	tls_context_free(b->named);
	b->named = named(again, HOST);
	b->filter->type->free(b->filter);
	b->filter = terminate_new(&(struct terminate_spec){
		.host = HOST, .port = 443, .session = b->named, .upstream = b->trusts_theirs, .secrets = b->secrets });
	say(b, b->client, GET, &b->to_filter_up);
	assert_non_null(strstr(buf_str(&b->seen_by_server), "value-of-key"));
	authority_free(again);
	bench_free(b);
}

/* Both handshakes of a connection must not hold up the loop. The bound is far above the usual 1 ms: it finds work of
 * another order, such as an RSA key for each name. */
static void a_connection_takes_little_time(void **state UNUSED)
{
	struct timespec from, to;
	struct bench *b = bench_with(HOST, true);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	say(b, b->client, GET, &b->to_filter_up);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	double ms = (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6;
	print_message("figure: client, gate and server use %.2f ms of CPU for two handshakes and a request\n", ms);
	assert_int_equal(b->r, 0);
	bench_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_reaches_the_host_with_its_secret),
		cmocka_unit_test(a_host_of_an_unknown_authority_gets_nothing),
		cmocka_unit_test(a_host_with_a_certificate_for_another_name_gets_nothing),
		cmocka_unit_test(a_host_that_hangs_up_is_reported),
		cmocka_unit_test(another_name_in_the_hello_is_refused),
		cmocka_unit_test(bytes_that_are_not_tls_are_refused),
		cmocka_unit_test(bytes_before_the_host_answers_are_bounded),
		cmocka_unit_test(a_complete_answer_is_closed_properly_and_a_cut_one_is_not),
		cmocka_unit_test(the_same_seed_makes_the_same_authority),
		cmocka_unit_test(a_connection_takes_little_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
