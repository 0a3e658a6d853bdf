#include "manager/line/line-gate.h"

#include <errno.h>

#include "base/alloc.h"
#include "manager/model/cause.h"

void line_gate_set(struct dispatch *d, struct line_gate *g)
{
	d->gate = g;
	d->gate_tokens = GATE_NEW_A_SECOND;
	d->gate_tokens_ms = loop_now_ms();
}

int line_gate_rules(struct dispatch *d, const struct wire_gate *gate, struct fail *f)
{
	if (d->open && !d->has_gate) {
		cause_set(f, FAIL_INVALID, CAUSE_OLD_SESSION,
			  "this session was created by an older Husk, whose network cannot be changed");
		return fail_hint(f, "Create a new session.");
	}
	buf_reset(&d->gate_rules);
	wire_put_gate(&d->gate_rules, gate);
	line_gate_resume(d);
	return 0;
}

void line_gate_resume(struct dispatch *d)
{
	if (d->open && d->has_gate && d->gate_rules.len)
		dispatch_send(d, &d->gate_rules);
}

struct line_stream *line_gate_free(struct line_stream *s)
{
	if (!s)
		return NULL;
	line_stream_close(s);
	free(s);
	return NULL;
}

/* --- frames ------------------------------------------------------------------------------------------------------ */

static size_t connections(const struct dispatch *d)
{
	size_t n = 0;
	list_for_each(s, (struct list *)&d->streams, struct line_stream, node)
		n += s->inbound;
	return n;
}

/* A bucket of one second: PID 1 has the same limit, but is not trusted with it. */
static bool take_token(struct dispatch *d)
{
	uint64_t now = loop_now_ms(), more = (now - d->gate_tokens_ms) * GATE_NEW_A_SECOND / 1000;
	if (more) {
		d->gate_tokens = (unsigned)MIN(d->gate_tokens + more, (uint64_t)GATE_NEW_A_SECOND);
		d->gate_tokens_ms = now;
	}
	if (!d->gate_tokens)
		return false;
	d->gate_tokens--;
	return true;
}

static void refuse(struct dispatch *d, const struct wire_stream_open *open, uint32_t number)
{
	AUTO(buf_release) struct buf frame = { 0 };
	wire_put_stream_refuse(&frame, number, WIRE_REFUSAL_LIMIT);
	dispatch_send(d, &frame);
	d->gate->on_denied(d->gate, open->name, open->port, WIRE_REFUSAL_LIMIT, 1);
}

static int on_open(struct dispatch *d, const struct wire_frame *frame)
{
	struct wire_stream_open open;
	if (frame->call < STREAM_NUMBER_FIRST || line_streams_find(d, frame->call) ||
	    wire_read_stream_open(frame, &open) < 0)
		return -EPROTO;
	if (connections(d) >= GATE_CONNECTIONS_MAX || !take_token(d)) {
		refuse(d, &open, frame->call);
		return 0;
	}
	struct line_stream *s = new0(struct line_stream);
	line_stream_begin(s, d, frame->call, open.port);
	d->gate->on_open(d->gate, s, open.name, open.port);
	return 0;
}

static int on_denied(struct dispatch *d, const struct wire_frame *frame)
{
	struct wire_gate_denied denied;
	if (wire_read_gate_denied(frame, &denied) < 0)
		return -EPROTO;
	for (size_t i = 0; i < denied.n; i++)
		d->gate->on_denied(d->gate, denied.list[i].name, denied.list[i].port, WIRE_REFUSAL_DENIED,
				   denied.list[i].count);
	return 0;
}

int line_gate_frame(struct dispatch *d, const struct wire_frame *frame)
{
	if (!d->gate)
		return -EPROTO;
	return frame->type == FRAME_STREAM_OPEN ? on_open(d, frame) : on_denied(d, frame);
}
