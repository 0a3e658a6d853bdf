/* A server with one conversation over a fake engine, and calls that wait for their result, which is then in `got`. */
#ifndef HUSK_TESTS_SESSIONS_RIG_H
#define HUSK_TESTS_SESSIONS_RIG_H

#include "base/alloc.h"
#include "manager/manager.h"
#include "tests/unit/manager-bench.h"
#include "tests/unit/unit.h"

static struct bench b;
static struct fake *fake;
static struct manager *manager;
static struct conversation *conversation;

/* The results of a call. */
static struct {
	bool done;
	struct fail fail;
	char *session, *detail;
	enum ending ending;
	size_t active, earlier, stopped, sessions;
	enum cause cause;
} got;

UNUSED static void forget(void)
{
	fail_release(&got.fail);
	free(got.session);
	free(got.detail);
	memset(&got, 0, sizeof(got));
}

UNUSED static void open_server(void)
{
	manager = manager_new(b.loop, &b.config);
	conversation = conversation_open(manager, &(struct conversation_spec){ .id = "t" });
}

UNUSED static int setup(void **state)
{
	fake = manager_bench_begin(&b);
	manager_bench_load(&b);
	open_server();
	return 0;
}

UNUSED static int teardown(void **state)
{
	manager_free(manager);
	forget();
	manager_bench_end(&b, fake);
	return 0;
}

UNUSED static void on_created(void *ctx UNUSED, const struct create_result *result, const struct fail *f)
{
	got.done = true;
	if (f)
		fail_copy(&got.fail, f);
	got.session = result && result->session ? xstrdup(result->session->id) : NULL;
	got.active = result ? result->n_active : 0;
}

UNUSED static struct op *start_create(void)
{
	forget();
	return manager_create(conversation,
			      &(struct create_request){ .runtime = runtime_find("python"), .on_done = on_created },
			      &got.fail);
}

/* The caller owns the id. */
UNUSED static char *create(void)
{
	assert_non_null(start_create());
	FAKE_UNTIL(fake, got.done);
	if (got.fail.kind)
		fail_msg("%s", got.fail.message);
	return take_ptr(got.session);
}

UNUSED static void on_ran(void *ctx UNUSED, const struct run_result *result, const struct fail *f)
{
	got.done = true;
	if (f)
		fail_copy(&got.fail, f);
	if (!result)
		return;
	got.ending = result->ending;
	got.detail = result->detail ? xstrdup(result->detail) : NULL;
	got.cause = result->cause;
	got.earlier = result->n_earlier;
}

UNUSED static struct op *start_run(const char *id)
{
	forget();
	return manager_run(conversation,
			   &(struct run_request){ .kind = RUN_CODE,
						  .session_id = id,
						  .text = "1",
						  .len = 1,
						  .timeout_seconds = 60,
						  .on_done = on_ran },
			   &got.fail);
}

UNUSED static void run(const char *id)
{
	if (start_run(id))
		FAKE_UNTIL(fake, got.done);
}

UNUSED static void on_stopped(void *ctx UNUSED, const struct fail *f)
{
	got.done = true;
	if (f)
		fail_copy(&got.fail, f);
}

UNUSED static void stop(const char *id)
{
	forget();
	assert_non_null(manager_stop(conversation, &(struct stop_request){ .session_id = id, .on_done = on_stopped },
				     &got.fail));
	FAKE_UNTIL(fake, got.done);
}

UNUSED static void do_nothing(struct fake_container *c UNUSED, struct fake_call *call UNUSED)
{
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
