/* How a session is opened: through its server's socket in the state folder, or in a new manager of this process. */
#include <sys/socket.h>
#include <sys/stat.h>

#include "api/sockets.h"
#include "attach/counters.h"
#include "attach/open.h"
#include "base/alloc.h"
#include "tests/unit/attach-bench.h"
#include "tests/unit/unit.h"

static struct opened *opened;

static int teardown(void **state)
{
	opened = opened_free(opened);
	return attach_bench_end(state);
}

static void on_opened(void *ctx, struct opened *o, const struct fail *f)
{
	struct got *g = ctx;
	g->done = true;
	opened = o;
	if (f)
		fail_copy(&g->fail, f);
}

static void open_session(const char *id, const struct create_request *fresh)
{
	forget(&got);
	opened = opened_free(opened);
	attach_open(&(struct open_request){ .loop = b.loop,
					    .config = &b.config,
					    .session_id = id,
					    .fresh = fresh,
					    .on_done = on_opened,
					    .on_lost = on_lost,
					    .ctx = &got });
	FAKE_UNTIL(fake, got.done);
}

static void run_in_opened(void)
{
	struct run_request request = a_run(&other, "1");
	request.session_id = opened_session(opened);
	assert_non_null(attach_run(opened_attach(opened), &request, &other.fail));
	FAKE_UNTIL(fake, other.done);
	assert_int_equal(other.fail.kind, FAIL_NONE);
	assert_int_equal(other.ending, ENDING_OK);
}

/* evidence: attach-socket */
static void test_a_server_is_found_by_its_socket(void **state)
{
	char path[512];
	struct stat st;
	assert_int_equal(count_sockets(path, sizeof(path)), 1);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	*strrchr(path, '/') = '\0';
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);

	open_session(session, NULL);
	assert_int_equal(got.fail.kind, FAIL_NONE);
	assert_int_equal(opened_how(opened), ATTACH_SERVED);
	assert_string_equal(opened_runtime(opened), "python");
	run_in_opened();

	close_server();
	FAKE_UNTIL(fake, lost.kind);
	assert_int_equal(count_sockets(NULL, 0), 0);

	/* The server's session still exists and can be opened. */
	open_session(session, NULL);
	assert_int_equal(got.fail.kind, FAIL_NONE);
	assert_int_equal(opened_how(opened), ATTACH_ADOPTED);
	assert_string_equal(opened_runtime(opened), "python");
	run_in_opened();

	/* Other clients find the session here from now on. */
	struct opened *adopter = take_ptr(opened);
	open_session(session, NULL);
	assert_int_equal(opened_how(opened), ATTACH_SERVED);
	run_in_opened();
	opened = opened_free(opened);
	opened_free(adopter);
	assert_int_equal(fake_count(fake), 1);
}

static struct opened *both[2];

static void on_one_of_two(void *ctx, struct opened *o, const struct fail *f)
{
	assert_null(f);
	*(struct opened **)ctx = o;
}

/* One client takes the session over, and the other finds it in the first one's server. */
static void test_two_clients_open_a_session_at_the_same_time(void **state)
{
	close_server();
	for (int i = 0; i < 2; i++)
		attach_open(&(struct open_request){ .loop = b.loop,
						    .config = &b.config,
						    .session_id = session,
						    .on_done = on_one_of_two,
						    .ctx = &both[i] });
	FAKE_UNTIL(fake, both[0] && both[1]);
	assert_int_not_equal(opened_how(both[0]), opened_how(both[1]));
	both[0] = opened_free(both[0]);
	both[1] = opened_free(both[1]);
}

static void test_a_stale_socket_is_swept(void **state)
{
	AUTO(freep) char *left = NULL, *next = NULL;
	/* The state that a killed server leaves. */
	int fd = sockets_listen(&b.config, &left);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(count_sockets(NULL, 0), 2);
	open_session(session, NULL);
	assert_int_equal(opened_how(opened), ATTACH_SERVED);
	fd = sockets_listen(&b.config, &next);
	assert_int_equal(count_sockets(NULL, 0), 2);
	assert_int_equal(access(left, F_OK), -1);
	close(fd);
	unlink(next);
}

static void test_an_unknown_session_fails_to_open(void **state)
{
	open_session("aaaaaaaaaaaaaaaaaaaaaaaaaa", NULL);
	assert_null(opened);
	assert_int_equal(got.fail.kind, FAIL_NOT_FOUND);
	open_session("no such", NULL);
	assert_int_equal(got.fail.kind, FAIL_NOT_FOUND);
}

static void test_a_server_that_accepts_no_clients(void **state)
{
	close_server();
	attach = attach_free(attach);
	b.config.attach = false;
	open_server();
	free(session);
	session = create();
	assert_int_equal(count_sockets(NULL, 0), 0);
	open_session(session, NULL);
	assert_null(opened);
	assert_int_equal(got.fail.kind, FAIL_BUSY);
	assert_int_equal(cause_of(&got.fail), CAUSE_ATTACH_OFF);
	assert_non_null(strstr(got.fail.hint, "HUSK_ATTACH"));
	assert_non_null(strstr(got.fail.message, "belongs to a running server (process "));
}

static void test_a_server_that_is_full(void **state)
{
	static const char stream[] = "GET /v1/events HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n";
	int others[256];
	char some[256];
	/* Idle connections would make room. */
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		others[i] = local_server_connect(server);
		assert_int_equal(write(others[i], stream, strlen(stream)), strlen(stream));
		FAKE_UNTIL(fake, read(others[i], some, sizeof(some)) > 0);
	}
	open_session(session, NULL);
	assert_null(opened);
	assert_int_equal(got.fail.kind, FAIL_BUSY);
	assert_int_equal(cause_of(&got.fail), CAUSE_NONE);
	assert_non_null(strstr(got.fail.message, "connections are in use. Close one"));
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		close(others[i]);
}

/* A server that speaks another protocol is not reported as one that accepts no clients. */
static void test_a_server_of_another_version(void **state)
{
	AUTO(freep) char *path = NULL;
	close_server();
	attach = attach_free(attach);
	b.config.attach = false;
	open_server();
	free(session);
	session = create();
	int fd = sockets_listen(&b.config, &path);
	assert_true(fd >= 0);
	forget(&got);
	attach_open(&(struct open_request){
		.loop = b.loop, .config = &b.config, .session_id = session, .on_done = on_opened, .ctx = &got });
	/* Each client is disconnected as soon as it has connected. */
	while (!got.done) {
		int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		if (client >= 0)
			close(client);
		loop_skip(b.loop, 100);
		fake_turn(fake, fake_real_ms(), "a refusal");
	}
	assert_int_equal(got.fail.kind, FAIL_BUSY);
	assert_int_equal(cause_of(&got.fail), CAUSE_OTHER_VERSION);
	close(fd);
	unlink(path);
}

static void test_a_server_that_does_not_answer(void **state)
{
	AUTO(freep) char *path = NULL;
	/* The server listens, but its loop is blocked. */
	close_server();
	b.config.attach = false;
	open_server();
	free(session);
	session = create();
	int fd = sockets_listen(&b.config, &path);
	assert_true(fd >= 0);
	forget(&got);
	attach_open(&(struct open_request){
		.loop = b.loop, .config = &b.config, .session_id = session, .on_done = on_opened, .ctx = &got });
	for (int i = 0; i < 40 && !got.done; i++)
		loop_skip(b.loop, 1000);
	FAKE_UNTIL(fake, got.done);
	assert_int_equal(got.fail.kind, FAIL_BUSY);
	assert_int_equal(cause_of(&got.fail), CAUSE_SERVER_SILENT);
	close(fd);
	unlink(path);
}

static void test_a_fresh_session(void **state)
{
	struct create_request fresh = { .runtime = runtime_find("node") };
	open_session(NULL, &fresh);
	assert_int_equal(got.fail.kind, FAIL_NONE);
	assert_int_equal(opened_how(opened), ATTACH_FRESH);
	assert_string_equal(opened_runtime(opened), "node");
	run_in_opened();
	assert_int_equal(fake_count(fake), 2);
	/* The session ends with its creator. */
	opened = opened_free(opened);
	assert_int_equal(fake_count(fake), 1);
}

static void test_an_opening_can_be_cancelled(void **state)
{
	struct create_request fresh = { .runtime = runtime_find("node") };
	struct open_request request = { .loop = b.loop, .config = &b.config, .on_done = on_opened, .ctx = &got };
	forget(&got);
	request.session_id = session;
	attach_open_cancel(attach_open(&request));
	request.session_id = NULL;
	request.fresh = &fresh;
	attach_open_cancel(attach_open(&request));
	struct opening *o = attach_open(&request);
	FAKE_UNTIL(fake, fake_calls(fake, FAKE_CREATE) == 2);
	attach_open_cancel(o);
	FAKE_UNTIL(fake, fake_count(fake) == 1);
	assert_false(got.done);
}

static void counters_of_servers_are_added(void **state)
{
	AUTO(buf_release) struct buf out = { 0 };
	struct samples *s = samples_new();
	samples_add(s, "# HELP a First.\n# TYPE a counter\na{x=\"1\"} 2\n# TYPE b gauge\nb 0.5\n");
	samples_add(
		s,
		"# HELP a Other.\n# TYPE a counter\na{x=\"1\"} 3\na{x=\"2 3\"} 1\nnonsense\nb x\n# TYPE b gauge\nb 2\n");
	samples_print(s, &out);
	samples_free(s);
	assert_string_equal(buf_str(&out), "# HELP a First.\n# TYPE a counter\na{x=\"1\"} 5\na{x=\"2 3\"} 1\n"
					   "# TYPE b gauge\nb 2.5\n");
}

struct counted {
	char *text;
	size_t servers;
	bool done;
};

static void on_counted(void *ctx, const char *text, size_t servers)
{
	*(struct counted *)ctx = (struct counted){ xstrdup(text), servers, true };
}

static void counters_come_from_all_sockets(void **state)
{
	struct counted counted = { 0 };
	struct counters *counters = counters_ask(&(struct counters_request){
		.loop = b.loop, .config = &b.config, .on_done = on_counted, .ctx = &counted });
	FAKE_UNTIL(fake, counted.done);
	counters_free(counters);
	assert_int_equal(counted.servers, 1);
	assert_non_null(strstr(counted.text, "\nhusk_sessions{state=\"idle\"} "));
	free(counted.text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, attach_bench_begin, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters_of_servers_are_added),
		TEST(counters_come_from_all_sockets),
		TEST(test_a_server_is_found_by_its_socket),
		TEST(test_two_clients_open_a_session_at_the_same_time),
		TEST(test_a_stale_socket_is_swept),
		TEST(test_an_unknown_session_fails_to_open),
		TEST(test_a_server_that_accepts_no_clients),
		TEST(test_a_server_that_is_full),
		TEST(test_a_server_of_another_version),
		TEST(test_a_server_that_does_not_answer),
		TEST(test_a_fresh_session),
		TEST(test_an_opening_can_be_cancelled),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
