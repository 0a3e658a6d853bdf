/* manager/store: servers that share a store. Each is a separate process. All begin at the same moment on an empty
 * store, so they also race to make its tables and its key. */
#include <sys/wait.h>

#include "base/alloc.h"
#include "manager/store/kept.h"
#include "manager/store/store.h"
#include "tests/unit/store-bench.h"
#include "tests/unit/unit.h"

#define SERVERS 6
#define TRIES 8
#define FAILED 255 /* exit status of a child that failed */

static struct bench b;

/* The thread pool does not survive a fork, so stores are only used in children. Returns the sum of the children's
 * results. */
static int in_children(int n, int (*body)(int number))
{
	int gate[2], sum = 0;
	assert_int_equal(pipe(gate), 0);
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			char c;
			close(gate[1]);
			(void)!read(gate[0], &c, 1);
			b.loop = loop_new();
			b.store = store_new(b.loop, &b.config);
			_exit(body(i));
		}
	}
	close(gate[0]);
	close(gate[1]);
	bool good = true;
	for (int i = 0; i < n; i++) {
		int status = 0;
		assert_true(wait(&status) > 0);
		good = good && WIFEXITED(status) && WEXITSTATUS(status) != FAILED;
		sum += WEXITSTATUS(status);
	}
	assert_true(good);
	return sum;
}

static int setup(void **state)
{
	bench_init(&b);
	return 0;
}

static int teardown(void **state)
{
	bench_release(&b);
	return 0;
}

static int complain(const char *what, const struct fail *f)
{
	fprintf(stderr, "%s: %s\n", what, f->message);
	return FAILED;
}

/* Returns the number of granted claims. */
static int claim_many(int number)
{
	const struct claim_limits limits = { .sessions = 10, .sessions_per_thread = 2, .threads = 7 };
	AUTO(answer_release) struct answer a = { 0 };
	int granted = 0;
	for (int i = 0; i < TRIES; i++) {
		AUTO(freep) char *id = xasprintf("s-%d-%d", number, i), *thread = xasprintf("t%d", i);
		AUTO(freep) char *owner = xasprintf("server-%d", number);
		uint64_t now = store_now_ms();
		struct session_record row = { .id = id,
					      .thread = thread,
					      .runtime = "python",
					      .owner = owner,
					      .epoch = 1,
					      .state = ROW_STARTING,
					      .created = now,
					      .lease_until = now + 600000 };
		ask_claim(&b, &a, &row, &limits);
		if (a.fail.kind && a.fail.kind != FAIL_LIMIT)
			return complain("claim", &a.fail);
		granted += !a.fail.kind;
	}
	return granted;
}

static int count_sessions(int number)
{
	AUTO(answer_release) struct answer a = { 0 };
	ask_sessions(&b, &a, NULL, false);
	return a.fail.kind ? complain("list", &a.fail) : (int)a.n;
}

static int most_of_a_thread(int number)
{
	AUTO(answer_release) struct answer a = { 0 };
	size_t most = 0;
	for (int i = 0; i < TRIES; i++) {
		AUTO(freep) char *thread = xasprintf("t%d", i);
		ask_sessions(&b, &a, thread, false);
		if (a.fail.kind)
			return complain("list", &a.fail);
		most = MAX(most, a.n);
	}
	return (int)most;
}

/* evidence: store-limits */
static void limits_hold_across_servers(void **state)
{
	assert_int_equal(in_children(SERVERS, claim_many), 10);
	assert_int_equal(in_children(1, count_sessions), 10);
	assert_int_equal(in_children(1, most_of_a_thread), 2);
}

static int limit_tenant(int number)
{
	AUTO(answer_release) struct answer a = { 0 };
	ask_limits(&b, &a, "acme", &(struct tenant_limits){ .streams = 10 });
	return a.fail.kind ? complain("tenant", &a.fail) : 0;
}

static int open_many_streams(int number)
{
	AUTO(answer_release) struct answer a = { 0 };
	int granted = 0;
	for (int i = 0; i < TRIES; i++) {
		AUTO(freep) char *id = xasprintf("%d-%d", number, i), *owner = xasprintf("server-%d", number);
		ask_stream(&b, &a, id, "acme", owner);
		if (a.fail.kind && a.fail.kind != FAIL_LIMIT)
			return complain("stream", &a.fail);
		granted += !a.fail.kind;
	}
	return granted;
}

static void streams_are_limited_across_servers(void **state)
{
	assert_int_equal(in_children(1, limit_tenant), 0);
	assert_int_equal(in_children(SERVERS, open_many_streams), 10);
}

/* Returns the number of granted exports: each takes 8 bytes, and all together may take 80. */
static int export_many(int number)
{
	const struct export_limits limits = { .conversation = 1000, .total = 80 };
	AUTO(answer_release) struct answer a = { 0 };
	int granted = 0;
	for (int i = 0; i < TRIES; i++) {
		AUTO(freep) char *id = xasprintf("e-%d-%d", number, i);
		struct export_record e = { .id = id,
					   .thread = "t1",
					   .session = "s1",
					   .path = "/workspace/a",
					   .name = "a",
					   .file = "a",
					   .stored = 8,
					   .hash = id,
					   .created = 1 };
		ask_export_claim(&b, &a, &e, NULL, &limits);
		if (a.fail.kind && a.fail.kind != FAIL_LIMIT)
			return complain("export", &a.fail);
		granted += !a.fail.kind;
	}
	return granted;
}

/* evidence: exports-limits */
static void exports_are_limited_across_servers(void **state)
{
	assert_int_equal(in_children(SERVERS, export_many), 10);
}

static int claim_set(int number)
{
	AUTO(answer_release) struct answer a = { 0 };
	AUTO(freep) char *owner = xasprintf("server-%d", number);
	struct set_record row = { .key = "k",
				  .runtime = "python",
				  .wanted = "{}",
				  .builder = owner,
				  .builder_until = store_now_ms() + 600000 };
	ask_set_claim(&b, &a, &row, 0);
	return a.fail.kind ? complain("set", &a.fail) : a.yours;
}

static void only_one_server_builds_a_set(void **state)
{
	assert_int_equal(in_children(SERVERS, claim_set), 1);
}

static int take_over(int number)
{
	AUTO(answer_release) struct answer a = { 0 };
	AUTO(freep) char *owner = xasprintf("server-%d", number);
	ask_take_over(&b, &a,
		      &(struct take_over){ .id = "s",
					   .old_owner = "dead",
					   .old_epoch = 1,
					   .new_owner = owner,
					   .new_owner_host = "",
					   .lease_until = store_now_ms() + 600000 });
	return a.fail.kind ? complain("take over", &a.fail) : (int)a.n;
}

static int claim_one(int number)
{
	AUTO(answer_release) struct answer a = { 0 };
	struct session_record row = { .id = "s",
				      .thread = "t",
				      .runtime = "python",
				      .owner = "dead",
				      .epoch = 1,
				      .state = ROW_RUNNING,
				      .lease_until = store_now_ms() + 600000 };
	ask_claim(&b, &a, &row, &(struct claim_limits){ 9, 9, 9 });
	return a.fail.kind ? complain("claim", &a.fail) : 0;
}

static void only_one_server_takes_a_session_over(void **state)
{
	assert_int_equal(in_children(1, claim_one), 0);
	assert_int_equal(in_children(SERVERS, take_over), 1);
}

/* All servers create the key at once, and each can open what the others sealed. */
static int seal(int number)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *name = xasprintf("setting %d", number);
	return kept_put(&(struct kept_place){ .state_dir = b.config.state_dir }, name, "secret", &f) < 0 ?
		       complain("seal", &f) :
		       0;
}

static int open_all(int number)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(strv_release) struct strv found = { 0 };
	return kept_read(&(struct kept_place){ .state_dir = b.config.state_dir }, &found, &f) < 0 ?
		       complain("open", &f) :
		       (int)found.n;
}

static void servers_create_one_key(void **state)
{
	assert_int_equal(in_children(SERVERS, seal), 0);
	assert_int_equal(in_children(2, open_all), 2 * SERVERS);
}

/* Returns a part of the store's id as this child sees it. */
static int read_id(int number)
{
	AUTO(answer_release) struct answer a = { 0 };
	ask_identify(&b, &a);
	return a.fail.kind ? complain("identify", &a.fail) : store_id(b.store)[0] + store_id(b.store)[25] % 8;
}

static void the_store_gets_one_id(void **state)
{
	int sum = in_children(SERVERS, read_id);
	assert_int_equal(sum, SERVERS * in_children(1, read_id));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	TEST(limits_hold_across_servers),
	TEST(exports_are_limited_across_servers),
	TEST(streams_are_limited_across_servers),
	TEST(only_one_server_builds_a_set),
	TEST(only_one_server_takes_a_session_over),
	TEST(servers_create_one_key),
	TEST(the_store_gets_one_id),
};

int main(void)
{
	return cmocka_run_group_tests_name("many servers on SQLite", tests, NULL, NULL) +
	       cmocka_run_group_tests_name("many servers on Postgres", tests, bench_start_postgres, bench_end_postgres);
}
