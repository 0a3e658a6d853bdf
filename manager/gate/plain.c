#include "manager/gate/plain.h"

#include "base/alloc.h"
#include "manager/gate/inject.h"

struct plain {
	struct gate_filter base;
	struct inject *inject;
	struct buf *up, *down; /* during a call */
};

static struct plain *plain_of(struct gate_filter *f)
{
	return container_of(f, struct plain, base);
}

static void send_up(void *ctx, const void *data, size_t n)
{
	buf_add(((struct plain *)ctx)->up, data, n);
}

static void send_down(void *ctx, const void *data, size_t n)
{
	buf_add(((struct plain *)ctx)->down, data, n);
}

static int from_session(struct gate_filter *f, const void *data, size_t n, struct buf *up, struct buf *down,
			struct fail *fail)
{
	struct plain *p = plain_of(f);
	p->up = up;
	p->down = down;
	return inject_request(p->inject, data, n, fail);
}

static int from_upstream(struct gate_filter *f, const void *data, size_t n, struct buf *up, struct buf *down,
			 struct fail *fail)
{
	struct plain *p = plain_of(f);
	p->up = up;
	p->down = down;
	return inject_response(p->inject, data, n, fail);
}

static int session_ended(struct gate_filter *f UNUSED, struct buf *up UNUSED, struct buf *down UNUSED,
			 struct fail *fail UNUSED)
{
	return 0;
}

static int upstream_ended(struct gate_filter *f, struct buf *up, struct buf *down, struct fail *fail UNUSED)
{
	struct plain *p = plain_of(f);
	p->up = up;
	p->down = down;
	(void)inject_ended(p->inject);
	return 0;
}

static const char *used(const struct gate_filter *f)
{
	return inject_used(container_of((struct gate_filter *)(uintptr_t)f, struct plain, base)->inject);
}

static void plain_free(struct gate_filter *f)
{
	struct plain *p = plain_of(f);
	inject_free(p->inject);
	free(p);
}

struct gate_filter *plain_new(const char *host, uint16_t port, struct secret_set *secrets)
{
	static const struct gate_filter_type type = { .from_session = from_session,
						      .from_upstream = from_upstream,
						      .session_ended = session_ended,
						      .upstream_ended = upstream_ended,
						      .secret = used,
						      .free = plain_free };
	static const struct inject_ops ops = { .up = send_up, .down = send_down };
	struct plain *p = new0(struct plain);
	p->base.type = &type;
	p->inject = inject_new(host, port, secrets, &ops, p);
	return &p->base;
}
