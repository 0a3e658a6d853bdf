#include "base/alloc.h"
#include "manager/gate/checks.h"
#include "manager/gate/inject.h"

/* An inject without secrets parses messages strictly and checks the host of each request. */
struct check_http {
	struct gate_filter base;
	struct inject *inject;
	struct buf *up, *down; /* during a call */
};

static struct check_http *check_of(struct gate_filter *f)
{
	return container_of(f, struct check_http, base);
}

static void send_up(void *ctx, const void *data, size_t n)
{
	buf_add(((struct check_http *)ctx)->up, data, n);
}

static void send_down(void *ctx, const void *data, size_t n)
{
	buf_add(((struct check_http *)ctx)->down, data, n);
}

static int from_session(struct gate_filter *filter, const void *data, size_t n, struct buf *up, struct buf *down,
			struct fail *f)
{
	struct check_http *c = check_of(filter);
	c->up = up;
	c->down = down;
	return inject_request(c->inject, data, n, f);
}

static int from_upstream(struct gate_filter *filter, const void *data, size_t n, struct buf *up, struct buf *down,
			 struct fail *f)
{
	struct check_http *c = check_of(filter);
	c->up = up;
	c->down = down;
	return inject_response(c->inject, data, n, f);
}

static int session_ended(struct gate_filter *filter UNUSED, struct buf *up UNUSED, struct buf *down UNUSED,
			 struct fail *f UNUSED)
{
	return 0;
}

static int upstream_ended(struct gate_filter *filter, struct buf *up, struct buf *down, struct fail *f UNUSED)
{
	struct check_http *c = check_of(filter);
	c->up = up;
	c->down = down;
	(void)inject_ended(c->inject);
	return 0;
}

static void check_free(struct gate_filter *filter)
{
	struct check_http *c = check_of(filter);
	inject_free(c->inject);
	free(c);
}

struct gate_filter *check_http_new(const char *host, uint16_t port)
{
	static const struct gate_filter_type type = { .from_session = from_session,
						      .from_upstream = from_upstream,
						      .session_ended = session_ended,
						      .upstream_ended = upstream_ended,
						      .free = check_free };
	static const struct inject_ops ops = { .up = send_up, .down = send_down };
	struct secret_set *none = secret_set_new();
	struct check_http *c = new0(struct check_http);
	c->base.type = &type;
	c->inject = inject_new(host, port, none, &ops, c);
	secret_set_unref(none);
	return &c->base;
}
