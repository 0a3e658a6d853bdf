/* The full text of a long run, which PID 1 has kept in the session (docs/protocol.md, Output). */
#include <errno.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "kernels/entry.h"
#include "manager/line/transfer.h"
#include "manager/registry/op.h"

#define STALL_MS 30000

struct text_op {
	struct op op;
	struct run_text_request request;
	struct transfer transfer;
	struct timer *stall;
	struct buf text;
	uint64_t size;
	bool began;
};

static struct text_op *text_op_of(struct op *op)
{
	return container_of(op, struct text_op, op);
}

static void text_op_free(struct op *op)
{
	struct text_op *o = text_op_of(op);
	if (o->transfer.dispatch)
		transfer_leave(&o->transfer);
	timer_free(o->stall);
	buf_release(&o->text);
	free(o);
}

static void answer_fail(struct op *op, const struct fail *f)
{
	struct text_op *o = text_op_of(op);
	o->request.on_done(o->request.ctx, NULL, 0, 0, f);
}

static void answer(struct text_op *o, bool whole)
{
	o->request.on_done(o->request.ctx, whole ? buf_str(&o->text) : NULL, whole ? o->text.len : 0, o->size, NULL);
	op_end(&o->op);
}

static void give_credit(struct text_op *o, const struct wire_frame *frame)
{
	AUTO(buf_release) struct buf out = { 0 };
	uint8_t payload[4];
	entry_put_number(payload, 4, FRAME_HEADER_SIZE + frame->n);
	wire_put(&out, FRAME_CREDIT, frame->call, payload, sizeof(payload));
	transfer_send(&o->transfer, &out);
}

/* Adds a piece of the file, which is within the requested limit. Bytes that are not sent are holes of a sparse file. */
static int take(struct text_op *o, const struct wire_frame *frame)
{
	if (frame->n < 8 || !o->began)
		return -EPROTO;
	uint64_t at = entry_get_number(frame->payload, 8);
	if (at < o->text.len || at + (frame->n - 8) > o->size)
		return -EPROTO;
	size_t hole = (size_t)at - o->text.len;
	memset(buf_reserve(&o->text, hole), ' ', hole);
	o->text.len += hole;
	buf_add(&o->text, frame->payload + 8, frame->n - 8);
	return 0;
}

static int on_frame(void *ctx, const struct wire_frame *frame)
{
	struct text_op *o = ctx;
	struct entry e;
	AUTO(strv_release) struct strv notices = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	timer_start(o->stall, STALL_MS, 0);
	switch (frame->type) {
	case FRAME_END:
		answer(o, wire_read_files_end(frame, &notices, /* ret_below= */ NULL, &f) == 0 && o->began);
		return 0;
	case FRAME_ENTRY:
		if (o->began || !entry_read(frame->payload, frame->n, &e))
			return -EPROTO;
		o->size = e.size;
		if (e.type != ENTRY_FILE || e.size > o->request.max) {
			answer(o, /* whole= */ false);
			return 0;
		}
		o->began = true;
		break;
	case FRAME_MAP:
		break;
	case FRAME_DATA:
		if (take(o, frame) < 0)
			return -EPROTO;
		break;
	default:
		return -EPROTO;
	}
	give_credit(o, frame);
	return 0;
}

static void on_lost(void *ctx, const struct fail *f)
{
	struct text_op *o = ctx;
	answer_fail(&o->op, f);
	op_end(&o->op);
}

static void on_stall(void *ctx)
{
	AUTO(fail_release) struct fail f = { 0 };
	cause_set(&f, FAIL_TIMEOUT, CAUSE_STALLED, "the container did not continue the copy for %d s", STALL_MS / 1000);
	on_lost(ctx, &f);
}

static int start(struct op *op, struct fail *f)
{
	struct text_op *o = text_op_of(op);
	AUTO(freep) char *path = xasprintf("/home/sandbox/.husk/runs/%u.txt", (unsigned)o->request.number);
	o->transfer.on_frame = on_frame;
	o->transfer.on_lost = on_lost;
	o->transfer.ctx = o;
	o->stall = timer_new(op->registry->loop, on_stall, o);
	timer_start(o->stall, STALL_MS, 0);
	transfer_join(&o->transfer, session_dispatch(op->entry->session));
	return transfer_begin(&o->transfer, &(struct wire_files){ .export = true, .path = path }, f);
}

struct op *manager_run_text(struct conversation *c, const struct run_text_request *req, struct fail *f)
{
	static const struct op_type type = { .start = start, .fail = answer_fail, .free = text_op_free };
	struct text_op *o = new0(struct text_op);
	op_init(&o->op, c->registry, c, &type);
	o->request = *req;
	o->request.session_id = NULL;
	return op_begin(&o->op, req->session_id, f);
}
