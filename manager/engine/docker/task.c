/* Containers and networks. A create is a series of commands (find the engine, find the network, run, join). Each
 * command is a child process with a deadline.
 *
 * A create that is cancelled is not killed in the middle, since the daemon would finish it unobserved. Instead, the
 * current step finishes, and then the container is removed. */
#include <signal.h>

#include "base/alloc.h"
#include "base/log.h"
#include "manager/engine/docker/argv.h"
#include "manager/engine/docker/client.h"
#include "manager/engine/docker/docker.h"
#include "manager/engine/docker/info.h"
#include "manager/engine/docker/inspect.h"
#include "manager/engine/docker/quota.h"

#define QUICK_DEADLINE_MS 15000
#define RUN_DEADLINE_MS 60000
#define REMOVE_DEADLINE_MS 30000
/* For retries while another removal of the same container is under way. */
#define REMOVE_RETRY_MS 50
#define REMOVE_RETRIES 200
/* For retries while other servers create or remove networks of the same name. */
#define NETWORK_RETRY_MS 100
#define NETWORK_TRIES 12
/* After this time in one step the engine is pinged. If it does not answer, the step fails. */
#define PULSE_AFTER_MS 10000

#define ID_SIZE 65

enum step {
	STEP_PLACE,
	STEP_NETWORK_LIST,
	STEP_NETWORK_CREATE,
	STEP_NETWORK_REMOVE,
	STEP_RUN,
	STEP_PORTS,
	STEP_LEAVE,
	STEP_JOIN,
	STEP_REMOVE,
	STEP_PRUNE,
	STEP_PRUNE_FENCE
};

struct engine_task {
	struct list node;
	struct docker *docker;
	enum step step, next; /* next: the step after a pause */
	struct child *child;
	struct timer *retry;
	struct timer *slow;	     /* runs during a step that may take long */
	struct engine_query *pulse;  /* ping of an engine that takes long */
	struct engine_query *labels; /* checks the labels of the container */
	struct container_spec spec;  /* its strings are owned; a remove has only name, store and mark */
	engine_done_fn done;	     /* may be NULL */
	engine_created_fn created;   /* instead of done, for a create */
	void *ctx;
	bool cancelled;
	char id[ID_SIZE];    /* container that was created, or is to be removed; "" = the name is used */
	bool has_line_dir;   /* it was created with the line's folder */
	bool has_quota;	     /* it was created with size limits on its volumes */
	bool has_terminals;  /* it was created with the volume for terminals */
	bool joins_late;     /* it was created without a network, and joins one next */
	bool run_again;	     /* run it again once the rejected container is removed */
	bool ran_twice;	     /* an earlier container of the same name ran, and was removed */
	struct fail failure; /* failure of a create whose remains are being removed */
	uint64_t min_age;    /* of networks to remove */
	unsigned retries;
	bool is_create;
	bool only_looks; /* only looks for the network, and ends before a container would run */
	unsigned network_tries;
	bool spare_in_use;  /* one of several networks has containers */
	bool old_in_use;    /* the network does not have the fence's bridge, and has containers */
	char *refused;	    /* why the network was not created */
	bool only_ended;    /* STEP_REMOVE does not touch running containers */
	bool hung;	    /* the engine did not answer the ping of this step */
	struct strv spares; /* networks to remove: duplicates from a race, or the network of an older Husk */
	struct strv env;    /* storage of spec.env */
};

static void step_start(struct engine_task *t, enum step step);

static void spec_copy(struct container_spec *to, const struct container_spec *from)
{
	*to = *from;
	to->name = xstrdup(from->name);
	to->image = from->image ? xstrdup(from->image) : NULL;
	to->store = from->store ? xstrdup(from->store) : NULL;
	to->owner = from->owner ? xstrdup(from->owner) : NULL;
	to->mark = from->mark ? xstrdup(from->mark) : NULL;
	to->ca_bundle = from->ca_bundle ? xstrdup(from->ca_bundle) : NULL;
	to->line_dir = from->line_dir ? xstrdup(from->line_dir) : NULL;
}

static void task_free(struct engine_task *t)
{
	list_remove(&t->node);
	t->child = child_free(t->child);
	t->retry = timer_free(t->retry);
	t->slow = timer_free(t->slow);
	t->pulse = docker_query_free(t->pulse);
	t->labels = docker_query_free(t->labels);
	fail_release(&t->failure);
	free((char *)t->spec.name);
	free((char *)t->spec.image);
	free((char *)t->spec.store);
	free((char *)t->spec.owner);
	free((char *)t->spec.mark);
	free((char *)t->spec.ca_bundle);
	free((char *)t->spec.line_dir);
	strv_release(&t->env);
	strv_release(&t->spares);
	free(t->refused);
	free(t);
}

static struct engine_task *task_new(struct docker *d, const struct container_spec *spec, engine_done_fn done, void *ctx)
{
	struct engine_task *t = new0(struct engine_task);
	t->docker = d;
	t->done = done;
	t->ctx = ctx;
	spec_copy(&t->spec, spec);
	for (size_t i = 0; spec->env && i < spec->env->n; i++)
		strv_add(&t->env, spec->env->v[i]);
	t->spec.env = &t->env;
	list_append(&d->tasks, &t->node);
	return t;
}

static void task_finish(struct engine_task *t)
{
	const struct fail *f = t->failure.kind ? &t->failure : NULL;
	struct engine_created created = { .id = t->id, .line_dir = t->has_line_dir, .again = t->ran_twice };
	if (t->created && !t->cancelled)
		t->created(t->ctx, f ? NULL : &created, f);
	else if (t->done && !t->cancelled)
		t->done(t->ctx, f);
	task_free(t);
}

static int spawn_with(struct docker *d, struct strv *argv, const struct strv *names, struct fail *f)
{
	for (size_t i = 0; i < names->n; i++)
		strv_add(argv, names->v[i]);
	return child_spawn_forgotten(d->loop, strv_argv(argv), docker_env(d), f);
}

/* Uses a separate process, since `docker rm` does not wait for a container whose create is still under way in the
 * daemon. Without the helper program (libhusk without husk), such a container stays until its lease expires. */
void tasks_reap_later(struct docker *d, const struct strv *names)
{
	AUTO(strv_release) struct strv argv = { 0 }, plain = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	if (!names->n)
		return;
	strv_add_all(&argv, d->helper, "reap", d->engine.ops->name, d->program, "--", NULL);
	strv_add_all(&plain, d->program, "rm", "--force", "--volumes", NULL);
	if (spawn_with(d, &argv, names, &f) < 0 && spawn_with(d, &plain, names, &f) < 0)
		log_warning("%s", f.message);
}

static void reap_made(const struct engine_task *t)
{
	AUTO(strv_release) struct strv name = { 0 };
	strv_add(&name, t->spec.name);
	tasks_reap_later(t->docker, &name);
}

static const char *step_words(enum step step)
{
	switch (step) {
	case STEP_NETWORK_LIST:
	case STEP_NETWORK_CREATE:
	case STEP_NETWORK_REMOVE:
		return "prepare the network";
	case STEP_REMOVE:
		return "remove the container";
	case STEP_PRUNE:
		return "remove unused networks";
	case STEP_PRUNE_FENCE:
		return "remove containers that were never started";
	default:
		return "start the container";
	}
}

static void step_failed(struct engine_task *t, const struct child_result *r)
{
	bool timed_out = r->timed_out || t->hung;
	if (timed_out)
		inspect_silence(&t->failure, step_words(t->step));
	else
		inspect_error(&t->failure, step_words(t->step), r->err, r->err_len);
	if (t->failure.kind == FAIL_IMAGE && t->spec.image)
		fail_wrap(&t->failure, "image '%s'", t->spec.image);
	bool makes = t->step == STEP_RUN || t->step == STEP_LEAVE || t->step == STEP_JOIN;
	/* The daemon may still finish the step later, but the caller does not wait any longer. */
	if (makes && timed_out)
		reap_made(t);
	if (makes && !timed_out)
		step_start(t, STEP_REMOVE);
	else
		task_finish(t);
}

static void on_retry(void *ctx)
{
	struct engine_task *t = ctx;
	step_start(t, t->next);
}

static void step_later(struct engine_task *t, enum step step, uint64_t ms)
{
	t->next = step;
	if (!t->retry)
		t->retry = timer_new(t->docker->loop, on_retry, t);
	timer_start(t->retry, ms, 0);
}

/* True if the removal must be retried. */
static bool remove_again(struct engine_task *t, const struct child_result *r)
{
	if (r->exit_status == 0 || !inspect_removal_in_progress(r->err) || t->retries++ >= REMOVE_RETRIES)
		return false;
	step_later(t, STEP_REMOVE, REMOVE_RETRY_MS);
	return true;
}

static void remove_ended(struct engine_task *t, const struct child_result *r)
{
	if (remove_again(t, r))
		return;
	bool gone = r->exit_status == 0 || inspect_is_missing(r->err);
	if (gone && t->run_again && !t->cancelled) {
		t->run_again = false;
		step_start(t, STEP_RUN);
		return;
	}
	/* After a failed create, the create's own failure is reported, not that of the removal. */
	if (!gone && (t->run_again || !t->is_create)) {
		step_failed(t, r);
		return;
	}
	task_finish(t);
}

static void place_ended(struct engine_task *t, const struct child_result *r)
{
	/* A client that cannot report the address does not support contexts, so DOCKER_HOST alone decides. */
	const char *host = r->exit_status == 0 ? r->out : getenv("DOCKER_HOST");
	t->docker->shares_kernel = !host || !*host || info_is_local(host) ? SUPPORT_YES : SUPPORT_NO;
	t->docker->has_quotas = t->docker->shares_kernel == SUPPORT_YES && quota_is_likely();
	step_start(t, t->only_looks || t->spec.network ? STEP_NETWORK_LIST : STEP_RUN);
}

/* When servers create the network at the same moment, there are several networks of that name, and some engines
 * cannot start containers on any of them. All but the first are removed. If one of those is already in use, the
 * first is removed instead. */
static void drop_spare_networks(struct engine_task *t, const struct strv *ids)
{
	size_t from = t->spare_in_use ? 0 : 1, to = t->spare_in_use ? 1 : ids->n;
	strv_release(&t->spares);
	for (size_t i = from; i < to; i++)
		strv_add(&t->spares, ids->v[i]);
	t->network_tries++;
	step_start(t, STEP_NETWORK_REMOVE);
}

/* Replaces a network of an older Husk unless it is in use. */
static void drop_old_network(struct engine_task *t, const char *id)
{
	strv_release(&t->spares);
	strv_add(&t->spares, id);
	t->network_tries++;
	step_start(t, STEP_NETWORK_REMOVE);
}

static void network_refused(struct engine_task *t)
{
	inspect_error(&t->failure, step_words(t->step), t->refused, strlen(t->refused));
	task_finish(t);
}

static void network_listed(struct engine_task *t, const struct child_result *r)
{
	AUTO(strv_release) struct strv ids = { 0 };
	if (r->exit_status == 0)
		inspect_network_ids(r->out, &ids);
	bool may_try = t->network_tries < NETWORK_TRIES;
	bool old = ids.n == 1 && !inspect_network_has_bridge(r->out, ids.v[0], BRIDGE_NAME);
	if (t->only_looks && (ids.n != 1 || old)) {
		task_finish(t);
	} else if (r->exit_status == 0 && !ids.n && !may_try && t->refused) {
		network_refused(t);
	} else if (r->exit_status != 0 || (!ids.n && !may_try)) {
		step_failed(t, r);
	} else if (!ids.n) {
		t->network_tries++;
		step_start(t, STEP_NETWORK_CREATE);
	} else if (ids.n > 1 && may_try) {
		drop_spare_networks(t, &ids);
	} else if (old && may_try && !t->old_in_use) {
		drop_old_network(t, ids.v[0]);
	} else {
		t->docker->old_network = old;
		snprintf(t->docker->network, sizeof(t->docker->network), "%s", ids.v[0]);
		if (t->only_looks)
			task_finish(t);
		else
			step_start(t, STEP_RUN);
	}
}

/* If another server was faster, the list has its network. An engine that has just removed a network may not be ready
 * to create the next one. */
static void network_made(struct engine_task *t, const struct child_result *r)
{
	free(t->refused);
	t->refused = r->exit_status == 0 ? NULL : xstrdup(r->err);
	step_later(t, STEP_NETWORK_LIST, t->refused ? NETWORK_RETRY_MS : 0);
}

static void run_ended(struct engine_task *t, const struct child_result *r)
{
	bool lost_network = r->exit_status != 0 && t->spec.network && inspect_lost_network(r->err);
	if (r->exit_status == 0 && !t->cancelled) {
		inspect_container_id(r->out, t->id);
		if (t->joins_late)
			step_start(t, STEP_LEAVE);
		else if (engine_is_gvisor(t->spec.runtime) && !t->spec.network)
			step_start(t, STEP_PORTS);
		else
			task_finish(t);
	} else if (lost_network && t->network_tries++ < NETWORK_TRIES && !t->cancelled) {
		step_later(t, STEP_NETWORK_LIST, NETWORK_RETRY_MS);
	} else if (r->exit_status != 0 && t->has_terminals && inspect_refused_devpts(r->err)) {
		log_warning(
			"docker: cells can open the terminals of commands, since the engine cannot mount a devpts: %s",
			r->err);
		t->docker->refuses_terminals = t->run_again = true;
		step_start(t, STEP_REMOVE);
	} else if (r->exit_status != 0 && t->has_line_dir && inspect_refused_mount(r->err)) {
		/* The engine is remote, or does not share our file system. */
		log_debug("docker: new containers get no mounted folders, since the engine refuses them: %s", r->err);
		t->docker->refuses_mounts = t->run_again = true;
		step_start(t, STEP_REMOVE);
	} else if (r->exit_status != 0 && t->has_quota && inspect_refused_quota(r->err)) {
		log_debug("docker: new volumes get no size limit, since the engine refuses it: %s", r->err);
		t->docker->has_quotas = false;
		t->run_again = true;
		step_start(t, STEP_REMOVE);
	} else if (r->exit_status == 0) {
		step_start(t, STEP_REMOVE);
	} else {
		step_failed(t, r);
	}
}

/* True if the engine is down or does not answer, so that it has not rejected the command. */
static bool is_away(const struct engine_task *t, const struct child_result *r)
{
	AUTO(fail_release) struct fail f = { 0 };
	inspect_error(&f, "", r->err, r->err_len);
	return r->timed_out || t->hung || cause_of(&f) == CAUSE_NO_ENGINE;
}

/* The container changes its network while its kernel starts. */
static void move_ended(struct engine_task *t, const struct child_result *r)
{
	if (t->cancelled) {
		step_start(t, STEP_REMOVE);
	} else if (r->exit_status == 0 && t->step == STEP_LEAVE) {
		step_start(t, STEP_JOIN);
	} else if (r->exit_status == 0 || inspect_container_is_gone(r->err)) {
		/* Even if the container has already ended, it was created. Its end is reported like that of any
		 * other. */
		task_finish(t);
	} else if (is_away(t, r)) {
		step_failed(t, r);
	} else {
		log_debug("docker: a running container cannot be connected to a network: %s", r->err);
		t->docker->joins_at_once |= t->step == STEP_LEAVE || !inspect_lost_network(r->err);
		t->spec.network_late = false;
		t->run_again = t->ran_twice = true;
		step_start(t, STEP_REMOVE);
	}
}

static void on_pulse(void *ctx, const struct engine_answer *answer UNUSED, const struct fail *f)
{
	struct engine_task *t = ctx;
	t->pulse = docker_query_free(t->pulse);
	t->hung = f && cause_of(f) == CAUSE_ENGINE_SILENT;
	if (t->hung)
		child_kill(t->child, SIGKILL);
}

static void on_slow(void *ctx)
{
	struct engine_task *t = ctx;
	struct query_spec spec = { .kind = ENGINE_QUERY_VERSION, .done = on_pulse, .ctx = t };
	AUTO(fail_release) struct fail f = { 0 };
	t->pulse = docker_query(&t->docker->engine, &spec, &f);
}

static void watch_pulse(struct engine_task *t)
{
	t->hung = false;
	if (t->step < STEP_RUN || t->step > STEP_REMOVE)
		return;
	if (!t->slow)
		t->slow = timer_new(t->docker->loop, on_slow, t);
	timer_start(t->slow, PULSE_AFTER_MS, 0);
}

/* Only one client at a time may prune. If another client is pruning, it does this work too. */
static void prune_ended(struct engine_task *t, const struct child_result *r)
{
	if (r->exit_status == 0 || strstr(r->err, "already running"))
		task_finish(t);
	else
		step_failed(t, r);
}

/* Without it, the session works except for its gate. */
static void ports_ended(struct engine_task *t, const struct child_result *r)
{
	if (r->exit_status != 0 && !inspect_container_is_gone(r->err))
		log_warning("docker: PID 1 cannot answer DNS under this runtime, so the session reaches no host: %s",
			    r->err);
	if (t->cancelled)
		step_start(t, STEP_REMOVE);
	else
		task_finish(t);
}

static void step_ended(void *ctx, const struct child_result *r)
{
	struct engine_task *t = ctx;
	struct child *ended = take_ptr(t->child);
	t->slow = timer_free(t->slow);
	t->pulse = docker_query_free(t->pulse);
	bool cancelled = t->cancelled && t->is_create && t->step < STEP_RUN;
	if (cancelled) {
		task_finish(t);
	} else {
		switch (t->step) {
		case STEP_PLACE:
			place_ended(t, r);
			break;
		case STEP_NETWORK_LIST:
			network_listed(t, r);
			break;
		case STEP_NETWORK_CREATE:
			network_made(t, r);
			break;
		case STEP_NETWORK_REMOVE:
			t->spare_in_use = r->exit_status != 0 && inspect_network_in_use(r->err);
			t->old_in_use |= t->spare_in_use && t->spares.n == 1;
			step_later(t, STEP_NETWORK_LIST, t->spare_in_use ? 0 : NETWORK_RETRY_MS);
			break;
		case STEP_RUN:
			run_ended(t, r);
			break;
		case STEP_PORTS:
			ports_ended(t, r);
			break;
		case STEP_LEAVE:
		case STEP_JOIN:
			move_ended(t, r);
			break;
		case STEP_REMOVE:
			remove_ended(t, r);
			break;
		case STEP_PRUNE:
			if (r->exit_status == 0)
				step_start(t, STEP_PRUNE_FENCE);
			else
				prune_ended(t, r);
			break;
		case STEP_PRUNE_FENCE:
			prune_ended(t, r);
			break;
		}
	}
	child_free(ended);
}

static void step_argv(struct engine_task *t, struct strv *argv)
{
	struct docker *d = t->docker;
	struct container_spec spec = t->spec;
	switch (t->step) {
	case STEP_PLACE:
		strv_add_all(argv, d->program, "context", "inspect", "--format", "{{.Endpoints.docker.Host}}", NULL);
		break;
	case STEP_NETWORK_LIST:
		argv_network_list(argv, d->program);
		break;
	case STEP_NETWORK_CREATE:
		argv_network_create(argv, d->program);
		break;
	case STEP_NETWORK_REMOVE:
		argv_network_remove(argv, d->program, t->spares.v, t->spares.n);
		break;
	case STEP_RUN:
		if (d->shares_kernel != SUPPORT_YES)
			spec.ca_bundle = NULL;
		if (d->shares_kernel == SUPPORT_NO || d->refuses_mounts)
			spec.line_dir = NULL;
		if (!d->has_quotas)
			spec.quota = 0;
		spec.no_terminals = d->refuses_terminals;
		spec.podman = d->is_podman;
		t->has_terminals = !spec.no_terminals && !spec.install;
		t->has_line_dir = spec.line_dir != NULL;
		t->has_quota = spec.quota != 0;
		spec.network_late = t->joins_late = spec.network && spec.network_late && !d->joins_at_once;
		argv_run(argv, d->program, &spec, d->network);
		break;
	case STEP_PORTS:
		argv_open_ports(argv, d->program, &spec);
		break;
	case STEP_LEAVE:
		argv_network_leave(argv, d->program, spec.name);
		break;
	case STEP_JOIN:
		argv_network_join(argv, d->program, d->network, spec.name);
		break;
	case STEP_REMOVE:
		(t->only_ended ? argv_remove_ended : argv_remove)(argv, d->program,
								  !t->is_create && *t->id ? t->id : spec.name);
		break;
	case STEP_PRUNE:
		argv_network_prune(argv, d->program, t->min_age);
		break;
	case STEP_PRUNE_FENCE:
		argv_fence_prune(argv, d->program, t->min_age);
		break;
	}
}

static void on_start_failed(void *ctx)
{
	struct engine_task *t = ctx;
	if (t->step == STEP_LEAVE || t->step == STEP_JOIN)
		reap_made(t);
	task_finish(t);
}

static void step_start(struct engine_task *t, enum step step)
{
	static const uint64_t deadlines[] = {
		[STEP_PLACE] = QUICK_DEADLINE_MS,
		[STEP_NETWORK_LIST] = QUICK_DEADLINE_MS,
		[STEP_NETWORK_CREATE] = QUICK_DEADLINE_MS,
		[STEP_NETWORK_REMOVE] = QUICK_DEADLINE_MS,
		[STEP_RUN] = RUN_DEADLINE_MS,
		[STEP_PORTS] = QUICK_DEADLINE_MS,
		[STEP_LEAVE] = QUICK_DEADLINE_MS,
		[STEP_JOIN] = QUICK_DEADLINE_MS,
		[STEP_REMOVE] = REMOVE_DEADLINE_MS,
		[STEP_PRUNE] = QUICK_DEADLINE_MS,
		[STEP_PRUNE_FENCE] = QUICK_DEADLINE_MS,
	};
	AUTO(strv_release) struct strv argv = { 0 };
	t->step = step;
	step_argv(t, &argv);
	struct child_spec child = {
		.argv = strv_argv(&argv),
		.env = docker_env(t->docker),
		.deadline_ms = deadlines[step],
		.on_done = step_ended,
		.ctx = t,
	};
	struct fail f = { 0 };
	if (client_start(t->docker->loop, &child, &t->child, &f) == 0) {
		watch_pulse(t);
		return;
	}
	if (!t->failure.kind)
		fail_move(&t->failure, &f);
	fail_release(&f);
	/* Reported from the loop, since callbacks never run inside the function that started them. */
	timer_free(t->retry);
	t->retry = timer_new(t->docker->loop, on_start_failed, t);
	timer_start(t->retry, 1, 0);
}

struct engine_task *task_create(struct engine *e, const struct container_spec *spec, engine_created_fn done, void *ctx)
{
	struct docker *d = docker_of(e);
	struct engine_task *t = task_new(d, spec, /* done= */ NULL, ctx);
	t->created = done;
	t->is_create = true;
	/* Certificates of this machine can be mounted only if the engine is on it. */
	bool mounts_bundle = spec->network || (spec->gated && spec->ca_bundle);
	if (mounts_bundle && !d->shares_kernel)
		step_start(t, STEP_PLACE);
	else if (!spec->network)
		step_start(t, STEP_RUN);
	else
		step_start(t, *d->network ? STEP_RUN : STEP_NETWORK_LIST);
	return t;
}

void task_foresee(struct engine *e)
{
	struct docker *d = docker_of(e);
	struct engine_task *t = task_new(d, &(struct container_spec){ .name = "" }, /* done= */ NULL, /* ctx= */ NULL);
	t->only_looks = true;
	step_start(t, d->shares_kernel ? STEP_NETWORK_LIST : STEP_PLACE);
}

/* Removes by the engine's id, since another container may get the name in the meantime. */
static void on_labels(void *ctx, const struct engine_answer *answer, const struct fail *f)
{
	struct engine_task *t = ctx;
	struct container_ref ref = { .name = t->spec.name, .store = t->spec.store, .mark = t->spec.mark };
	bool meant = answer && answer->container.is_there && engine_is_meant(&answer->container, &ref);
	if (f)
		fail_copy(&t->failure, f);
	else if (meant)
		inspect_container_id(answer->container.id, t->id);
	if (!f && answer->container.is_there && !*t->id)
		(void)engine_not_meant(&t->failure, t->spec.name);
	t->labels = docker_query_free(t->labels);
	if (*t->id)
		step_start(t, STEP_REMOVE);
	else
		task_finish(t);
}

static void check_labels(struct engine_task *t)
{
	t->labels = docker_query(
		&t->docker->engine,
		&(struct query_spec){
			.kind = ENGINE_QUERY_CONTAINER, .subject = t->spec.name, .done = on_labels, .ctx = t },
		&t->failure);
	if (t->labels)
		return;
	t->retry = timer_new(t->docker->loop, on_start_failed, t);
	timer_start(t->retry, 1, 0);
}

struct engine_task *task_remove(struct engine *e, const struct container_ref *container, engine_done_fn done, void *ctx)
{
	struct container_spec spec = { .name = container->name, .store = container->store, .mark = container->mark };
	struct engine_task *t = task_new(docker_of(e), &spec, done, ctx);
	t->step = STEP_REMOVE;
	if (container->store)
		check_labels(t);
	else
		step_start(t, STEP_REMOVE);
	return t;
}

struct engine_task *task_remove_ended(struct engine *e, const char *container, engine_done_fn done, void *ctx)
{
	struct engine_task *t = task_new(docker_of(e), &(struct container_spec){ .name = container }, done, ctx);
	t->only_ended = true;
	step_start(t, STEP_REMOVE);
	return t;
}

struct engine_task *task_prune(struct engine *e, uint64_t min_age, engine_done_fn done, void *ctx)
{
	struct engine_task *t = task_new(docker_of(e), &(struct container_spec){ .name = "" }, done, ctx);
	t->min_age = min_age;
	step_start(t, STEP_PRUNE);
	return t;
}

void task_cancel(struct engine_task *t)
{
	t->cancelled = true;
}

void tasks_remove_and_forget(struct engine *e, char *const *containers, size_t n)
{
	AUTO(strv_release) struct strv names = { 0 };
	struct docker *d = docker_of(e);
	for (size_t i = 0; i < n; i++)
		strv_add(&names, containers[i]);
	list_for_each(t, &d->tasks, struct engine_task, node)
		if (*t->id && !t->is_create)
			strv_add(&names, t->id);
		else if (*t->spec.name && !t->labels)
			strv_add(&names, t->spec.name);
	bakery_scratches(&d->bakery, &names);
	tasks_reap_later(d, &names);
}

void tasks_release(struct docker *d)
{
	list_for_each(t, &d->tasks, struct engine_task, node)
		task_free(t);
}
