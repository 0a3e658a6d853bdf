#include "manager/files/download.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/work.h"
#include "kernels/entry.h"
#include "manager/files/fd-copy.h"
#include "manager/model/cause.h"

/* How long the container may be silent while this side has nothing to do. */
#define STALL_MS 120000
/* Time limit of one worker job on this machine's disk, including its wait in the queue. */
#define JOB_MS 600000

struct download {
	struct download_spec spec;
	struct work *work, *hash;
	int file; /* descriptor received instead of data; -1 = none. A worker job closes it, since that may take long */
	bool fd_copied;
	struct fd_copy *fd_copy;
	bool left; /* cancelled, but a copy has not ended yet */
	struct timer *stall;
	uint32_t call;
	uint64_t bytes;
	struct buf waiting; /* frames that no worker job has taken yet */
	bool ended;	    /* END came and reported success */
	struct strv notices;

	/* Used by the worker job while it runs. */
	struct buf taken; /* kept afterwards, until it can be hashed */
	bool keeping;
	struct sink_result result;
	struct fail fail;

	/* Used by the other worker job. */
	struct buf hashing;
	struct fail hash_fail;
};

static void download_free(struct download *g)
{
	sink_free(g->spec.sink);
	timer_free(g->stall);
	buf_release(&g->waiting);
	buf_release(&g->taken);
	buf_release(&g->hashing);
	fail_release(&g->hash_fail);
	strv_release(&g->notices);
	fail_release(&g->fail);
	if (g->result.content > 0)
		close(g->result.content);
	free(g);
}

static void drop_job(void *ctx)
{
	struct download *g = ctx;
	g->spec.sink = sink_free(g->spec.sink);
	closep(&g->file);
}

static void on_dropped(void *ctx, bool forgotten UNUSED)
{
	download_free(ctx);
}

/* A worker job removes the file, because removing a large one takes time. */
static void drop(struct download *g)
{
	(void)work_start(g->spec.loop,
			 &(struct work_spec){ .fn = drop_job, .on_done = on_dropped, .ctx = g, .bulk = true });
}

static void let_go(struct download *g)
{
	g->stall = timer_free(g->stall);
	g->left = true;
	if (!g->work && !g->hash && !g->fd_copy) {
		drop(g);
		return;
	}
	sink_stop(g->spec.sink);
	/* The last worker job to end frees the download. */
	if (g->work)
		work_forget(g->work);
	if (g->hash)
		work_forget(g->hash);
}

static void finish(struct download *g, const struct sink_result *result, const struct fail *f)
{
	struct download_spec spec = g->spec;
	AUTO(strv_release) struct strv notices = g->notices;
	AUTO(fail_release) struct fail copy = { 0 };
	struct sink_result kept = { 0 };
	g->notices = (struct strv){ 0 };
	if (result)
		kept = *result;
	g->result.content = 0; /* now the receiver's */
	if (f)
		fail_copy(&copy, f);
	let_go(g);
	spec.on_done(spec.ctx, result ? &kept : NULL, &notices, f ? &copy : NULL);
}

static void next(struct download *g);

static void job(void *ctx)
{
	struct download *g = ctx;
	if (!g->keeping) {
		(void)sink_take(g->spec.sink, g->taken.data, g->taken.len, &g->fail);
		return;
	}
	closep(&g->file);
	(void)sink_keep(g->spec.sink, &g->result, &g->fail);
}

static void hash_job(void *ctx)
{
	struct download *g = ctx;
	(void)sink_hash(g->spec.sink, g->hashing.data, g->hashing.len, &g->hash_fail);
}

/* Gives PID 1 credit for frames that were handled. */
static void give_credit(struct download *g, struct buf *done)
{
	AUTO(buf_release) struct buf frame = { 0 };
	uint8_t payload[4];
	entry_put_number(payload, 4, done->len);
	wire_put(&frame, FRAME_CREDIT, g->call, payload, sizeof(payload));
	if (!g->ended)
		transfer_send(g->spec.transfer, &frame);
	buf_reset(done);
	if (g->spec.on_progress)
		g->spec.on_progress(g->spec.ctx, g->bytes);
}

static void fail_now(struct download *g, struct fail *why)
{
	AUTO(fail_release) struct fail f = { 0 };
	fail_move(&f, why);
	transfer_cancel(g->spec.transfer);
	finish(g, NULL, &f);
}

static void on_worked(void *ctx, bool forgotten)
{
	struct download *g = ctx;
	g->work = NULL;
	if (forgotten) {
		if (!g->hash)
			drop(g);
		return;
	}
	if (g->fail.kind) {
		fail_now(g, &g->fail);
		return;
	}
	if (g->keeping) {
		finish(g, &g->result, NULL);
		return;
	}
	if (!sink_hashes(g->spec.sink))
		give_credit(g, &g->taken);
	next(g);
}

static void on_hashed(void *ctx, bool forgotten)
{
	struct download *g = ctx;
	g->hash = NULL;
	if (forgotten) {
		if (!g->work)
			drop(g);
		return;
	}
	if (g->hash_fail.kind) {
		fail_now(g, &g->hash_fail);
		return;
	}
	give_credit(g, &g->hashing);
	next(g);
}

static void swap(struct buf *a, struct buf *b)
{
	struct buf old = *a;
	*a = *b;
	*b = old;
}

static struct work *start_job(struct download *g, void (*fn)(void *ctx), void (*on_done)(void *ctx, bool forgotten))
{
	return work_start(g->spec.loop, &(struct work_spec){ .fn = fn, .on_done = on_done, .ctx = g, .bulk = true });
}

static void on_copying(void *ctx, uint64_t bytes)
{
	struct download *g = ctx;
	if (g->left)
		return;
	g->bytes = bytes;
	timer_start(g->stall, JOB_MS, 0);
	if (g->spec.transfer->dispatch)
		g->spec.transfer->dispatch->used_ms = loop_now_ms();
	if (g->spec.on_progress)
		g->spec.on_progress(g->spec.ctx, g->bytes);
}

static void on_copied(void *ctx, const struct fail *f)
{
	struct download *g = ctx;
	g->fd_copy = NULL;
	if (g->left) {
		drop(g);
		return;
	}
	if (f) {
		fail_copy(&g->fail, f);
		fail_now(g, &g->fail);
		return;
	}
	if (sink_fell_short(g->spec.sink))
		strv_add(&g->notices, "the file shrank while it was read: the rest was filled with zeros");
	next(g);
}

/* Starts once everything that came before the descriptor is written. */
static void fd_copy(struct download *g)
{
	struct fd_copy_spec spec = { .loop = g->spec.loop,
				     .sink = g->spec.sink,
				     .file = g->file,
				     .on_progress = on_copying,
				     .on_done = on_copied,
				     .ctx = g };
	g->fd_copied = true;
	g->fd_copy = fd_copy_start(&spec, &g->fail);
	if (!g->fd_copy)
		fail_now(g, &g->fail);
}

/* Each piece is written by one worker job and then hashed by another, while the first writes the next piece. The
 * container and this server have separate time limits, each of which runs while the other side waits. */
static void next(struct download *g)
{
	if (g->fd_copy)
		return;
	if (!g->work && !g->hash && !g->taken.len && !g->waiting.len && g->file >= 0 && !g->fd_copied) {
		timer_start(g->stall, JOB_MS, 0);
		fd_copy(g);
		return;
	}
	if (!g->work && !g->hash && g->taken.len) {
		swap(&g->hashing, &g->taken);
		g->hash = start_job(g, hash_job, on_hashed);
	}
	if (!g->work && !g->taken.len && (g->waiting.len || (g->ended && !g->hash))) {
		g->keeping = !g->waiting.len;
		swap(&g->taken, &g->waiting);
		g->work = start_job(g, job, on_worked);
	}
	timer_start(g->stall, g->work || g->hash ? JOB_MS : STALL_MS, 0);
}

/* The system drops a passed descriptor if this process has no free number for it. The failure is not stored in
 * g->fail, since a worker job may still be using that. */
static void lose_file(struct download *g)
{
	AUTO(fail_release) struct fail f = { 0 };
	fail_set(&f, FAIL_BUSY, "cannot receive the file from the session: no file descriptor was free");
	fail_hint(&f, "Try again, with fewer copies at once; check the server's limit of open files (ulimit -n).");
	fail_now(g, &f);
}

static int on_frame(void *ctx, const struct wire_frame *frame)
{
	struct download *g = ctx;
	switch (frame->type) {
	case FRAME_END: {
		AUTO(fail_release) struct fail f = { 0 };
		if (wire_read_files_end(frame, &g->notices, /* ret_below= */ NULL, &f) < 0) {
			finish(g, NULL, &f);
			return 0;
		}
		g->ended = true;
		next(g);
		return 0;
	}
	case FRAME_ENTRY:
	case FRAME_MAP:
	case FRAME_DATA:
		if (g->waiting.len + g->taken.len + g->hashing.len + FRAME_HEADER_SIZE + frame->n > FILE_WINDOW_MAX)
			return -EPROTO;
		wire_put(&g->waiting, (enum frame_type)frame->type, frame->call, frame->payload, frame->n);
		g->bytes += frame->n;
		next(g);
		return 0;
	case FRAME_FILE:
		if (g->file >= 0)
			return -EPROTO;
		g->file = take_fd(*frame->descriptor);
		if (g->file < 0)
			lose_file(g);
		else
			next(g);
		return 0;
	default:
		return -EPROTO;
	}
}

static void on_lost(void *ctx, const struct fail *f)
{
	struct download *g = ctx;
	/* After END everything has arrived, so the export is kept even if the session ends. */
	if (!g->ended)
		finish(g, NULL, f);
}

static void on_stall(void *ctx)
{
	struct download *g = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	if (g->fd_copy) {
		fail_set(&f, FAIL_TIMEOUT, "no piece of the file could be copied to STORAGE_DIR for %d s",
			 JOB_MS / 1000);
		fail_hint(&f, "Check whether its disk, or the engine's, is overloaded, and export less at once.");
	} else if (g->work || g->hash) {
		fail_set(&f, FAIL_TIMEOUT, "the disk that holds STORAGE_DIR did not store the files within %d s",
			 JOB_MS / 1000);
		fail_hint(&f, "Check whether it is overloaded (husk doctor writes to it), and export less at once.");
	} else {
		cause_set(&f, FAIL_TIMEOUT, CAUSE_STALLED, "the container did not continue the copy for %d s",
			  STALL_MS / 1000);
		fail_hint(&f, "Check what is running in the session, and try again.");
	}
	transfer_cancel(g->spec.transfer);
	finish(g, NULL, &f);
}

struct download *download_start(const struct download_spec *spec, struct fail *f)
{
	struct wire_files call = { .export = true, .path = spec->path };
	if (transfer_begin(spec->transfer, &call, f) < 0) {
		sink_free(spec->sink);
		return NULL;
	}
	struct download *g = new0(struct download);
	g->spec = *spec;
	g->spec.path = NULL;
	g->call = spec->transfer->call;
	g->file = -1;
	g->stall = timer_new(spec->loop, on_stall, g);
	timer_start(g->stall, STALL_MS, 0);
	spec->transfer->on_frame = on_frame;
	spec->transfer->on_lost = on_lost;
	spec->transfer->ctx = g;
	return g;
}

void download_cancel(struct download *g)
{
	transfer_cancel(g->spec.transfer);
	let_go(g);
}
