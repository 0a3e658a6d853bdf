#include "manager/files/upload.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/work.h"
#include "manager/model/cause.h"

#define PIECE_BYTES (512u << 10)
_Static_assert(PIECE_BYTES + ENTRY_FIXED + 2 * ENTRY_PATH_MAX + FILE_DATA_MAX + 4096 < FILE_WINDOW * 3 / 4,
	       "a piece always fits the credit that is left when PID 1 has given nothing back yet");
/* PID 1 handles a piece in milliseconds. Moving many files into place takes longer, but only seconds. */
#define STALL_MS 120000
/* Time limit of one worker job on this machine's disk (such as measuring a folder), including its wait in the
 * queue. */
#define JOB_MS 600000

struct upload {
	struct upload_spec spec;
	char *destination, *base, *into;
	struct work *work;
	struct timer *stall;
	uint32_t call;
	uint64_t credit, sent;
	bool began, all_sent;
	struct measure all;
	struct buf sending; /* the piece before `piece`, or an empty buffer to fill next */

	/* Used by the worker job while it runs. */
	bool measuring;
	struct buf piece;
	int more; /* 1 = there is more, 0 = the end, -1 = `fail` */
	struct fail fail;
};

static void upload_free(struct upload *p)
{
	source_free(p->spec.source);
	timer_free(p->stall);
	buf_release(&p->piece);
	buf_release(&p->sending);
	fail_release(&p->fail);
	free(p->destination);
	free(p->base);
	free(p->into);
	free(p);
}

/* If a worker job is running, it frees the upload when it ends, since its thread may be using it. */
static void let_go(struct upload *p)
{
	timer_stop(p->stall);
	if (!p->work) {
		upload_free(p);
		return;
	}
	atomic_store(&p->spec.source->stop, true);
	work_forget(p->work);
}

static void finish(struct upload *p, const struct fail *f)
{
	struct upload_spec spec = p->spec;
	AUTO(strv_release) struct strv notices = { 0 };
	AUTO(fail_release) struct fail copy = { 0 };
	struct measure all = p->all;
	AUTO(freep) char *destination = take_ptr(p->destination);
	if (f)
		fail_copy(&copy, f);
	/* A running worker job still owns the notices. */
	for (size_t i = 0; !p->work && i < spec.source->notices.n; i++)
		strv_add(&notices, spec.source->notices.v[i]);
	let_go(p);
	spec.on_done(spec.ctx, &(struct upload_result){ destination, &all, &notices }, f ? &copy : NULL);
}

static void next(struct upload *p);

static void job(void *ctx)
{
	struct upload *p = ctx;
	struct source *s = p->spec.source;
	if (p->measuring)
		p->more = s->ops->measure(s, &p->all, &p->fail);
	else
		p->more = s->ops->produce(s, p->call, PIECE_BYTES, &p->piece, &p->fail);
}

static void go_below(struct upload *p, const char *name)
{
	char *inside = xasprintf("%s/%s", p->destination, name);
	free(p->destination);
	p->destination = inside;
}

static int begin(struct upload *p, struct fail *f)
{
	if (p->base && !p->all.directory)
		go_below(p, p->base);
	struct wire_files call = {
		.path = p->destination, .into = p->into, .bytes = p->all.room, .entries = p->all.entries
	};
	if (transfer_begin(p->spec.transfer, &call, f) < 0)
		return -1;
	p->call = p->spec.transfer->call;
	p->credit = FILE_WINDOW;
	p->began = true;
	return 0;
}

static void on_worked(void *ctx, bool forgotten)
{
	struct upload *p = ctx;
	p->work = NULL;
	if (forgotten) {
		upload_free(p);
		return;
	}
	if (p->more < 0 || (p->measuring && begin(p, &p->fail) < 0)) {
		AUTO(fail_release) struct fail f = { 0 };
		fail_move(&f, &p->fail);
		transfer_cancel(p->spec.transfer);
		finish(p, &f);
		return;
	}
	p->all_sent = !p->measuring && p->more == 0;
	p->measuring = false;
	next(p);
}

static void work(struct upload *p)
{
	timer_start(p->stall, JOB_MS, 0);
	p->work = work_start(p->spec.loop,
			     &(struct work_spec){ .fn = job, .on_done = on_worked, .ctx = p, .bulk = true });
}

/* Sends the piece that is ready as soon as there is credit. The next one is read meanwhile. */
static void next(struct upload *p)
{
	if (p->work)
		return;
	/* In this time the container must give credit or end the transfer. */
	timer_start(p->stall, STALL_MS, 0);
	if (!p->began || p->piece.len > p->credit)
		return;
	p->credit -= p->piece.len;
	p->sent += p->piece.len;
	struct buf ready = p->piece;
	p->piece = p->sending;
	p->sending = ready;
	if (p->all_sent) {
		wire_put(&p->sending, FRAME_DONE, p->call, NULL, 0);
		p->began = false; /* END follows */
	} else {
		work(p);
	}
	transfer_send(p->spec.transfer, &p->sending);
	buf_reset(&p->sending);
	if (p->spec.on_progress)
		p->spec.on_progress(p->spec.ctx, p->sent, &p->all);
}

static int on_frame(void *ctx, const struct wire_frame *frame)
{
	struct upload *p = ctx;
	if (frame->type == FRAME_END) {
		AUTO(fail_release) struct fail f = { 0 };
		AUTO(strv_release) struct strv notices = { 0 };
		bool below = false, fine = wire_read_files_end(frame, &notices, &below, &f) == 0;
		if (below && p->into)
			go_below(p, p->into);
		finish(p, fine ? NULL : &f);
		return 0;
	}
	if (frame->type != FRAME_CREDIT || frame->n != 4)
		return -EPROTO;
	p->credit += entry_get_number(frame->payload, 4);
	if (p->credit > FILE_WINDOW)
		return -EPROTO;
	next(p);
	return 0;
}

static void on_lost(void *ctx, const struct fail *f)
{
	finish(ctx, f);
}

static void on_stall(void *ctx)
{
	struct upload *p = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	if (p->work) {
		fail_set(&f, FAIL_TIMEOUT, "the files could not be read within %d s", JOB_MS / 1000);
		fail_hint(&f, "Check that the disk that holds them responds, and import less at once.");
	} else {
		cause_set(&f, FAIL_TIMEOUT, CAUSE_STALLED, "the container did not continue the copy for %d s%s",
			  STALL_MS / 1000,
			  p->all_sent ? "; everything was sent, and may have been moved into place" : "");
		fail_hint(&f, "Check what has arrived and what is running in the session, and try again.");
	}
	transfer_cancel(p->spec.transfer);
	finish(p, &f);
}

struct upload *upload_start(const struct upload_spec *spec)
{
	struct upload *p = new0(struct upload);
	p->spec = *spec;
	p->destination = xstrdup(spec->destination);
	p->base = spec->base ? xstrdup(spec->base) : NULL;
	p->into = spec->into ? xstrdup(spec->into) : NULL;
	p->spec.destination = p->spec.base = p->spec.into = NULL;
	p->stall = timer_new(spec->loop, on_stall, p);
	p->measuring = true;
	spec->transfer->on_frame = on_frame;
	spec->transfer->on_lost = on_lost;
	spec->transfer->ctx = p;
	work(p);
	return p;
}

void upload_cancel(struct upload *p)
{
	transfer_cancel(p->spec.transfer);
	let_go(p);
}
