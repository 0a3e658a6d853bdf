/* manager/registry/secret-values: sessions get the values of their secrets, and lose them when they are removed. */
#include "manager/registry/secret-values.h"

#include "base/alloc.h"
#include "tests/unit/store-bench.h"
#include "tests/unit/unit.h"

static struct bench b;
static struct secret_values *values;
static struct {
	bool done;
	struct secret_set *set;
	struct fail fail;
} got;

static void forget(void)
{
	got.set = secret_set_unref(got.set);
	fail_release(&got.fail);
	got.done = false;
}

static int setup(void **state)
{
	bench_init(&b);
	values = secret_values_new(b.loop, &b.config, b.store);
	return 0;
}

static int teardown(void **state)
{
	forget();
	values = secret_values_free(values);
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

static void on_set(void *ctx, struct secret_set *set, const struct fail *f)
{
	if (set)
		got.set = secret_set_ref(set);
	on_done(ctx, f);
}

static void await(void)
{
	while (!got.done)
		loop_run(b.loop);
}

static void put(const char *name, const char *value)
{
	struct secret_record row = {
		.info = { .name = name, .tenant = "acme", .hosts = "a.example:443 b.example:8443" }, .value = value
	};
	forget();
	store_secret_put(b.store, &row, on_done, NULL);
	await();
	assert_int_equal(got.fail.kind, FAIL_NONE);
}

static void read_names(const char *names)
{
	forget();
	assert_non_null(secret_values_read(
		values, &(struct secret_read){ .conversation = "@acme/someone", .names = names, .on_done = on_set }));
	await();
}

static struct session_secrets *give(const char *session, const char *names, struct strv *env)
{
	AUTO(fail_release) struct fail f = { 0 };
	read_names(names);
	struct session_secrets *s = session_secrets_new(values, session, "@acme/someone", names);
	assert_int_equal(session_secrets_give(s, got.set, env, &f), 0);
	return s;
}

static bool is_used(struct session_secrets *s, const char *host, uint16_t port)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct gate_filter *filter = session_secrets_filter(s, host, port, &f);
	if (filter)
		filter->type->free(filter);
	return filter != NULL;
}

/* --- tests --------------------------------------------------------------------------------------------------------- */

static void a_session_gets_its_secrets_by_name(void **state)
{
	AUTO(strv_release) struct strv env = { 0 };
	put("ONE", "value-of-one");
	put("TWO", "value-of-two");
	struct session_secrets *s = give("id-of-session", "TWO", &env);
	assert_int_equal(got.set->n, 1);
	assert_string_equal(got.set->v[0].value, "value-of-two");
	assert_int_equal(env.n, 1);
	assert_true(strncmp(env.v[0], "TWO=husk-secret-", 16) == 0);
	assert_true(is_used(s, "b.example", 8443));
	assert_false(is_used(s, "b.example", 443));
	assert_non_null(session_secrets_authority(s));
	session_secrets_free(s);
}

static void a_missing_secret_is_named(void **state)
{
	put("ONE", "value-of-one");
	read_names("ONE TWO");
	assert_null(got.set);
	assert_int_equal(got.fail.kind, FAIL_INVALID);
	assert_non_null(strstr(got.fail.message, "'TWO'"));
	assert_null(strstr(got.fail.message, "value"));
}

static void a_reading_can_be_cancelled(void **state)
{
	struct secret_read request = { .conversation = "@acme/someone", .names = "ONE", .on_done = on_set };
	struct secret_reading *r = secret_values_read(values, &request);
	forget();
	secret_reading_cancel(r);
	put("ONE", "value-of-one");
	assert_null(got.set);
}

/* The next server of a session gives the same certificate, and accepts the same placeholders. */
static void an_adopted_session_keeps_what_it_has_seen(void **state)
{
	AUTO(strv_release) struct strv env = { 0 };
	put("ONE", "value-of-one");
	struct session_secrets *s = give("id-of-session", "ONE", &env);
	AUTO(freep) char *authority = xstrdup(session_secrets_authority(s));
	session_secrets_free(s);
	values = secret_values_free(values);
	bench_restart(&b);
	values = secret_values_new(b.loop, &b.config, b.store);
	s = session_secrets_new(values, "id-of-session", "@acme/someone", "ONE");
	AUTO(fail_release) struct fail f = { 0 };
	assert_null(session_secrets_filter(s, "any.example", 443, &f));
	assert_int_not_equal(f.kind, FAIL_NONE);
	session_secrets_read(s);
	while (!session_secrets_authority(s))
		loop_turn(b.loop);
	assert_true(is_used(s, "a.example", 443));
	/* Certificates are signed anew, with the same key and name; what a client compares is the key. */
	AUTO(strv_release) struct strv again = { 0 };
	struct session_secrets *same = give("id-of-session", "ONE", &again);
	assert_string_equal(again.v[0], env.v[0]);
	struct session_secrets *other = give("id-of-another", "ONE", &again);
	assert_string_not_equal(again.v[0], env.v[0]);
	session_secrets_free(same);
	session_secrets_free(other);
	session_secrets_free(s);
}

static void removed_secrets_are_not_used_any_more(void **state)
{
	AUTO(strv_release) struct strv env = { 0 };
	put("ONE", "value-of-one");
	struct session_secrets *s = give("id-of-session", "ONE", &env);
	forget();
	store_secret_remove(b.store, "acme", "ONE", on_done, NULL);
	await();
	assert_true(is_used(s, "a.example", 443));
	/* Nothing tells this server: it looks by itself. */
	loop_skip(b.loop, SECRETS_CHECK_MS);
	while (is_used(s, "a.example", 443))
		loop_turn(b.loop);
	/* It is read again when there is another of the name. */
	put("ONE", "the-next-value");
	secret_values_changed(values);
	while (!is_used(s, "a.example", 443))
		loop_turn(b.loop);
	session_secrets_free(s);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_session_gets_its_secrets_by_name),
		TEST(a_missing_secret_is_named),
		TEST(a_reading_can_be_cancelled),
		TEST(an_adopted_session_keeps_what_it_has_seen),
		TEST(removed_secrets_are_not_used_any_more),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
