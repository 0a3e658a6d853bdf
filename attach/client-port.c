/* Joins a socket of this process to a port of a session: the server gets the socket itself. */
#include "attach/client-private.h"
#include "base/alloc.h"

struct port_call {
	struct attach_call call;
	struct attach_port_request request;
};

static struct port_call *call_of(struct attach_call *call)
{
	return container_of(call, struct port_call, call);
}

static void free_call(struct attach_call *call)
{
	free(call_of(call));
}

static int on_ended(struct attach_call *call, const json_t *json UNUSED, struct fail *f UNUSED)
{
	call_of(call)->request.on_done(call_of(call)->request.ctx, NULL);
	return 0;
}

static void on_fail(struct attach_call *call, const struct fail *f)
{
	call_of(call)->request.on_done(call_of(call)->request.ctx, f);
}

struct attach_call *attach_port(struct attach *a, const struct attach_port_request *req, struct fail *f)
{
	static const struct attach_call_type type = { .on_answer = on_ended, .on_fail = on_fail, .free = free_call };
	AUTO(freep) char *rest = xasprintf("/ports/%u", req->port);
	AUTO(buf_release) struct buf target = attach_target(req->session_id, rest);
	struct port_call *p = new0(struct port_call);
	p->request = *req;
	p->request.session_id = NULL;
	return attach_call_start(
		a, &p->call, &type,
		&(struct attach_request){
			.method = "POST", .target = buf_str(&target), .files = &req->fd, .n_files = 1 },
		f);
}
