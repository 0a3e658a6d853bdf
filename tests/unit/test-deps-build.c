/* manager/deps on the fake engine: sets are built once, shared, kept, and leave nothing behind when they fail. */
#include "base/alloc.h"
#include "kernels/protocol.h"
#include "manager/deps/deps.h"
#include "manager/deps/set.h"
#include "tests/fake-engine/fake-pid1.h"
#include "tests/unit/store-bench.h"
#include "tests/unit/unit.h"

static struct bench b;
static struct answer a;
static struct fake *fake;
static struct engine *engine;
static struct deps *deps;

/* The results of one caller. */
struct caller {
	struct deps_wait *wait;
	size_t done;
	char *image, *versions;
	struct fail fail;
	struct buf output;
};

static struct caller one, two;
static struct fence *fence;

static void caller_release(struct caller *c)
{
	free(c->image);
	free(c->versions);
	fail_release(&c->fail);
	buf_release(&c->output);
	*c = (struct caller){ 0 };
}

static struct deps *open_deps(const char *owner)
{
	return deps_new(&(struct deps_spec){ .loop = b.loop,
					     .engine = engine,
					     .config = &b.config,
					     .store = b.store,
					     .fence = fence,
					     .owner = owner });
}

static int setup(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	bench_init(&b);
	b.config.network_enabled = true;
	b.config.dependency_timeout = 600;
	b.config.dependency_max_size = 1ull << 30;
	b.config.dependency_cache_size = 1ull << 40;
	b.config.dependency_max_age_days = 7;
	fake_on_call = NULL;
	fake = fake_new(b.loop, &fake_pid1_script);
	engine = engine_open(FAKE_NAME, &(struct engine_options){ .loop = b.loop }, &f);
	fence = fence_new(&(struct fence_options){ .loop = b.loop,
						   .engine = engine,
						   .config = &b.config,
						   .owner = "this-server",
						   .urls = &(struct strv){ 0 } });
	deps = open_deps("this-server");
	return engine ? 0 : -1;
}

static int teardown(void **state)
{
	deps_free(deps);
	fence_free(fence);
	engine->ops->free(engine);
	fake_free(fake);
	caller_release(&one);
	caller_release(&two);
	answer_release(&a);
	bench_release(&b);
	return 0;
}

static void on_done(void *ctx, const char *image, const char *versions, const struct fail *f)
{
	struct caller *c = ctx;
	c->done++;
	c->wait = NULL;
	if (f)
		fail_copy(&c->fail, f);
	c->image = image ? xstrdup(image) : NULL;
	c->versions = versions ? xstrdup(versions) : NULL;
}

static void on_output(void *ctx, const char *text, size_t n)
{
	struct caller *c = ctx;
	buf_add(&c->output, text, n);
}

static const struct runtime *python(void)
{
	return runtime_find("python");
}

static void ask(struct caller *c, const char *name, const char *version)
{
	struct dependency wanted = { .name = name, .version = version };
	caller_release(c);
	c->wait = deps_get(deps, &(struct deps_request){ .runtime = python(),
							 .v = &wanted,
							 .n = 1,
							 .on_output = on_output,
							 .on_done = on_done,
							 .ctx = c });
	assert_int_equal(c->done, 0);
}

static void get(struct caller *c, const char *name, const char *version)
{
	ask(c, name, version);
	FAKE_UNTIL(fake, c->done);
	assert_int_equal(c->done, 1);
}

static size_t rows(void)
{
	ask_sets(&b, &a);
	assert_false(a.fail.kind);
	return a.n;
}

static void assert_nothing_is_left(const struct caller *c)
{
	FAKE_UNTIL(fake, fake_count(fake) == 0);
	assert_false(c->image && fake_image_is_there(fake, c->image));
	assert_int_equal(rows(), 0);
}

/* --- a build ----------------------------------------------------------------------------------------------------- */

static void a_set_is_built_once_and_kept(void **state)
{
	get(&one, "six", "==1.0");
	if (one.fail.kind)
		fail_msg("%s", one.fail.message);
	assert_string_equal(one.versions, "{\"six\":\"1.0\"}");
	assert_true(fake_image_is_there(fake, one.image));
	FAKE_UNTIL(fake, fake_count(fake) == 0);
	assert_int_equal(rows(), 1);
	get(&two, "six", "==1.0");
	assert_false(two.fail.kind);
	assert_string_equal(two.image, one.image);
	assert_int_equal(fake_calls(fake, FAKE_BAKE), 1);
	assert_int_equal(fake_calls(fake, FAKE_CREATE), 1);
}

static void concurrent_requests_share_a_build(void **state)
{
	ask(&one, "six", "");
	ask(&two, "six", "");
	FAKE_UNTIL(fake, one.done && two.done);
	assert_false(one.fail.kind || two.fail.kind);
	assert_string_equal(one.image, two.image);
	assert_int_equal(fake_calls(fake, FAKE_CREATE), 1);
}

static struct fake_container *install_container(void)
{
	FAKE_UNTIL(fake,
		   one.done || (fake_count(fake) == 1 && fake_only(fake)->pid1 && fake_only(fake)->pid1->last_call));
	if (one.done)
		fail_msg("it has ended already: %s", one.fail.kind ? one.fail.message : one.versions);
	return fake_only(fake);
}

static void do_nothing(struct fake_container *c UNUSED, struct fake_call *call UNUSED)
{
}

static void the_container_is_an_installer_and_claimed(void **state)
{
	fake_on_call = do_nothing;
	ask(&one, "six", "");
	struct fake_container *c = install_container();
	assert_true(c->spec.install && c->spec.network);
	assert_string_equal(c->image, python()->image);
	assert_string_equal(c->store, store_id(b.store));
	assert_string_equal(c->owner, "this-server");
	assert_int_equal(c->pid1->claims, 1);
	assert_string_equal(c->pid1->session, "");
	struct fake_call *call = fake_call_find(c, c->pid1->last_call);
	assert_int_equal(call->type, FRAME_INSTALL);
	assert_string_equal(call->text, "{\"six\":\"\"}");
}

static void installer_output_is_passed_on(void **state)
{
	fake_on_call = do_nothing;
	ask(&one, "six", "");
	struct fake_container *c = install_container();
	fake_call_out(c, fake_call_find(c, c->pid1->last_call), "Collecting six\n");
	FAKE_UNTIL(fake, one.output.len);
	assert_string_equal(buf_str(&one.output), "Collecting six\n");
}

/* --- failures ---------------------------------------------------------------------------------------------------- */

static void a_failed_install_is_reported_and_leaves_nothing(void **state)
{
	fake_on_call = do_nothing;
	ask(&one, "six", "==99");
	struct fake_container *c = install_container();
	struct fake_call *call = fake_call_find(c, c->pid1->last_call);
	fake_call_out(c, call, "ERROR: no such version\n");
	fake_call_end(c, call, "error");
	FAKE_UNTIL(fake, one.done);
	assert_int_equal(one.fail.kind, FAIL_INSTALL);
	assert_int_equal(cause_of(&one.fail), CAUSE_INSTALL_FAILED);
	assert_non_null(strstr(one.fail.message, "no such version"));
	assert_nothing_is_left(&one);
}

static void an_installer_that_hangs_times_out(void **state)
{
	fake_on_call = do_nothing;
	ask(&one, "six", "");
	install_container();
	loop_skip(b.loop, (b.config.dependency_timeout + 120) * 1000);
	FAKE_UNTIL(fake, one.done);
	assert_int_equal(cause_of(&one.fail), CAUSE_INSTALL_TIME);
	assert_nothing_is_left(&one);
}

static void a_container_that_dies_fails_the_build(void **state)
{
	fake_on_call = do_nothing;
	ask(&one, "six", "");
	fake_die(install_container(), 137, /* oom= */ true);
	FAKE_UNTIL(fake, one.done);
	assert_true(one.fail.kind);
	assert_nothing_is_left(&one);
}

static void an_engine_that_fails_at_the_end_leaves_nothing(void **state)
{
	fake_fail(fake, FAKE_BAKE, 1, FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "no space");
	get(&one, "six", "");
	assert_int_equal(cause_of(&one.fail), CAUSE_ENGINE_REFUSED);
	assert_nothing_is_left(&one);
	get(&one, "six", ""); /* the next create tries again */
	assert_false(one.fail.kind);
}

static void an_engine_that_cannot_commit_rejects_dependencies(void **state)
{
	fake_capabilities(fake)->bakes_images = false;
	get(&one, "six", "");
	assert_int_equal(cause_of(&one.fail), CAUSE_NOT_SUPPORTED);
	assert_int_equal(fake_calls(fake, FAKE_CREATE), 0);
	assert_nothing_is_left(&one);
}

/* evidence: network-ceiling */
static void without_the_network_only_cached_sets_are_used(void **state)
{
	get(&one, "six", "");
	b.config.network_enabled = false;
	loop_skip(b.loop, 8ull * 86400000);
	get(&two, "six", "");
	assert_false(two.fail.kind);
	assert_string_equal(two.image, one.image);
	get(&two, "seven", "");
	assert_int_equal(cause_of(&two.fail), CAUSE_NETWORK_OFF);
	assert_int_equal(fake_calls(fake, FAKE_CREATE), 1);
}

static void the_last_cancel_ends_the_build(void **state)
{
	static const enum fake_op ops[] = { FAKE_QUERY, FAKE_CREATE, FAKE_BAKE };
	for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
		fake_hold(fake, ops[i]);
		ask(&one, "six", "");
		ask(&two, "six", "");
		FAKE_UNTIL(fake, fake_pending(fake, ops[i]) == 1);
		deps_cancel(take_ptr(one.wait));
		assert_int_equal(fake_pending(fake, ops[i]), 1);
		deps_cancel(take_ptr(two.wait));
		fake_let_go(fake, ops[i]);
		assert_nothing_is_left(&one);
		assert_int_equal(one.done + two.done, 0);
	}
}

/* --- the cache --------------------------------------------------------------------------------------------------- */

static void a_removed_set_is_rebuilt(void **state)
{
	get(&one, "six", "");
	fake_image_remove(fake, one.image);
	get(&two, "six", "");
	assert_false(two.fail.kind);
	assert_true(fake_image_is_there(fake, two.image));
	assert_int_equal(fake_calls(fake, FAKE_BAKE), 2);
}

static void open_versions_expire_and_pinned_ones_do_not(void **state)
{
	get(&one, "six", "");
	get(&two, "six", "==1.0");
	loop_skip(b.loop, 8ull * 86400000);
	get(&two, "six", "==1.0");
	assert_int_equal(fake_calls(fake, FAKE_BAKE), 2);
	get(&one, "six", "");
	assert_int_equal(fake_calls(fake, FAKE_BAKE), 3);
	assert_false(one.fail.kind || two.fail.kind);
}

static void the_least_recently_used_sets_are_removed(void **state)
{
	b.config.dependency_cache_size = 2500; /* a set of the fake is 1000 bytes */
	char *images[3];
	static const char *const names[] = { "a", "b", "c" };
	for (size_t i = 0; i < 3; i++) {
		get(&one, names[i], "");
		images[i] = take_ptr(one.image);
		loop_skip(b.loop, 1000); /* their times of use must differ */
	}
	FAKE_UNTIL(fake, !fake_image_is_there(fake, images[0]));
	assert_true(fake_image_is_there(fake, images[1]) && fake_image_is_there(fake, images[2]));
	FAKE_UNTIL(fake, rows() == 2);
	for (size_t i = 0; i < 3; i++)
		free(images[i]);
}

/* evidence: rows-images */
/* Write access to the database must not decide which image is removed. */
static void a_row_does_not_choose_the_image_that_is_removed(void **state)
{
	b.config.dependency_cache_size = 1500;
	fake_image_add(fake, "precious:1", NULL);
	get(&one, "a", "");
	AUTO(freep) char *oldest = take_ptr(one.image);
	bench_sql(&b, "UPDATE dependency_sets SET image = 'precious:1'");
	bench_sql(
		&b,
		"INSERT INTO dependency_sets (key, image, runtime, wanted, unpinned, size, built, used, builder_until) "
		"VALUES ('x --force', 'precious:1', 'python', '[]', 0, 1000, 1, 1, 0)");
	loop_skip(b.loop, 1000);
	get(&one, "b", "");
	FAKE_UNTIL(fake, !fake_image_is_there(fake, oldest));
	FAKE_UNTIL(fake, rows() == 1);
	assert_true(fake_image_is_there(fake, "precious:1"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_set_is_built_once_and_kept),
		TEST(concurrent_requests_share_a_build),
		TEST(the_container_is_an_installer_and_claimed),
		TEST(installer_output_is_passed_on),
		TEST(a_failed_install_is_reported_and_leaves_nothing),
		TEST(an_installer_that_hangs_times_out),
		TEST(a_container_that_dies_fails_the_build),
		TEST(an_engine_that_fails_at_the_end_leaves_nothing),
		TEST(an_engine_that_cannot_commit_rejects_dependencies),
		TEST(without_the_network_only_cached_sets_are_used),
		TEST(the_last_cancel_ends_the_build),
		TEST(a_removed_set_is_rebuilt),
		TEST(open_versions_expire_and_pinned_ones_do_not),
		TEST(the_least_recently_used_sets_are_removed),
		TEST(a_row_does_not_choose_the_image_that_is_removed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
