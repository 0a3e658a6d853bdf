/* The engine itself: its objects and its planned failures. */
#include "tests/fake-engine/fake-engine.h"

#include <time.h>

#include "base/alloc.h"
#include "manager/model/runtime.h"
#include "tests/fake-engine/box.h"
#include "tests/fake-engine/fake-engine-private.h"
#include "tests/unit/unit.h"

/* A test that waits this long has failed; the machine may be busy. */
#define PATIENCE_MS 60000

/* engine_open("fake") makes clients of this engine, which was made last. */
static struct fake *current;

/* --- clients ----------------------------------------------------------------------------------------------------- */

static struct engine *open_client(const struct engine_options *options UNUSED, struct fail *f UNUSED)
{
	assert_non_null(current);
	struct fake_client *c = new0(struct fake_client);
	c->engine.ops = &fake_ops;
	c->fake = current;
	return &c->engine;
}

static const struct engine_driver driver = { .name = FAKE_NAME, .open = open_client };

/* --- containers -------------------------------------------------------------------------------------------------- */

struct fake_container *container_new(struct fake *f, const char *name, const char *store)
{
	struct fake_container *c = new0(struct fake_container);
	c->fake = f;
	c->name = xstrdup(name);
	c->store = xstrdup(store);
	c->image = xstrdup("");
	c->owner = xstrdup("");
	c->mark = xstrdup("");
	c->created = (uint64_t)time(NULL);
	list_init(&c->streams);
	list_append(&f->containers, &c->node);
	return c;
}

void container_free(struct fake_container *c)
{
	list_remove(&c->node);
	if (c->script && c->script->on_end)
		c->script->on_end(c->script->ctx, c);
	c->script = NULL;
	streams_break(c, FAIL_DIED, CAUSE_NO_CONTAINER, "container no longer exists (removed externally)");
	box_free(c->box);
	free(c->name);
	free(c->image);
	free(c->store);
	free(c->owner);
	free(c->mark);
	strv_release(&c->env);
	free(c);
}

void container_tell(struct fake_container *c, enum engine_event_kind kind)
{
	watches_tell(c->fake, c->store,
		     &(struct engine_event){ .kind = kind, .container = c->name, .id = "", .exit_code = c->exit_code });
}

struct fake_container *fake_find(struct fake *f, const char *name)
{
	list_for_each(c, &f->containers, struct fake_container, node)
		if (streq(c->name, name))
			return c;
	return NULL;
}

size_t fake_count(const struct fake *f)
{
	size_t n = 0;
	list_for_each(c, &f->containers, struct fake_container, node)
		n++;
	return n;
}

struct fake_container *fake_only(struct fake *f)
{
	assert_int_equal(fake_count(f), 1);
	return list_first(&f->containers, struct fake_container, node);
}

struct fake_container *fake_newest(struct fake *f)
{
	assert_false(list_empty(&f->containers));
	return container_of(f->containers.prev, struct fake_container, node);
}

struct fake_container *fake_add(struct fake *f, const char *name, const char *store, const char *owner, bool running,
				uint64_t created)
{
	struct fake_container *c = container_new(f, name, store);
	free(c->owner);
	c->owner = xstrdup(owner);
	c->running = running;
	c->created = created;
	return c;
}

void fake_mark(struct fake_container *c, const char *mark)
{
	free(c->mark);
	c->mark = xstrdup(mark);
}

void fake_tell_oom(struct fake_container *c)
{
	container_tell(c, EVENT_OOM);
}

void fake_die(struct fake_container *c, int exit_code, bool oom)
{
	c->running = false;
	c->exit_code = oom ? 137 : exit_code;
	c->oom = oom;
	if (oom)
		container_tell(c, EVENT_OOM);
	container_tell(c, EVENT_DIE);
	if (c->fake->keep_ended) {
		streams_break(c, FAIL_DIED, CAUSE_NO_CONTAINER, "container no longer exists (removed externally)");
		c->box = box_free(c->box);
		return;
	}
	container_tell(c, EVENT_DESTROY);
	container_free(c);
}

void fake_vanish(struct fake_container *c)
{
	if (c->running) {
		c->running = false;
		c->exit_code = 137;
		container_tell(c, EVENT_DIE);
	}
	container_tell(c, EVENT_DESTROY);
	container_free(c);
}

/* --- images ------------------------------------------------------------------------------------------------------ */

static struct fake_image *find_image(const struct fake *f, const char *name)
{
	list_for_each(i, &f->images, struct fake_image, node)
		if (streq(i->name, name))
			return i;
	return NULL;
}

void fake_image_add(struct fake *f, const char *name, const struct strv *labels)
{
	fake_image_remove(f, name);
	struct fake_image *i = new0(struct fake_image);
	i->name = xstrdup(name);
	for (size_t k = 0; labels && k < labels->n; k++)
		strv_add(&i->labels, labels->v[k]);
	list_append(&f->images, &i->node);
}

void fake_image_remove(struct fake *f, const char *name)
{
	struct fake_image *i = find_image(f, name);
	if (!i)
		return;
	list_remove(&i->node);
	strv_release(&i->labels);
	free(i->name);
	free(i);
}

bool fake_image_is_there(const struct fake *f, const char *name)
{
	return find_image(f, name) != NULL;
}

const struct strv *fake_image_labels(const struct fake *f, const char *name)
{
	return &find_image(f, name)->labels;
}

/* --- faults ------------------------------------------------------------------------------------------------------ */

int fake_judge(struct fake *f, enum fake_op op, struct fail *ret)
{
	struct fault *fault = &f->faults[op];
	if (f->down)
		return cause_set(ret, FAIL_ENGINE, CAUSE_NO_ENGINE, "no engine answers");
	if (!fault->times)
		return 0;
	fault->times--;
	fail_copy(ret, &fault->fail);
	return -1;
}

void fake_fail(struct fake *f, enum fake_op op, unsigned n, enum fail_kind kind, enum cause cause, const char *message)
{
	struct fault *fault = &f->faults[op];
	fault->times = n;
	cause_set(&fault->fail, kind, cause, "%s", message);
}

void fake_hold(struct fake *f, enum fake_op op)
{
	f->faults[op].held = true;
}

void fake_let_go(struct fake *f, enum fake_op op)
{
	f->faults[op].held = false;
	if (op == FAKE_ATTACH)
		streams_wake(f);
	else if (op == FAKE_WATCH)
		watches_wake(f);
	else
		tasks_wake(f, op);
}

size_t fake_calls(const struct fake *f, enum fake_op op)
{
	return f->faults[op].calls;
}

size_t fake_pending(const struct fake *f, enum fake_op op)
{
	return tasks_pending(f, op);
}

void fake_fit_says(struct fake *f, const char *text, const char *volume)
{
	f->fit_says = text;
	f->volume = volume;
}

void fake_no_fence(struct fake *f, enum cause cause)
{
	f->no_fence = cause;
}

size_t fake_fence_calls(const struct fake *f)
{
	return f->fence_calls;
}

const struct strv *fake_openings(const struct fake *f)
{
	return &f->openings;
}

void fake_go_down(struct fake *f)
{
	f->down = true;
	tasks_fail_all(f);
	watches_break(f);
	list_for_each(c, &f->containers, struct fake_container, node)
		streams_break(c, FAIL_ENGINE, CAUSE_NO_ENGINE, "no engine answers");
}

void fake_come_up(struct fake *f)
{
	f->down = false;
}

/* --- life -------------------------------------------------------------------------------------------------------- */

struct engine_capabilities *fake_capabilities(struct fake *f)
{
	return &f->capabilities;
}

void fake_play(struct fake *f, const struct fake_script *script)
{
	f->script = script;
}

void fake_keep_ended(struct fake *f, bool keep)
{
	f->keep_ended = keep;
}

void fake_cut(struct fake *f, size_t n)
{
	f->cut = n;
}

static void on_turn(void *ctx)
{
	struct fake *f = ctx;
	loop_stop(f->loop, 0);
}

struct fake *fake_new(struct loop *loop, const struct fake_script *script)
{
	struct fake *f = new0(struct fake);
	size_t n;
	const struct runtime *runtimes = runtime_list(&n);
	f->loop = loop;
	f->capabilities = (struct engine_capabilities){ .bakes_images = true,
							.feeds_events = true,
							.sets_fence = true,
							.cuts_network = true,
							.measures_memory = true,
							.reports_machine = true,
							.lists_images = true,
							.shares_kernel = SUPPORT_YES };
	f->script = script;
	f->turn = timer_new(loop, on_turn, f);
	list_init(&f->containers);
	list_init(&f->images);
	list_init(&f->watches);
	list_init(&f->tasks);
	for (size_t i = 0; i < n; i++)
		fake_image_add(f, runtimes[i].image, /* labels= */ NULL);
	current = f;
	engine_register(&driver);
	return f;
}

struct fake *fake_free(struct fake *f)
{
	if (!f)
		return NULL;
	assert_true(list_empty(&f->tasks) && list_empty(&f->watches));
	list_for_each(c, &f->containers, struct fake_container, node)
		container_free(c);
	while (!list_empty(&f->images))
		fake_image_remove(f, list_first(&f->images, struct fake_image, node)->name);
	for (size_t i = 0; i < FAKE_OPS; i++)
		fail_release(&f->faults[i].fail);
	strv_release(&f->openings);
	timer_free(f->turn);
	if (current == f) {
		current = NULL;
		engine_register(NULL);
	}
	free(f);
	return NULL;
}

uint64_t fake_real_ms(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

void fake_turn(struct fake *f, uint64_t began_ms, const char *what)
{
	if (fake_real_ms() - began_ms > PATIENCE_MS)
		fail_msg("this never came: %s", what);
	timer_start(f->turn, 1, 0);
	loop_turn(f->loop);
	timer_stop(f->turn);
}
