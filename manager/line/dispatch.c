#include "manager/line/dispatch.h"

#include <errno.h>

#include "base/work.h"

/* Longer than a client needs for its next call, shorter than anybody notices. */
#define ACK_DELAY_MS 5
/* PID 1 refuses calls while too many are unacknowledged. */
#define ACKS_HELD_MAX 4

static void on_ack_soon(void *ctx)
{
	dispatch_flush(ctx);
}

void dispatch_init(struct dispatch *c, struct loop *loop, const struct config *config,
		   void (*send)(struct dispatch *c, const struct buf *frames))
{
	uint64_t now = loop_now_ms();
	*c = (struct dispatch){
		.loop = loop, .config = config, .send = send, .heard_ms = now, .used_ms = now, .descriptors = { -1, -1 }
	};
	list_init(&c->runs);
	list_init(&c->transfers);
	list_init(&c->looks);
	list_init(&c->consoles);
	list_init(&c->asks);
	c->ack_soon = timer_new(loop, on_ack_soon, c);
}

void dispatch_release(struct dispatch *c)
{
	fail_release(&c->trouble);
	buf_release(&c->acks);
	dispatch_drop_descriptors(c);
	c->ack_soon = timer_free(c->ack_soon);
}

int dispatch_take_descriptor(struct dispatch *c)
{
	int first = c->descriptors[0];
	c->descriptors[0] = take_fd(c->descriptors[1]);
	return first;
}

int dispatch_put_descriptor(struct dispatch *c, int fd)
{
	for (size_t i = 0; i < ARRAY_LEN(c->descriptors); i++) {
		if (c->descriptors[i] >= 0)
			continue;
		c->descriptors[i] = fd;
		return 0;
	}
	work_close(c->loop, fd);
	return -ENOBUFS;
}

void dispatch_drop_descriptors(struct dispatch *c)
{
	for (int fd; (fd = dispatch_take_descriptor(c)) >= 0;)
		work_close(c->loop, fd);
}

uint32_t dispatch_number(struct dispatch *c)
{
	return ++c->last_call;
}

void dispatch_send(struct dispatch *c, const struct buf *frames)
{
	if (!c->acks.len) {
		c->send(c, frames);
		return;
	}
	buf_add(&c->acks, frames->data, frames->len);
	dispatch_flush(c);
}

void dispatch_flush(struct dispatch *c)
{
	timer_stop(c->ack_soon);
	if (c->acks.len)
		c->send(c, &c->acks);
	buf_reset(&c->acks);
}

void dispatch_drop_acks(struct dispatch *c)
{
	timer_stop(c->ack_soon);
	buf_reset(&c->acks);
}

void dispatch_ack(struct dispatch *c, uint32_t call)
{
	wire_put(&c->acks, FRAME_ACK, call, NULL, 0);
	if (c->acks.len >= ACKS_HELD_MAX * FRAME_HEADER_SIZE)
		dispatch_flush(c);
	else if (!timer_active(c->ack_soon))
		timer_start(c->ack_soon, ACK_DELAY_MS, 0);
}

void dispatch_send_frame(struct dispatch *c, enum frame_type type, uint32_t call)
{
	AUTO(buf_release) struct buf bytes = { 0 };
	wire_put(&bytes, type, call, NULL, 0);
	dispatch_send(c, &bytes);
}
