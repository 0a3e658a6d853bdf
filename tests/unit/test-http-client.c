/* http/client against http/server, over a unix socket, TCP and TLS; websockets at both ends. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/alloc.h"
#include "http/client.h"
#include "http/websocket.h"
#include "tests/unit/http-rig.h"
#include "tests/unit/unit.h"

struct rig {
	struct http_rig server;
	struct http_client *client;
	struct http_call *call;
	char folder[64], path[96];
	struct buf got;
	int status, ended, heads;
	char *error;
	/* websockets */
	struct websocket *ours, *theirs;
	char key[WEBSOCKET_KEY_SIZE];
	struct buf ours_got, theirs_got;
	int ours_closed, theirs_closed;
};

static void turn_until(struct rig *r, const int *flag)
{
	uint64_t until = loop_now_ms() + 5000;
	while (!*flag && loop_now_ms() < until)
		http_rig_turn(&r->server);
	assert_true(*flag);
}

static int setup(void **state)
{
	struct rig *r = new0(struct rig);
	http_rig_init(&r->server, NULL);
	r->server.data = r;
	snprintf(r->folder, sizeof(r->folder), "/tmp/husk-http-XXXXXX");
	assert_non_null(mkdtemp(r->folder));
	snprintf(r->path, sizeof(r->path), "%s/s", r->folder);
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	snprintf(to.sun_path, sizeof(to.sun_path), "%s", r->path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(http_server_listen(r->server.server, fd, NULL, r), 0);
	struct fail f = { 0 };
	r->client = http_client_new(&(struct http_client_spec){ .loop = r->server.loop, .path = r->path }, &f);
	assert_non_null(r->client);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;
	http_call_free(r->call);
	http_client_free(r->client);
	websocket_free(r->ours);
	websocket_free(r->theirs);
	http_rig_release(&r->server);
	unlink(r->path);
	rmdir(r->folder);
	buf_release(&r->got);
	buf_release(&r->ours_got);
	buf_release(&r->theirs_got);
	free(r->error);
	free(r);
	return 0;
}

static void got_head(void *ctx, const struct http_head *head)
{
	struct rig *r = ctx;
	r->status = head->status;
	r->heads++;
}

static void got_data(void *ctx, const void *data, size_t n)
{
	buf_add(&((struct rig *)ctx)->got, data, n);
}

static void got_end(void *ctx, const char *error)
{
	struct rig *r = ctx;
	r->ended++;
	r->call = NULL;
	free(r->error);
	r->error = error ? xstrdup(error) : NULL;
}

static void start(struct rig *r, const char *method, const char *target, const char *body)
{
	buf_reset(&r->got);
	r->ended = r->status = 0;
	r->call = http_call_new(r->client, &(struct http_call_spec){ .method = method,
								     .target = target,
								     .body = body,
								     .n = body ? strlen(body) : 0,
								     .on_head = got_head,
								     .on_data = got_data,
								     .on_end = got_end,
								     .ctx = r });
}

static const char *fetch(struct rig *r, const char *method, const char *target, const char *body)
{
	start(r, method, target, body);
	turn_until(r, &r->ended);
	return buf_str(&r->got);
}

static void calls_share_a_connection(void **state)
{
	struct rig *r = *state;
	for (int i = 0; i < 3; i++) {
		assert_string_equal(fetch(r, "GET", "/text", NULL), "hello");
		assert_int_equal(r->status, 200);
		assert_null(r->error);
	}
	assert_string_equal(fetch(r, "POST", "/echo", "body"), "body");
	assert_string_equal(fetch(r, "GET", "/stream", NULL), "one two three");
	assert_string_equal(fetch(r, "HEAD", "/text", NULL), "");
	assert_string_equal(fetch(r, "GET", "/nothing", NULL) + 0, buf_str(&r->got));
	assert_int_equal(r->status, 404);
	assert_int_equal(http_server_connections(r->server.server), 1);
	loop_skip(r->server.loop, 11000);
	assert_int_equal(http_server_connections(r->server.server), 0);
}

/* Proxies close it without a word, perhaps while the next request is being sent. */
static void a_connection_is_not_used_after_a_refused_upgrade(void **state)
{
	struct rig *r = *state;
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	http_fields_add(&fields, "Connection", "Upgrade");
	http_fields_add(&fields, "Upgrade", "websocket");
	r->ended = 0;
	r->call = http_call_new(r->client, &(struct http_call_spec){ .method = "GET",
								     .target = "/text",
								     .fields = &fields,
								     .on_head = got_head,
								     .on_data = got_data,
								     .on_end = got_end,
								     .ctx = r });
	turn_until(r, &r->ended);
	assert_int_equal(r->status, 200);
	http_rig_turn(&r->server);
	assert_int_equal(http_server_connections(r->server.server), 0);
}

/* Answers with the content of the files that came with the request. */
static void echo_files(struct http_rig *rig UNUSED, struct http_request *r)
{
	int files[CHANNEL_FILES_MAX];
	char content[64];
	AUTO(buf_release) struct buf all = { 0 };
	size_t n = http_request_take_files(r, files);
	for (size_t i = 0; i < n; i++) {
		ssize_t got = read(files[i], content, sizeof(content));
		buf_printf(&all, "%.*s;", (int)got, content);
		close(files[i]);
	}
	http_reply(r, 200, NULL, all.data, all.len);
}

static int dial(void *ctx)
{
	return http_rig_connect(ctx);
}

static void open_files_come_with_their_request(void **state)
{
	struct rig *r = *state;
	struct fail f = { 0 };
	int files[2] = { open(r->folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600),
			 open("/dev/null", O_RDONLY | O_CLOEXEC) };
	r->server.on_other = echo_files;
	http_client_free(r->client);
	r->client = http_client_new(
		&(struct http_client_spec){ .loop = r->server.loop, .dial = dial, .dial_ctx = &r->server }, &f);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pwrite(files[0], "mine", 4, 0), 4);
		lseek(files[0], 0, SEEK_SET);
		r->ended = 0;
		buf_reset(&r->got);
		r->call = http_call_new(r->client, &(struct http_call_spec){ .method = "POST",
									     .target = "/other",
									     .files = files,
									     .n_files = 2,
									     .on_head = got_head,
									     .on_data = got_data,
									     .on_end = got_end,
									     .ctx = r });
		turn_until(r, &r->ended);
		assert_string_equal(buf_str(&r->got), "mine;;");
	}
	/* Files that nobody takes do not come with the next request. */
	lseek(files[0], 0, SEEK_SET);
	r->ended = 0;
	r->call = http_call_new(r->client, &(struct http_call_spec){ .method = "GET",
								     .target = "/text",
								     .files = files,
								     .n_files = 2,
								     .on_head = got_head,
								     .on_data = got_data,
								     .on_end = got_end,
								     .ctx = r });
	turn_until(r, &r->ended);
	assert_string_equal(fetch(r, "GET", "/other", NULL), "");
	close(files[0]);
	close(files[1]);
}

static void large_answers_arrive(void **state)
{
	struct rig *r = *state;
	fetch(r, "GET", "/big", NULL);
	assert_int_equal(r->got.len, 1 << 20);
}

static void bodies_can_be_streamed(void **state)
{
	struct rig *r = *state;
	r->call = http_call_new(r->client, &(struct http_call_spec){ .method = "POST",
								     .target = "/echo",
								     .stream = true,
								     .on_head = got_head,
								     .on_data = got_data,
								     .on_end = got_end,
								     .ctx = r });
	http_call_write(r->call, "before ", 7);
	http_rig_turn(&r->server);
	http_rig_turn(&r->server);
	http_call_write(r->call, "after", 5);
	http_call_end(r->call);
	turn_until(r, &r->ended);
	assert_string_equal(buf_str(&r->got), "before after");
}

static void a_freed_call_closes_its_request(void **state)
{
	struct rig *r = *state;
	start(r, "GET", "/hold", NULL);
	for (int i = 0; i < 100 && !r->server.held; i++)
		http_rig_turn(&r->server);
	assert_non_null(r->server.held);
	r->call = http_call_free(r->call);
	http_rig_turn(&r->server);
	assert_int_equal(r->server.closed, 1);
	assert_int_equal(r->ended, 0);
}

static void failures_are_reported_once(void **state)
{
	struct rig *r = *state;
	start(r, "GET", "/hold", NULL);
	for (int i = 0; i < 100 && !r->server.held; i++)
		http_rig_turn(&r->server);
	http_reply_abort(r->server.held);
	turn_until(r, &r->ended);
	assert_string_equal(r->error, "the server closed the connection without an answer");
	r->server.server = http_server_free(r->server.server);
	start(r, "GET", "/text", NULL);
	turn_until(r, &r->ended);
	assert_string_equal(r->error, "cannot connect to the server");
	assert_int_equal(r->ended, 1);
}

static void a_cut_answer_is_an_error(void **state)
{
	struct rig *r = *state;
	start(r, "GET", "/hold", NULL);
	for (int i = 0; i < 100 && !r->server.held; i++)
		http_rig_turn(&r->server);
	http_reply_begin(r->server.held, 200, NULL, 10);
	http_reply_write(r->server.held, "abc", 3);
	http_rig_turn(&r->server);
	http_reply_abort(r->server.held);
	turn_until(r, &r->ended);
	assert_string_equal(r->error, "the server closed the connection in the middle of its answer");
	assert_string_equal(buf_str(&r->got), "abc");
}

static void addresses_are_checked(void **state)
{
	struct rig *r = *state;
	static const char *const bad[] = { "127.0.0.1", "127.0.0.1:99999", "host:80", "[::1]80", "[::g]:80", ":80" };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		AUTO(fail_release) struct fail f = { 0 };
		struct http_client_spec spec = { .loop = r->server.loop, .address = bad[i] };
		assert_null(http_client_new(&spec, &f));
		assert_int_equal(f.kind, FAIL_INVALID);
	}
}

/* --- TLS on TCP */

static int listen_tcp(char *address, size_t size)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(listen(fd, 16), 0);
	getsockname(fd, (struct sockaddr *)&to, &(socklen_t){ sizeof(to) });
	snprintf(address, size, "127.0.0.1:%d", ntohs(to.sin_port));
	return fd;
}

static const char *data_file(const char *name)
{
	static char paths[2][512];
	static int next;
	char *path = paths[next++ % 2];
	snprintf(path, 512, "%s/tests/unit/tls/%s", getenv("HUSK_SOURCE_ROOT"), name);
	return path;
}

static void use_client(struct rig *r, const struct http_client_spec *spec)
{
	AUTO(fail_release) struct fail f = { 0 };
	http_client_free(r->client);
	r->client = http_client_new(spec, &f);
}

static void tls_carries_requests(void **state)
{
	struct rig *r = *state;
	AUTO(fail_release) struct fail f = { 0 };
	char address[64];
	struct tls_context *server = tls_context_server(data_file("localhost.pem"), data_file("localhost.key"), &f);
	assert_non_null(server);
	struct tls_context *trusting = tls_context_client(data_file("localhost.pem"), &f);
	struct tls_context *strange = tls_context_client(NULL, &f);
	int fd = listen_tcp(address, sizeof(address));
	assert_int_equal(http_server_listen(r->server.server, fd, server, NULL), 0);
	struct http_client_spec spec = { .loop = r->server.loop, .address = address, .tls = trusting };
	http_client_free(r->client);
	r->client = http_client_new(&spec, &f);
	assert_string_equal(fetch(r, "GET", "/text", NULL), "hello");
	fetch(r, "GET", "/big", NULL);
	assert_int_equal(r->got.len, 1 << 20);
	assert_string_equal(fetch(r, "POST", "/echo", "secret"), "secret");
	/* A client that does not know the authority, one that wants another name, and one that speaks plain HTTP. */
	http_client_free(r->client);
	spec.tls = strange;
	r->client = http_client_new(&spec, &f);
	fetch(r, "GET", "/text", NULL);
	assert_non_null(r->error);
	http_client_free(r->client);
	spec.tls = trusting;
	spec.host = "example.org";
	r->client = http_client_new(&spec, &f);
	fetch(r, "GET", "/text", NULL);
	assert_non_null(r->error);
	http_client_free(r->client);
	spec.tls = NULL;
	r->client = http_client_new(&spec, &f);
	fetch(r, "GET", "/text", NULL);
	assert_non_null(r->error);
	r->client = http_client_free(r->client);
	r->server.server = http_server_free(r->server.server);
	tls_context_free(server);
	tls_context_free(trusting);
	tls_context_free(strange);
}

/* Moves all that is waiting from one side to the other. */
static int deliver(struct buf *from, struct tls *to, struct buf *plain, struct buf *answer)
{
	int r = from->len ? tls_receive(to, from->data, from->len, plain, answer) : 0;
	buf_reset(from);
	return r;
}

/* Each side adds a random number to the handshake, so bytes of another connection do not fit. */
/* evidence: server-proofs */
static void a_recorded_request_cannot_be_sent_again(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(buf_release) struct buf sent = { 0 }, answers = { 0 }, recorded = { 0 }, plain = { 0 }, none = { 0 };
	struct tls_context *c = tls_context_shared("one secret", &f);
	struct tls *client = tls_new(c, "peer"), *server = tls_new(c, NULL), *again = tls_new(c, NULL);
	assert_int_equal(tls_send(client, "DELETE /", 8, &sent), 0);
	while (sent.len) {
		buf_add(&recorded, sent.data, sent.len);
		assert_int_equal(deliver(&sent, server, &plain, &answers), 0);
		assert_int_equal(deliver(&answers, client, &none, &sent), 0);
	}
	assert_string_equal(buf_str(&plain), "DELETE /");
	assert_true(tls_is_shared(server));
	buf_reset(&plain);
	assert_int_equal(deliver(&recorded, again, &plain, &answers), -EPROTO);
	assert_int_equal(plain.len, 0);
	assert_false(tls_is_shared(again));
	tls_free(client);
	tls_free(server);
	tls_free(again);
	tls_context_free(c);
}

/* A server accepts peers on a plain listener and beside its certificate. */
static void peers_prove_a_shared_secret(void **state)
{
	struct rig *r = *state;
	AUTO(fail_release) struct fail f = { 0 };
	char plain[64], encrypted[64];
	struct tls_context *server = tls_context_server(data_file("localhost.pem"), data_file("localhost.key"), &f);
	struct tls_context *ours = tls_context_shared("one secret", &f), *theirs = tls_context_shared("another", &f);
	struct tls_context *trusting = tls_context_client(data_file("localhost.pem"), &f);
	struct http_client_spec spec = { .loop = r->server.loop, .address = plain, .tls = ours };
	int fd = listen_tcp(plain, sizeof(plain)), tls_fd = listen_tcp(encrypted, sizeof(encrypted));
	assert_int_equal(http_server_listen(r->server.server, fd, NULL, NULL), 0);
	assert_int_equal(http_server_listen(r->server.server, tls_fd, server, NULL), 0);
	/* Before peers are accepted, they are refused. */
	use_client(r, &spec);
	fetch(r, "GET", "/peer", NULL);
	assert_non_null(r->error);
	http_server_accept_peers(r->server.server, ours);
	tls_context_add_shared(server, "one secret");
	for (int i = 0; i < 2; i++) {
		spec.address = i ? encrypted : plain;
		spec.tls = ours;
		use_client(r, &spec);
		assert_string_equal(fetch(r, "GET", "/peer", NULL), "peer");
		assert_string_equal(fetch(r, "POST", "/echo", "text"), "text");
		/* Another secret is refused. Clients without one are served, but are not peers. */
		spec.tls = theirs;
		use_client(r, &spec);
		fetch(r, "GET", "/peer", NULL);
		assert_non_null(r->error);
		spec.tls = i ? trusting : NULL;
		for (int k = 0; k < 2; k++) {
			use_client(r, &spec);
			assert_string_equal(fetch(r, "GET", "/peer", NULL), "stranger");
		}
	}
	r->client = http_client_free(r->client);
	r->server.server = http_server_free(r->server.server);
	tls_context_free(server);
	tls_context_free(ours);
	tls_context_free(theirs);
	tls_context_free(trusting);
}

static void bad_certificates_are_named(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	assert_null(tls_context_server("/nonexistent.pem", "/nonexistent.key", &f));
	assert_non_null(strstr(f.message, "cannot read the certificate '/nonexistent.pem'"));
	assert_null(tls_context_server(data_file("localhost.pem"), "/nonexistent.key", &f));
	assert_non_null(strstr(f.message, "cannot use the private key '/nonexistent.key'"));
	assert_null(tls_context_server(data_file("localhost.pem"), data_file("other.key"), &f));
	assert_non_null(strstr(f.message, "mismatch"));
	assert_null(tls_context_client("/nonexistent.pem", &f));
}

/* --- websockets */

static void ours_message(void *ctx, bool text, const void *data, size_t n)
{
	struct rig *r = ctx;
	buf_add_str(&r->ours_got, text ? "t:" : "b:");
	buf_add(&r->ours_got, data, n);
}

static void ours_closed(void *ctx, int code)
{
	((struct rig *)ctx)->ours_closed = code;
}

/* Echoes each message; closes on "close". */
static void theirs_message(void *ctx, bool text, const void *data, size_t n)
{
	struct rig *r = ctx;
	buf_add(&r->theirs_got, data, n);
	if (n == 5 && memcmp(data, "close", 5) == 0) {
		websocket_close(take_ptr(r->theirs), 4001, "as asked");
		return;
	}
	websocket_send(r->theirs, text, data, n);
}

static void theirs_closed(void *ctx, int code)
{
	((struct rig *)ctx)->theirs_closed = code;
}

static const struct websocket_ops ours_ops = { ours_message, ours_closed, NULL };
static const struct websocket_ops theirs_ops = { theirs_message, theirs_closed, NULL };

static void accept_socket(struct http_rig *server, struct http_request *request)
{
	struct rig *r = server->data;
	struct websocket_spec spec = { server->loop, 100000, &theirs_ops, r };
	r->theirs = websocket_accept(request, "husk", &spec);
}

static void switched(void *ctx, const struct http_head *head)
{
	struct rig *r = ctx;
	r->heads++;
	r->status = head->status;
	if (head->status != 101)
		return;
	struct websocket_spec spec = { r->server.loop, 100000, &ours_ops, r };
	r->ours = websocket_connected(http_call_take_channel(take_ptr(r->call)), head, r->key, &spec);
}

static void open_socket(struct rig *r)
{
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	r->server.on_other = accept_socket;
	assert_int_equal(websocket_add_fields(&fields, r->key), 0);
	r->call = http_call_new(r->client, &(struct http_call_spec){ .method = "GET",
								     .target = "/other/socket",
								     .fields = &fields,
								     .on_head = switched,
								     .on_data = got_data,
								     .on_end = got_end,
								     .ctx = r });
	turn_until(r, &r->heads);
	assert_int_equal(r->status, 101);
	assert_non_null(r->ours);
	assert_non_null(r->theirs);
}

static void turn_until_got(struct rig *r, const struct buf *got, size_t n)
{
	uint64_t until = loop_now_ms() + 5000;
	while (got->len < n && loop_now_ms() < until)
		http_rig_turn(&r->server);
	assert_int_equal(got->len, n);
}

static void messages_go_both_ways(void **state)
{
	struct rig *r = *state;
	open_socket(r);
	assert_int_equal(websocket_send(r->ours, true, "hé", 3), 0);
	assert_int_equal(websocket_send(r->ours, false, "\0\1", 2), 0);
	turn_until_got(r, &r->ours_got, 9);
	assert_memory_equal(r->ours_got.data,
			    "t:hé"
			    "b:\0\1",
			    9);
	AUTO(freep) char *large = xcalloc(1, 90000);
	assert_int_equal(websocket_send(r->ours, false, large, 90000), 0);
	turn_until_got(r, &r->ours_got, 9 + 90002);
}

static void closing_tells_the_other_side(void **state)
{
	struct rig *r = *state;
	open_socket(r);
	websocket_send(r->ours, true, "close", 5);
	turn_until(r, &r->ours_closed);
	assert_int_equal(r->ours_closed, 4001);
	assert_int_equal(r->theirs_closed, 0);
}

static void a_long_message_closes_with_1009(void **state)
{
	struct rig *r = *state;
	open_socket(r);
	AUTO(freep) char *large = xcalloc(1, 100001);
	websocket_send(r->ours, false, large, 100001);
	turn_until(r, &r->ours_closed);
	assert_int_equal(r->ours_closed, 1009);
	assert_int_equal(r->theirs_got.len, 0);
}

static void a_silent_peer_is_closed(void **state)
{
	struct rig *r = *state;
	open_socket(r);
	loop_skip(r->server.loop, 31000);
	http_rig_turn(&r->server);
	http_rig_turn(&r->server);
	assert_int_equal(r->theirs_closed, 0);
	/* The server does not read now, so it cannot see the client's answers to its pings. */
	websocket_pause(r->theirs, true);
	for (int i = 0; i < 3; i++)
		loop_skip(r->server.loop, 31000);
	assert_int_equal(r->theirs_closed, 0);
	websocket_pause(r->theirs, false);
	/* The client does not read, so it answers no ping. */
	websocket_pause(r->ours, true);
	for (int i = 0; i < 3; i++)
		loop_skip(r->server.loop, 31000);
	assert_int_equal(r->theirs_closed, 1006);
}

static void a_peer_that_pings_but_does_not_read_is_disconnected(void **state)
{
	struct rig *r = *state;
	open_socket(r);
	AUTO(freep) char *large = xcalloc(1, 90000);
	websocket_pause(r->ours, true);
	/* Each message is echoed. */
	for (int i = 0; i < 200; i++)
		assert_int_equal(websocket_send(r->ours, false, large, 90000), 0);
	turn_until_got(r, &r->theirs_got, (size_t)200 * 90000);
	assert_true(websocket_queued(r->theirs) > 1u << 20);
	loop_skip(r->server.loop, 31000);
	http_rig_turn(&r->server);
	assert_int_equal(r->theirs_closed, 1006);
}

static void bad_handshakes_are_answered(void **state)
{
	struct rig *r = *state;
	AUTO(buf_release) struct buf got = { 0 };
	r->server.on_other = accept_socket;
	static const struct {
		const char *fields, *status;
	} cases[] = {
		{ "Sec-WebSocket-Version: 8\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n", "HTTP/1.1 426" },
		{ "Sec-WebSocket-Version: 13\r\n", "HTTP/1.1 400" },
		{ "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAA\r\n", "HTTP/1.1 400" },
		{ "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n", "HTTP/1.1 101" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(closep) int fd = http_rig_connect(&r->server);
		AUTO(freep) char *text = xasprintf("GET /other HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: "
						   "websocket\r\n%s\r\n",
						   cases[i].fields);
		http_rig_send(&r->server, fd, text);
		buf_reset(&got);
		assert_memory_equal(http_rig_read(&r->server, fd, &got, "\r\n\r\n"), cases[i].status, 12);
	}
	/* RFC 6455's own example of a key. */
	AUTO(closep) int fd = http_rig_connect(&r->server);
	r->theirs = websocket_free(r->theirs);
	http_rig_send(
		&r->server, fd,
		"GET /other HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: "
		"13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
	buf_reset(&got);
	assert_non_null(strstr(http_rig_read(&r->server, fd, &got, "\r\n\r\n"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
}

static void unmasked_frames_break_the_connection(void **state)
{
	struct rig *r = *state;
	AUTO(buf_release) struct buf got = { 0 };
	r->server.on_other = accept_socket;
	AUTO(closep) int fd = http_rig_connect(&r->server);
	http_rig_send(
		&r->server, fd,
		"GET /other HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: "
		"13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n\x81\x02hi");
	turn_until(r, &r->theirs_closed);
	assert_int_equal(r->theirs_got.len, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(calls_share_a_connection),
		TEST(a_connection_is_not_used_after_a_refused_upgrade),
		TEST(open_files_come_with_their_request),
		TEST(large_answers_arrive),
		TEST(bodies_can_be_streamed),
		TEST(a_freed_call_closes_its_request),
		TEST(failures_are_reported_once),
		TEST(a_cut_answer_is_an_error),
		TEST(addresses_are_checked),
		TEST(tls_carries_requests),
		TEST(peers_prove_a_shared_secret),
		TEST(a_recorded_request_cannot_be_sent_again),
		TEST(bad_certificates_are_named),
		TEST(messages_go_both_ways),
		TEST(closing_tells_the_other_side),
		TEST(a_long_message_closes_with_1009),
		TEST(a_silent_peer_is_closed),
		TEST(a_peer_that_pings_but_does_not_read_is_disconnected),
		TEST(bad_handshakes_are_answered),
		TEST(unmasked_frames_break_the_connection),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
