/* manager/gate/keyring: filters are made for the hosts of secrets, and only for these. */
#include "manager/gate/keyring.h"

#include "base/alloc.h"
#include "manager/model/cause.h"
#include "tests/unit/unit.h"

static struct secret_set *set_of(const char *name, const char *host)
{
	struct secret_set *set = secret_set_new();
	struct gate_secret *s = secret_set_add(set);
	s->name = xstrdup(name);
	s->value = xstrdup("the-value-of-it");
	strv_add(&s->hosts, host);
	return set;
}

static void load(struct keyring *k, const char *key, const char *name, const char *host)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct tls_context *upstream = tls_context_client(NULL, &f);
	struct secret_set *set = set_of(name, host);
	assert_int_equal(keyring_load(k, key, set, upstream, &f), 0);
	secret_set_unref(set);
	tls_context_free(upstream);
}

static bool has_filter(struct keyring *k, const char *host, uint16_t port)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct gate_filter *filter = keyring_filter(k, host, port, &f);
	assert_int_equal(f.kind, FAIL_NONE);
	if (filter)
		filter->type->free(filter);
	return filter != NULL;
}

static void only_hosts_of_secrets_have_a_filter(void **state)
{
	struct keyring *k = keyring_new();
	load(k, "a key", "KEY", "api.example.com:443");
	assert_true(has_filter(k, "api.example.com", 443));
	assert_true(has_filter(k, "api.example.com", 443));
	assert_false(has_filter(k, "api.example.com", 80));
	assert_false(has_filter(k, "example.com", 443));
	assert_false(has_filter(k, "api.example.com.evil.example", 443));
	assert_false(has_filter(k, "app.example.com", 443));
	/* A secret that was removed or moved is not used for new connections. */
	load(k, "a key", "KEY", "new.example.com:8443");
	assert_false(has_filter(k, "api.example.com", 443));
	assert_true(has_filter(k, "new.example.com", 8443));
	/* A part of the entry is neither the host nor the port. */
	load(k, "a key", "KEY", "db443.example.com:443");
	assert_false(has_filter(k, "d", 443));
	keyring_free(k);
}

/* The gate must not pass a connection on as if its host had no secret. */
static void every_connection_is_refused_before_secrets_are_loaded(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct keyring *k = keyring_new();
	assert_null(keyring_filter(k, "api.example.com", 443, &f));
	assert_int_equal(cause_of(&f), CAUSE_GATE_TLS);
	assert_null(keyring_authority(k));
	keyring_free(k);
}

static void placeholders_depend_on_key_and_name_alone(void **state)
{
	AUTO(freep) char *one = keyring_placeholder("key", "A"), *again = keyring_placeholder("key", "A");
	AUTO(freep) char *name = keyring_placeholder("key", "B"), *key = keyring_placeholder("yek", "A");
	assert_string_equal(one, again);
	assert_string_not_equal(one, name);
	assert_string_not_equal(one, key);
	assert_int_equal(strlen(one), SECRET_PLACEHOLDER_CHARS);
	assert_int_equal(strspn(one, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"), strlen(one));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_hosts_of_secrets_have_a_filter),
		cmocka_unit_test(every_connection_is_refused_before_secrets_are_loaded),
		cmocka_unit_test(placeholders_depend_on_key_and_name_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
