#include "base/work.h"

#include <uv.h>

#include "base/alloc.h"
#include "base/list.h"
#include "base/watchdog.h"

/* Half of libuv's pool of four. */
#define BULK_MAX 2
/* The last thread is reserved for quick work. */
#define RENDER_MAX 1
/* Names whose servers do not answer must not keep the others waiting. */
#define LOOKUP_MAX 2

struct work {
	uv_work_t uv;
	struct list node; /* of a lane: waiting or active */
	struct loop *loop;
	struct work_spec spec;
	bool forgotten;
	/* Rendering jobs only: the session and the round. The n-th job of a session runs in the same round as the
	 * n-th jobs of the others. */
	char *session;
	uint64_t turn;
};

enum lane_kind { LANE_BULK, LANE_RENDER, LANE_LOOKUP, LANES };

/* A queue for work of which only a limited number runs at a time. Jobs without a session all have round 0, so they
 * run in the order of their start. */
struct lane {
	struct list waiting; /* ordered by round */
	struct list active;
	unsigned running, max;
	bool one_each; /* at most one active job of each session */
	uint64_t turn; /* round of the job that started last */
	char *session; /* session of that job */
};

struct lanes {
	struct lane v[LANES];
};

static void work_free(struct work *w)
{
	free(w->session);
	free(w);
}

/* Drops queued jobs. */
static void lanes_free(void *data)
{
	struct lanes *lanes = data;
	for (size_t i = 0; i < LANES; i++) {
		list_for_each(w, &lanes->v[i].waiting, struct work, node)
			work_free(w);
		free(lanes->v[i].session);
	}
	free(lanes);
}

/* NULL = not queued. */
static struct lane *lane_of(const struct work *w)
{
	struct lanes *lanes = loop_attached(w->loop);
	if (!lanes) {
		lanes = new0(struct lanes);
		lanes->v[LANE_BULK].max = BULK_MAX;
		lanes->v[LANE_RENDER].max = RENDER_MAX;
		lanes->v[LANE_LOOKUP].max = LOOKUP_MAX;
		lanes->v[LANE_LOOKUP].one_each = true;
		for (size_t i = 0; i < LANES; i++) {
			list_init(&lanes->v[i].waiting);
			list_init(&lanes->v[i].active);
		}
		loop_attach(w->loop, lanes, lanes_free);
	}
	return w->spec.bulk   ? &lanes->v[LANE_BULK] :
	       w->spec.render ? &lanes->v[LANE_RENDER] :
	       w->spec.lookup ? &lanes->v[LANE_LOOKUP] :
				NULL;
}

static unsigned running; /* jobs of all loops; used on the loop only */

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

static void begin_turn(struct lane *lane, const struct work *w)
{
	lane->turn = w->turn;
	free(lane->session);
	lane->session = w->session ? xstrdup(w->session) : NULL;
}

/* Queues the job behind jobs of earlier rounds and of the same round. */
static void wait_turn(struct lane *lane, struct work *w)
{
	struct list *before = &lane->waiting;
	w->turn = lane->turn;
	if (w->session && lane->session && streq(w->session, lane->session))
		w->turn++;
	list_for_each(other, &lane->waiting, struct work, node)
		if (w->session && other->session && streq(w->session, other->session))
			w->turn = MAX(w->turn, other->turn + 1);
	list_for_each(other, &lane->waiting, struct work, node) {
		if (other->turn > w->turn) {
			before = &other->node;
			break;
		}
	}
	list_append(before, &w->node);
}

static bool may_run(const struct lane *lane, const struct work *w)
{
	if (lane->running == lane->max)
		return false;
	list_for_each(other, &lane->active, struct work, node)
		if (lane->one_each && streq(other->session, w->session))
			return false;
	return true;
}

static void run_in_lane(struct lane *lane, struct work *w)
{
	lane->running++;
	begin_turn(lane, w);
	list_append(&lane->active, &w->node);
	queue(w);
}

static void leave_lane(struct lane *lane, struct work *w)
{
	list_remove(&w->node);
	lane->running--;
	list_for_each(next, &lane->waiting, struct work, node) {
		if (!may_run(lane, next))
			continue;
		list_remove(&next->node);
		run_in_lane(lane, next);
		break;
	}
}

static void finish(uv_work_t *req, int status UNUSED)
{
	struct work *w = container_of(req, struct work, uv);
	struct lane *lane = lane_of(w);
	watchdog_note("the end of a worker job");
	if (lane)
		leave_lane(lane, w);
	w->spec.on_done(w->spec.ctx, w->forgotten);
	work_free(w);
	running--;
}

struct work *work_start(struct loop *loop, const struct work_spec *spec)
{
	struct work *w = new0(struct work);
	w->spec = *spec;
	w->loop = loop;
	if (spec->render || spec->lookup)
		w->session = xstrdup(spec->session ? spec->session : "");
	w->spec.session = NULL;
	list_init(&w->node);
	struct lane *lane = lane_of(w);
	if (!lane)
		queue(w);
	else if (may_run(lane, w))
		run_in_lane(lane, w);
	else
		wait_turn(lane, w);
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
