#include "manager/line/transfer.h"

#include "base/alloc.h"
#include "manager/model/cause.h"

void transfer_join(struct transfer *t, struct dispatch *d)
{
	t->dispatch = d;
	t->call = 0;
	list_append(&d->transfers, &t->node);
}

void transfer_cancel(struct transfer *t)
{
	if (!t->dispatch || !t->call)
		return;
	/* Frames of PID 1 may still arrive until its END. This abandoned transfer discards them. */
	struct transfer *rest = new0(struct transfer);
	rest->dispatch = t->dispatch;
	rest->call = t->call;
	rest->abandoned = true;
	list_append(&t->dispatch->transfers, &rest->node);
	dispatch_send_frame(t->dispatch, FRAME_INTERRUPT, t->call);
	t->call = 0;
}

void transfer_leave(struct transfer *t)
{
	if (!t->dispatch)
		return;
	transfer_cancel(t);
	list_remove(&t->node);
	t->dispatch = NULL;
}

static int check_open(const struct dispatch *d, struct fail *f)
{
	if (d->open)
		return 0;
	cause_set(f, FAIL_BUSY, CAUSE_RECONNECTING, "Husk is reconnecting to the session");
	return fail_hint(f, "Try again in a few seconds.");
}

/* The frame has the next number. */
static void send_first(struct transfer *t, const struct buf *frame)
{
	struct dispatch *d = t->dispatch;
	t->call = t->last = dispatch_number(d);
	d->used_ms = loop_now_ms();
	dispatch_send(d, frame);
	if (t->on_begun)
		t->on_begun(t);
}

int transfer_begin(struct transfer *t, const struct wire_files *call, struct fail *f)
{
	AUTO(buf_release) struct buf frame = { 0 };
	if (check_open(t->dispatch, f) < 0)
		return -1;
	if (wire_put_files(&frame, t->dispatch->last_call + 1, call) < 0)
		return fail_set(f, FAIL_INVALID, "the path is not valid UTF-8");
	send_first(t, &frame);
	return 0;
}

int transfer_request(struct transfer *t, const struct wire_file_request *req, struct fail *f)
{
	AUTO(buf_release) struct buf frame = { 0 };
	if (check_open(t->dispatch, f) < 0)
		return -1;
	if (!t->dispatch->has_files) {
		cause_set(f, FAIL_INVALID, CAUSE_OLD_SESSION,
			  "this session was created by an older Husk, which does not support requests about files");
		return fail_hint(f, "Rebuild the images, then create a new session.");
	}
	if (wire_put_file_request(&frame, t->dispatch->last_call + 1, req) < 0)
		return fail_set(f, FAIL_INVALID, "the path or its version is too long, or not valid");
	send_first(t, &frame);
	return 0;
}

void transfer_send(struct transfer *t, const struct buf *frames)
{
	t->dispatch->used_ms = loop_now_ms();
	dispatch_send(t->dispatch, frames);
}

static struct transfer *find(struct dispatch *d, uint32_t call)
{
	list_for_each(t, &d->transfers, struct transfer, node)
		if (t->call == call)
			return t;
	return NULL;
}

bool transfers_frame(struct dispatch *d, const struct wire_frame *frame, int *ret)
{
	struct transfer *t = frame->call ? find(d, frame->call) : NULL;
	bool end = frame->type == FRAME_END;
	*ret = 0;
	if (!t)
		return false;
	if (t->abandoned && end) {
		list_remove(&t->node);
		free(t);
	} else if (!t->abandoned) {
		if (end)
			t->call = 0;
		*ret = t->on_frame(t->ctx, frame);
	}
	return true;
}

void transfers_lost(struct dispatch *d, const struct fail *f, bool gone)
{
	struct list lost;
	/* A callback may begin or leave a transfer, so collect the affected ones first. */
	list_init(&lost);
	list_for_each(t, &d->transfers, struct transfer, node) {
		if (!gone && !t->call)
			continue;
		list_remove(&t->node);
		if (t->abandoned)
			free(t);
		else
			list_append(&lost, &t->node);
	}
	for (struct transfer *t; (t = list_first(&lost, struct transfer, node));) {
		list_remove(&t->node);
		t->call = 0;
		if (gone)
			t->dispatch = NULL;
		else
			list_append(&d->transfers, &t->node);
		t->on_lost(t->ctx, f);
	}
}

bool transfers_busy(const struct dispatch *d)
{
	list_for_each(t, &d->transfers, struct transfer, node)
		if (!t->abandoned)
			return true;
	return false;
}
