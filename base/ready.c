#include "base/ready.h"

#include <errno.h>
#include <uv.h>

#include "base/alloc.h"
#include "base/watchdog.h"

struct ready {
	uv_poll_t poll;
	void (*fn)(void *ctx, int events);
	void *ctx;
};

struct ready *ready_new(struct loop *loop, int fd, void (*fn)(void *ctx, int events), void *ctx)
{
	struct ready *r = new0(struct ready);
	r->fn = fn;
	r->ctx = ctx;
	int e = uv_poll_init(loop_raw(loop), &r->poll, fd);
	if (e < 0) {
		free(r);
		errno = -e;
		return NULL;
	}
	return r;
}

static void on_closed(uv_handle_t *handle)
{
	free(container_of(handle, struct ready, poll));
}

struct ready *ready_free(struct ready *r)
{
	if (r && !uv_is_closing((uv_handle_t *)&r->poll))
		uv_close((uv_handle_t *)&r->poll, on_closed);
	return NULL;
}

/* Reports an error as readiness: the next read or write returns it. */
static void on_poll(uv_poll_t *handle, int status, int events)
{
	struct ready *r = container_of(handle, struct ready, poll);
	int both = READY_READ | READY_WRITE;
	watchdog_note("a descriptor that is ready");
	r->fn(r->ctx,
	      status < 0 ? both : (events & UV_READABLE ? READY_READ : 0) | (events & UV_WRITABLE ? READY_WRITE : 0));
}

void ready_watch(struct ready *r, int events)
{
	int wanted = (events & READY_READ ? UV_READABLE : 0) | (events & READY_WRITE ? UV_WRITABLE : 0);
	if (wanted)
		uv_poll_start(&r->poll, wanted, on_poll);
	else
		uv_poll_stop(&r->poll);
}
