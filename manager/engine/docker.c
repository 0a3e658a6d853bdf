/* The docker CLI by exec. A create is a chain of commands (where is the engine, the network, run); each step is one child
 * with a deadline. A create that is cancelled is not cut in the middle, which would leave the daemon to finish it
 * unwatched: its step ends, and what it made is removed. */
#include <limits.h>
#include <signal.h>

#include "base/alloc.h"
#include "base/child.h"
#include "base/list.h"
#include "base/log.h"
#include "manager/engine/argv.h"
#include "manager/engine/bake.h"
#include "manager/engine/engine.h"
#include "manager/engine/inspect.h"
#include "manager/engine/probe.h"

#define QUICK_DEADLINE_MS 15000
#define RUN_DEADLINE_MS 60000
#define REMOVE_DEADLINE_MS 30000
/* While somebody else's removal of the same container is under way. */
#define REMOVE_RETRY_MS 50
#define REMOVE_RETRIES 200
/* A step that takes this long has the engine asked for a sign of life; without one it is waited for no longer. */
#define PULSE_AFTER_MS 10000
/* What a docker exec exits with, without a word, when its engine goes away. */
#define CONNECTION_LOST 255
#define EVENT_LINE_MAX 65536u

struct docker {
	struct engine engine;
	struct loop *loop;
	char *program;
	char network[65];
	bool place_known, is_local;
	struct list tasks;
	struct bakery bakery;
};

enum step { STEP_PLACE, STEP_NETWORK_LIST, STEP_NETWORK_CREATE, STEP_RUN, STEP_REMOVE, STEP_PRUNE };

struct engine_task {
	struct list node;
	struct docker *docker;
	enum step step;
	struct child *child;
	struct timer *retry;
	struct timer *slow;	    /* runs while a step does that may take long */
	struct engine_probe *pulse; /* the question to an engine that takes long */
	struct container_spec spec; /* strings are ours; only name for a remove */
	engine_done_fn done;	    /* NULL once cancelled */
	void *ctx;
	struct fail failure; /* of a create whose remains are being removed */
	uint64_t min_age;    /* of networks to remove */
	unsigned retries;
	bool network_retried, network_created, is_create;
	bool only_ended; /* STEP_REMOVE leaves alone what runs */
	bool hung;	 /* the engine gave no sign of life during this step */
	struct strv env; /* what spec.env points to */
};

struct engine_stream {
	struct docker *docker;
	struct child *child;
	struct stream_handler handler;
};

struct engine_watch {
	struct child *child;
	struct watch_handler handler;
	struct buf line;
	bool skipping; /* an over-long line, up to its end */
};

static void step_start(struct engine_task *t, enum step step);

static struct docker *docker_of(struct engine *e)
{
	return container_of(e, struct docker, engine);
}

/* --- tasks ------------------------------------------------------------------------------------------------------- */

static void spec_copy(struct container_spec *to, const struct container_spec *from)
{
	*to = *from;
	to->name = xstrdup(from->name);
	to->image = from->image ? xstrdup(from->image) : NULL;
	to->store = from->store ? xstrdup(from->store) : NULL;
	to->owner = from->owner ? xstrdup(from->owner) : NULL;
	to->ca_bundle = from->ca_bundle ? xstrdup(from->ca_bundle) : NULL;
}

static void task_free(struct engine_task *t)
{
	list_remove(&t->node);
	t->child = child_free(t->child);
	t->retry = timer_free(t->retry);
	t->slow = timer_free(t->slow);
	t->pulse = probe_free(t->pulse);
	fail_release(&t->failure);
	free((char *)t->spec.name);
	free((char *)t->spec.image);
	free((char *)t->spec.store);
	free((char *)t->spec.owner);
	free((char *)t->spec.ca_bundle);
	strv_release(&t->env);
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
	engine_done_fn done = take_ptr(t->done);
	if (done)
		done(t->ctx, t->failure.kind ? &t->failure : NULL);
	task_free(t);
}

/* A process of its own sees to it. Not `docker rm`: a container whose create is still under way at the daemon has to be
 * waited for. */
static void reap_later(struct docker *d, const struct strv *names)
{
	AUTO(strv_release) struct strv argv = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	if (!names->n)
		return;
	strv_add_all(&argv, "/proc/self/exe", "reap", "--docker", d->program, "--", NULL);
	for (size_t i = 0; i < names->n; i++)
		strv_add(&argv, names->v[i]);
	if (child_spawn_forgotten(d->loop, strv_argv(&argv), &f) < 0)
		log_warning("%s", f.message);
}

static const char *step_words(enum step step)
{
	switch (step) {
	case STEP_NETWORK_LIST:
	case STEP_NETWORK_CREATE:
		return "prepare the network";
	case STEP_REMOVE:
		return "remove the container";
	case STEP_PRUNE:
		return "remove networks that nobody uses";
	default:
		return "start the container";
	}
}

static void step_failed(struct engine_task *t, const struct child_result *r)
{
	bool timed_out = r->timed_out || t->hung;
	if (timed_out)
		fail_hint((fail_set(&t->failure, FAIL_ENGINE, "cannot %s: the Docker engine did not answer in time",
				    step_words(t->step)),
			   &t->failure),
			  "check that `docker ps` answers; restart the engine if it hangs");
	else
		inspect_error(&t->failure, step_words(t->step), r->err, r->err_len);
	if (t->failure.kind == FAIL_IMAGE && t->spec.image)
		fail_wrap(&t->failure, "image '%s'", t->spec.image);
	if (t->step == STEP_RUN && timed_out) {
		/* The daemon may come round to it at any time; who asked for it has waited long enough. */
		AUTO(strv_release) struct strv name = { 0 };
		strv_add(&name, t->spec.name);
		reap_later(t->docker, &name);
	}
	if (t->step == STEP_RUN && !timed_out)
		step_start(t, STEP_REMOVE);
	else
		task_finish(t);
}

static void on_retry(void *ctx)
{
	struct engine_task *t = ctx;
	step_start(t, STEP_REMOVE);
}

/* Returns true if the removal must be tried again. */
static bool remove_again(struct engine_task *t, const struct child_result *r)
{
	if (r->exit_status == 0 || !inspect_removal_in_progress(r->err) || t->retries++ >= REMOVE_RETRIES)
		return false;
	if (!t->retry)
		t->retry = timer_new(t->docker->loop, on_retry, t);
	timer_start(t->retry, REMOVE_RETRY_MS, 0);
	return true;
}

static void remove_ended(struct engine_task *t, const struct child_result *r)
{
	if (remove_again(t, r))
		return;
	/* The failure of a create stays the one that is told. */
	if (r->exit_status != 0 && !strstr(r->err, "No such container") && !t->is_create) {
		step_failed(t, r);
		return;
	}
	task_finish(t);
}

static void place_ended(struct engine_task *t, const struct child_result *r)
{
	struct docker *d = t->docker;
	/* A CLI that can't tell has no contexts; then DOCKER_HOST alone decides. */
	const char *host = r->exit_status == 0 ? r->out : getenv("DOCKER_HOST");
	d->is_local = !host || !*host || strncmp(host, "unix://", 7) == 0 || strncmp(host, "npipe://", 8) == 0;
	d->place_known = true;
	step_start(t, STEP_NETWORK_LIST);
}

static void network_listed(struct engine_task *t, const struct child_result *r)
{
	if (r->exit_status != 0)
		step_failed(t, r);
	else if (inspect_network_id(r->out, t->docker->network) == 0)
		step_start(t, STEP_RUN);
	else if (!t->network_created)
		step_start(t, STEP_NETWORK_CREATE);
	else
		step_failed(t, r);
}

static void run_ended(struct engine_task *t, const struct child_result *r)
{
	bool lost_network =
		r->exit_status != 0 && t->spec.network && strstr(r->err, "network") && strstr(r->err, "not found");
	if (r->exit_status == 0 && t->done) {
		task_finish(t);
	} else if (lost_network && !t->network_retried && t->done) {
		t->network_retried = true;
		t->network_created = false;
		step_start(t, STEP_NETWORK_LIST);
	} else if (r->exit_status == 0) {
		step_start(t, STEP_REMOVE);
	} else {
		step_failed(t, r);
	}
}

static void on_pulse(void *ctx, const char *text, size_t n, const struct fail *f)
{
	struct engine_task *t = ctx;
	t->pulse = probe_free(t->pulse);
	t->hung = f && f->kind == FAIL_TIMEOUT;
	if (t->hung)
		child_kill(t->child, SIGKILL);
}

static void on_slow(void *ctx)
{
	struct engine_task *t = ctx;
	struct probe_spec spec = { .question = ASK_ENGINE, .done = on_pulse, .ctx = t };
	AUTO(fail_release) struct fail f = { 0 };
	t->pulse = probe_start(t->docker->loop, t->docker->program, &spec, &f);
}

static void watch_pulse(struct engine_task *t)
{
	t->hung = false;
	if (t->step != STEP_RUN && t->step != STEP_REMOVE)
		return;
	if (!t->slow)
		t->slow = timer_new(t->docker->loop, on_slow, t);
	timer_start(t->slow, PULSE_AFTER_MS, 0);
}

/* Only one client at a time may prune; whoever is at it does our work. */
static void prune_ended(struct engine_task *t, const struct child_result *r)
{
	if (r->exit_status == 0 || strstr(r->err, "already running"))
		task_finish(t);
	else
		step_failed(t, r);
}

static void step_ended(void *ctx, const struct child_result *r)
{
	struct engine_task *t = ctx;
	struct child *ended = take_ptr(t->child);
	t->slow = timer_free(t->slow);
	t->pulse = probe_free(t->pulse);
	bool cancelled = !t->done && t->is_create && t->step < STEP_RUN;
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
			/* Whoever lost the race finds the other's network in the list. */
			t->network_created = true;
			step_start(t, STEP_NETWORK_LIST);
			break;
		case STEP_RUN:
			run_ended(t, r);
			break;
		case STEP_REMOVE:
			remove_ended(t, r);
			break;
		case STEP_PRUNE:
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
	case STEP_RUN:
		if (!d->is_local)
			spec.ca_bundle = NULL;
		argv_run(argv, d->program, &spec, d->network);
		break;
	case STEP_REMOVE:
		(t->only_ended ? argv_remove_ended : argv_remove)(argv, d->program, spec.name);
		break;
	case STEP_PRUNE:
		argv_network_prune(argv, d->program, t->min_age);
		break;
	}
}

static void on_start_failed(void *ctx)
{
	task_finish(ctx);
}

static void step_start(struct engine_task *t, enum step step)
{
	static const uint64_t deadlines[] = {
		[STEP_PLACE] = QUICK_DEADLINE_MS,	   [STEP_NETWORK_LIST] = QUICK_DEADLINE_MS,
		[STEP_NETWORK_CREATE] = QUICK_DEADLINE_MS, [STEP_RUN] = RUN_DEADLINE_MS,
		[STEP_REMOVE] = REMOVE_DEADLINE_MS,	   [STEP_PRUNE] = QUICK_DEADLINE_MS,
	};
	AUTO(strv_release) struct strv argv = { 0 };
	t->step = step;
	step_argv(t, &argv);
	struct child_spec child = {
		.argv = strv_argv(&argv),
		.deadline_ms = deadlines[step],
		.on_done = step_ended,
		.ctx = t,
	};
	struct fail f = { 0 };
	if (child_start(t->docker->loop, &child, &t->child, &f) == 0) {
		watch_pulse(t);
		return;
	}
	if (!t->failure.kind) {
		fail_move(&t->failure, &f);
		fail_hint(
			&t->failure,
			"install the docker client and an engine (./setup-docker.sh does both), or set HUSK_DOCKER to the client's path");
	}
	fail_release(&f);
	/* Told from the loop: callbacks never run inside the call that started them. */
	timer_free(t->retry);
	t->retry = timer_new(t->docker->loop, on_start_failed, t);
	timer_start(t->retry, 1, 0);
}

static struct engine_task *docker_create(struct engine *e, const struct container_spec *spec, engine_done_fn done,
					 void *ctx)
{
	struct docker *d = docker_of(e);
	struct engine_task *t = task_new(d, spec, done, ctx);
	t->is_create = true;
	if (!spec->network)
		step_start(t, STEP_RUN);
	else if (!d->place_known)
		step_start(t, STEP_PLACE);
	else
		step_start(t, *d->network ? STEP_RUN : STEP_NETWORK_LIST);
	return t;
}

static struct engine_task *docker_remove(struct engine *e, const char *container, engine_done_fn done, void *ctx)
{
	struct engine_task *t = task_new(docker_of(e), &(struct container_spec){ .name = container }, done, ctx);
	step_start(t, STEP_REMOVE);
	return t;
}

static struct engine_task *docker_remove_ended(struct engine *e, const char *container, engine_done_fn done, void *ctx)
{
	struct engine_task *t = task_new(docker_of(e), &(struct container_spec){ .name = container }, done, ctx);
	t->only_ended = true;
	step_start(t, STEP_REMOVE);
	return t;
}

static struct engine_task *docker_prune(struct engine *e, uint64_t min_age, engine_done_fn done, void *ctx)
{
	struct engine_task *t = task_new(docker_of(e), &(struct container_spec){ .name = "" }, done, ctx);
	t->min_age = min_age;
	step_start(t, STEP_PRUNE);
	return t;
}

static void docker_task_cancel(struct engine_task *t)
{
	t->done = NULL;
}

/* At exit: also what the engine is still making or removing, since those commands end with this process. */
static void docker_remove_and_forget(struct engine *e, char *const *containers, size_t n)
{
	AUTO(strv_release) struct strv names = { 0 };
	struct docker *d = docker_of(e);
	for (size_t i = 0; i < n; i++)
		strv_add(&names, containers[i]);
	list_for_each(t, &d->tasks, struct engine_task, node)
		if (*t->spec.name)
			strv_add(&names, t->spec.name);
	bakery_scratches(&d->bakery, &names);
	reap_later(d, &names);
}

static struct engine_bake *docker_bake(struct engine *e, const struct bake_spec *spec, engine_done_fn done, void *ctx)
{
	return bake_start(&docker_of(e)->bakery, spec, done, ctx);
}

static struct engine_bake *docker_remove_image(struct engine *e, const char *image, engine_done_fn done, void *ctx)
{
	return bake_remove_image(&docker_of(e)->bakery, image, done, ctx);
}

/* --- streams ----------------------------------------------------------------------------------------------------- */

static void stream_bytes(void *ctx, const void *data, size_t n)
{
	struct engine_stream *s = ctx;
	s->handler.on_bytes(s->handler.ctx, data, n);
}

static void stream_ended(void *ctx, const struct child_result *r)
{
	struct engine_stream *s = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	if (r->err_len)
		inspect_error(&f, "reach the session", r->err, r->err_len);
	else if (r->exit_status == CONNECTION_LOST)
		inspect_error(&f, "reach the session", "error during connect", strlen("error during connect"));
	else
		fail_set(&f, FAIL_ENGINE, "the stream to the session ended (docker exec: status %d)", r->exit_status);
	s->handler.on_closed(s->handler.ctx, &f);
}

static struct engine_stream *docker_attach(struct engine *e, const char *container,
					   const struct stream_handler *handler, struct fail *f)
{
	struct docker *d = docker_of(e);
	AUTO(strv_release) struct strv argv = { 0 };
	argv_attach(&argv, d->program, container);
	struct engine_stream *s = new0(struct engine_stream);
	s->docker = d;
	s->handler = *handler;
	struct child_spec spec = {
		.argv = strv_argv(&argv),
		.stdin_pipe = true,
		.on_stdout = stream_bytes,
		.on_done = stream_ended,
		.ctx = s,
	};
	if (child_start(d->loop, &spec, &s->child, f) < 0) {
		free(s);
		return NULL;
	}
	return s;
}

static int docker_stream_write(struct engine_stream *s, const void *data, size_t n)
{
	return child_write(s->child, data, n);
}

static struct engine_stream *docker_stream_free(struct engine_stream *s)
{
	if (!s)
		return NULL;
	child_free(s->child);
	free(s);
	return NULL;
}

/* --- events ------------------------------------------------------------------------------------------------------ */

static void watch_line(struct engine_watch *w)
{
	struct event_text storage;
	struct engine_event event;
	if (!w->skipping && inspect_event((const char *)w->line.data, w->line.len, &storage, &event))
		w->handler.on_event(w->handler.ctx, &event);
	w->skipping = false;
	buf_reset(&w->line);
}

static void watch_bytes(void *ctx, const void *data, size_t n)
{
	struct engine_watch *w = ctx;
	const char *p = data, *end = p + n;
	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		size_t take = (size_t)((newline ? newline : end) - p);
		if (buf_add(&w->line, p, take) < 0)
			w->skipping = true;
		p += take;
		if (!newline)
			break;
		p++;
		watch_line(w);
	}
}

static void watch_ended(void *ctx, const struct child_result *r)
{
	struct engine_watch *w = ctx;
	log_debug("docker events ended: %.200s", r->err);
	w->handler.on_closed(w->handler.ctx);
}

static struct engine_watch *docker_watch(struct engine *e, const char *store, const struct watch_handler *handler,
					 struct fail *f)
{
	struct docker *d = docker_of(e);
	AUTO(strv_release) struct strv argv = { 0 };
	argv_watch(&argv, d->program, store);
	struct engine_watch *w = new0(struct engine_watch);
	w->handler = *handler;
	w->line.max = EVENT_LINE_MAX;
	struct child_spec spec = {
		.argv = strv_argv(&argv),
		.on_stdout = watch_bytes,
		.on_done = watch_ended,
		.ctx = w,
	};
	if (child_start(d->loop, &spec, &w->child, f) < 0) {
		free(w);
		return NULL;
	}
	return w;
}

static struct engine_watch *docker_watch_free(struct engine_watch *w)
{
	if (!w)
		return NULL;
	child_free(w->child);
	buf_release(&w->line);
	free(w);
	return NULL;
}

static struct engine_probe *docker_probe(struct engine *e, const struct probe_spec *spec, struct fail *f)
{
	struct docker *d = docker_of(e);
	return probe_start(d->loop, d->program, spec, f);
}

static struct engine *docker_free(struct engine *e)
{
	struct docker *d = docker_of(e);
	list_for_each(t, &d->tasks, struct engine_task, node)
		task_free(t);
	bakery_release(&d->bakery);
	free(d->program);
	free(d);
	return NULL;
}

static const struct engine_ops docker_ops = {
	.name = "docker",
	.create = docker_create,
	.remove = docker_remove,
	.remove_ended = docker_remove_ended,
	.prune = docker_prune,
	.remove_and_forget = docker_remove_and_forget,
	.bake = docker_bake,
	.bake_cancel = bake_cancel,
	.remove_image = docker_remove_image,
	.attach = docker_attach,
	.watch = docker_watch,
	.probe = docker_probe,
	.probe_free = probe_free,
	.task_cancel = docker_task_cancel,
	.stream_write = docker_stream_write,
	.stream_free = docker_stream_free,
	.watch_free = docker_watch_free,
	.free = docker_free,
};

struct engine *engine_docker_new(struct loop *loop, const char *program)
{
	struct docker *d = new0(struct docker);
	d->engine.ops = &docker_ops;
	d->loop = loop;
	d->program = xstrdup(program);
	list_init(&d->tasks);
	d->bakery = (struct bakery){ .loop = loop, .program = d->program };
	list_init(&d->bakery.bakes);
	return &d->engine;
}
