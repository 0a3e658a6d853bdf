/* manager/doctor: what it says about engines that cannot do everything. */
#include "base/alloc.h"
#include "manager/doctor/doctor-private.h"
#include "tests/unit/unit.h"

static const struct check *find(const struct checks *c, const char *name)
{
	for (size_t i = 0; i < c->n; i++)
		if (streq(c->v[i].name, name))
			return &c->v[i];
	fail_msg("no check '%s'", name);
	return NULL;
}

static void expect(const struct checks *c, const char *name, enum check_status status, const char *words)
{
	const struct check *check = find(c, name);
	if (check->status != status || !strstr(check->detail, words))
		fail_msg("%s: status %d, '%s'", name, (int)check->status, check->detail);
	assert_true(status != CHECK_FAIL || check->fix);
}

static void test_capabilities(void **state)
{
	AUTO(checks_release) struct checks all = { 0 }, none = { 0 }, strict = { 0 };
	struct config config = { .network_enabled = true, .network_fence = FENCE_AUTO };
	struct engine_capabilities docker = { .bakes_images = true,
					      .feeds_events = true,
					      .sets_fence = true,
					      .cuts_network = true,
					      .measures_memory = true,
					      .reports_machine = true,
					      .lists_images = true };
	struct engine_capabilities cluster = { .feeds_events = true, .several_nodes = true };
	doctor_judge_capabilities(&all, &config, "docker", &docker);
	assert_int_equal(all.n, 0);
	doctor_judge_capabilities(&none, &config, "kubernetes", &cluster);
	expect(&none, "fence", CHECK_WARN, "Husk sets no firewall rules on kubernetes");
	expect(&none, "network off", CHECK_WARN, "refused");
	expect(&none, "dependencies", CHECK_WARN, "refused");
	expect(&none, "users", CHECK_WARN, "same user number");
	expect(&none, "memory use", CHECK_OK, "not shown");
	config.network_fence = FENCE_REQUIRE;
	doctor_judge_capabilities(&strict, &config, "kubernetes", &cluster);
	expect(&strict, "fence", CHECK_FAIL, "no session can start");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_capabilities),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
