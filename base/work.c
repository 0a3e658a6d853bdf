#include "base/work.h"

#include <uv.h>

#include "base/alloc.h"
#include "base/list.h"

/* Half of libuv's pool of four. */
#define BULK_MAX 2

struct work {
	uv_work_t uv;
	struct list node; /* while it waits its turn */
	struct loop *loop;
	struct work_spec spec;
	bool forgotten;
};

/* A loop's bulk work. */
struct lane {
	struct list waiting;
	unsigned running;
};

/* What waits in it is dropped. */
static void lane_free(void *data)
{
	struct lane *lane = data;
	list_for_each(w, &lane->waiting, struct work, node)
		free(w);
	free(lane);
}

static struct lane *lane_of(struct loop *loop)
{
	struct lane *lane = loop_attached(loop);
	if (!lane) {
		lane = new0(struct lane);
		list_init(&lane->waiting);
		loop_attach(loop, lane, lane_free);
	}
	return lane;
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

static void leave_lane(struct loop *loop)
{
	struct lane *lane = lane_of(loop);
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
	if (w->spec.bulk)
		leave_lane(w->loop);
	w->spec.on_done(w->spec.ctx, w->forgotten);
	free(w);
	running--;
}

struct work *work_start(struct loop *loop, const struct work_spec *spec)
{
	struct lane *lane = lane_of(loop);
	struct work *w = new0(struct work);
	w->spec = *spec;
	w->loop = loop;
	list_init(&w->node);
	if (spec->bulk && lane->running == BULK_MAX) {
		list_append(&lane->waiting, &w->node);
		return w;
	}
	lane->running += spec->bulk;
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
