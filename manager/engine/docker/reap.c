#include "manager/engine/docker/reap.h"

#include "base/alloc.h"
#include "base/child.h"
#include "base/loop.h"
#include "manager/engine/docker/inspect.h"

#define ROUND_DEADLINE_MS 30000
/* Pauses between rounds. A create that was under way when the server exited has reached the engine by the last one. */
static const uint64_t pauses_ms[] = { 300, 700, 2000, 4000 };

struct reap {
	struct loop *loop;
	const char *docker;
	char *const *names;
	struct child *child;
	struct timer *pause;
	size_t round;
	bool missing; /* one of the containers does not exist (yet) */
};

static void start_round(void *ctx);

static void on_round_done(void *ctx, const struct child_result *result)
{
	struct reap *r = ctx;
	bool again = result->exit_status != 0 || inspect_is_missing(result->err);
	child_free(take_ptr(r->child));
	if (!again || r->round == ARRAY_LEN(pauses_ms)) {
		loop_stop(r->loop, again && result->exit_status != 0);
		return;
	}
	timer_start(r->pause, pauses_ms[r->round++], 0);
}

static void start_round(void *ctx)
{
	struct reap *r = ctx;
	AUTO(strv_release) struct strv argv = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	strv_add_all(&argv, r->docker, "rm", "--force", "--volumes", NULL);
	for (char *const *name = r->names; *name; name++)
		strv_add(&argv, *name);
	struct child_spec spec = {
		.argv = strv_argv(&argv),
		.deadline_ms = ROUND_DEADLINE_MS,
		.on_done = on_round_done,
		.ctx = r,
	};
	if (child_start(r->loop, &spec, &r->child, &f) < 0)
		loop_stop(r->loop, 1);
}

int reap_containers(const char *docker, char *const *names)
{
	for (char *const *name = names; *name; name++)
		if (strncmp(*name, "husk-", 5) != 0 && strspn(*name, "0123456789abcdef") != 64)
			return 1;
	struct reap r = { .loop = loop_new(), .docker = docker, .names = names };
	r.pause = timer_new(r.loop, start_round, &r);
	timer_start(r.pause, 0, 0);
	int code = loop_run(r.loop);
	timer_free(r.pause);
	loop_free(r.loop);
	return code;
}
