#include "base/work.h"

#include <uv.h>

#include "base/alloc.h"
#include "base/list.h"
#include "base/watchdog.h"

/* Half of libuv's pool of four. */
#define BULK_MAX 2
/* The last thread is left to quick work. */
#define RENDER_MAX 1

struct work {
	uv_work_t uv;
	struct list node; /* while it waits its turn */
	struct loop *loop;
	struct work_spec spec;
	bool forgotten;
};

enum lane_kind { LANE_BULK, LANE_RENDER, LANES };

/* Work of which only so much runs at a time. */
struct lane {
	struct list waiting;
	unsigned running, max;
};

struct lanes {
	struct lane v[LANES];
};

/* What waits in it is dropped. */
static void lanes_free(void *data)
{
	struct lanes *lanes = data;
	for (size_t i = 0; i < LANES; i++)
		list_for_each(w, &lanes->v[i].waiting, struct work, node)
			free(w);
	free(lanes);
}

/* NULL = it does not wait for other work. */
static struct lane *lane_of(const struct work *w)
{
	struct lanes *lanes = loop_attached(w->loop);
	if (!lanes) {
		lanes = new0(struct lanes);
		lanes->v[LANE_BULK].max = BULK_MAX;
		lanes->v[LANE_RENDER].max = RENDER_MAX;
		for (size_t i = 0; i < LANES; i++)
			list_init(&lanes->v[i].waiting);
		loop_attach(w->loop, lanes, lanes_free);
	}
	return w->spec.bulk ? &lanes->v[LANE_BULK] : w->spec.render ? &lanes->v[LANE_RENDER] : NULL;
}

static unsigned running; /* in any loop; touched on the loop only */

static void run(uv_work_t *req)
{
	struct work *w = container_of(req, struct work, uv);
	w->spec.fn(w->spec.ctx);
}

static void finish(uv_work_t *req, int status);

static void queue(struct work *w)
{
	if (uv_queue_work(loop_raw(w->loop), &w->uv, run, finish) < 0)
		abort();
	running++;
}

static void leave_lane(struct lane *lane)
{
	struct work *next = list_first(&lane->waiting, struct work, node);
	if (!next) {
		lane->running--;
		return;
	}
	list_remove(&next->node);
	queue(next);
}

static void finish(uv_work_t *req, int status UNUSED)
{
	struct work *w = container_of(req, struct work, uv);
	struct lane *lane = lane_of(w);
	watchdog_note("the end of a worker job");
	if (lane)
		leave_lane(lane);
	w->spec.on_done(w->spec.ctx, w->forgotten);
	free(w);
	running--;
}

struct work *work_start(struct loop *loop, const struct work_spec *spec)
{
	struct work *w = new0(struct work);
	w->spec = *spec;
	w->loop = loop;
	list_init(&w->node);
	struct lane *lane = lane_of(w);
	if (lane && lane->running == lane->max) {
		list_append(&lane->waiting, &w->node);
		return w;
	}
	if (lane)
		lane->running++;
	queue(w);
	return w;
}

void work_forget(struct work *w)
{
	w->forgotten = true;
}

struct closing {
	int fd;
};

static void close_one(void *ctx)
{
	struct closing *c = ctx;
	close(c->fd);
}

static void on_closed(void *ctx, bool forgotten UNUSED)
{
	free(ctx);
}

void work_close(struct loop *loop, int fd)
{
	if (fd < 0)
		return;
	struct closing *c = new0(struct closing);
	c->fd = fd;
	(void)work_start(loop, &(struct work_spec){ .fn = close_one, .on_done = on_closed, .ctx = c, .bulk = true });
}

bool work_is_running(void)
{
	return running > 0;
}
