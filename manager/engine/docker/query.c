/* One query to the docker CLI: a child with a deadline and a bounded answer. ENGINE_QUERY_NETWORK needs two
 * children, one after the other. */
#include "base/alloc.h"
#include "kernels/protocol.h"
#include "manager/engine/docker/argv.h"
#include "manager/engine/docker/client.h"
#include "manager/engine/docker/docker.h"
#include "manager/engine/docker/info.h"
#include "manager/engine/docker/inspect.h"
#include "manager/model/token.h"

#define QUERY_DEADLINE_MS 10000
/* Setting the fence may take longer: it starts a container, and no session can start without the fence. */
#define FENCE_DEADLINE_MS 30000
#define ANSWER_MAX (512u << 10)

struct engine_query {
	struct docker *docker;
	struct child *child;
	enum engine_query_kind kind;
	bool lists_networks;		     /* networks are being listed; one is inspected next */
	const struct fence_spec *fence;	     /* only during docker_query() */
	char container[CONTAINER_NAME_SIZE]; /* the container that sets the fence */
	bool sets;			     /* sets the fence instead of only checking it */
	engine_answer_fn done;
	void *ctx;
};

static int deadline(const struct engine_query *q)
{
	return q->sets ? FENCE_DEADLINE_MS : QUERY_DEADLINE_MS;
}

/* True if the client could not run the program, or the machine lacks what the program needs. A retry would not help. */
static bool is_no_fence(const struct engine_query *q, const struct child_result *r)
{
	return q->kind == ENGINE_QUERY_FENCE &&
	       (r->exit_status == FENCE_EXIT_NEVER || r->exit_status == 126 || r->exit_status == 127);
}

static int start(struct engine_query *q, const char *subject, struct fail *f);

static int judge(const struct engine_query *q, const struct child_result *r, struct fail *f)
{
	const char *doing = info_doing(q->kind);
	if (r->timed_out) {
		cause_set(f, FAIL_TIMEOUT, CAUSE_ENGINE_SILENT, "cannot %s: no answer within %d s", doing,
			  deadline(q) / 1000);
		return fail_hint(f, "check that `docker ps` answers; restart the engine if it hangs");
	}
	if (r->exit_status == 0 && !r->truncated)
		return 0;
	if (is_no_fence(q, r)) {
		inspect_error(f, doing, r->err, r->err_len);
		f->cause = CAUSE_NOT_SUPPORTED;
		return -1;
	}
	if (!r->signal && !r->truncated)
		return inspect_error(f, doing, r->err, r->err_len);
	if (r->signal)
		cause_set(f, FAIL_ENGINE, CAUSE_NO_CLIENT, "cannot %s: the docker client died of signal %d", doing,
			  r->signal);
	else
		cause_set(f, FAIL_ENGINE, CAUSE_NO_CLIENT, "cannot %s: the answer is too long", doing);
	return fail_hint(f, INFO_HINT_CLIENT);
}

static void tell(struct engine_query *q, struct engine_answer *answer, const struct fail *f)
{
	/* The callback may free the query. */
	q->done(q->ctx, f ? NULL : answer, f);
	engine_answer_release(answer);
}

/* Picks the network that sessions use. 1 if it is inspected next, 0 if there is none. */
static int found_networks(struct engine_query *q, const char *text, struct fail *f)
{
	AUTO(strv_release) struct strv ids = { 0 };
	inspect_network_ids(text, &ids);
	q->lists_networks = false;
	if (ids.n)
		return start(q, ids.v[0], f) < 0 ? -1 : 1;
	return text[strspn(text, " \r\n")] ? info_not_understood(f, ENGINE_QUERY_NETWORK) : 0;
}

static int read_answer(struct engine_query *q, struct engine_answer *answer, const struct child_result *r,
		       struct fail *f)
{
	if (q->lists_networks && r->exit_status == 0 && !r->truncated)
		return found_networks(q, r->out, f);
	if (judge(q, r, f) == 0)
		return info_read(answer, r->out, r->out_len, f);
	/* A missing container is also an answer. */
	if (q->kind != ENGINE_QUERY_CONTAINER || cause_of(f) != CAUSE_NO_CONTAINER)
		return -1;
	fail_release(f);
	return 0;
}

static void note_place(struct engine_query *q, const struct engine_answer *answer)
{
	struct docker *d = q->docker;
	if (q->kind != ENGINE_QUERY_PLACE)
		return;
	d->shares_kernel = answer->place.is_local ? SUPPORT_YES : SUPPORT_NO;
	free(d->socket);
	d->socket = xstrdup(strncmp(answer->place.host, "unix://", 7) == 0 ? answer->place.host + 7 : "");
}

static void on_done(void *ctx, const struct child_result *r)
{
	struct engine_query *q = ctx;
	struct engine_answer answer = { .kind = q->kind };
	AUTO(fail_release) struct fail f = { 0 };
	struct child *ended = take_ptr(q->child);
	int result = read_answer(q, &answer, r, &f);
	if (result == 0)
		note_place(q, &answer);
	if (result <= 0)
		tell(q, &answer, result < 0 ? &f : NULL);
	child_free(ended);
}

static int start(struct engine_query *q, const char *subject, struct fail *f)
{
	AUTO(strv_release) struct strv argv = { 0 };
	if (q->lists_networks)
		argv_network_list(&argv, q->docker->program);
	else if (q->kind == ENGINE_QUERY_FENCE)
		argv_fence(&argv, q->docker->program, q->fence, q->container);
	else
		info_argv(&argv, q->docker->program, q->kind, subject);
	struct child_spec child = {
		.argv = strv_argv(&argv),
		.env = docker_env(q->docker),
		.deadline_ms = (uint64_t)deadline(q),
		.out_max = ANSWER_MAX,
		.on_done = on_done,
		.ctx = q,
	};
	return client_start(q->docker->loop, &child, &q->child, f);
}

struct engine_query *docker_query(struct engine *e, const struct query_spec *spec, struct fail *f)
{
	struct engine_query *q = new0(struct engine_query);
	q->docker = docker_of(e);
	q->kind = spec->kind;
	q->lists_networks = spec->kind == ENGINE_QUERY_NETWORK;
	q->fence = spec->fence;
	q->sets = spec->fence && !spec->fence->check_only;
	if (spec->kind == ENGINE_QUERY_FENCE)
		token_make_container(q->container);
	q->done = spec->done;
	q->ctx = spec->ctx;
	int r = start(q, spec->subject, f);
	q->fence = NULL;
	if (r < 0) {
		free(q);
		return NULL;
	}
	return q;
}

struct engine_query *docker_query_free(struct engine_query *q)
{
	if (!q)
		return NULL;
	/* A client that is killed may leave behind a container that it has created but not started. */
	if (q->child && *q->container) {
		AUTO(strv_release) struct strv name = { 0 };
		strv_add(&name, q->container);
		tasks_reap_later(q->docker, &name);
	}
	child_free(q->child);
	free(q);
	return NULL;
}
