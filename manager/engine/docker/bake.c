#include "manager/engine/docker/bake.h"

#include <fcntl.h>
#include <signal.h>

#include "base/alloc.h"
#include "base/child.h"
#include "manager/engine/docker/argv.h"
#include "manager/engine/docker/client.h"
#include "manager/engine/docker/inspect.h"

#define QUICK_DEADLINE_MS 60000
/* Enough for gigabytes on a slow disk. */
#define COPY_DEADLINE_MS 900000

enum step { STEP_SOURCE, STEP_CREATE, STEP_COPY, STEP_RUN, STEP_COMMIT, STEP_REMOVE, STEP_REMOVE_IMAGE, STEP_PRUNE };

struct engine_bake {
	struct list node;
	struct bakery *bakery;
	enum step step;
	struct child *child, *reader; /* reader: reads the directory that `child` writes */
	struct timer *later;
	struct bake_spec spec; /* its strings are owned */
	struct strv labels;
	bool only_image; /* not a bake: only removes an image */
	bool committed;
	engine_done_fn done; /* NULL once cancelled */
	void *ctx;
	struct fail failure;
};

static void step_start(struct engine_bake *b, enum step step);

static void bake_free(struct engine_bake *b)
{
	list_remove(&b->node);
	child_free(b->child);
	child_free(b->reader);
	timer_free(b->later);
	free((char *)b->spec.container);
	free((char *)b->spec.source);
	free((char *)b->spec.program);
	free((char *)b->spec.path);
	free((char *)b->spec.base);
	free((char *)b->spec.image);
	free((char *)b->spec.scratch);
	free((char *)b->spec.store);
	strv_release(&b->labels);
	fail_release(&b->failure);
	free(b);
}

static void finish(struct engine_bake *b)
{
	engine_done_fn done = take_ptr(b->done);
	if (done)
		done(b->ctx, b->failure.kind ? &b->failure : NULL);
	bake_free(b);
}

static const char *doing(enum step step)
{
	switch (step) {
	case STEP_REMOVE_IMAGE:
		return "remove the image";
	case STEP_RUN:
		return "run husk-fit in the image";
	default:
		return "store the result as an image";
	}
}

static void note_failure(struct engine_bake *b, const struct child_result *r)
{
	if (b->failure.kind)
		return;
	if (r->timed_out)
		inspect_silence(&b->failure, doing(b->step));
	else
		inspect_error(&b->failure, doing(b->step), r->err, r->err_len);
}

/* Starts the next step. After a failure or a cancel it removes what was created. */
static void go_on(struct engine_bake *b)
{
	bool give_up = b->failure.kind || (!b->done && !b->only_image);
	switch (b->step) {
	case STEP_SOURCE:
		step_start(b, give_up ? STEP_REMOVE : STEP_CREATE);
		break;
	case STEP_CREATE:
		step_start(b, give_up ? STEP_REMOVE : STEP_COPY);
		break;
	case STEP_COPY:
		step_start(b, give_up ? STEP_REMOVE : b->spec.program ? STEP_RUN : STEP_COMMIT);
		break;
	case STEP_RUN:
		step_start(b, give_up ? STEP_REMOVE : STEP_COMMIT);
		break;
	case STEP_COMMIT:
		b->committed = !b->failure.kind;
		step_start(b, STEP_REMOVE);
		break;
	case STEP_REMOVE:
		/* STEP_PRUNE removes an older image that has lost its name to this one. */
		step_start(b, b->committed && !b->done ? STEP_REMOVE_IMAGE : STEP_PRUNE);
		break;
	case STEP_REMOVE_IMAGE:
		step_start(b, STEP_PRUNE);
		break;
	case STEP_PRUNE:
		finish(b);
		break;
	}
}

static bool is_fine(const struct engine_bake *b, const struct child_result *r)
{
	switch (b->step) {
	case STEP_REMOVE: /* gc removes leftovers: it looks for containers that never ran */
	case STEP_PRUNE:
		return true;
	case STEP_REMOVE_IMAGE:
		return r->exit_status == 0 || inspect_is_missing(r->err);
	default:
		return r->exit_status == 0;
	}
}

static void on_child_done(void *ctx, const struct child_result *r)
{
	struct engine_bake *b = ctx;
	struct child *ended = take_ptr(b->child);
	if (b->step == STEP_RUN && b->done && b->spec.on_output)
		b->spec.on_output(b->ctx, r->out, r->out_len);
	if (!is_fine(b, r))
		note_failure(b, r);
	if (!b->reader)
		go_on(b);
	child_free(ended);
}

static void on_reader_done(void *ctx, const struct child_result *r)
{
	struct engine_bake *b = ctx;
	struct child *ended = take_ptr(b->reader);
	if (r->exit_status != 0)
		note_failure(b, r);
	if (!b->child)
		go_on(b);
	child_free(ended);
}

static void on_start_failed(void *ctx)
{
	struct engine_bake *b = ctx;
	/* Without a docker client there is no way to clean up either. */
	finish(b);
}

static void start_failed(struct engine_bake *b, struct fail *f)
{
	if (!b->failure.kind)
		fail_move(&b->failure, f);
	fail_release(f);
	b->reader = child_free(b->reader);
	timer_free(b->later);
	b->later = timer_new(b->bakery->loop, on_start_failed, b);
	timer_start(b->later, 1, 0);
}

static int start_reader(struct engine_bake *b, int out, struct fail *f)
{
	AUTO(strv_release) struct strv argv = { 0 };
	argv_bake_read(&argv, b->bakery->program, &b->spec);
	struct child_spec spec = {
		.argv = strv_argv(&argv),
		.env = b->bakery->env,
		.deadline_ms = COPY_DEADLINE_MS,
		.stdout_fd = out,
		.on_done = on_reader_done,
		.ctx = b,
	};
	return client_start(b->bakery->loop, &spec, &b->reader, f);
}

static void step_argv(struct engine_bake *b, struct strv *argv)
{
	const char *docker = b->bakery->program;
	switch (b->step) {
	case STEP_SOURCE:
		argv_bake_source(argv, docker, &b->spec);
		break;
	case STEP_CREATE:
		argv_bake_create(argv, docker, &b->spec);
		break;
	case STEP_RUN:
		argv_bake_run(argv, docker, &b->spec);
		break;
	case STEP_COPY:
		argv_bake_write(argv, docker, &b->spec);
		break;
	case STEP_COMMIT:
		argv_bake_commit(argv, docker, &b->spec);
		break;
	case STEP_REMOVE:
		argv_remove(argv, docker, b->spec.scratch);
		if (b->spec.source)
			strv_add(argv, b->spec.container);
		break;
	case STEP_REMOVE_IMAGE:
		argv_image_remove(argv, docker, b->spec.image);
		break;
	case STEP_PRUNE:
		argv_image_prune(argv, docker);
		break;
	}
}

static void step_start(struct engine_bake *b, enum step step)
{
	AUTO(strv_release) struct strv argv = { 0 };
	AUTO(closep) int in = -1;
	AUTO(closep) int out = -1;
	struct fail f = { 0 };
	b->step = step;
	step_argv(b, &argv);
	if (step == STEP_COPY) {
		int ends[2];
		if (pipe2(ends, O_CLOEXEC) < 0) {
			fail_set(&f, FAIL_INTERNAL, "cannot create a pipe: %m");
			start_failed(b, &f);
			return;
		}
		in = ends[0];
		out = ends[1];
		if (start_reader(b, out, &f) < 0) {
			start_failed(b, &f);
			return;
		}
	}
	struct child_spec spec = {
		.argv = strv_argv(&argv),
		.env = b->bakery->env,
		.deadline_ms = step == STEP_COPY || step == STEP_RUN || step == STEP_COMMIT ? COPY_DEADLINE_MS :
											      QUICK_DEADLINE_MS,
		.stdin_fd = in > 0 ? in : 0,
		.on_done = on_child_done,
		.ctx = b,
	};
	if (client_start(b->bakery->loop, &spec, &b->child, &f) < 0)
		start_failed(b, &f);
}

static struct engine_bake *bake_new(struct bakery *bakery, engine_done_fn done, void *ctx)
{
	struct engine_bake *b = new0(struct engine_bake);
	b->bakery = bakery;
	b->done = done;
	b->ctx = ctx;
	list_append(&bakery->bakes, &b->node);
	return b;
}

struct engine_bake *bake_start(struct bakery *bakery, const struct bake_spec *spec, engine_done_fn done, void *ctx)
{
	struct engine_bake *b = bake_new(bakery, done, ctx);
	b->spec = (struct bake_spec){
		.container = xstrdup(spec->container),
		.source = spec->source ? xstrdup(spec->source) : NULL,
		.program = spec->program ? xstrdup(spec->program) : NULL,
		.on_output = spec->on_output,
		.path = xstrdup(spec->path),
		.base = xstrdup(spec->base),
		.image = xstrdup(spec->image),
		.scratch = xstrdup(spec->scratch),
		.store = xstrdup(spec->store),
		.labels = &b->labels,
	};
	for (size_t i = 0; i < spec->labels->n; i++)
		strv_add(&b->labels, spec->labels->v[i]);
	step_start(b, spec->source ? STEP_SOURCE : STEP_CREATE);
	return b;
}

struct engine_bake *bake_remove_image(struct bakery *bakery, const char *image, engine_done_fn done, void *ctx)
{
	struct engine_bake *b = bake_new(bakery, done, ctx);
	b->only_image = true;
	b->spec.image = xstrdup(image);
	step_start(b, STEP_REMOVE_IMAGE);
	return b;
}

void bake_cancel(struct engine_bake *b)
{
	b->done = NULL;
	/* A copy or a check can be killed. The other steps are short, and the daemon would finish them unobserved. */
	if ((b->step == STEP_COPY || b->step == STEP_RUN) && b->child)
		child_kill(b->child, SIGKILL);
	if (b->step == STEP_COPY && b->reader)
		child_kill(b->reader, SIGKILL);
}

void bakery_scratches(const struct bakery *bakery, struct strv *names)
{
	list_for_each(b, &bakery->bakes, struct engine_bake, node)
		if (b->spec.scratch)
			strv_add(names, b->spec.scratch);
	list_for_each(b, &bakery->bakes, struct engine_bake, node)
		if (b->spec.source)
			strv_add(names, b->spec.container);
}

void bakery_release(struct bakery *bakery)
{
	list_for_each(b, &bakery->bakes, struct engine_bake, node)
		bake_free(b);
}
