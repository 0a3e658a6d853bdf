/* manager/store/kept: settings that are kept and sealed, and the error if they cannot be opened. */
#include "manager/store/kept.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

static struct kept_place place;
static struct strv found;
static struct fail failure;
static char *folder;

static int setup(void **state)
{
	char name[] = "/tmp/husk-test-kept-XXXXXX";
	folder = xstrdup(mkdtemp(name));
	place = (struct kept_place){ .state_dir = xasprintf("%s/state/husk", folder) };
	return 0;
}

static int teardown(void **state)
{
	scratch_remove(folder);
	free(take_ptr(folder));
	strv_release(&found);
	fail_release(&failure);
	free((char *)place.state_dir);
	return 0;
}

static void keep(const char *name, const char *value)
{
	if (kept_put(&place, name, value, &failure) < 0)
		fail_msg("%s", failure.message);
}

static int check(void)
{
	strv_release(&found);
	fail_release(&failure);
	return kept_read(&place, &found, &failure);
}

static void assert_refused(const char *words, const char *hint)
{
	assert_int_equal(check(), -1);
	assert_int_equal(failure.kind, FAIL_STORE);
	assert_non_null(strstr(failure.message, words));
	assert_non_null(strstr(failure.hint, hint));
}

static void without_a_file_nothing_is_touched(void **state)
{
	assert_int_equal(check(), 0);
	assert_int_equal(found.n, 0);
	assert_int_equal(access(place.state_dir, F_OK), -1);
}

static void kept_settings_are_read_again(void **state)
{
	keep("B", "caf\xc3\xa9 = secret\nline");
	keep("A", "1");
	keep("A", "2");
	assert_int_equal(check(), 0);
	assert_int_equal(found.n, 2);
	assert_string_equal(found.v[0], "A=2");
	assert_string_equal(found.v[1], "B=caf\xc3\xa9 = secret\nline");
	keep("A", NULL);
	assert_int_equal(check(), 0);
	assert_int_equal(found.n, 1);
	assert_int_equal(kept_put(&place, "A", NULL, &failure), -1);
	assert_int_equal(failure.kind, FAIL_NOT_FOUND);
}

static bool holds(const char *name, const char *words)
{
	AUTO(freep) char *path = xasprintf("%s/%s", place.state_dir, name);
	AUTO(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	AUTO(buf_release) struct buf text = { 0 };
	for (ssize_t n = fd < 0 ? 0 : 1; n > 0;) {
		n = read(fd, buf_reserve(&text, 4096), 4096);
		text.len += n > 0 ? (size_t)n : 0;
	}
	return text.len && memmem(text.data, text.len, words, strlen(words));
}

static void kept_secrets_are_sealed_on_disk(void **state)
{
	keep("POSTGRES_PASSWORD", "hunter2hunter2");
	assert_false(holds("settings.db", "hunter2"));
	assert_false(holds("settings.db-wal", "hunter2"));
	AUTO(freep) char *key = xasprintf("%s/settings.key", place.state_dir);
	struct stat st;
	assert_int_equal(stat(key, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	assert_int_equal(chmod(key, 0644), 0);
	assert_refused("open to other users", "settings.key");
}

static void another_key_does_not_open_kept_settings(void **state)
{
	keep("A", "secret");
	place.secret = "a key that nobody used before";
	assert_refused("'A' cannot be decrypted", "husk config unset A");
	keep("A", "again"); /* the setting can still be replaced */
	assert_int_equal(check(), 0);
	assert_string_equal(found.v[0], "A=again");
	place.secret = "short";
	assert_refused("ENCRYPTION_KEY", "ENCRYPTION_KEY");
}

static void a_file_that_is_not_a_database_is_named(void **state)
{
	keep("A", "1");
	AUTO(freep) char *path = xasprintf("%s/settings.db", place.state_dir);
	AUTO(closep) int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_true(
		dprintf(fd, "%s",
			"this is no database, and long enough to be seen as none by whoever looks at its first hundred bytes or so") >
		100);
	assert_refused(path, "husk");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(without_a_file_nothing_is_touched),      TEST(kept_settings_are_read_again),
		TEST(kept_secrets_are_sealed_on_disk),	      TEST(another_key_does_not_open_kept_settings),
		TEST(a_file_that_is_not_a_database_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
