#include "manager/line/console.h"

#include <errno.h>

#include "base/alloc.h"
#include "manager/model/cause.h"

/* Small enough that PID 1 still has most of its window when the credit is sent. */
#define CREDIT_STEP (CONSOLE_OUT_WINDOW / 8)

int console_open(struct console *c, struct dispatch *d, const struct wire_console *wanted, struct fail *f)
{
	AUTO(buf_release) struct buf frame = { 0 };
	if (!d->open) {
		cause_set(f, FAIL_BUSY, CAUSE_RECONNECTING, "Husk is reconnecting to the session");
		return fail_hint(f, "Try again in a few seconds.");
	}
	if (!d->has_consoles || (wanted->pipes && !d->has_programs)) {
		cause_set(f, FAIL_INVALID, CAUSE_OLD_SESSION,
			  "this session was created by an older Husk, which does not open %s for people",
			  wanted->pipes ? "programs" : "terminals");
		return fail_hint(f, "Create a new session.");
	}
	if (wire_put_console(&frame, d->last_call + 1, wanted) < 0)
		return fail_set(f, FAIL_INVALID, "the command is not valid UTF-8, or too long");
	c->dispatch = d;
	c->call = dispatch_number(d);
	c->abandoned = false;
	c->typed = c->shown = c->credited = 0;
	d->used_ms = loop_now_ms();
	list_append(&d->consoles, &c->node);
	dispatch_send(d, &frame);
	return 0;
}

int console_type(struct console *c, const void *data, size_t n)
{
	AUTO(buf_release) struct buf frames = { 0 };
	if (!c->dispatch)
		return 0;
	if (n > CONSOLE_KEYS_WINDOW - c->typed)
		return -1;
	c->typed += (uint32_t)n;
	c->dispatch->used_ms = loop_now_ms();
	for (size_t done = 0; done < n; done += CONSOLE_DATA_MAX)
		wire_put(&frames, FRAME_CONSOLE_DATA, c->call, (const char *)data + done,
			 MIN(n - done, (size_t)CONSOLE_DATA_MAX));
	if (frames.len)
		dispatch_send(c->dispatch, &frames);
	return 0;
}

void console_end_input(struct console *c)
{
	if (c->dispatch)
		dispatch_send_frame(c->dispatch, FRAME_CONSOLE_DATA, c->call);
}

void console_signal(struct console *c, int signo)
{
	AUTO(buf_release) struct buf frame = { 0 };
	uint8_t number = (uint8_t)signo;
	if (!c->dispatch)
		return;
	wire_put(&frame, FRAME_CONSOLE_SIGNAL, c->call, &number, 1);
	dispatch_send(c->dispatch, &frame);
}

void console_taken(struct console *c, size_t n)
{
	AUTO(buf_release) struct buf frame = { 0 };
	uint32_t taken = (uint32_t)MIN(n, (size_t)c->shown);
	if (!c->dispatch)
		return;
	c->shown -= taken;
	c->credited += taken;
	if (c->credited < CREDIT_STEP)
		return;
	wire_put_credit(&frame, c->call, c->credited);
	c->credited = 0;
	dispatch_send(c->dispatch, &frame);
}

void console_resize(struct console *c, int rows, int cols)
{
	AUTO(buf_release) struct buf frame = { 0 };
	if (!c->dispatch)
		return;
	wire_put_console_size(&frame, c->call, rows, cols);
	dispatch_send(c->dispatch, &frame);
}

static void leave(struct console *c)
{
	list_remove(&c->node);
	c->dispatch = NULL;
}

void console_close(struct console *c)
{
	struct dispatch *d = c->dispatch;
	if (!d)
		return;
	leave(c);
	/* Frames of PID 1 may still arrive until its END. This abandoned console discards them. */
	struct console *rest = new0(struct console);
	rest->dispatch = d;
	rest->call = c->call;
	rest->abandoned = true;
	list_append(&d->consoles, &rest->node);
	dispatch_send_frame(d, FRAME_INTERRUPT, c->call);
}

/* --- frames ------------------------------------------------------------------------------------------------------ */

static int on_data(struct console *c, const struct wire_frame *frame)
{
	if (frame->n > CONSOLE_OUT_WINDOW - c->shown - c->credited)
		return -EPROTO;
	c->shown += (uint32_t)frame->n;
	c->dispatch->used_ms = loop_now_ms();
	if (frame->type == FRAME_CONSOLE_ERR && !c->on_error_bytes)
		return -EPROTO;
	if (frame->type == FRAME_CONSOLE_ERR)
		c->on_error_bytes(c, frame->payload, frame->n);
	else
		c->on_bytes(c, frame->payload, frame->n);
	return 0;
}

static int on_credit(struct console *c, const struct wire_frame *frame)
{
	uint32_t n;
	if (wire_read_credit(frame, &n) < 0 || n > c->typed)
		return -EPROTO;
	c->typed -= n;
	c->on_typed(c, n);
	return 0;
}

static int on_end(struct console *c, const struct wire_frame *frame)
{
	AUTO(wire_console_end_release) struct wire_console_end end = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	wire_read_console_end(frame, &end);
	leave(c);
	bool invalid = end.cause == CAUSE_NO_DIRECTORY;
	if (end.refused)
		cause_set(&f, invalid ? FAIL_INVALID : FAIL_BUSY, invalid ? end.cause : CAUSE_NONE, "%s",
			  end.detail ? end.detail : "the session cannot open a terminal");
	c->on_end(c, end.refused ? NULL : &end, end.refused ? &f : NULL);
	return 0;
}

static int on_frame(struct console *c, const struct wire_frame *frame)
{
	switch (frame->type) {
	case FRAME_CONSOLE_DATA:
	case FRAME_CONSOLE_ERR:
		return on_data(c, frame);
	case FRAME_CREDIT:
		return on_credit(c, frame);
	case FRAME_END:
		return on_end(c, frame);
	default:
		return -EPROTO;
	}
}

bool consoles_on_frame(struct dispatch *d, const struct wire_frame *frame, int *ret)
{
	*ret = 0;
	list_for_each(c, &d->consoles, struct console, node) {
		if (c->call != frame->call)
			continue;
		if (!c->abandoned) {
			*ret = on_frame(c, frame);
		} else if (frame->type == FRAME_END) {
			leave(c);
			free(c);
		}
		return true;
	}
	return false;
}

void consoles_lost(struct dispatch *d, const struct fail *f)
{
	/* A callback cannot open a console on this connection, so every console in the list ends. */
	for (size_t left = list_length(&d->consoles); left > 0; left--) {
		struct console *c = list_first(&d->consoles, struct console, node);
		if (!c)
			break;
		leave(c);
		if (c->abandoned)
			free(c);
		else
			c->on_end(c, NULL, f);
	}
}

void consoles_release(struct dispatch *d)
{
	list_for_each(c, &d->consoles, struct console, node) {
		leave(c);
		if (c->abandoned)
			free(c);
	}
}

bool consoles_busy(const struct dispatch *d)
{
	list_for_each(c, &d->consoles, struct console, node)
		if (!c->abandoned)
			return true;
	return false;
}
