#include "manager/line/dispatch.h"

void dispatch_init(struct dispatch *c, struct loop *loop, const struct config *config,
		   void (*send)(struct dispatch *c, const struct buf *frames))
{
	uint64_t now = loop_now_ms();
	*c = (struct dispatch){ .loop = loop, .config = config, .send = send, .heard_ms = now, .used_ms = now };
	list_init(&c->runs);
	list_init(&c->transfers);
}

void dispatch_release(struct dispatch *c)
{
	fail_release(&c->trouble);
}

uint32_t dispatch_number(struct dispatch *c)
{
	return ++c->last_call;
}

void dispatch_send(struct dispatch *c, const struct buf *frames)
{
	c->send(c, frames);
}

void dispatch_send_frame(struct dispatch *c, enum frame_type type, uint32_t call)
{
	AUTO(buf_release) struct buf bytes = { 0 };
	wire_put(&bytes, type, call, NULL, 0);
	dispatch_send(c, &bytes);
}
