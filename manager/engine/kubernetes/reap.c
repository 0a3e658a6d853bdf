#include "manager/engine/kubernetes/reap.h"

#include "base/alloc.h"
#include "base/child.h"
#include "base/loop.h"
#include "base/strv.h"
#include "manager/model/token.h"

#define ROUND_DEADLINE_MS 30000
/* A create that was under way when the server exited has reached the API server by the second round. */
#define PAUSE_MS 3000
#define ROUNDS 2

struct reap {
	struct loop *loop;
	struct strv argv;
	struct child *child;
	struct timer *pause;
	unsigned rounds;
};

static void on_done(void *ctx, const struct child_result *result)
{
	struct reap *r = ctx;
	int status = result->exit_status;
	child_free(take_ptr(r->child));
	if (++r->rounds == ROUNDS)
		loop_stop(r->loop, status != 0);
	else
		timer_start(r->pause, PAUSE_MS, 0);
}

static void start_round(void *ctx)
{
	struct reap *r = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	struct child_spec spec = {
		.argv = strv_argv(&r->argv), .deadline_ms = ROUND_DEADLINE_MS, .on_done = on_done, .ctx = r
	};
	if (child_start(r->loop, &spec, &r->child, &f) < 0)
		loop_stop(r->loop, 1);
}

/* Splits CONTEXT/NAMESPACE/POD; a context may contain slashes. */
static int add_pod(struct strv *argv, const char *name, bool first)
{
	const char *pod = strrchr(name, '/');
	const char *namespace = pod ? memrchr(name, '/', (size_t)(pod - name)) : NULL;
	if (!namespace || strncmp(pod + 1, CONTAINER_PREFIX, strlen(CONTAINER_PREFIX)) != 0)
		return -1;
	if (first && namespace > name)
		strv_addf(argv, "--context=%.*s", (int)(namespace - name), name);
	if (first) {
		strv_addf(argv, "--namespace=%.*s", (int)(pod - namespace - 1), namespace + 1);
		strv_add_all(argv, "delete", "pods", "--ignore-not-found", "--wait=false", "--grace-period=1", "--",
			     NULL);
	}
	strv_add(argv, pod + 1);
	return 0;
}

int reap_pods(const char *kubectl, char *const *names)
{
	struct reap r = { 0 };
	strv_add(&r.argv, kubectl);
	for (char *const *name = names; *name; name++) {
		if (add_pod(&r.argv, *name, name == names) < 0) {
			strv_release(&r.argv);
			return 1;
		}
	}
	r.loop = loop_new();
	r.pause = timer_new(r.loop, start_round, &r);
	timer_start(r.pause, 0, 0);
	int code = loop_run(r.loop);
	timer_free(r.pause);
	loop_free(r.loop);
	strv_release(&r.argv);
	return code;
}
