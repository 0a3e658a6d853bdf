/* A connection to a port of a session: joins a socket of the caller to a stream of the line. The session is in use until
 * the connection ends. */
#include <errno.h>

#include "base/alloc.h"
#include "manager/line/bridge.h"
#include "manager/model/cause.h"
#include "manager/registry/op.h"

struct port_op {
	struct op op;
	struct port_request request;
	struct bridge bridge;
};

static struct port_op *port_op_of(struct op *op)
{
	return container_of(op, struct port_op, op);
}

static void finish(struct port_op *o, const struct fail *f)
{
	o->request.on_end(o->request.ctx, f);
	op_end(&o->op);
}

static void on_open(struct bridge *b)
{
	struct port_op *o = container_of(b, struct port_op, bridge);
	AUTO(fail_release) struct fail f = { 0 };
	int fd = o->request.on_open(o->request.ctx);
	int r = fd < 0 ? -EBADF : bridge_join(b, o->op.registry->loop, fd);
	if (r < 0) {
		bridge_close(b);
		fail_set(&f, FAIL_BUSY, "the connection to the session cannot be made (%s)", strerror(-r));
		finish(o, &f);
	}
}

static void on_end(struct bridge *b, const struct fail *f)
{
	finish(container_of(b, struct port_op, bridge), f);
}

static int start(struct op *op, struct fail *f)
{
	struct port_op *o = port_op_of(op);
	return bridge_open(&o->bridge, session_dispatch(op->entry->session), o->request.port, f);
}

static void answer_fail(struct op *op, const struct fail *f)
{
	struct port_op *o = port_op_of(op);
	o->request.on_end(o->request.ctx, f);
}

static void port_op_free(struct op *op)
{
	struct port_op *o = port_op_of(op);
	bridge_close(&o->bridge);
	free(o);
}

struct op *manager_port(struct conversation *c, const struct port_request *req, struct fail *f)
{
	static const struct op_type type = { .start = start, .fail = answer_fail, .free = port_op_free };
	struct port_op *o = new0(struct port_op);
	op_init(&o->op, c->registry, c, &type);
	o->request = *req;
	o->request.session_id = NULL;
	o->bridge = (struct bridge){ .on_open = on_open, .on_end = on_end };
	return op_begin(&o->op, req->session_id, f);
}
