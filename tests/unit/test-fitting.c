/* Foreign images on the fake engine: listed and unlisted, fitted once, unfit, with packages, and cancelled creates. */
#include "base/alloc.h"
#include "manager/manager.h"
#include "manager/model/config.h"
#include "manager/model/runtime.h"
#include "tests/unit/manager-bench.h"
#include "tests/unit/unit.h"

static struct bench b;
static struct fake *fake;
static struct manager *manager;
static struct conversation *conversation;

static struct {
	unsigned done, there;
	struct fail fail;
} got;

static int setup(void **state)
{
	fake = manager_bench_begin(&b);
	setenv("CONTAINER_IMAGES", "tools=mine:1, other=registry.local:5000/a/b@sha256:00", 1);
	manager_bench_load(&b);
	fake_image_add(fake, "mine:1", /* labels= */ NULL);
	manager = manager_new(b.loop, &b.config);
	conversation = conversation_open(manager, &(struct conversation_spec){ .id = "t" });
	return 0;
}

static int teardown(void **state)
{
	manager_free(manager);
	fail_release(&got.fail);
	memset(&got, 0, sizeof(got));
	unsetenv("CONTAINER_IMAGES");
	manager_bench_end(&b, fake);
	return 0;
}

static void on_created(void *ctx UNUSED, const struct create_result *result, const struct fail *f)
{
	got.done++;
	got.there += result->session != NULL;
	fail_release(&got.fail);
	if (f)
		fail_copy(&got.fail, f);
}

static struct op *start(const char *image)
{
	fail_release(&got.fail);
	return manager_create(
		conversation,
		&(struct create_request){ .runtime = runtime_find("python"), .image = image, .on_done = on_created },
		&got.fail);
}

static bool create(const char *image)
{
	memset(&got.done, 0, sizeof(got.done));
	if (!start(image))
		return false;
	FAKE_UNTIL(fake, got.done);
	return !got.fail.kind;
}

static void expect(enum cause cause, const char *words)
{
	assert_int_equal(cause_of(&got.fail), cause);
	if (!strstr(got.fail.message, words))
		fail_msg("'%s' is not in '%s'", words, got.fail.message);
	assert_non_null(got.fail.hint);
	assert_int_equal(fake_count(fake), 0);
}

static void an_image_is_fitted_once(void **state)
{
	assert_true(create("tools"));
	const char *image = fake_only(fake)->image;
	assert_int_equal(strncmp(image, "husk-fit:", 9), 0);
	assert_int_equal(fake_calls(fake, FAKE_BAKE), 1);
	AUTO(freep) char *first = xstrdup(image);
	fake_vanish(fake_only(fake));
	assert_true(create("tools"));
	assert_string_equal(fake_only(fake)->image, first);
	assert_int_equal(fake_calls(fake, FAKE_BAKE), 1);
	/* The image was removed. */
	fake_vanish(fake_only(fake));
	fake_image_remove(fake, first);
	assert_true(create("tools"));
	assert_int_equal(fake_calls(fake, FAKE_BAKE), 2);
}

static void concurrent_creates_share_the_fitting(void **state)
{
	got.done = 0;
	fake_hold(fake, FAKE_BAKE);
	assert_true(start("tools") && start("tools"));
	FAKE_UNTIL(fake, fake_pending(fake, FAKE_BAKE) == 1);
	fake_let_go(fake, FAKE_BAKE);
	FAKE_UNTIL(fake, got.done == 2);
	assert_int_equal(got.there, 2);
	assert_int_equal(fake_calls(fake, FAKE_BAKE), 1);
}

/* evidence: container-images */
static void an_unlisted_image_is_rejected_by_name(void **state)
{
	assert_null(start("mine:1"));
	expect(CAUSE_NOT_LISTED, "image: 'mine:1' is not offered here (offered: tools, other)");
	assert_int_equal(fake_calls(fake, FAKE_QUERY), 0);
}

static void a_missing_image_is_not_pulled(void **state)
{
	assert_false(create("other"));
	expect(CAUSE_UNFIT, "the image 'other' (registry.local:5000/a/b@sha256:00) is not on the engine");
	assert_non_null(strstr(got.fail.hint, "docker pull"));
}

/* evidence: container-images */
static void an_unfit_image_names_everything_it_lacks(void **state)
{
	fake_fit_says(fake, "{\"lacks\":[\"/bin/bash\",\"python3 on its PATH (/bin)\"]}\n", "/data");
	assert_false(create("tools"));
	expect(CAUSE_UNFIT,
	       "It lacks: a disk limit on its VOLUME /data (build it without that VOLUME); /bin/bash; python3 on its PATH (/bin)");
	/* A volume alone makes it unfit, and leaves no image that the next create would use. */
	fake_fit_says(fake, "{\"lacks\":[]}\n", "/data");
	assert_false(create("tools"));
	expect(CAUSE_UNFIT, "VOLUME /data");
	fake_fit_says(fake, NULL, NULL);
	assert_true(create("tools"));
}

static void hostile_reports_are_bounded(void **state)
{
	static const char *const texts[] = { "",
					     "no json",
					     "{\"lacks\":[1,null,{\"a\":\"\"}]}",
					     "{\"lacks\":\"x\"}",
					     "[]",
					     "{\"lacks\":[\"\\u001b[31mred\"]}" };
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		fake_fit_says(fake, texts[i], NULL);
		AUTO(freep) char *told = create("tools") ? NULL : xstrdup(got.fail.message);
		assert_true(!told || !strchr(told, '\033'));
		if (!told)
			fake_vanish(fake_only(fake));
	}
}

static void packages_are_installed_into_the_fitted_image(void **state)
{
	struct dependency wanted = { "pandas", "2.2.3" };
	got.done = 0;
	fake_hold(fake, FAKE_CREATE); /* holds the container that installs */
	struct op *op = manager_create(conversation,
				       &(struct create_request){ .runtime = runtime_find("python"),
								 .image = "tools",
								 .dependencies = &wanted,
								 .n_dependencies = 1,
								 .on_done = on_created },
				       &got.fail);
	assert_non_null(op);
	FAKE_UNTIL(fake, fake_pending(fake, FAKE_CREATE) == 1);
	fake_let_go(fake, FAKE_CREATE);
	FAKE_UNTIL(fake, fake_count(fake) == 1);
	assert_int_equal(strncmp(fake_only(fake)->image, "husk-fit:", 9), 0);
	op_cancel(op);
	assert_int_equal(got.done, 0);
}

static void a_cancelled_fitting_leaves_nothing(void **state)
{
	fake_hold(fake, FAKE_BAKE);
	struct op *op = start("tools");
	FAKE_UNTIL(fake, fake_pending(fake, FAKE_BAKE) == 1);
	op_cancel(op);
	assert_int_equal(fake_pending(fake, FAKE_BAKE), 0);
	assert_int_equal(fake_count(fake), 0);
	/* The same holds if the server ends during the fitting. */
	assert_non_null(start("tools"));
	FAKE_UNTIL(fake, fake_pending(fake, FAKE_BAKE) == 1);
	manager = manager_free(manager);
	assert_int_equal(fake_count(fake), 0);
}

static void bad_lists_are_refused(void **state)
{
	static const char *const bad[] = { "tools", "=x", "a=", "a=-x", "a b=x", "a=x;y", "a=x,a=y", "a=x y" };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		AUTO(fail_release) struct fail f = { 0 };
		struct config c;
		setenv("CONTAINER_IMAGES", bad[i], 1);
		assert_int_equal(config_load(&c, NULL, &f), -1);
		assert_non_null(strstr(f.message, "setting CONTAINER_IMAGES"));
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_image_is_fitted_once),
		TEST(concurrent_creates_share_the_fitting),
		TEST(an_unlisted_image_is_rejected_by_name),
		TEST(a_missing_image_is_not_pulled),
		TEST(an_unfit_image_names_everything_it_lacks),
		TEST(hostile_reports_are_bounded),
		TEST(packages_are_installed_into_the_fitted_image),
		TEST(a_cancelled_fitting_leaves_nothing),
		TEST(bad_lists_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
