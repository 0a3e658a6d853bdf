/* cli/repl/history: how typed cells are kept. */
#include "cli/repl/history.h"

#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/alloc.h"

struct kept {
	char *folder, *path;
	size_t n;
	char *first, *last;
};

static void on_entry(void *ctx, const char *entry)
{
	struct kept *k = ctx;
	if (!k->n++)
		k->first = xstrdup(entry);
	free(k->last);
	k->last = xstrdup(entry);
}

static void read_all(struct kept *k)
{
	free(take_ptr(k->first));
	free(take_ptr(k->last));
	k->n = 0;
	history_read(k->path, on_entry, k);
}

static int set_up(void **state)
{
	struct kept *k = xcalloc(1, sizeof(*k));
	char folder[] = "/tmp/husk-history-XXXXXX";
	k->folder = xstrdup(mkdtemp(folder));
	k->path = history_path(folder, "python");
	*state = k;
	return k->path ? 0 : -1;
}

static int tear_down(void **state)
{
	struct kept *k = *state;
	AUTO(freep) char *below = xasprintf("%s/repl", k->folder);
	unlink(k->path);
	rmdir(below);
	rmdir(k->folder);
	free(k->first);
	free(k->last);
	free(k->folder);
	free(k->path);
	free(k);
	return 0;
}

static void keeps_cells_unchanged(void **state)
{
	struct kept *k = *state;
	struct stat st;
	read_all(k);
	assert_int_equal(k->n, 0);
	assert_int_equal(history_add(k->path, "print('a\\n')"), 0);
	assert_int_equal(history_add(k->path, "def f():\n    return 'é'"), 0);
	read_all(k);
	assert_int_equal(k->n, 2);
	assert_string_equal(k->first, "print('a\\n')");
	assert_string_equal(k->last, "def f():\n    return 'é'");
	assert_int_equal(stat(k->path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

/* evidence: repl-terminal */
static void history_is_readable_by_its_owner_only(void **state)
{
	struct kept *k = *state;
	struct stat st;
	assert_int_equal(history_add(k->path, "one"), 0);
	assert_int_equal(chmod(k->path, 0644), 0);
	assert_int_equal(history_add(k->path, "two"), 0);
	assert_int_equal(stat(k->path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	unlink(k->path);
	assert_int_equal(symlink("/dev/null", k->path), 0);
	assert_int_equal(history_add(k->path, "three"), -ELOOP);
}

static void history_is_bounded(void **state)
{
	struct kept *k = *state;
	AUTO(freep) char *entry = xcalloc(HISTORY_ENTRY_BYTES_MAX + 2, 1);
	struct stat st;
	memset(entry, 'x', HISTORY_ENTRY_BYTES_MAX);
	for (size_t i = 0; i < 2u * HISTORY_BYTES_MAX / HISTORY_ENTRY_BYTES_MAX + 1; i++)
		assert_int_equal(history_add(k->path, entry), 0);
	assert_int_equal(stat(k->path, &st), 0);
	assert_true(st.st_size <= HISTORY_BYTES_MAX + 2 * HISTORY_ENTRY_BYTES_MAX);
	entry[HISTORY_ENTRY_BYTES_MAX] = 'x';
	assert_int_equal(history_add(k->path, entry), 0);
	for (size_t i = 0; i < HISTORY_ENTRIES_MAX + 5; i++) {
		AUTO(freep) char *number = xasprintf("%zu", i);
		assert_int_equal(history_add(k->path, number), 0);
	}
	read_all(k);
	assert_int_equal(k->n, HISTORY_ENTRIES_MAX);
	assert_string_equal(k->first, "5");
	assert_string_equal(k->last, "1004");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(keeps_cells_unchanged, set_up, tear_down),
		cmocka_unit_test_setup_teardown(history_is_readable_by_its_owner_only, set_up, tear_down),
		cmocka_unit_test_setup_teardown(history_is_bounded, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
