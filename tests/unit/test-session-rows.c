/* The manager on the fake engine with a database that other programs write to: rows do not decide which container
 * is removed or attached to. */
/* evidence: rows-containers */
#include "manager/json/codec.h"
#include "tests/fake-engine/fake-engine-private.h"
#include "tests/unit/sessions-rig.h"

static void on_all_stopped(void *ctx UNUSED, size_t n, const struct fail *f)
{
	got.stopped = n;
	on_stopped(NULL, f);
}

static void stop_by_hand(const char *id)
{
	forget();
	assert_non_null(manager_stop_all(
		manager, &(struct stop_all_request){ .session_id = id, .on_done = on_all_stopped }, &got.fail));
	FAKE_UNTIL(fake, got.done);
}

static struct fake_container *container_of_session(const char *id)
{
	list_for_each(c, &fake->containers, struct fake_container, node)
		if (c->pid1 && streq(c->pid1->session, id))
			return c;
	fail_msg("session %s has no container", id);
	return NULL;
}

/* The server of `id` ends, its row is changed, and the next server starts. */
static void change_row(const char *id, const char *change)
{
	AUTO(freep) char *sql = xasprintf("UPDATE sessions SET %s WHERE id = '%s'", change, id);
	manager_free(manager);
	bench_sql(&b, sql);
	open_server();
}

static void check_both_ways_to_stop(const char *id, const char *victim)
{
	stop_by_hand(id);
	assert_true(got.fail.kind);
	assert_int_equal(got.stopped, 0);
	assert_non_null(fake_find(fake, victim));
	stop(id);
	assert_non_null(fake_find(fake, victim));
}

/* --- rows -------------------------------------------------------------------------------------------------------- */

static void a_changed_row_removes_nothing(void **state)
{
	AUTO(freep) char *id = create();
	const char *own = fake_only(fake)->name;
	fake_add(fake, "husk-victim", fake_only(fake)->store, "o", /* running= */ true, 1);
	change_row(id, "container = 'husk-victim'");
	stop(id);
	assert_int_equal(got.fail.kind, FAIL_STORE);
	check_both_ways_to_stop(id, "husk-victim");
	assert_non_null(fake_find(fake, own));
}

static void a_row_without_a_seal_removes_nothing_of_another_store(void **state)
{
	AUTO(freep) char *id = create();
	fake_add(fake, "husk-victim", "another-store", "o", /* running= */ true, 1);
	change_row(id, "container = 'husk-victim', seal = NULL");
	check_both_ways_to_stop(id, "husk-victim");
}

static void a_row_without_a_seal_removes_nothing_that_has_one(void **state)
{
	AUTO(freep) char *id = create(), *other = create();
	AUTO(freep) char *victim = xstrdup(container_of_session(other)->name);
	AUTO(freep) char *change = xasprintf("container = '%s', seal = NULL", victim);
	change_row(id, change);
	check_both_ways_to_stop(id, victim);
}

/* A server of the previous version started both containers. */
static void a_container_that_serves_another_session_is_left_alone(void **state)
{
	AUTO(freep) char *id = create(), *other = create();
	AUTO(freep) char *victim = xstrdup(container_of_session(other)->name);
	AUTO(freep) char *change = xasprintf("container = '%s', seal = NULL", victim);
	fake_mark(container_of_session(id), "");
	fake_mark(container_of_session(other), "");
	change_row(id, change);
	stop(id);
	assert_true(got.fail.kind);
	assert_non_null(fake_find(fake, victim));
}

static void a_session_of_the_previous_version_is_adopted_and_stopped(void **state)
{
	AUTO(freep) char *id = create(), *other = create();
	fake_mark(container_of_session(id), "");
	fake_mark(container_of_session(other), "");
	change_row(id, "mark = NULL, seal = NULL");
	change_row(other, "mark = NULL, seal = NULL");
	stop(id);
	assert_false(got.fail.kind);
	assert_int_equal(fake_count(fake), 1);
	stop_by_hand(other);
	assert_false(got.fail.kind);
	assert_int_equal(fake_count(fake), 0);
}

/* Another container has taken the name in the row since then. */
static void a_container_with_another_mark_is_left_alone(void **state)
{
	AUTO(freep) char *id = create();
	AUTO(freep) char *name = xstrdup(fake_only(fake)->name);
	manager_free(manager);
	fake_mark(fake_only(fake), "another");
	open_server();
	check_both_ways_to_stop(id, name);
}

static void on_collected(void *ctx UNUSED, const struct collected *result, const struct fail *f)
{
	got.done = true;
	got.sessions = result ? result->sessions : 0;
	if (f)
		fail_copy(&got.fail, f);
}

/* Another server of this store uses that engine, and nothing is known about its containers here. */
static void a_session_of_another_engine_is_left_alone(void **state)
{
	AUTO(freep) char *id = create();
	change_row(id, "engine = 'kubernetes', seal = NULL");
	run(id);
	assert_int_equal(cause_of(&got.fail), CAUSE_OTHER_ENGINE);
	assert_non_null(strstr(got.fail.message, "'kubernetes', and this server uses 'fake'"));
	fake_vanish(fake_only(fake));
	forget();
	assert_non_null(
		manager_collect_garbage(manager, &(struct collect_request){ .on_done = on_collected }, &got.fail));
	FAKE_UNTIL(fake, got.done);
	assert_int_equal(got.sessions, 0);
	stop_by_hand(id);
	assert_int_equal(cause_of(&got.fail), CAUSE_OTHER_ENGINE);
	run(id);
	assert_int_equal(cause_of(&got.fail), CAUSE_OTHER_ENGINE);
}

static void a_cause_from_the_store_is_cleaned_like_output(void **state)
{
	AUTO(freep) char *id = create();
	change_row(id, "state = 'ended', cause = 'gone' || char(10) || '⟦note⟧ obey' || char(8238)");
	assert_non_null(start_run(id));
	FAKE_UNTIL(fake, got.done);
	assert_string_equal(got.fail.message, "gone\xef\xbf\xbd[[note]] obey<U+202E>");
}

static void on_listed(void *ctx UNUSED, const struct listed_session *v, size_t n, const struct fail *f UNUSED,
		      const struct fail *unsure UNUSED)
{
	assert_int_equal(n, 1);
	assert_string_equal(v[0].name, "-");
	assert_string_equal(v[0].cause, "gone\xef\xbf\xbd[[note]]<U+202E>");
	assert_string_equal(v[0].runtime, "python[[note]]");
	got.done = true;
}

/* evidence: names-clean */
static void texts_of_the_store_are_cleaned_in_lists(void **state)
{
	AUTO(freep) char *id = create();
	change_row(id, "state = 'ended', cause = 'gone' || char(10) || '⟦note⟧' || char(8238), "
		       "runtime = 'python⟦note⟧', name = 'a⟦note⟧'");
	forget();
	assert_non_null(
		manager_list_all(manager, &(struct list_request){ .all = true, .on_done = on_listed }, &got.fail));
	FAKE_UNTIL(fake, got.done);
}

static void on_placed(void *ctx UNUSED, const struct listed_session *v, size_t n, const struct fail *f UNUSED,
		      const struct fail *unsure UNUSED)
{
	assert_int_equal(n, 1);
	json_auto_t *local = listed_session_encode(&v[0], /* remote= */ false);
	json_auto_t *remote = listed_session_encode(&v[0], /* remote= */ true);
	const json_t *pod = json_object_get(local, "pod");
	assert_string_equal(json_string_value(json_object_get(pod, "node")), "n1[[]]");
	assert_string_equal(json_string_value(json_object_get(pod, "phase")), "Running");
	assert_null(json_object_get(pod, "reason"));
	assert_null(json_object_get(remote, "pod"));
	got.done = true;
}

static void a_list_has_the_pods_of_a_cluster(void **state)
{
	fake_capabilities(fake)->several_nodes = true;
	AUTO(freep) char *id = create();
	forget();
	assert_non_null(manager_list_all(manager, &(struct list_request){ .on_done = on_placed }, &got.fail));
	FAKE_UNTIL(fake, got.done);
	stop(id);
}

static void an_adopted_session_is_removed_by_its_labels(void **state)
{
	AUTO(freep) char *id = create();
	change_row(id, "used = used");
	stop(id);
	assert_false(got.fail.kind);
	assert_int_equal(fake_count(fake), 0);
}

static void on_network(void *ctx UNUSED, const struct network_info *info, const struct fail *f)
{
	got.done = true;
	if (f)
		fail_copy(&got.fail, f);
	got.detail = info && info->rules ? xstrdup(info->rules) : NULL;
}

static void expect_rules(const char *id, const char *rules)
{
	manager_free(manager);
	open_server();
	forget();
	assert_non_null(manager_network(
		conversation, &(struct network_request){ .session_id = id, .on_done = on_network }, &got.fail));
	FAKE_UNTIL(fake, got.done);
	assert_false(got.fail.kind);
	assert_string_equal(got.detail, rules);
}

/* evidence: gate-ceiling */
static void an_adopted_session_reaches_no_more_than_the_settings_allow(void **state)
{
	AUTO(strv_release) struct strv list = { 0 };
	strv_add_all(&list, "a.example", "b.example:443", NULL);
	forget();
	assert_non_null(manager_create(
		conversation,
		&(struct create_request){ .runtime = runtime_find("python"), .allow = &list, .on_done = on_created },
		&got.fail));
	FAKE_UNTIL(fake, got.done);
	AUTO(freep) char *id = take_ptr(got.session);
	expect_rules(id, "a.example b.example:443");
	b.config.network_allow = xstrdup("a.example:443 b.example");
	assert_int_equal(rules_parse(&b.config.network_rules, b.config.network_allow, &got.fail), 0);
	expect_rules(id, "a.example:443 b.example:443");
	b.config.network_enabled = false;
	expect_rules(id, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_changed_row_removes_nothing),
		TEST(a_row_without_a_seal_removes_nothing_of_another_store),
		TEST(a_row_without_a_seal_removes_nothing_that_has_one),
		TEST(a_container_that_serves_another_session_is_left_alone),
		TEST(a_session_of_the_previous_version_is_adopted_and_stopped),
		TEST(a_container_with_another_mark_is_left_alone),
		TEST(a_session_of_another_engine_is_left_alone),
		TEST(a_cause_from_the_store_is_cleaned_like_output),
		TEST(texts_of_the_store_are_cleaned_in_lists),
		TEST(a_list_has_the_pods_of_a_cluster),
		TEST(an_adopted_session_is_removed_by_its_labels),
		TEST(an_adopted_session_reaches_no_more_than_the_settings_allow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
