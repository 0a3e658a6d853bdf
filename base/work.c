#include "base/work.h"

#include <uv.h>

#include "base/alloc.h"

struct work {
	uv_work_t uv;
	struct work_spec spec;
	bool forgotten;
};

static unsigned running; /* touched on the loop only */

static void run(uv_work_t *req)
{
	struct work *w = container_of(req, struct work, uv);
	w->spec.fn(w->spec.ctx);
}

static void finish(uv_work_t *req, int status UNUSED)
{
	struct work *w = container_of(req, struct work, uv);
	w->spec.on_done(w->spec.ctx, w->forgotten);
	free(w);
	running--;
}

struct work *work_start(struct loop *loop, const struct work_spec *spec)
{
	struct work *w = new0(struct work);
	w->spec = *spec;
	if (uv_queue_work(loop_raw(loop), &w->uv, run, finish) < 0)
		abort();
	running++;
	return w;
}

void work_forget(struct work *w)
{
	w->forgotten = true;
}

bool work_is_running(void)
{
	return running > 0;
}
