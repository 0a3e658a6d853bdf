#include "manager/engine/probe.h"

#include "base/alloc.h"
#include "base/child.h"
#include "manager/engine/info.h"
#include "manager/engine/inspect.h"

#define PROBE_DEADLINE_MS 10000
#define PROBE_ANSWER_MAX (512u << 10)

struct engine_probe {
	struct child *child;
	enum engine_question question;
	engine_answer_fn done;
	void *ctx;
};

static int judge(const struct engine_probe *p, const struct child_result *r, struct fail *f)
{
	const char *doing = info_doing(p->question);
	if (r->timed_out) {
		fail_set(f, FAIL_TIMEOUT, "cannot %s: no answer within %d s", doing, PROBE_DEADLINE_MS / 1000);
		return fail_hint(f, "check that `docker ps` answers; restart the engine if it hangs");
	}
	if (r->signal) {
		fail_set(f, FAIL_ENGINE, "cannot %s: the docker client died of signal %d", doing, r->signal);
		return fail_hint(f, INFO_HINT_CLIENT);
	}
	if (r->exit_status != 0)
		return inspect_error(f, doing, r->err, r->err_len);
	if (r->truncated) {
		fail_set(f, FAIL_ENGINE, "cannot %s: the answer does not end", doing);
		return fail_hint(f, INFO_HINT_CLIENT);
	}
	return 0;
}

static void on_done(void *ctx, const struct child_result *r)
{
	struct engine_probe *p = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	if (judge(p, r, &f) < 0)
		p->done(p->ctx, NULL, 0, &f);
	else
		p->done(p->ctx, r->out, r->out_len, NULL);
}

struct engine_probe *probe_start(struct loop *loop, const char *docker, const struct probe_spec *spec, struct fail *f)
{
	AUTO(strv_release) struct strv argv = { 0 };
	info_argv(&argv, docker, spec->question, spec->subject);
	struct engine_probe *p = new0(struct engine_probe);
	p->question = spec->question;
	p->done = spec->done;
	p->ctx = spec->ctx;
	struct child_spec child = {
		.argv = strv_argv(&argv),
		.deadline_ms = PROBE_DEADLINE_MS,
		.out_max = PROBE_ANSWER_MAX,
		.on_done = on_done,
		.ctx = p,
	};
	if (child_start(loop, &child, &p->child, f) < 0) {
		free(p);
		return NULL;
	}
	return p;
}

struct engine_probe *probe_free(struct engine_probe *p)
{
	if (!p)
		return NULL;
	child_free(p->child);
	free(p);
	return NULL;
}
