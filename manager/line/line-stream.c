#include "manager/line/line-stream.h"

#include <errno.h>

#include "manager/model/cause.h"

/* Small enough that PID 1 still has most of its window when the credit arrives. */
#define CREDIT_STEP (STREAM_WINDOW / 4)

int line_stream_open(struct line_stream *s, struct dispatch *d, uint16_t port, struct fail *f)
{
	AUTO(buf_release) struct buf frame = { 0 };
	if (!d->open) {
		cause_set(f, FAIL_BUSY, CAUSE_RECONNECTING, "Husk is reconnecting to the session");
		return fail_hint(f, "Try again in a few seconds.");
	}
	if (!d->has_streams) {
		cause_set(f, FAIL_INVALID, CAUSE_OLD_SESSION,
			  "this session was created by an older Husk, which does not connect to its ports");
		return fail_hint(f, "Create a new session.");
	}
	s->dispatch = d;
	s->number = dispatch_number(d);
	s->port = port;
	s->unsent = s->held = s->credited = 0;
	s->inbound = s->accepted = s->in_ended = s->out_ended = false;
	d->used_ms = loop_now_ms();
	list_append(&d->streams, &s->node);
	wire_put_stream_open(&frame, s->number, port);
	dispatch_send(d, &frame);
	return 0;
}

size_t line_stream_room(const struct line_stream *s)
{
	return s->dispatch && s->accepted && !s->out_ended ? STREAM_WINDOW - s->unsent : 0;
}

void line_stream_write(struct line_stream *s, const void *data, size_t n)
{
	AUTO(buf_release) struct buf frames = { 0 };
	n = MIN(n, line_stream_room(s));
	if (!n)
		return;
	s->unsent += (uint32_t)n;
	s->dispatch->used_ms = loop_now_ms();
	for (size_t done = 0; done < n; done += STREAM_DATA_MAX)
		wire_put(&frames, FRAME_STREAM_DATA, s->number, (const char *)data + done,
			 MIN(n - done, (size_t)STREAM_DATA_MAX));
	dispatch_send(s->dispatch, &frames);
}

static void leave(struct line_stream *s)
{
	list_remove(&s->node);
	s->dispatch = NULL;
}

static void end_if_over(struct line_stream *s)
{
	if (!s->in_ended || !s->out_ended)
		return;
	leave(s);
	s->on_end(s, NULL);
}

void line_stream_finish(struct line_stream *s)
{
	if (!s->dispatch || s->out_ended)
		return;
	s->out_ended = true;
	dispatch_send_frame(s->dispatch, FRAME_STREAM_END, s->number);
	end_if_over(s);
}

void line_stream_taken(struct line_stream *s, size_t n)
{
	AUTO(buf_release) struct buf frame = { 0 };
	uint32_t taken = (uint32_t)MIN(n, (size_t)s->held);
	if (!s->dispatch)
		return;
	s->held -= taken;
	s->credited += taken;
	if (s->credited < CREDIT_STEP || s->in_ended)
		return;
	wire_put_stream_credit(&frame, s->number, s->credited);
	s->credited = 0;
	dispatch_send(s->dispatch, &frame);
}

void line_stream_refuse(struct line_stream *s, enum wire_refusal why)
{
	struct dispatch *d = s->dispatch;
	if (!d)
		return;
	leave(s);
	AUTO(buf_release) struct buf frame = { 0 };
	wire_put_stream_refuse(&frame, s->number, why);
	dispatch_send(d, &frame);
}

void line_stream_close(struct line_stream *s)
{
	line_stream_refuse(s, WIRE_REFUSAL_RESET);
}

/* --- streams that PID 1 opens ------------------------------------------------------------------------------------ */

void line_stream_begin(struct line_stream *s, struct dispatch *d, uint32_t number, uint16_t port)
{
	s->dispatch = d;
	s->number = number;
	s->port = port;
	s->inbound = true;
	d->used_ms = loop_now_ms();
	list_append(&d->streams, &s->node);
}

void line_stream_accept(struct line_stream *s)
{
	if (!s->dispatch || !s->inbound || s->accepted)
		return;
	s->accepted = true;
	dispatch_send_frame(s->dispatch, FRAME_STREAM_ACCEPT, s->number);
}

/* --- frames ------------------------------------------------------------------------------------------------------ */

static int on_accept(struct line_stream *s)
{
	if (s->accepted || s->inbound)
		return -EPROTO;
	s->accepted = true;
	s->on_open(s);
	return 0;
}

static int on_refuse(struct line_stream *s, const struct wire_frame *frame)
{
	AUTO(fail_release) struct fail f = { 0 };
	enum wire_refusal why = wire_read_stream_refuse(frame);
	bool accepted = s->accepted;
	leave(s);
	if (s->inbound)
		cause_set(&f, FAIL_ENGINE, CAUSE_STREAM_BROKE, "the session has reset the connection");
	else if (accepted)
		cause_set(&f, FAIL_ENGINE, CAUSE_STREAM_BROKE, "the connection to port %u of the session was reset",
			  s->port);
	else if (why == WIRE_REFUSAL_LIMIT)
		cause_set(&f, FAIL_BUSY, CAUSE_QUEUE_FULL, "too many connections to this session are open");
	else if (why == WIRE_REFUSAL_TIMEOUT)
		cause_set(&f, FAIL_TIMEOUT, CAUSE_PORT_REFUSED,
			  "the server on port %u of the session accepts no connections", s->port);
	else
		cause_set(&f, FAIL_INVALID, CAUSE_PORT_REFUSED, "nothing listens on port %u of the session", s->port);
	s->on_end(s, &f);
	return 0;
}

static int on_data(struct line_stream *s, const struct wire_frame *frame)
{
	if (!s->accepted || s->in_ended || frame->n > STREAM_WINDOW - s->held - s->credited)
		return -EPROTO;
	s->held += (uint32_t)frame->n;
	s->dispatch->used_ms = loop_now_ms();
	s->on_bytes(s, frame->payload, frame->n);
	return 0;
}

static int on_credit(struct line_stream *s, const struct wire_frame *frame)
{
	uint32_t n;
	if (wire_read_credit(frame, &n) < 0 || n > s->unsent)
		return -EPROTO;
	s->unsent -= n;
	s->on_room(s);
	return 0;
}

static int on_finish(struct line_stream *s)
{
	if (!s->accepted || s->in_ended)
		return -EPROTO;
	s->in_ended = true;
	s->on_finish(s);
	if (s->dispatch)
		end_if_over(s);
	return 0;
}

struct line_stream *line_streams_find(struct dispatch *d, uint32_t number)
{
	list_for_each(s, &d->streams, struct line_stream, node)
		if (s->number == number)
			return s;
	return NULL;
}

int line_streams_frame(struct dispatch *d, const struct wire_frame *frame)
{
	struct line_stream *s = line_streams_find(d, frame->call);
	/* It was in transit when the stream ended. */
	if (!s)
		return 0;
	switch (frame->type) {
	case FRAME_STREAM_ACCEPT:
		return on_accept(s);
	case FRAME_STREAM_REFUSE:
		return on_refuse(s, frame);
	case FRAME_STREAM_DATA:
		return on_data(s, frame);
	case FRAME_STREAM_CREDIT:
		return on_credit(s, frame);
	default:
		return on_finish(s);
	}
}

void line_streams_lost(struct dispatch *d, const struct fail *f)
{
	/* A callback cannot open a stream on this connection, so every stream in the list ends. */
	for (size_t left = list_length(&d->streams); left > 0; left--) {
		struct line_stream *s = list_first(&d->streams, struct line_stream, node);
		if (!s)
			break;
		leave(s);
		s->on_end(s, f);
	}
}

void line_streams_release(struct dispatch *d)
{
	list_for_each(s, &d->streams, struct line_stream, node)
		leave(s);
}
