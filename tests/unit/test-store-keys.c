/* manager/store: keys of the API and limits of tenants, on SQLite and on Postgres. */
#include "base/alloc.h"
#include "tests/unit/store-bench.h"
#include "tests/unit/unit.h"

static struct bench b;
static struct {
	bool done;
	struct fail fail;
	size_t n;
	char *id, *scopes;
	uint64_t used;
	struct tenant_limits limits;
} got;

static void forget(void)
{
	fail_release(&got.fail);
	free(got.id);
	free(got.scopes);
	memset(&got, 0, sizeof(got));
}

static int setup(void **state)
{
	bench_init(&b);
	return 0;
}

static int teardown(void **state)
{
	forget();
	bench_release(&b);
	return 0;
}

static void end(const struct fail *f)
{
	got.done = true;
	if (f)
		fail_copy(&got.fail, f);
	loop_stop(b.loop, 0);
}

static void await(void)
{
	while (!got.done)
		loop_run(b.loop);
}

static void on_done(void *ctx UNUSED, const struct fail *f)
{
	end(f);
}

static void keep(const struct key_record *row, size_t n)
{
	got.n = n;
	if (!n)
		return;
	got.id = xstrdup(row->id);
	got.scopes = xstrdup(row->scopes);
	got.used = row->used;
}

static void on_key(void *ctx UNUSED, const struct key_record *found, const struct fail *f)
{
	keep(found, found != NULL);
	end(f);
}

static void on_keys(void *ctx UNUSED, const struct key_record *v, size_t n, const struct fail *f)
{
	keep(v, n);
	end(f);
}

static void on_tenant(void *ctx UNUSED, const struct tenant_limits *limits, const struct fail *f)
{
	if (limits)
		got.limits = *limits;
	end(f);
}

static void add(const char *id, const char *name, const char *tenant, const char *text)
{
	struct key_record row = { .id = id, .name = name, .tenant = tenant, .scopes = "run", .created = 5 };
	forget();
	store_key_add(b.store, &row, text, on_done, NULL);
	await();
}

static void check(const char *id, const char *text)
{
	forget();
	store_key_check(b.store, id, text, on_key, NULL);
	await();
	assert_int_equal(got.fail.kind, FAIL_NONE);
}

static void list(const char *tenant)
{
	forget();
	store_keys(b.store, tenant, on_keys, NULL);
	await();
}

static void remove_key(const char *tenant, const char *word)
{
	forget();
	store_key_remove(b.store, tenant, word, on_done, NULL);
	await();
}

static void only_the_right_text_is_accepted(void **state)
{
	add("k1", "laptop", "local", "husk_k1_secret");
	assert_int_equal(got.fail.kind, FAIL_NONE);
	check("k1", "husk_k1_secret");
	assert_int_equal(got.n, 1);
	assert_string_equal(got.scopes, "run");
	check("k1", "husk_k1_secreT");
	assert_int_equal(got.n, 0);
	check("k2", "husk_k1_secret");
	assert_int_equal(got.n, 0);
	bench_restart(&b);
	check("k1", "husk_k1_secret");
	assert_int_equal(got.n, 1);
}

static void each_tenant_has_a_limited_number_of_keys(void **state)
{
	list(NULL); /* makes the tables */
	bench_sql(
		&b,
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) INSERT INTO keys "
		"(id, name, tenant, scopes, created, used, hash) SELECT 'x' || i, 'n' || i, 'acme', 'run', 5, 0, '' FROM n");
	add("k1", "laptop", "acme", "husk_k1_secret");
	assert_int_equal(got.fail.kind, FAIL_LIMIT);
	add("k2", "laptop", "local", "husk_k2_secret");
	assert_int_equal(got.fail.kind, FAIL_NONE);
	list(NULL);
	assert_int_equal(got.n, 1001);
}

static void the_use_of_a_key_is_recorded(void **state)
{
	add("k1", "laptop", "local", "husk_k1_secret");
	list(NULL);
	assert_int_equal(got.used, 0);
	check("k1", "husk_k1_secret");
	list(NULL);
	assert_true(got.used > 0);
}

/* A program that can write to the database does not have the store's key. */
/* evidence: http-keys */
static void a_key_cannot_be_widened_in_the_database(void **state)
{
	static const char *const changes[] = {
		"UPDATE keys SET scopes = 'admin'",
		"UPDATE keys SET tenant = 'other'",
		"UPDATE keys SET conversation = 'theirs'",
		"UPDATE keys SET hash = ''",
	};
	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		AUTO(freep) char *id = xasprintf("k%zu", i);
		add(id, id, "local", "husk_secret");
		check(id, "husk_secret");
		assert_int_equal(got.n, 1);
		bench_sql(&b, changes[i]);
		check(id, "husk_secret");
		assert_int_equal(got.n, 0);
	}
}

static void the_database_does_not_contain_the_key(void **state)
{
	add("k1", "laptop", "local", "husk_k1_secret");
	bench_sql(&b, "DELETE FROM keys WHERE hash LIKE '%secret%' OR name LIKE '%secret%'");
	check("k1", "husk_k1_secret");
	assert_int_equal(got.n, 1);
}

static void names_are_unique_in_a_tenant(void **state)
{
	add("k1", "laptop", "local", "a");
	add("k2", "laptop", "local", "b");
	assert_int_equal(got.fail.kind, FAIL_INVALID);
	add("k3", "laptop", "acme", "c");
	assert_int_equal(got.fail.kind, FAIL_NONE);
	list("acme");
	assert_int_equal(got.n, 1);
	assert_string_equal(got.id, "k3");
}

static void keys_are_removed_by_id_or_name(void **state)
{
	add("k1", "laptop", "local", "a");
	add("k2", "server", "acme", "b");
	remove_key("local", "server");
	assert_int_equal(got.fail.kind, FAIL_NOT_FOUND);
	remove_key("acme", "server");
	assert_int_equal(got.fail.kind, FAIL_NONE);
	remove_key(NULL, "k1");
	list(NULL);
	assert_int_equal(got.n, 0);
}

static void a_name_of_several_tenants_removes_no_key(void **state)
{
	add("k1", "laptop", "local", "a");
	add("k2", "laptop", "acme", "b");
	remove_key(NULL, "laptop");
	assert_int_equal(got.fail.kind, FAIL_INVALID);
	list(NULL);
	assert_int_equal(got.n, 2);
	remove_key("acme", "laptop");
	assert_int_equal(got.fail.kind, FAIL_NONE);
	list("local");
	assert_int_equal(got.n, 1);
}

/* A tenant could name its key like the id of another's. */
static void an_id_takes_precedence_over_a_name(void **state)
{
	add("k1", "laptop", "local", "a");
	add("k2", "k1", "acme", "b");
	remove_key(NULL, "k1");
	assert_int_equal(got.fail.kind, FAIL_NONE);
	list("acme");
	assert_int_equal(got.n, 1);
}

static void a_key_is_valid_although_its_use_cannot_be_written(void **state)
{
	add("k1", "laptop", "local", "a");
	add("k2", "server", "local", "b");
	bench_sql(&b, "CREATE UNIQUE INDEX one_used ON keys (tenant) WHERE used > 0");
	check("k1", "a");
	assert_int_equal(got.n, 1);
	check("k2", "b");
	assert_int_equal(got.n, 1);
}

static void set_limits(const char *tenant, struct tenant_limits limits)
{
	forget();
	store_tenant_set(b.store, tenant, &limits, on_done, NULL);
	await();
	forget();
	store_tenant_get(b.store, tenant, on_tenant, NULL);
	await();
}

static void limits_of_a_tenant_are_replaced(void **state)
{
	set_limits("acme", (struct tenant_limits){ .sessions = 3, .memory = 4, .streams = 5, .exports = 6 });
	assert_int_equal(got.limits.sessions, 3);
	assert_int_equal(got.limits.exports, 6);
	set_limits("acme", (struct tenant_limits){ .sessions = 7 });
	assert_int_equal(got.limits.sessions, 7);
	assert_int_equal(got.limits.memory, 4); /* a limit that is not given stays */
}

static void claim(struct answer *a, const char *id, const char *thread, uint64_t memory)
{
	struct session_record row = { .id = id,
				      .thread = thread,
				      .runtime = "python",
				      .container = id,
				      .owner = "o",
				      .epoch = 1,
				      .state = ROW_STARTING,
				      .lease_until = store_now_ms() + 60000,
				      .memory = memory };
	struct claim_limits most = { .sessions = 100, .sessions_per_thread = 100, .threads = 100 };
	ask_claim(&b, a, &row, &most);
}

static void a_tenant_cannot_exceed_its_limits(void **state)
{
	AUTO(answer_release) struct answer a = { 0 };
	set_limits("acme", (struct tenant_limits){ .sessions = 2 });
	claim(&a, "s1", "@acme/one", 1);
	assert_fine(&a);
	claim(&a, "s2", "@acme/two", 1);
	assert_fine(&a);
	claim(&a, "s3", "@acme/one", 1);
	assert_fails(&a, FAIL_LIMIT, "sessions of this tenant");
	claim(&a, "s3", "@other/one", 1);
	assert_fine(&a);
	claim(&a, "s4", "one", 1);
	assert_fine(&a);
}

static void the_memory_of_a_tenant_is_one_sum(void **state)
{
	AUTO(answer_release) struct answer a = { 0 };
	set_limits("acme", (struct tenant_limits){ .memory = 100 });
	claim(&a, "s1", "@acme/one", 60);
	assert_fine(&a);
	claim(&a, "s2", "@acme/two", 60);
	assert_fails(&a, FAIL_LIMIT, "memory of this tenant");
	claim(&a, "s2", "@acme/two", 40);
	assert_fine(&a);
}

static void the_streams_of_a_tenant_are_counted(void **state)
{
	AUTO(answer_release) struct answer a = { 0 };
	set_limits("acme", (struct tenant_limits){ .streams = 2 });
	for (int again = 0; again < 2; again++) { /* the job of a broken connection runs again */
		ask_stream(&b, &a, "1", "acme", "server-1");
		assert_fine(&a);
	}
	ask_stream(&b, &a, "2", "acme", "server-2");
	assert_fine(&a);
	ask_stream(&b, &a, "3", "acme", "server-1");
	assert_fails(&a, FAIL_LIMIT, "This tenant has 2 open streams, the maximum.");
	ask_stream(&b, &a, "4", "other", "server-1");
	assert_fine(&a);
	store_stream_release(b.store, "1");
	ask_stream(&b, &a, "3", "acme", "server-2");
	assert_fine(&a);
	store_streams_leave(b.store, "server-2");
	ask_stream(&b, &a, "5", "acme", "server-1");
	assert_fine(&a);
	ask_stream(&b, &a, "6", "acme", "server-1");
	assert_fine(&a);
}

static void streams_of_a_dead_server_stop_counting(void **state)
{
	AUTO(answer_release) struct answer a = { 0 };
	set_limits("acme", (struct tenant_limits){ .streams = 2 });
	ask_stream(&b, &a, "1", "acme", "dead");
	assert_fine(&a);
	ask_stream(&b, &a, "2", "acme", "alive");
	assert_fine(&a);
	bench_sql(&b, "UPDATE streams SET until = 1");
	store_streams_renew(b.store, "alive");
	ask_stream(&b, &a, "3", "acme", "alive");
	assert_fine(&a);
	ask_stream(&b, &a, "4", "acme", "alive");
	assert_fails(&a, FAIL_LIMIT, "2 open streams");
}

static void export(struct answer *a, const char *id, const char *thread, const char *hash)
{
	static const struct export_limits most = { .conversation = 1000, .total = 1000 };
	struct export_record row = { .id = id,
				     .thread = thread,
				     .session = "s",
				     .path = "/workspace/a.csv",
				     .name = "a.csv",
				     .size = 8,
				     .stored = 8,
				     .hash = hash,
				     .file = "a.csv",
				     .mime = "text/csv",
				     .created = store_now_ms() };
	ask_export_claim(&b, a, &row, /* content= */ NULL, &most);
}

/* evidence: exports-limits */
static void exports_of_a_tenant_are_one_sum(void **state)
{
	AUTO(answer_release) struct answer a = { 0 };
	set_limits("acme", (struct tenant_limits){ .exports = 20 });
	export(&a, "e1", "@acme/one", "h1");
	assert_fine(&a);
	export(&a, "e2", "@acme/two", "h2");
	assert_fine(&a);
	export(&a, "e3", "@acme/three", "h3");
	assert_fails(&a, FAIL_LIMIT, "the exports of this tenant");
	/* Existing content takes no more space, and other tenants have their own limits. */
	export(&a, "e4", "@acme/three", "h1");
	assert_fine(&a);
	export(&a, "e5", "@acme-two/one", "h4");
	assert_fine(&a);
	export(&a, "e6", "one", "h5");
	assert_fine(&a);
}

/* --- answers to repeated requests ---------------------------------------------------------------------------------- */

static struct answer_record seen;

static void on_answer(void *ctx UNUSED, const struct answer_record *found, const struct fail *f)
{
	got.n = found != NULL;
	seen.status = found ? found->status : 0;
	if (found) {
		got.id = found->body ? xstrdup(found->body) : NULL;
		got.scopes = xstrdup(found->request);
	}
	end(f);
}

static void begin(const char *id, const char *request)
{
	forget();
	store_answer_begin(b.store, id, request, on_answer, NULL);
	await();
	assert_int_equal(got.fail.kind, FAIL_NONE);
}

static void an_answer_is_kept_for_a_repeated_request(void **state)
{
	begin("one", "post");
	assert_int_equal(got.n, 0);
	begin("one", "post");
	assert_int_equal(got.n, 1);
	assert_int_equal(seen.status, 0);
	forget();
	struct answer_record row = { .id = "one", .status = 201, .type = "application/json", .body = "{\"secret\":1}" };
	store_answer_keep(b.store, &row, on_done, NULL);
	await();
	store_answer_drop(b.store, "one"); /* an answer stays */
	begin("one", "other");
	assert_int_equal(seen.status, 201);
	assert_string_equal(got.id, "{\"secret\":1}");
	assert_string_equal(got.scopes, "post");
	begin("two", "post");
	store_answer_drop(b.store, "two");
	begin("two", "post");
	assert_int_equal(got.n, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	TEST(an_answer_is_kept_for_a_repeated_request),
	TEST(only_the_right_text_is_accepted),
	TEST(each_tenant_has_a_limited_number_of_keys),
	TEST(the_use_of_a_key_is_recorded),
	TEST(a_key_cannot_be_widened_in_the_database),
	TEST(the_database_does_not_contain_the_key),
	TEST(names_are_unique_in_a_tenant),
	TEST(keys_are_removed_by_id_or_name),
	TEST(a_name_of_several_tenants_removes_no_key),
	TEST(an_id_takes_precedence_over_a_name),
	TEST(a_key_is_valid_although_its_use_cannot_be_written),
	TEST(exports_of_a_tenant_are_one_sum),
	TEST(limits_of_a_tenant_are_replaced),
	TEST(a_tenant_cannot_exceed_its_limits),
	TEST(the_memory_of_a_tenant_is_one_sum),
	TEST(the_streams_of_a_tenant_are_counted),
	TEST(streams_of_a_dead_server_stop_counting),
};

int main(void)
{
	return cmocka_run_group_tests_name("keys on SQLite", tests, NULL, NULL) +
	       cmocka_run_group_tests_name("keys on Postgres", tests, bench_start_postgres, bench_end_postgres);
}
