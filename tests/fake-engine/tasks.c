/* Requests of a client: one object for each call of the vtable. It ends from the loop, unless the test holds it. */
#include <time.h>

#include "base/alloc.h"
#include "tests/fake-engine/box.h"
#include "tests/fake-engine/fake-engine-private.h"
#include "tests/unit/unit.h"

struct engine_task {
	struct list node;
	struct engine *client;
	struct fake *fake;
	enum fake_op op;
	struct timer *timer;
	char *name;			    /* a container, an image or the subject of a query; "" if there is none */
	char *image, *store, *owner, *mark; /* for a create; or the labels that a remove requires */
	struct container_spec spec;
	struct strv env;
	char *container, *base, *scratch, *source; /* for a bake, which makes the image `name` */
	void (*on_output)(void *ctx, const char *text, size_t n);
	struct strv labels;
	enum engine_query_kind kind;
	struct fake_container *starting; /* a real PID 1 is starting */
	engine_done_fn done;
	engine_created_fn created; /* instead of `done`, for a create */
	engine_answer_fn answer;
	void *ctx;
};

static void run(void *ctx);

static struct engine_task *task_new(struct engine *e, enum fake_op op, const char *name, void *ctx)
{
	struct engine_task *t = new0(struct engine_task);
	t->client = e;
	t->fake = fake_of(e);
	t->op = op;
	t->name = xstrdup(name ? name : "");
	t->ctx = ctx;
	t->timer = timer_new(t->fake->loop, run, t);
	t->fake->faults[op].calls++;
	list_append(&t->fake->tasks, &t->node);
	timer_start(t->timer, 0, 0);
	return t;
}

static void task_free(struct engine_task *t)
{
	list_remove(&t->node);
	timer_free(t->timer);
	if (t->scratch) {
		struct fake_container *scratch = fake_find(t->fake, t->scratch);
		if (scratch)
			container_free(scratch);
	}
	free(t->name);
	free(t->image);
	free(t->store);
	free(t->owner);
	free(t->mark);
	free(t->container);
	free(t->base);
	free(t->scratch);
	free(t->source);
	strv_release(&t->env);
	strv_release(&t->labels);
	free(t);
}

static void finish(struct engine_task *t, const struct fail *f)
{
	engine_done_fn done = t->done;
	engine_created_fn created = t->created;
	void *ctx = t->ctx;
	/* Unlinked, so that it is not released twice. */
	list_remove(&t->node);
	if (done)
		done(ctx, f);
	else if (created)
		created(ctx, f ? NULL : &(struct engine_created){ .id = "" }, f);
	task_free(t);
}

/* --- create ------------------------------------------------------------------------------------------------------ */

static void on_box_up(void *ctx, const struct fail *f)
{
	struct engine_task *t = ctx;
	struct fake_container *c = t->starting;
	t->starting = NULL;
	if (f)
		container_free(c);
	else
		c->running = true;
	finish(t, f);
}

static void on_box_ended(void *ctx, int exit_code)
{
	fake_die(ctx, exit_code, /* oom= */ false);
}

/* Sets *ret_later if the create ends later. */
static int create(struct engine_task *t, bool *ret_later, struct fail *f)
{
	struct fake *fake = t->fake;
	if (!fake_image_is_there(fake, t->image))
		return cause_set(f, FAIL_IMAGE, CAUSE_NO_IMAGE, "cannot start the container: image '%s' is not there",
				 t->image);
	if (fake_find(fake, t->name))
		return cause_set(f, FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "the name '%s' is in use", t->name);
	struct fake_container *c = container_new(fake, t->name, t->store);
	free(c->image);
	free(c->owner);
	c->image = xstrdup(t->image);
	c->owner = xstrdup(t->owner);
	fake_mark(c, t->mark);
	c->spec = t->spec;
	for (size_t i = 0; i < t->env.n; i++)
		strv_add(&c->env, t->env.v[i]);
	c->script = fake->script;
	if (!c->script) {
		struct box_spec box = {
			.loop = fake->loop,
			.lease = t->spec.lease,
			.install = t->spec.install,
			.on_up = on_box_up,
			.up_ctx = t,
			.on_ended = on_box_ended,
			.ended_ctx = c,
		};
		t->starting = c;
		*ret_later = true;
		c->box = box_start(&box);
		return 0;
	}
	c->running = true;
	if (c->script->on_start)
		c->script->on_start(c->script->ctx, c);
	return 0;
}

static struct engine_task *ops_create(struct engine *e, const struct container_spec *spec, engine_created_fn done,
				      void *ctx)
{
	struct engine_task *t = task_new(e, FAKE_CREATE, spec->name, ctx);
	t->created = done;
	t->image = xstrdup(spec->image);
	t->store = xstrdup(spec->store);
	t->owner = xstrdup(spec->owner);
	t->mark = xstrdup(spec->mark ? spec->mark : spec->name);
	t->spec = *spec;
	t->spec.name = t->spec.image = t->spec.store = t->spec.owner = t->spec.mark = t->spec.ca_bundle =
		t->spec.line_dir = NULL;
	t->spec.env = NULL;
	for (size_t i = 0; spec->env && i < spec->env->n; i++)
		strv_add(&t->env, spec->env->v[i]);
	return t;
}

static struct engine_state state_of(const struct fake_container *c)
{
	struct engine_state state = {
		.is_there = true, .running = c->running, .exit_code = c->exit_code, .oom = c->oom
	};
	snprintf(state.store, sizeof(state.store), "%s", c->store);
	snprintf(state.mark, sizeof(state.mark), "%s", c->mark);
	return state;
}

/* --- remove, prune ----------------------------------------------------------------------------------------------- */

static int remove_container(struct engine_task *t, struct fail *f)
{
	struct fake_container *c = fake_find(t->fake, t->name);
	if (c && c->running && t->op == FAKE_REMOVE_ENDED)
		return cause_set(f, FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "the container '%s' runs", t->name);
	struct container_ref ref = { .name = t->name, .store = t->store, .mark = t->mark };
	struct engine_state found = c ? state_of(c) : (struct engine_state){ 0 };
	if (c && !engine_is_meant(&found, &ref))
		return engine_not_meant(f, t->name);
	if (c)
		fake_vanish(c);
	return 0;
}

static struct engine_task *ops_remove(struct engine *e, const struct container_ref *ref, engine_done_fn done, void *ctx)
{
	struct engine_task *t = task_new(e, FAKE_REMOVE, ref->name, ctx);
	t->store = ref->store ? xstrdup(ref->store) : NULL;
	t->mark = ref->mark ? xstrdup(ref->mark) : NULL;
	t->done = done;
	return t;
}

static struct engine_task *ops_remove_ended(struct engine *e, const char *name, engine_done_fn done, void *ctx)
{
	struct engine_task *t = task_new(e, FAKE_REMOVE_ENDED, name, ctx);
	t->done = done;
	return t;
}

static struct engine_task *ops_prune(struct engine *e, uint64_t min_age UNUSED, engine_done_fn done, void *ctx)
{
	struct engine_task *t = task_new(e, FAKE_PRUNE, NULL, ctx);
	t->done = done;
	return t;
}

/* --- images ------------------------------------------------------------------------------------------------------ */

static int bake(struct engine_task *t, struct fail *f)
{
	struct fake_container *c = fake_find(t->fake, t->container);
	if (t->source && !fake_image_is_there(t->fake, t->source))
		return cause_set(f, FAIL_IMAGE, CAUSE_NO_IMAGE, "image '%s' is not there", t->source);
	if (!t->source && (!c || !c->running))
		return cause_set(f, FAIL_DIED, CAUSE_NO_CONTAINER, "container no longer exists (removed externally)");
	if (!fake_image_is_there(t->fake, t->base))
		return cause_set(f, FAIL_IMAGE, CAUSE_NO_IMAGE, "image '%s' is not there", t->base);
	/* The test chooses the output of the program. */
	const char *said = t->fake->fit_says;
	if (t->on_output && said)
		t->on_output(t->ctx, said, strlen(said));
	if (t->on_output && said && strstr(said, "[\""))
		return cause_set(f, FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "cannot run husk-fit in the image");
	fake_image_add(t->fake, t->name, &t->labels);
	return 0;
}

static struct engine_bake *ops_bake(struct engine *e, const struct bake_spec *spec, engine_done_fn done, void *ctx)
{
	struct engine_task *t = task_new(e, FAKE_BAKE, spec->image, ctx);
	t->done = done;
	t->container = xstrdup(spec->container);
	t->base = xstrdup(spec->base);
	t->scratch = xstrdup(spec->scratch);
	t->source = spec->source ? xstrdup(spec->source) : NULL;
	t->on_output = spec->on_output;
	for (size_t i = 0; i < spec->labels->n; i++)
		strv_add(&t->labels, spec->labels->v[i]);
	(void)container_new(t->fake, spec->scratch, spec->store);
	return (struct engine_bake *)t;
}

static int remove_image(struct engine_task *t, struct fail *f)
{
	list_for_each(c, &t->fake->containers, struct fake_container, node)
		if (streq(c->image, t->name))
			return cause_set(f, FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "image '%s' is in use", t->name);
	fake_image_remove(t->fake, t->name);
	return 0;
}

static struct engine_bake *ops_remove_image(struct engine *e, const char *image, engine_done_fn done, void *ctx)
{
	struct engine_task *t = task_new(e, FAKE_REMOVE_IMAGE, image, ctx);
	t->done = done;
	return (struct engine_bake *)t;
}

/* --- queries ----------------------------------------------------------------------------------------------------- */

static void answer_containers(struct engine_task *t, struct engine_answer *a)
{
	list_for_each(c, &t->fake->containers, struct fake_container, node) {
		if (!streq(c->store, t->name))
			continue;
		engine_containers_add(&a->containers, c->name, c->owner, c->running, c->created);
		struct engine_container *added = &a->containers.v[a->containers.n - 1];
		if (!t->fake->capabilities.several_nodes)
			continue;
		added->node = xstrdup("n1⟦⟧");
		added->phase = xstrdup("Running");
		added->reason = xstrdup("");
	}
}

static void answer_state(struct engine_task *t, struct engine_answer *a)
{
	const struct fake_container *c = fake_find(t->fake, t->name);
	if (c)
		a->container = state_of(c);
}

static void answer_stats(struct engine_task *t, struct engine_answer *a)
{
	list_for_each(c, &t->fake->containers, struct fake_container, node)
		if (c->running)
			engine_stats_add(&a->stats, c->name, 1 << 20);
}

static int answer_image(struct engine_task *t, struct engine_answer *a, struct fail *f)
{
	if (!fake_image_is_there(t->fake, t->name))
		return cause_set(f, FAIL_IMAGE, CAUSE_NO_IMAGE, "image '%s' is not there", t->name);
	const struct strv *labels = fake_image_labels(t->fake, t->name);
	a->image = (struct engine_image){ .id = xasprintf("sha256:%s", t->name),
					  .size = 1 << 20,
					  .arch = xstrdup("amd64") };
	if (t->fake->volume)
		strv_add(&a->image.volumes, t->fake->volume);
	for (size_t i = 0; i < labels->n; i++)
		strv_add(&a->image.labels, labels->v[i]);
	return 0;
}

static int answer_fence(struct engine_task *t, struct engine_answer *a, struct fail *f)
{
	struct fake *fake = t->fake;
	fake->fence_calls++;
	if (fake->no_fence)
		return cause_set(f, FAIL_ENGINE, fake->no_fence, "cannot set the firewall rules around sessions");
	a->fence = fake->fence_stands ? FENCE_STOOD : FENCE_WAS_SET;
	a->our_kernel = fake->capabilities.shares_kernel == SUPPORT_YES;
	fake->fence_stands = true;
	return 0;
}

static int answer(struct engine_task *t, struct engine_answer *a, struct fail *f)
{
	switch (a->kind) {
	case ENGINE_QUERY_CLIENT:
		a->client = (struct engine_client){
			.name = xstrdup("Fake"), .version = xstrdup("1.0"), .major = 1, .minor = 0
		};
		break;
	case ENGINE_QUERY_PLACE:
		a->place = (struct engine_place){ xstrdup("test"), xstrdup("here"), .is_local = true };
		break;
	case ENGINE_QUERY_VERSION:
		a->version = (struct engine_version){ xstrdup("Fake"), xstrdup("1.0"), xstrdup("1") };
		break;
	case ENGINE_QUERY_INFO:
		a->info = (struct engine_info){
			.version = xstrdup("1.0"), .os_type = xstrdup("linux"), .memory = 6ull << 30, .cpus = 2
		};
		break;
	case ENGINE_QUERY_IMAGE:
		return answer_image(t, a, f);
	case ENGINE_QUERY_IMAGES:
		break;
	case ENGINE_QUERY_NETWORK:
		a->network = (struct engine_network){ .is_there = true, .driver = xstrdup("fake"), .isolated = true };
		break;
	case ENGINE_QUERY_CONTAINERS:
		answer_containers(t, a);
		break;
	case ENGINE_QUERY_CONTAINER:
		answer_state(t, a);
		break;
	case ENGINE_QUERY_STATS:
		answer_stats(t, a);
		break;
	case ENGINE_QUERY_FENCE:
		return answer_fence(t, a, f);
	case ENGINE_QUERY_HOST:
	case ENGINE_QUERY_HOSTS:
		break;
	}
	return 0;
}

/* The owner may free the query, also from inside the callback. */
static void run_query(struct engine_task *t)
{
	struct engine_answer a = { .kind = t->kind };
	AUTO(fail_release) struct fail f = { 0 };
	bool good = fake_judge(t->fake, FAKE_QUERY, &f) == 0 && answer(t, &a, &f) == 0;
	t->answer(t->ctx, good ? &a : NULL, good ? NULL : &f);
	engine_answer_release(&a);
}

static struct engine_query *ops_query(struct engine *e, const struct query_spec *spec, struct fail *f UNUSED)
{
	struct engine_task *t = task_new(e, FAKE_QUERY, spec->subject, spec->ctx);
	t->kind = spec->kind;
	t->answer = spec->done;
	if (spec->fence)
		strv_release(&t->fake->openings);
	for (size_t i = 0; spec->fence && spec->fence->openings && i < spec->fence->openings->n; i++)
		strv_add(&t->fake->openings, spec->fence->openings->v[i]);
	return (struct engine_query *)t;
}

static struct engine_query *ops_query_free(struct engine_query *q)
{
	if (q)
		task_free((struct engine_task *)q);
	return NULL;
}

/* --- their ends -------------------------------------------------------------------------------------------------- */

static void run(void *ctx)
{
	struct engine_task *t = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	bool later = false;
	int r = 0;
	if (t->fake->faults[t->op].held && !t->fake->down)
		return;
	if (t->op == FAKE_QUERY) {
		run_query(t);
		return;
	}
	r = fake_judge(t->fake, t->op, &f);
	if (r == 0 && t->op == FAKE_CREATE)
		r = create(t, &later, &f);
	else if (r == 0 && (t->op == FAKE_REMOVE || t->op == FAKE_REMOVE_ENDED))
		r = remove_container(t, &f);
	else if (r == 0 && t->op == FAKE_BAKE)
		r = bake(t, &f);
	else if (r == 0 && t->op == FAKE_REMOVE_IMAGE)
		r = remove_image(t, &f);
	if (!later)
		finish(t, r < 0 ? &f : NULL);
}

/* A container that a create has made so far is removed with it. Other calls are completed once begun. */
static void ops_cancel(struct engine_task *t)
{
	bool undone = t->op == FAKE_CREATE || t->op == FAKE_BAKE;
	t->done = NULL;
	t->created = NULL;
	if (t->starting)
		container_free(take_ptr(t->starting));
	if (undone)
		task_free(t);
}

static void ops_bake_cancel(struct engine_bake *b)
{
	ops_cancel((struct engine_task *)b);
}

static void ops_remove_and_forget(struct engine *e, char *const *names, size_t n)
{
	struct fake *f = fake_of(e);
	for (size_t i = 0; i < n; i++) {
		struct fake_container *c = fake_find(f, names[i]);
		if (c)
			fake_vanish(c);
	}
	list_for_each(t, &f->tasks, struct engine_task, node) {
		struct fake_container *c = t->client == e ? fake_find(f, t->name) : NULL;
		if (c && (t->op == FAKE_CREATE || t->op == FAKE_REMOVE) && c != t->starting)
			fake_vanish(c);
	}
}

void tasks_wake(struct fake *f, enum fake_op op)
{
	list_for_each(t, &f->tasks, struct engine_task, node)
		if (t->op == op && !t->starting)
			timer_start(t->timer, 0, 0);
}

void tasks_fail_all(struct fake *f)
{
	list_for_each(t, &f->tasks, struct engine_task, node)
		if (!t->starting)
			timer_start(t->timer, 0, 0);
}

size_t tasks_pending(const struct fake *f, enum fake_op op)
{
	size_t n = 0;
	list_for_each(t, &f->tasks, struct engine_task, node)
		n += t->op == op;
	return n;
}

/* --- the client -------------------------------------------------------------------------------------------------- */

static struct engine_capabilities ops_capabilities(const struct engine *e)
{
	return container_of(e, const struct fake_client, engine)->fake->capabilities;
}

static struct engine *ops_free(struct engine *e)
{
	list_for_each(t, &fake_of(e)->tasks, struct engine_task, node) {
		if (t->client != e)
			continue;
		if (t->starting)
			container_free(take_ptr(t->starting));
		task_free(t);
	}
	free(container_of(e, struct fake_client, engine));
	return NULL;
}

const struct engine_ops fake_ops = {
	.name = FAKE_NAME,
	.create = ops_create,
	.remove = ops_remove,
	.remove_ended = ops_remove_ended,
	.prune = ops_prune,
	.remove_and_forget = ops_remove_and_forget,
	.bake = ops_bake,
	.bake_cancel = ops_bake_cancel,
	.remove_image = ops_remove_image,
	.attach = streams_attach,
	.watch = watches_start,
	.query = ops_query,
	.query_free = ops_query_free,
	.explain = streams_explain,
	.task_cancel = ops_cancel,
	.stream_write = streams_write,
	.stream_free = streams_free,
	.watch_free = watches_free,
	.capabilities = ops_capabilities,
	.free = ops_free,
};
