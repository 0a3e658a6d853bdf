/* base/dirs: a folder with its parents. */
#include <errno.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/dirs.h"
#include "tests/unit/unit.h"

static char scratch[] = "/tmp/husk-test-dirs-XXXXXX";

/* evidence: store-modes */
static void creates_private_directories(void **state)
{
	AUTO(freep) char *a = xasprintf("%s/a", scratch), *b = xasprintf("%s/a/b", scratch);
	struct stat st;
	assert_int_equal(dirs_make(b), 0);
	assert_int_equal(stat(a, &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0700);
	assert_int_equal(stat(b, &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0700);
	assert_int_equal(dirs_make(b), 0);
	rmdir(b);
	rmdir(a);
}

static void names_the_file_in_the_way(void **state)
{
	AUTO(freep) char *file = xasprintf("%s/file", scratch), *below = xasprintf("%s/file/x", scratch);
	FILE *f = fopen(file, "we");
	assert_non_null(f);
	fclose(f);
	assert_int_equal(dirs_make(file), -ENOTDIR);
	assert_int_equal(dirs_make(below), -ENOTDIR);
	unlink(file);
}

static void finds_root_and_home(void **state)
{
	AUTO(freep) char *home = realpath(scratch, NULL), *link = xasprintf("%s/link", scratch),
			 *below = xasprintf("%s/below", home);
	assert_int_equal(symlink(home, link), 0);
	setenv("HOME", link, 1);
	assert_true(dirs_is_root_or_home("/"));
	assert_true(dirs_is_root_or_home(home));
	assert_false(dirs_is_root_or_home(below));
	unsetenv("HOME");
	assert_false(dirs_is_root_or_home(home));
	unlink(link);
}

static int make_scratch(void **state)
{
	return mkdtemp(scratch) ? 0 : -1;
}

static int drop_scratch(void **state)
{
	return rmdir(scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(creates_private_directories),
		cmocka_unit_test(names_the_file_in_the_way),
		cmocka_unit_test(finds_root_and_home),
	};
	return cmocka_run_group_tests(tests, make_scratch, drop_scratch);
}
