/* The events feed. */
#include "base/alloc.h"
#include "tests/fake-engine/fake-engine-private.h"

struct event {
	struct list node;
	enum engine_event_kind kind;
	int exit_code;
	char *container;
};

struct engine_watch {
	struct list node;
	struct fake *fake;
	struct watch_handler handler;
	char *store;
	struct list events;
	struct timer *timer;
	bool broken;
	bool *gone; /* set when it is freed from inside a callback */
};

static void event_free(struct event *e)
{
	list_remove(&e->node);
	free(e->container);
	free(e);
}

static void on_timer(void *ctx)
{
	struct engine_watch *w = ctx;
	bool gone = false;
	w->gone = &gone;
	while (!gone && !w->fake->faults[FAKE_WATCH].held && !list_empty(&w->events)) {
		struct event *e = list_first(&w->events, struct event, node);
		struct engine_event event = {
			.kind = e->kind, .container = e->container, .id = "", .exit_code = e->exit_code
		};
		list_remove(&e->node);
		list_init(&e->node);
		w->handler.on_event(w->handler.ctx, &event);
		event_free(e);
	}
	if (gone)
		return;
	w->gone = NULL;
	if (w->broken) {
		w->broken = false;
		w->handler.on_closed(w->handler.ctx);
	}
}

struct engine_watch *watches_start(struct engine *e, const char *store, const struct watch_handler *handler,
				   struct fail *f)
{
	struct fake *fake = fake_of(e);
	fake->faults[FAKE_WATCH].calls++;
	if (!fake->capabilities.feeds_events) {
		cause_set(f, FAIL_INVALID, CAUSE_NOT_SUPPORTED, "this engine feeds no events");
		return NULL;
	}
	if (fake_judge(fake, FAKE_WATCH, f) < 0)
		return NULL;
	struct engine_watch *w = new0(struct engine_watch);
	w->fake = fake;
	w->handler = *handler;
	w->store = xstrdup(store);
	w->timer = timer_new(fake->loop, on_timer, w);
	list_init(&w->events);
	list_append(&fake->watches, &w->node);
	return w;
}

struct engine_watch *watches_free(struct engine_watch *w)
{
	if (!w)
		return NULL;
	if (w->gone)
		*w->gone = true;
	list_remove(&w->node);
	list_for_each(e, &w->events, struct event, node)
		event_free(e);
	timer_free(w->timer);
	free(w->store);
	free(w);
	return NULL;
}

void watches_tell(struct fake *f, const char *store, const struct engine_event *event)
{
	list_for_each(w, &f->watches, struct engine_watch, node) {
		if (!streq(w->store, store))
			continue;
		struct event *e = new0(struct event);
		e->kind = event->kind;
		e->exit_code = event->exit_code;
		e->container = xstrdup(event->container);
		list_append(&w->events, &e->node);
		timer_start(w->timer, 0, 0);
	}
}

void watches_wake(struct fake *f)
{
	list_for_each(w, &f->watches, struct engine_watch, node)
		timer_start(w->timer, 0, 0);
}

void watches_break(struct fake *f)
{
	list_for_each(w, &f->watches, struct engine_watch, node) {
		w->broken = true;
		timer_start(w->timer, 0, 0);
	}
}
