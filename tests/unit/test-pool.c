/* manager/engine/pool over three fake engines. */
#include "base/alloc.h"
#include "manager/engine/pool/pool.h"
#include "manager/model/config.h"
#include "manager/model/runtime.h"
#include "tests/fake-engine/fake-pid1.h"
#include "tests/unit/unit.h"

#define HOSTS 3

static struct bench {
	struct loop *loop;
	struct fake *fakes[HOSTS];
	struct engine *pool;
	struct engine_stream *stream;
	struct engine_watch *watch;
	struct engine_query *query;
	size_t done;
	struct fail fail;
	char host[POOL_HOST_SIZE];
	struct buf text;
	size_t n;
	struct strv away;
	bool closed;
} b;

static const char *const names[HOSTS] = { "big", "small", "gpu" };

static int setup(void **state)
{
	AUTO(strv_release) struct strv list = { 0 };
	struct engine *engines[HOSTS];
	b = (struct bench){ .loop = loop_new() };
	for (size_t i = 0; i < HOSTS; i++) {
		strv_add(&list, names[i]);
		b.fakes[i] = fake_new(b.loop, &fake_pid1_script);
		engines[i] = engine_open(FAKE_NAME, &(struct engine_options){ .loop = b.loop }, &b.fail);
	}
	b.pool = pool_new(b.loop, &list, engines);
	return 0;
}

static int teardown(void **state)
{
	b.pool->ops->stream_free(b.stream);
	b.pool->ops->watch_free(b.watch);
	b.pool->ops->query_free(b.query);
	b.pool->ops->free(b.pool);
	for (size_t i = 0; i < HOSTS; i++)
		fake_free(b.fakes[i]);
	loop_free(b.loop);
	fail_release(&b.fail);
	buf_release(&b.text);
	strv_release(&b.away);
	return 0;
}

static void end(const struct fail *f)
{
	b.done++;
	fail_release(&b.fail);
	if (f)
		fail_copy(&b.fail, f);
}

static void on_done(void *ctx UNUSED, const struct fail *f)
{
	end(f);
}

static void on_created(void *ctx UNUSED, const struct engine_created *created UNUSED, const struct fail *f)
{
	end(f);
}

static void on_answer(void *ctx UNUSED, const struct engine_answer *a, const struct fail *f)
{
	/* Both stay valid. */
	b.query = b.pool->ops->query_free(b.query);
	buf_reset(&b.text);
	if (a && a->kind == ENGINE_QUERY_HOST)
		snprintf(b.host, sizeof(b.host), "%s", a->host);
	for (size_t i = 0; a && a->kind == ENGINE_QUERY_CONTAINERS && i < a->containers.n; i++)
		buf_printf(&b.text, "%s on %s\n", a->containers.v[i].name, a->containers.v[i].node);
	for (size_t i = 0; a && a->kind == ENGINE_QUERY_CONTAINERS && i < a->containers.away.n; i++)
		buf_printf(&b.text, "away: %s\n", a->containers.away.v[i]);
	for (size_t i = 0; a && a->kind == ENGINE_QUERY_HOSTS && i < a->hosts.n; i++)
		buf_printf(&b.text, "%s: %s\n", a->hosts.v[i].name, a->hosts.v[i].failure ? "away" : "up");
	end(f);
}

static void wait_for(size_t done)
{
	FAKE_UNTIL(b.fakes[0], b.done > done);
}

static void ask(const struct query_spec *spec)
{
	size_t before = b.done;
	struct query_spec own = *spec;
	own.done = on_answer;
	b.pool->ops->query_free(b.query);
	b.query = b.pool->ops->query(b.pool, &own, &b.fail);
	assert_non_null(b.query);
	assert_int_equal(b.done, before); /* the callback never runs inside the call */
	wait_for(before);
}

static const char *choose(const char *on, bool network)
{
	struct place_spec place = { .on = on, .memory = 1 << 30, .network = network };
	*b.host = '\0';
	ask(&(struct query_spec){ .kind = ENGINE_QUERY_HOST, .place = &place });
	return b.host;
}

static const char *list(enum engine_query_kind kind)
{
	ask(&(struct query_spec){ .kind = kind, .subject = "s" });
	return buf_str(&b.text);
}

static void create(const char *name)
{
	size_t n, before = b.done;
	const char *image = runtime_list(&n)[0].image;
	struct container_spec spec = { .name = name, .image = image, .store = "s", .owner = "o", .lease = 300 };
	b.pool->ops->create(b.pool, &spec, on_created, NULL);
	wait_for(before);
}

static void set_fence(bool check_only)
{
	size_t n;
	AUTO(strv_release) struct strv openings = { 0 };
	strv_add(&openings, "10.0.0.1/32");
	struct fence_spec fence = { .image = runtime_list(&n)[0].image,
				    .owner = "o",
				    .openings = &openings,
				    .seconds = 9,
				    .check_only = check_only };
	ask(&(struct query_spec){ .kind = ENGINE_QUERY_FENCE, .fence = &fence });
}

static void no_event(void *ctx UNUSED, const struct engine_event *event)
{
	buf_printf(&b.text, "%s ", event->container);
}

static void on_watch_closed(void *ctx UNUSED)
{
	b.closed = true;
}

static void watch(void)
{
	struct watch_handler handler = { .on_event = no_event, .on_closed = on_watch_closed };
	b.watch = b.pool->ops->watch(b.pool, "s", &handler, &b.fail);
	assert_non_null(b.watch);
}

/* The host's next check has ended. */
static void check(void)
{
	size_t before = fake_calls(b.fakes[2], FAKE_QUERY);
	loop_skip(b.loop, 5000);
	FAKE_UNTIL(b.fakes[2], fake_calls(b.fakes[2], FAKE_QUERY) > before && !fake_pending(b.fakes[2], FAKE_QUERY));
}

static void containers_are_spread(void **state)
{
	size_t n[HOSTS] = { 0 };
	for (int i = 0; i < 6; i++) {
		const char *host = choose(NULL, false);
		for (size_t k = 0; k < HOSTS; k++)
			n[k] += streq(host, names[k]);
	}
	for (size_t k = 0; k < HOSTS; k++)
		assert_int_equal(n[k], 2);
	assert_string_equal(choose("gpu", false), "gpu");
	assert_string_equal(choose("nowhere", false), "");
	assert_int_equal(b.fail.kind, FAIL_INVALID);
	assert_string_equal(b.fail.message, "on: there is no host 'nowhere'; the hosts are big, small, gpu");
}

static void calls_go_to_the_host_of_the_container(void **state)
{
	create("husk-a.small");
	assert_int_equal(b.fail.kind, FAIL_NONE);
	assert_int_equal(fake_count(b.fakes[1]), 1);
	assert_int_equal(fake_count(b.fakes[0]) + fake_count(b.fakes[2]), 0);
	create("husk-b.gpu");
	assert_string_equal(list(ENGINE_QUERY_CONTAINERS), "husk-a.small on small\nhusk-b.gpu on gpu\n");
	size_t before = b.done;
	b.pool->ops->remove(b.pool, &(struct container_ref){ .name = "husk-a.small" }, on_done, NULL);
	wait_for(before);
	assert_int_equal(fake_count(b.fakes[1]), 0);
	before = b.done;
	b.pool->ops->prune(b.pool, 9, on_done, NULL);
	wait_for(before);
	for (size_t i = 0; i < HOSTS; i++)
		assert_int_equal(fake_calls(b.fakes[i], FAKE_PRUNE), 1);
	/* The pool may have changed since. */
	create("husk-c.old");
	assert_string_equal(b.fail.message, "the host 'old' is not in CONTAINER_POOL");
	create("husk-d");
	assert_int_equal(b.fail.kind, FAIL_ENGINE);
}

static void a_host_that_is_away_gets_no_containers(void **state)
{
	watch();
	fake_go_down(b.fakes[2]);
	for (int i = 0; i < 6; i++)
		assert_string_not_equal(choose(NULL, false), "gpu");
	assert_string_equal(choose("gpu", false), "");
	assert_non_null(strstr(b.fail.message, "the host 'gpu' cannot be used now: "));
	create("husk-a.gpu");
	assert_memory_equal(b.fail.message, "host 'gpu': ", 12);
	assert_string_equal(list(ENGINE_QUERY_CONTAINERS), "away: gpu\n");
	assert_string_equal(list(ENGINE_QUERY_HOSTS), "big: up\nsmall: up\ngpu: away\n");
	fake_come_up(b.fakes[2]);
	check();
	assert_string_equal(choose("gpu", false), "gpu");
	create("husk-a.gpu");
	fake_die(fake_only(b.fakes[2]), 1, false);
	FAKE_UNTIL(b.fakes[2], strstr(buf_str(&b.text), "husk-a.gpu"));
	assert_false(b.closed);
}

/* A failure that does not take the host down. */
static void a_failed_list_is_not_requested_again(void **state)
{
	assert_string_not_equal(choose(NULL, false), "");
	fake_fail(b.fakes[2], FAKE_QUERY, 1, FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "refused");
	assert_string_equal(list(ENGINE_QUERY_CONTAINERS), "away: gpu\n");
	assert_string_equal(list(ENGINE_QUERY_CONTAINERS), "");
}

static void without_any_host_the_reasons_are_listed(void **state)
{
	for (size_t i = 0; i < HOSTS; i++)
		fake_go_down(b.fakes[i]);
	assert_string_equal(choose(NULL, false), "");
	assert_int_equal(b.fail.cause, CAUSE_NO_ENGINE);
	assert_memory_equal(b.fail.message, "no host of CONTAINER_POOL can be used: big: ", 44);
	set_fence(/* check_only= */ false);
	assert_int_equal(b.fail.kind, FAIL_ENGINE);
}

static void a_lost_host_is_noticed_by_its_events(void **state)
{
	assert_string_not_equal(choose(NULL, false), "");
	watch();
	fake_go_down(b.fakes[0]);
	FAKE_UNTIL(b.fakes[0], strstr(list(ENGINE_QUERY_HOSTS), "big: away"));
	assert_false(b.closed);
}

static void a_host_that_returns_gets_its_firewall_rules_first(void **state)
{
	watch();
	fake_go_down(b.fakes[2]);
	set_fence(/* check_only= */ false);
	assert_int_equal(b.fail.kind, FAIL_NONE);
	assert_int_equal(fake_fence_calls(b.fakes[0]), 1);
	assert_int_equal(fake_fence_calls(b.fakes[2]), 0);
	fake_no_fence(b.fakes[2], CAUSE_NOT_SUPPORTED);
	fake_come_up(b.fakes[2]);
	check();
	FAKE_UNTIL(b.fakes[2], fake_fence_calls(b.fakes[2]) == 1);
	assert_string_equal(choose("gpu", true), "");
	fake_no_fence(b.fakes[2], CAUSE_NONE);
	check();
	FAKE_UNTIL(b.fakes[2], streq(choose("gpu", true), "gpu"));
	assert_int_equal(fake_openings(b.fakes[2])->n, 1);
}

static void a_refused_rule_names_its_host(void **state)
{
	fake_no_fence(b.fakes[1], CAUSE_NOT_SUPPORTED);
	set_fence(/* check_only= */ false);
	assert_memory_equal(b.fail.message, "host 'small': ", 14);
}

static void every_host_needs_the_image(void **state)
{
	size_t n;
	const char *image = runtime_list(&n)[0].image;
	ask(&(struct query_spec){ .kind = ENGINE_QUERY_IMAGE, .subject = image });
	assert_int_equal(b.fail.kind, FAIL_NONE);
	fake_image_remove(b.fakes[1], image);
	ask(&(struct query_spec){ .kind = ENGINE_QUERY_IMAGE, .subject = image });
	assert_int_equal(b.fail.kind, FAIL_IMAGE);
	assert_memory_equal(b.fail.message, "host 'small': ", 14);
}

static void no_bytes(void *ctx UNUSED, const void *data UNUSED, size_t n UNUSED)
{
}

static void streams_name_their_host(void **state)
{
	struct stream_handler handler = { .on_bytes = no_bytes, .on_closed = on_done };
	create("husk-a.small");
	b.stream = b.pool->ops->attach(b.pool, "husk-a.small", &handler, &b.fail);
	assert_non_null(b.stream);
	FAKE_UNTIL(b.fakes[1], fake_stream(fake_only(b.fakes[1])));
	size_t before = b.done;
	fake_go_down(b.fakes[1]);
	wait_for(before);
	assert_memory_equal(b.fail.message, "host 'small': ", 14);
	fake_come_up(b.fakes[1]);
}

static void unfinished_calls_are_dropped(void **state)
{
	size_t n;
	struct container_spec spec = {
		.name = "husk-a.gpu", .image = runtime_list(&n)[0].image, .store = "s", .owner = "o", .lease = 300
	};
	fake_hold(b.fakes[2], FAKE_CREATE);
	struct engine_task *t = b.pool->ops->create(b.pool, &spec, on_created, NULL);
	b.pool->ops->task_cancel(t);
	fake_let_go(b.fakes[2], FAKE_CREATE);
	FAKE_UNTIL(b.fakes[2], !fake_pending(b.fakes[2], FAKE_CREATE));
	assert_int_equal(b.done, 0);
	char *const left[] = { (char *)"husk-b.gpu", (char *)"husk-c.big" };
	create("husk-b.gpu");
	create("husk-c.big");
	b.pool->ops->remove_and_forget(b.pool, left, ARRAY_LEN(left));
	FAKE_UNTIL(b.fakes[0], !fake_count(b.fakes[0]) && !fake_count(b.fakes[2]));
}

/* --- the setting --------------------------------------------------------------------------------------------------- */

static void hosts_are_read_from_the_setting(void **state)
{
	AUTO(pool_hosts_release) struct pool_hosts h = { 0 };
	assert_int_equal(
		pool_hosts_parse(" big=context:big-one,gpu=ssh://me@10.0.0.3:22 ,t=tcp://h:2376, u=unix:///run/d.sock",
				 &h, &b.fail),
		0);
	assert_int_equal(h.names.n, 4);
	assert_string_equal(h.names.v[1], "gpu");
	assert_string_equal(h.endpoints.v[1], "ssh://me@10.0.0.3:22");
}

static void bad_settings_are_explained(void **state)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{ "", "'' is not NAME=ENDPOINT" },
		{ "big", "'big' is not NAME=ENDPOINT" },
		{ "a=context:x,", "'' is not NAME=ENDPOINT" },
		{ "Big=context:x", "'Big' is not the name of a host" },
		{ "a.b=context:x", "'a.b' is not the name of a host" },
		{ "-a=context:x", "is not the name of a host" },
		{ "aaaaaaaaaaaaaaaaaaaaa=context:x", "is not the name of a host" },
		{ "a=context:", "host 'a': 'context:' is not context:NAME" },
		{ "a=http://x:1", "host 'a': 'http://x:1' is not" },
		{ "a=tcp://x", "host 'a': 'tcp://x' is not" },
		{ "a=ssh://-oProxyCommand=x", "host 'a': 'ssh://-oProxyCommand=x' is not" },
		{ "a=ssh://x y", "host 'a': 'ssh://x y' is not" },
		{ "a=context:x,a=context:y", "there are two hosts 'a'" },
		{ "a=context:x,b=context:x", "the hosts 'a' and 'b' are both context:x" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct pool_hosts h = { 0 };
		assert_int_equal(pool_hosts_parse(cases[i].text, &h, &b.fail), -1);
		assert_non_null(strstr(b.fail.message, cases[i].words));
		assert_int_equal(h.names.n, 0);
	}
}

static void a_pool_needs_its_hosts(void **state)
{
	static const char *const values[] = { NULL, "a=nowhere" };
	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		struct config c;
		setenv("CONTAINER_ENGINE", "pool", 1);
		if (values[i])
			setenv("CONTAINER_POOL", values[i], 1);
		assert_int_equal(config_load(&c, NULL, &b.fail), -1);
		assert_memory_equal(b.fail.message, "setting CONTAINER_POOL: ", 24);
		config_release(&c);
	}
	unsetenv("CONTAINER_ENGINE");
	unsetenv("CONTAINER_POOL");
}

static void a_containers_name_has_its_host(void **state)
{
	assert_string_equal(pool_host_of("husk-abc.gpu"), "gpu");
	assert_null(pool_host_of("husk-abc"));
	assert_null(pool_host_of("husk-abc."));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(containers_are_spread),
		TEST(calls_go_to_the_host_of_the_container),
		TEST(a_host_that_is_away_gets_no_containers),
		TEST(a_failed_list_is_not_requested_again),
		TEST(without_any_host_the_reasons_are_listed),
		TEST(a_lost_host_is_noticed_by_its_events),
		TEST(a_host_that_returns_gets_its_firewall_rules_first),
		TEST(a_refused_rule_names_its_host),
		TEST(every_host_needs_the_image),
		TEST(streams_name_their_host),
		TEST(unfinished_calls_are_dropped),
		TEST(hosts_are_read_from_the_setting),
		TEST(bad_settings_are_explained),
		TEST(a_pool_needs_its_hosts),
		TEST(a_containers_name_has_its_host),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
