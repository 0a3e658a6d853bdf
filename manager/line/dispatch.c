#include "manager/line/dispatch.h"

#include <errno.h>

#include "base/work.h"

/* Longer than a client needs to send its next request, and too short to notice. */
#define ACK_DELAY_MS 5
/* PID 1 refuses runs while too many are unacknowledged. */
#define ACKS_HELD_MAX 4

static void on_ack_soon(void *ctx)
{
	dispatch_flush(ctx);
}

void dispatch_init(struct dispatch *d, struct loop *loop, const struct config *config,
		   void (*send)(struct dispatch *d, const struct buf *frames))
{
	uint64_t now = loop_now_ms();
	*d = (struct dispatch){
		.loop = loop, .config = config, .send = send, .heard_ms = now, .used_ms = now, .descriptors = { -1, -1 }
	};
	list_init(&d->runs);
	list_init(&d->transfers);
	list_init(&d->status_waiters);
	list_init(&d->consoles);
	list_init(&d->streams);
	list_init(&d->queries);
	d->ack_soon = timer_new(loop, on_ack_soon, d);
}

void dispatch_release(struct dispatch *d)
{
	fail_release(&d->trouble);
	buf_release(&d->acks);
	buf_release(&d->gate_rules);
	dispatch_drop_descriptors(d);
	d->ack_soon = timer_free(d->ack_soon);
}

int dispatch_take_descriptor(struct dispatch *d)
{
	int first = d->descriptors[0];
	d->descriptors[0] = take_fd(d->descriptors[1]);
	return first;
}

int dispatch_put_descriptor(struct dispatch *d, int fd)
{
	for (size_t i = 0; i < ARRAY_LEN(d->descriptors); i++) {
		if (d->descriptors[i] >= 0)
			continue;
		d->descriptors[i] = fd;
		return 0;
	}
	work_close(d->loop, fd);
	return -ENOBUFS;
}

void dispatch_drop_descriptors(struct dispatch *d)
{
	for (int fd; (fd = dispatch_take_descriptor(d)) >= 0;)
		work_close(d->loop, fd);
}

uint32_t dispatch_number(struct dispatch *d)
{
	return ++d->last_call;
}

void dispatch_send(struct dispatch *d, const struct buf *frames)
{
	if (!d->acks.len) {
		d->send(d, frames);
		return;
	}
	buf_add(&d->acks, frames->data, frames->len);
	dispatch_flush(d);
}

void dispatch_flush(struct dispatch *d)
{
	timer_stop(d->ack_soon);
	if (d->acks.len)
		d->send(d, &d->acks);
	buf_reset(&d->acks);
}

void dispatch_drop_acks(struct dispatch *d)
{
	timer_stop(d->ack_soon);
	buf_reset(&d->acks);
}

void dispatch_ack(struct dispatch *d, uint32_t call)
{
	wire_put(&d->acks, FRAME_ACK, call, NULL, 0);
	if (d->acks.len >= ACKS_HELD_MAX * FRAME_HEADER_SIZE)
		dispatch_flush(d);
	else if (!timer_active(d->ack_soon))
		timer_start(d->ack_soon, ACK_DELAY_MS, 0);
}

void dispatch_send_frame(struct dispatch *d, enum frame_type type, uint32_t call)
{
	AUTO(buf_release) struct buf bytes = { 0 };
	wire_put(&bytes, type, call, NULL, 0);
	dispatch_send(d, &bytes);
}
