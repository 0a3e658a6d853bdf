/* manager/store/key: sealing, and seals that do not open. */
#include "manager/store/key.h"

#include "base/alloc.h"
#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

static char dir[] = "/tmp/husk-test-key-XXXXXX";

static void seal_and_open(struct key *k, const char *name, const char *text)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *sealed = NULL, *again = NULL, *opened = NULL;
	assert_int_equal(key_seal(k, name, text, &sealed, &f), 0);
	assert_int_equal(key_seal(k, name, text, &again, &f), 0);
	assert_string_not_equal(sealed, again); /* equal texts have different seals */
	assert_true(!*text || !strstr(sealed, text));
	assert_int_equal(key_open(k, name, sealed, &opened, &f), 0);
	assert_string_equal(opened, text);
}

static void a_sealed_text_can_be_opened(void **state)
{
	struct key k;
	key_init(&k, NULL, dir);
	seal_and_open(&k, "name", "");
	seal_and_open(&k, "", "a text of some length, with \xc3\xa9 and \n in it");
	key_release(&k);
	key_init(&k, "0123456789abcdef", dir);
	seal_and_open(&k, "name", "text");
	key_release(&k);
}

static void a_seal_is_bound_to_its_name(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *sealed = NULL, *opened = NULL;
	struct key k;
	key_init(&k, NULL, dir);
	assert_int_equal(key_seal(&k, "one", "text", &sealed, &f), 0);
	assert_int_equal(key_open(&k, "two", sealed, &opened, &f), -1);
	assert_int_equal(f.kind, FAIL_STORE);
	assert_null(opened);
	key_release(&k);
}

static void a_changed_seal_does_not_open(void **state)
{
	AUTO(freep) char *sealed = NULL;
	AUTO(fail_release) struct fail f = { 0 };
	struct key k;
	key_init(&k, NULL, dir);
	assert_int_equal(key_seal(&k, "name", "text", &sealed, &f), 0);
	size_t n = strlen(sealed);
	for (size_t i = 0; i < n; i++) {
		AUTO(freep) char *changed = xstrdup(sealed), *opened = NULL;
		changed[i] = changed[i] == 'A' ? 'B' : 'A';
		/* The last character before the padding has unused bits, so a change of it may decode to the same. */
		if (key_open(&k, "name", changed, &opened, &f) == 0)
			assert_true(i >= n - 3);
		AUTO(freep) char *cut = xstrndup(sealed, i), *none = NULL;
		assert_int_equal(key_open(&k, "name", cut, &none, &f), -1);
	}
	static const char *const garbage[] = { "", "=", "AAAA", "not base64!", "\xff\xfe" };
	for (size_t i = 0; i < ARRAY_LEN(garbage); i++) {
		AUTO(freep) char *opened = NULL;
		assert_int_equal(key_open(&k, "name", garbage[i], &opened, &f), -1);
	}
	key_release(&k);
}

static int make_dir(void **state)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	return scratch_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sealed_text_can_be_opened),
		cmocka_unit_test(a_seal_is_bound_to_its_name),
		cmocka_unit_test(a_changed_seal_does_not_open),
	};
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
