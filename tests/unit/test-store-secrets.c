/* manager/store: secrets of tenants, on SQLite and on Postgres. */
#include "base/alloc.h"
#include "tests/unit/store-bench.h"
#include "tests/unit/unit.h"

static struct bench b;
static struct {
	bool done;
	struct fail fail;
	struct buf text; /* "name hosts place value;" for each */
} got;

static void forget(void)
{
	fail_release(&got.fail);
	buf_release(&got.text);
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

static void on_done(void *ctx UNUSED, const struct fail *f)
{
	got.done = true;
	if (f)
		fail_copy(&got.fail, f);
	loop_stop(b.loop, 0);
}

static void on_secrets(void *ctx, const struct secret_record *v, size_t n, const struct fail *f)
{
	for (size_t i = 0; i < n; i++)
		buf_printf(&got.text, "%s %s %s%s%s %s;", v[i].info.name, v[i].info.hosts,
			   v[i].info.header ? v[i].info.header : "", v[i].info.query ? v[i].info.query : "",
			   v[i].info.basic ? v[i].info.basic : "", v[i].value ? v[i].value : "-");
	on_done(ctx, f);
}

static void await(void)
{
	while (!got.done)
		loop_run(b.loop);
}

static void put(const char *tenant, const char *name, const char *header, const char *value)
{
	struct secret_record row = {
		.info = { .name = name, .tenant = tenant, .hosts = "a.example:443", .header = header }, .value = value
	};
	forget();
	store_secret_put(b.store, &row, on_done, NULL);
	await();
	assert_int_equal(got.fail.kind, FAIL_NONE);
}

static void expect_list(const char *tenant, const char *expected)
{
	forget();
	store_secrets(b.store, tenant, on_secrets, NULL);
	await();
	assert_string_equal(buf_str(&got.text), expected);
}

static void open_secrets(const char *tenant, const char *names)
{
	forget();
	store_secrets_open(b.store, tenant, names, on_secrets, NULL);
	await();
}

static void expect_open(const char *tenant, const char *names, const char *expected)
{
	open_secrets(tenant, names);
	assert_int_equal(got.fail.kind, FAIL_NONE);
	assert_string_equal(buf_str(&got.text), expected);
}

static void a_value_comes_back_only_to_its_tenant(void **state)
{
	put("local", "KEY", "x-key", "the-first-value");
	put("local", "OTHER", NULL, "the-other-value");
	put("acme", "KEY", NULL, "the-value-of-acme");
	expect_list("local", "KEY a.example:443 x-key -;OTHER a.example:443  -;");
	expect_open("local", "KEY", "KEY a.example:443 x-key the-first-value;");
	expect_open("acme", "KEY OTHER", "KEY a.example:443  the-value-of-acme;");
	expect_open("nobody", "KEY", "");
	bench_restart(&b);
	expect_open("local", "OTHER KEY",
		    "KEY a.example:443 x-key the-first-value;OTHER a.example:443  the-other-value;");
}

static void a_second_value_replaces_the_first(void **state)
{
	put("local", "KEY", "x-key", "the-first-value");
	put("local", "KEY", NULL, "the-second-value");
	expect_open("local", "KEY", "KEY a.example:443  the-second-value;");
}

static void a_removed_secret_is_gone(void **state)
{
	put("local", "KEY", NULL, "the-first-value");
	forget();
	store_secret_remove(b.store, "acme", "KEY", on_done, NULL);
	await();
	assert_int_equal(got.fail.kind, FAIL_NOT_FOUND);
	forget();
	store_secret_remove(b.store, "local", "KEY", on_done, NULL);
	await();
	assert_int_equal(got.fail.kind, FAIL_NONE);
	expect_open("local", "KEY", "");
}

/* A program that can write to the database does not have the store's key. */
static void a_secret_cannot_be_redirected_in_the_database(void **state)
{
	static const char *const changes[] = {
		"UPDATE secrets SET hosts = 'evil.example:443'",
		"UPDATE secrets SET header = NULL",
		"UPDATE secrets SET query = 'key'",
		"UPDATE secrets SET basic = 'ada'",
		"UPDATE secrets SET name = 'OTHER'",
		"UPDATE secrets SET tenant = 'acme'",
	};
	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		put("local", "KEY", "x-key", "the-first-value");
		bench_sql(&b, changes[i]);
		open_secrets(i == 5 ? "acme" : "local", "KEY OTHER");
		assert_int_not_equal(got.fail.kind, FAIL_NONE);
		assert_string_equal(buf_str(&got.text), "");
		bench_sql(&b, "DELETE FROM secrets");
	}
}

static void the_database_does_not_contain_the_value(void **state)
{
	put("local", "KEY", NULL, "the-first-value");
	bench_sql(&b, "DELETE FROM secrets WHERE sealed LIKE '%first%'");
	expect_open("local", "KEY", "KEY a.example:443  the-first-value;");
}

static void on_version(void *ctx, const char *text, const struct fail *f)
{
	forget();
	buf_add_str(&got.text, text);
	on_done(ctx, f);
}

static char *read_version(void)
{
	forget();
	store_secrets_version(b.store, on_version, NULL);
	await();
	return xstrdup(buf_str(&got.text));
}

/* The clock of the server that stored OTHER is a day ahead. */
static void each_change_makes_another_version(void **state)
{
	put("local", "KEY", NULL, "the-first-value");
	put("local", "OTHER", NULL, "the-other-value");
	bench_sql(&b, "UPDATE secrets SET changed = changed + 86400000 WHERE name = 'OTHER'");
	AUTO(freep) char *first = read_version(), *again = read_version();
	assert_string_equal(first, again);
	bench_sql(&b, "UPDATE secrets SET changed = changed + 1 WHERE name = 'KEY'");
	AUTO(freep) char *second = read_version();
	assert_string_not_equal(first, second);
	bench_sql(&b, "DELETE FROM secrets WHERE name = 'KEY'");
	put("local", "THIRD", NULL, "the-third-value");
	bench_sql(&b, "UPDATE secrets SET changed = changed + 5 WHERE name = 'THIRD'");
	AUTO(freep) char *third = read_version();
	assert_string_not_equal(second, third);
}

static void a_tenant_has_a_limit(void **state)
{
	for (int i = 0; i < SECRETS_MAX; i++) {
		AUTO(freep) char *name = xasprintf("K%d", i);
		put("local", name, NULL, "the-first-value");
	}
	struct secret_record row = { .info = { .name = "LAST", .tenant = "local", .hosts = "a:443" },
				     .value = "12345678" };
	forget();
	store_secret_put(b.store, &row, on_done, NULL);
	await();
	assert_int_equal(got.fail.kind, FAIL_LIMIT);
	put("local", "K7", NULL, "replaced-value");
	put("acme", "LAST", NULL, "another-tenant");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	TEST(a_value_comes_back_only_to_its_tenant),
	TEST(a_second_value_replaces_the_first),
	TEST(a_removed_secret_is_gone),
	TEST(a_secret_cannot_be_redirected_in_the_database),
	TEST(the_database_does_not_contain_the_value),
	TEST(each_change_makes_another_version),
	TEST(a_tenant_has_a_limit),
};

int main(void)
{
	return cmocka_run_group_tests_name("secrets on SQLite", tests, NULL, NULL) +
	       cmocka_run_group_tests_name("secrets on Postgres", tests, bench_start_postgres, bench_end_postgres);
}
