/* The advice of doctor about Podman. The options of its containers are in test-argv.c. */
#include "manager/doctor/doctor-private.h"
#include "tests/unit/unit.h"

static void expect(const struct checks *c, const char *name, enum check_status status, const char *words)
{
	for (size_t i = 0; i < c->n; i++) {
		if (!streq(c->v[i].name, name))
			continue;
		assert_int_equal(c->v[i].status, status);
		assert_non_null(strstr(c->v[i].detail, words));
		assert_true(status != CHECK_FAIL || c->v[i].fix);
		return;
	}
	fail_msg("no check '%s'", name);
}

static void test_podman_and_docker_are_not_confused(void **state)
{
	static const struct {
		const char *engine, *wanted;
		enum check_status status;
		const char *words;
	} cases[] = {
		{ "Podman Engine", "podman", CHECK_OK, "Podman Engine 4.3.1" },
		{ "Podman Engine", "docker", CHECK_FAIL, "CONTAINER_ENGINE is docker" },
		{ "Engine", "podman", CHECK_FAIL, "CONTAINER_ENGINE is podman" },
		{ "Other", "docker", CHECK_WARN, "not tested with it" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(checks_release) struct checks c = { 0 };
		struct engine_version version = { .name = (char *)cases[i].engine,
						  .version = (char *)"4.3.1",
						  .api = (char *)"1.41" };
		doctor_judge_engine(&c, cases[i].wanted, &version);
		expect(&c, "engine", cases[i].status, cases[i].words);
	}
}

static void test_a_rootless_engine_needs_cgroup_v2(void **state)
{
	AUTO(checks_release) struct checks c = { 0 };
	struct engine_info info = {
		.os_type = "linux", .rootless = true, .cgroup_version = "1", .cgroup_driver = "cgroupfs"
	};
	doctor_judge_info(&c, &info, "x86_64");
	expect(&c, "cgroups", CHECK_FAIL, "have no limits");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_podman_and_docker_are_not_confused),
		cmocka_unit_test(test_a_rootless_engine_needs_cgroup_v2),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
