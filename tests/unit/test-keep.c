/* kernels/runs/keep: files of long runs are bounded, stay in their folder, and follow no link. */
#include "kernels/runs/keep.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "tests/unit/unit.h"

static char home[] = "/tmp/husk-test-keep-XXXXXX";

static int set_up(void **state)
{
	memcpy(home + sizeof(home) - 7, "XXXXXX", 6);
	return mkdtemp(home) ? 0 : -1;
}

static int tear_down(void **state)
{
	for (int i = 0; i < 10; i++) {
		AUTO(freep) char *file = xasprintf("%s/.husk/runs/%d.txt", home, i);
		unlink(file);
	}
	static const char *const rest[] = { "/.husk/runs", "/.husk", "/elsewhere/1.txt", "/elsewhere", "" };
	for (size_t i = 0; i < ARRAY_LEN(rest); i++) {
		AUTO(freep) char *path = xasprintf("%s%s", home, rest[i]);
		(void)remove(path);
	}
	return 0;
}

static off_t size_of(unsigned number)
{
	struct stat st;
	AUTO(freep) char *path = xasprintf("%s/.husk/runs/%u.txt", home, number);
	return lstat(path, &st) == 0 && S_ISREG(st.st_mode) ? st.st_size : -1;
}

static void each_run_has_a_file(void **state)
{
	AUTO(keeps_release) struct keeps all = { .home = home };
	struct keep k = { .fd = -1 };
	assert_false(keep_is_there(&k));
	keep_write(&k, "lost", 4);
	assert_true(keep_open(&k, &all, 7));
	keep_write(&k, "hello\n", 6);
	keep_write(&k, "", 0);
	assert_true(keep_is_there(&k) && !k.cut && k.bytes == 6);
	keep_close(&k);
	keep_close(&k);
	assert_int_equal(size_of(7), 6);
}

static void each_file_and_their_sum_are_bounded(void **state)
{
	AUTO(keeps_release) struct keeps all = { .home = home };
	AUTO(freep) char *much = xcalloc(1, KEEP_RUN_MAX + 1);
	for (unsigned i = 1; i <= 6; i++) {
		struct keep k = { .fd = -1 };
		assert_true(keep_open(&k, &all, i));
		keep_write(&k, much, KEEP_RUN_MAX + 1);
		keep_write(&k, much, 1);
		assert_true(k.cut && k.bytes == KEEP_RUN_MAX);
		keep_close(&k);
	}
	assert_int_equal(size_of(1), -1);
	assert_int_equal(size_of(2), -1);
	for (unsigned i = 3; i <= 6; i++)
		assert_int_equal(size_of(i), KEEP_RUN_MAX);
	assert_true(all.bytes <= KEEP_ALL_MAX);
}

static void no_link_is_followed(void **state)
{
	AUTO(keeps_release) struct keeps all = { .home = home };
	struct keep k = { .fd = -1 };
	AUTO(freep) char *elsewhere = xasprintf("%s/elsewhere", home);
	AUTO(freep) char *husk = xasprintf("%s/.husk", home);
	AUTO(freep) char *runs = xasprintf("%s/.husk/runs", home);
	AUTO(freep) char *one = xasprintf("%s/.husk/runs/1.txt", home);
	AUTO(freep) char *target = xasprintf("%s/elsewhere/1.txt", home);
	assert_int_equal(mkdir(elsewhere, 0700), 0);
	assert_int_equal(symlink(elsewhere, husk), 0);
	assert_false(keep_open(&k, &all, 1));
	unlink(husk);
	assert_int_equal(mkdir(husk, 0700), 0);
	assert_int_equal(symlink(elsewhere, runs), 0);
	assert_false(keep_open(&k, &all, 1));
	unlink(runs);
	/* A link or a pipe in place of the file is replaced. */
	assert_int_equal(mkdir(runs, 0700), 0);
	assert_int_equal(symlink(target, one), 0);
	assert_true(keep_open(&k, &all, 1));
	keep_write(&k, "x", 1);
	keep_close(&k);
	assert_int_equal(size_of(1), 1);
	assert_int_equal(access(target, F_OK), -1);
	unlink(one);
	assert_int_equal(mkfifo(one, 0600), 0);
	assert_true(keep_open(&k, &all, 1));
	keep_close(&k);
	assert_int_equal(size_of(1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_run_has_a_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(each_file_and_their_sum_are_bounded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_link_is_followed, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
