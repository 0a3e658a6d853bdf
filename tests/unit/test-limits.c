/* kernels/system/limits on recorded cgroup files: v1, v2, an old v2 without memory.peak, and none at all. */
#include "base/alloc.h"
#include "kernels/system/limits.h"
#include "tests/unit/unit.h"

static void open_recorded(struct limits *l, const char *name)
{
	const char *root = getenv("HUSK_SOURCE_ROOT");
	AUTO(freep) char *path = xasprintf("%s/tests/pid1/cgroup/%s", root ? root : ".", name);
	limits_open(l, path);
}

static void limits_of_cgroup_v1(void **state)
{
	AUTO(limits_close) struct limits l;
	open_recorded(&l, "v1");
	assert_int_equal(limits_oom_kills(&l), 3);
	assert_int_equal(limits_memory_peak(&l), 67108864);
	assert_int_equal(l.memory_limit, 67108864);
	assert_int_equal(limits_memory_files(&l), 20967424);
	assert_int_equal(limits_pids(&l), 97);
	assert_int_equal(l.pids_limit, 100);
	assert_true(limits_pids_full(&l));
	assert_int_equal(limits_oom_kills(&l), 3); /* the file is read again from its start */
}

static void limits_of_cgroup_v2(void **state)
{
	AUTO(limits_close) struct limits l;
	open_recorded(&l, "v2");
	assert_int_equal(limits_oom_kills(&l), 0);
	assert_int_equal(limits_memory_peak(&l), 209715200);
	assert_int_equal(l.memory_limit, UINT64_C(2) << 30);
	assert_int_equal(limits_memory_files(&l), 30 << 20);
	assert_int_equal(l.pids_limit, 512);
	assert_false(limits_pids_full(&l));
}

static void limits_of_an_old_cgroup_v2(void **state)
{
	AUTO(limits_close) struct limits l;
	open_recorded(&l, "v2-old");
	assert_int_equal(limits_oom_kills(&l), 0);
	assert_true(limits_memory_peak(&l) == LIMIT_UNKNOWN);
	assert_true(l.memory_limit == LIMIT_UNKNOWN);
	assert_true(l.pids_limit == LIMIT_UNKNOWN);
	assert_false(limits_pids_full(&l));
}

static void limits_are_unknown_without_files(void **state)
{
	AUTO(limits_close) struct limits l;
	limits_open(&l, "/nonexistent");
	assert_true(limits_oom_kills(&l) == LIMIT_UNKNOWN);
	assert_true(limits_memory_peak(&l) == LIMIT_UNKNOWN);
	assert_true(limits_memory_files(&l) == LIMIT_UNKNOWN);
	assert_true(limits_pids(&l) == LIMIT_UNKNOWN);
	assert_true(l.memory_limit == LIMIT_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_of_cgroup_v1),
		cmocka_unit_test(limits_of_cgroup_v2),
		cmocka_unit_test(limits_of_an_old_cgroup_v2),
		cmocka_unit_test(limits_are_unknown_without_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
