/* manager/fence on the fake engine: the fence is set up when first needed and checked again, and its absence is
 * reported to sessions. */
#include "base/alloc.h"
#include "manager/manager.h"
#include "tests/unit/manager-bench.h"
#include "tests/unit/unit.h"

static struct bench b;
static struct fake *fake;
static struct manager *manager;
static struct conversation *conversation;

static struct {
	bool done;
	struct fail fail;
	char *session, *note;
} got;

static void forget(void)
{
	fail_release(&got.fail);
	free(got.session);
	free(got.note);
	memset(&got, 0, sizeof(got));
}

static void open_server(void)
{
	manager_bench_load(&b);
	b.config.max_sessions = b.config.max_sessions_per_thread = 20;
	manager = manager_new(b.loop, &b.config);
	conversation = conversation_open(manager, &(struct conversation_spec){ .id = "t" });
}

static int setup(void **state)
{
	fake = manager_bench_begin(&b);
	return 0;
}

static int teardown(void **state)
{
	manager_free(manager);
	forget();
	manager_bench_end(&b, fake);
	unsetenv("CONTAINER_NETWORK_FENCE");
	unsetenv("CONTAINER_NETWORK_PRIVATE");
	unsetenv("PIP_INDEX_URL");
	return 0;
}

static void on_created(void *ctx UNUSED, const struct create_result *result, const struct fail *f)
{
	got.done = true;
	if (f)
		fail_copy(&got.fail, f);
	got.session = result->session ? xstrdup(result->session->id) : NULL;
	got.note = result->note ? xstrdup(result->note) : NULL;
}

static void create(bool network)
{
	forget();
	assert_non_null(manager_create(
		conversation,
		&(struct create_request){ .runtime = runtime_find("r"), .network = network, .on_done = on_created },
		&got.fail));
	FAKE_UNTIL(fake, got.done);
}

static void only_sessions_with_a_network_need_the_fence(void **state)
{
	open_server();
	assert_int_equal(fake_fence_calls(fake), 0);
	create(/* network= */ false);
	assert_non_null(got.session);
	assert_int_equal(fake_fence_calls(fake), 0);
	create(/* network= */ true);
	assert_non_null(got.session);
	assert_null(got.note);
	assert_int_equal(fake_fence_calls(fake), 1);
	create(/* network= */ true);
	assert_int_equal(fake_fence_calls(fake), 1);
}

/* The user's first server sets nothing up. A later one sees in the store that there were sessions. */
static void open_later_server(void)
{
	open_server();
	conversation_wake(conversation);
	create(/* network= */ false);
	assert_int_equal(fake_fence_calls(fake), 0);
	manager_free(manager);
	config_release(&b.config);
	open_server();
	conversation_wake(conversation);
}

static void the_fence_is_set_up_before_the_first_create(void **state)
{
	open_later_server();
	FAKE_UNTIL(fake, fake_fence_calls(fake) == 1);
	loop_skip(b.loop, 10000);
	create(/* network= */ true);
	assert_non_null(got.session);
	assert_int_equal(fake_fence_calls(fake), 1);
}

/* Whether the container of a server's first create joins its network late. */
static bool first_joins_late(void)
{
	open_later_server();
	FAKE_UNTIL(fake, fake_fence_calls(fake) == 1);
	loop_skip(b.loop, 10000);
	create(/* network= */ true);
	assert_non_null(got.session);
	return fake_newest(fake)->spec.network_late;
}

static void a_first_session_joins_late_if_the_fence_shows_our_kernel(void **state)
{
	assert_true(first_joins_late());
}

static void a_first_session_joins_at_once_on_another_kernel(void **state)
{
	fake_capabilities(fake)->shares_kernel = SUPPORT_NO;
	assert_false(first_joins_late());
}

static void the_fence_proves_nothing_about_another_runtime(void **state)
{
	setenv("CONTAINER_RUNTIME", "other", 1);
	bool late = first_joins_late();
	unsetenv("CONTAINER_RUNTIME");
	assert_false(late);
}

static void a_failure_at_the_start_does_not_fail_a_later_session(void **state)
{
	fake_no_fence(fake, CAUSE_NOT_SUPPORTED);
	open_later_server();
	FAKE_UNTIL(fake, fake_fence_calls(fake) == 1);
	fake_no_fence(fake, CAUSE_NONE);
	create(/* network= */ true);
	assert_non_null(got.session);
	assert_null(got.note);
}

static void without_a_network_no_fence_is_set_up(void **state)
{
	setenv("CONTAINER_NETWORK_ENABLED", "false", 1);
	open_later_server();
	loop_skip(b.loop, 10000);
	assert_int_equal(fake_fence_calls(fake), 0);
	unsetenv("CONTAINER_NETWORK_ENABLED");
}

static void each_gc_round_checks_the_fence(void **state)
{
	open_server();
	create(/* network= */ true);
	loop_skip(b.loop, b.config.gc_interval * 1000);
	FAKE_UNTIL(fake, fake_fence_calls(fake) == 2);
}

static void addresses_in_settings_are_let_through(void **state)
{
	setenv("PIP_INDEX_URL", "http://user:secret@10.1.2.3:8080/simple/", 1);
	setenv("CONTAINER_NETWORK_PRIVATE", "192.168.1.0/24, fd12::/32", 1);
	open_server();
	create(/* network= */ true);
	const struct strv *openings = fake_openings(fake);
	assert_int_equal(openings->n, 3);
	assert_string_equal(openings->v[0], "192.168.1.0/24");
	assert_string_equal(openings->v[1], "fd12::/32");
	assert_string_equal(openings->v[2], "10.1.2.3/32,8080");
}

static void without_the_fence_a_session_gets_a_note(void **state)
{
	open_server();
	fake_no_fence(fake, CAUSE_NOT_SUPPORTED);
	create(/* network= */ true);
	assert_non_null(got.session);
	assert_non_null(strstr(got.note, "no firewall rules"));
	create(/* network= */ false);
	assert_null(got.note);
}

static void without_a_required_fence_a_create_fails(void **state)
{
	setenv("CONTAINER_NETWORK_FENCE", "require", 1);
	open_server();
	fake_no_fence(fake, CAUSE_NOT_SUPPORTED);
	create(/* network= */ true);
	assert_null(got.session);
	assert_int_equal(cause_of(&got.fail), CAUSE_NO_FENCE);
	FAKE_UNTIL(fake, fake_count(fake) == 0);
	create(/* network= */ false);
	assert_non_null(got.session);
}

static void an_engine_without_a_fence_is_not_asked_for_one(void **state)
{
	fake_capabilities(fake)->sets_fence = false;
	open_server();
	create(/* network= */ true);
	assert_non_null(got.session);
	assert_non_null(strstr(got.note, "no firewall rules on the engine 'fake'"));
	assert_int_equal(fake_fence_calls(fake), 0);
}

static void a_session_without_a_network_needs_an_engine_that_can_cut_it(void **state)
{
	fake_capabilities(fake)->cuts_network = false;
	open_server();
	struct create_request req = { .runtime = runtime_find("r"), .on_done = on_created };
	assert_null(manager_create(conversation, &req, &got.fail));
	assert_int_equal(cause_of(&got.fail), CAUSE_NOT_SUPPORTED);
	create(/* network= */ true);
	assert_non_null(got.session);
}

/* evidence: network-fence-kept */
static void a_lost_fence_blocks_creates_until_it_is_back(void **state)
{
	open_server();
	create(/* network= */ true);
	assert_non_null(got.session);
	fake_no_fence(fake, CAUSE_ENGINE_REFUSED);
	loop_skip(b.loop, b.config.gc_interval * 1000);
	FAKE_UNTIL(fake, fake_fence_calls(fake) == 2);
	create(/* network= */ true);
	assert_int_equal(cause_of(&got.fail), CAUSE_NO_FENCE);
	create(/* network= */ false);
	assert_non_null(got.session);
	fake_no_fence(fake, CAUSE_NONE);
	create(/* network= */ true);
	assert_non_null(got.session);
	assert_null(got.note);
}

static void a_network_outside_the_fence_gives_a_note(void **state)
{
	open_server();
	fake_capabilities(fake)->outside_fence = true;
	create(/* network= */ true);
	assert_non_null(got.session);
	assert_non_null(strstr(got.note, "older Husk"));
}

/* If one image is missing, another one may have the program. */
static void the_fence_needs_any_of_the_images(void **state)
{
	open_server();
	fake_fail(fake, FAKE_QUERY, 1, FAIL_IMAGE, CAUSE_NO_IMAGE, "no such image");
	create(/* network= */ true);
	assert_non_null(got.session);
	assert_null(got.note);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(only_sessions_with_a_network_need_the_fence, setup, teardown),
		cmocka_unit_test_setup_teardown(the_fence_is_set_up_before_the_first_create, setup, teardown),
		cmocka_unit_test_setup_teardown(a_first_session_joins_late_if_the_fence_shows_our_kernel, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_first_session_joins_at_once_on_another_kernel, setup, teardown),
		cmocka_unit_test_setup_teardown(the_fence_proves_nothing_about_another_runtime, setup, teardown),
		cmocka_unit_test_setup_teardown(a_failure_at_the_start_does_not_fail_a_later_session, setup, teardown),
		cmocka_unit_test_setup_teardown(without_a_network_no_fence_is_set_up, setup, teardown),
		cmocka_unit_test_setup_teardown(each_gc_round_checks_the_fence, setup, teardown),
		cmocka_unit_test_setup_teardown(addresses_in_settings_are_let_through, setup, teardown),
		cmocka_unit_test_setup_teardown(without_the_fence_a_session_gets_a_note, setup, teardown),
		cmocka_unit_test_setup_teardown(without_a_required_fence_a_create_fails, setup, teardown),
		cmocka_unit_test_setup_teardown(an_engine_without_a_fence_is_not_asked_for_one, setup, teardown),
		cmocka_unit_test_setup_teardown(a_session_without_a_network_needs_an_engine_that_can_cut_it, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_lost_fence_blocks_creates_until_it_is_back, setup, teardown),
		cmocka_unit_test_setup_teardown(a_network_outside_the_fence_gives_a_note, setup, teardown),
		cmocka_unit_test_setup_teardown(the_fence_needs_any_of_the_images, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
