/* manager/model/limits: the limits that a create may request, and the errors otherwise. */
#include "base/alloc.h"
#include "manager/model/cause.h"
#include "manager/model/limits.h"
#include "tests/unit/unit.h"

#define MIB (1ull << 20)
#define GIB (1ull << 30)

static struct config config;

static int setup(void **state)
{
	config = (struct config){ .memory_limit = 2 * GIB,
				  .cpu_quota = 200000,
				  .pids_limit = 512,
				  .tmpfs_size = 200 * MIB,
				  .home_size = 4 * GIB };
	return 0;
}

static struct limits choose(struct limits_wanted wanted)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct limits l;
	if (limits_choose(&l, &config, &wanted, &f) < 0)
		fail_msg("%s", f.message);
	return l;
}

static void refuse(struct limits_wanted wanted, enum cause cause, const char *words)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct limits l;
	assert_int_equal(limits_choose(&l, &config, &wanted, &f), -1);
	assert_int_equal(f.kind, FAIL_INVALID);
	assert_int_equal(cause_of(&f), cause);
	if (!strstr(f.message, words))
		fail_msg("'%s' is not in '%s'", words, f.message);
}

static void the_default_limits_apply(void **state)
{
	struct limits l = choose((struct limits_wanted){ 0 });
	assert_true(l.memory == 2 * GIB && l.cpu_quota == 200000 && l.pids == 512 && l.tmpfs == 200 * MIB &&
		    l.home == 4 * GIB);
}

static void room_for_files_follows_the_memory_limit(void **state)
{
	assert_true(choose((struct limits_wanted){ .memory = 8 * GIB }).tmpfs == 800 * MIB);
	assert_true(choose((struct limits_wanted){ .memory = 2 * GIB }).tmpfs == 200 * MIB);
	assert_true(choose((struct limits_wanted){ .memory = GIB }).tmpfs == 100 * MIB);
	/* If all mounts are full, the remaining memory is at least the minimum that the settings require. */
	for (uint64_t memory = 320 * MIB; memory <= 8 * GIB; memory += 16 * MIB) {
		struct limits l = choose((struct limits_wanted){ .memory = memory });
		assert_true(l.tmpfs >= 31 * MIB && 2 * l.tmpfs + 256 * MIB <= memory && l.tmpfs % 4096 == 0);
	}
}

static void each_limit_can_be_set_alone(void **state)
{
	struct limits l = choose((struct limits_wanted){ .cpus = 0.5 });
	assert_true(l.cpu_quota == 50000 && l.memory == 2 * GIB && limits_cpus(&l) == 0.5);
	l = choose((struct limits_wanted){ .disk = 16 * GIB });
	assert_true(l.home == 16 * GIB && l.tmpfs == 200 * MIB);
}

static void limits_end_at_four_times_the_default(void **state)
{
	refuse((struct limits_wanted){ .memory = 9 * GIB }, CAUSE_TOO_MUCH,
	       "memory: 9g is more than a session may have here, 8g (four times CONTAINER_MEMORY_LIMIT");
	refuse((struct limits_wanted){ .cpus = 8.5 }, CAUSE_TOO_MUCH,
	       "cpus: 8.5 is more than a session may have here, 8 (");
	refuse((struct limits_wanted){ .disk = 16 * GIB + 1 }, CAUSE_TOO_MUCH, "disk: 17179869185 bytes is more");
	refuse((struct limits_wanted){ .memory = UINT64_MAX, .disk = UINT64_MAX }, CAUSE_TOO_MUCH, "memory: ");
}

static void settings_replace_the_upper_limits(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	config.memory_max = 3 * GIB;
	config.cpus_max = 3200000;
	config.disk_max = 100 * GIB;
	struct limits_wanted wanted = { .memory = 3 * GIB, .cpus = 32, .disk = 100 * GIB };
	struct limits l = choose(wanted);
	assert_true(l.memory == 3 * GIB && l.cpu_quota == 3200000 && l.home == 100 * GIB);
	assert_false(limits_need_machine(&config, &wanted));
	wanted.memory += MIB;
	assert_int_equal(limits_choose(&l, &config, &wanted, &f), -1);
	assert_string_equal(f.message, "memory: 3073m is more than a session may have here, 3g (CONTAINER_MEMORY_MAX)");
	assert_string_equal(
		f.hint,
		"Ask for 3g or less. Only the person who runs Husk can allow more, by CONTAINER_MEMORY_MAX in its settings.");
}

static void limits_that_are_too_small_are_rejected(void **state)
{
	refuse((struct limits_wanted){ .memory = 4 }, CAUSE_TOO_LITTLE,
	       "memory: 4 bytes is less than a session needs, 320m");
	refuse((struct limits_wanted){ .memory = 319 * MIB }, CAUSE_TOO_LITTLE, "memory: 319m");
	refuse((struct limits_wanted){ .disk = MIB }, CAUSE_TOO_LITTLE, "disk: 1m is less than a session needs, 16m");
	refuse((struct limits_wanted){ .cpus = 0.01 }, CAUSE_TOO_LITTLE,
	       "cpus: 0.01 is less than a session needs, 0.1");
}

static void an_invalid_number_of_cpus_is_rejected(void **state)
{
	const double bad[] = { -1, 1e300, 1.0 / 0.0, -1.0 / 0.0, 0.0 / 0.0 };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		refuse((struct limits_wanted){ .cpus = bad[i] }, CAUSE_TOO_MUCH, "is not a number of CPUs");
}

static void check(uint64_t memory, double cpus, struct limits_machine machine, const char *words)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct limits_wanted wanted = { .memory = memory, .cpus = cpus };
	assert_true(limits_need_machine(&config, &wanted));
	assert_int_equal(limits_check_machine(&config, &wanted, &machine, &f), words ? -1 : 0);
	if (words && !strstr(f.message, words))
		fail_msg("'%s' is not in '%s'", words, f.message);
}

static void limits_end_at_half_of_the_machine(void **state)
{
	assert_false(limits_need_machine(&config,
					 &(struct limits_wanted){ .memory = 2 * GIB, .cpus = 2, .disk = 16 * GIB }));
	check(6 * GIB, 0, (struct limits_machine){ 12 * GIB, 8 }, NULL);
	check(6 * GIB + MIB, 0, (struct limits_machine){ 12 * GIB, 8 },
	      "memory: 6145m is more than a session may have here, 6g");
	check(0, 4, (struct limits_machine){ 12 * GIB, 8 }, NULL);
	check(0, 5, (struct limits_machine){ 12 * GIB, 8 }, "cpus: 5 is more than a session may have here, 4");
	/* The maximum is at least the default that every session has. */
	check(3 * GIB, 2, (struct limits_machine){ 3 * GIB, 1 }, "memory: 3g is more than a session may have here, 2g");
	check(8 * GIB, 8, (struct limits_machine){ 0, 0 }, NULL);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_default_limits_apply),
		TEST(room_for_files_follows_the_memory_limit),
		TEST(each_limit_can_be_set_alone),
		TEST(limits_end_at_four_times_the_default),
		TEST(settings_replace_the_upper_limits),
		TEST(limits_that_are_too_small_are_rejected),
		TEST(an_invalid_number_of_cpus_is_rejected),
		TEST(limits_end_at_half_of_the_machine),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
