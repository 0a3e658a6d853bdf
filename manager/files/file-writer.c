#include "manager/files/file-writer.h"

#include <errno.h>

#include "base/alloc.h"
#include "kernels/item.h"
#include "manager/files/file-query.h"
#include "manager/model/cause.h"

/* How long PID 1 may take to give credit, or to move the file into place. */
#define STALL_MS 120000
/* Header and offset of a DATA frame. */
#define OVERHEAD (FRAME_HEADER_SIZE + 8u)

void file_writer_stop(struct file_writer *w)
{
	transfer_leave(&w->transfer);
	w->stall = timer_free(w->stall);
	buf_release(&w->queue);
	file_info_release(&w->info);
}

static void finish(struct file_writer *w, bool created, const struct fail *f)
{
	AUTO(fail_release) struct fail copy = { 0 };
	AUTO(file_info_release) struct file_info info = w->info;
	w->info = (struct file_info){ 0 };
	if (f)
		fail_copy(&copy, f);
	file_writer_stop(w);
	w->on_done(w, f ? NULL : &info, created, f ? &copy : NULL);
}

/* Appends frames for as much of the data as there is credit for, and returns how much that is. */
static size_t put_frames(struct file_writer *w, struct buf *frames, const uint8_t *data, size_t n)
{
	size_t done = 0;
	while (done < n && w->credit > OVERHEAD) {
		size_t piece = (size_t)MIN(MIN(n - done, (size_t)FILE_DATA_MAX), w->credit - OVERHEAD);
		uint8_t header[OVERHEAD];
		frame_header_write(header, &(struct frame_header){ .length = 8 + (uint32_t)piece,
								   .type = FRAME_DATA,
								   .call = w->transfer.call });
		entry_put_number(header + FRAME_HEADER_SIZE, 8, w->at);
		(void)buf_add(frames, header, sizeof(header));
		(void)buf_add(frames, data + done, piece);
		w->credit -= OVERHEAD + piece;
		w->at += piece;
		done += piece;
	}
	return done;
}

/* Sends what there is credit for, and DONE after the last byte. */
static void send_queue(struct file_writer *w)
{
	AUTO(buf_release) struct buf frames = { 0 };
	if (!w->transfer.call || w->sent_all || w->early)
		return;
	buf_consume(&w->queue, put_frames(w, &frames, w->queue.data, w->queue.len));
	if (w->ended && !w->queue.len) {
		wire_put(&frames, FRAME_DONE, w->transfer.call, NULL, 0);
		w->sent_all = true;
	}
	/* PID 1 owes nothing while its credit is not used up and the file is not complete. */
	if (w->queue.len || w->sent_all)
		timer_start(w->stall, STALL_MS, 0);
	else
		timer_stop(w->stall);
	if (frames.len)
		transfer_send(&w->transfer, &frames);
}

/* The same when there is more credit. */
static void send_more(struct file_writer *w)
{
	bool waited = w->queue.len;
	send_queue(w);
	if (waited && !w->queue.len)
		w->on_drained(w);
}

int file_writer_write(struct file_writer *w, const void *data, size_t n)
{
	AUTO(buf_release) struct buf frames = { 0 };
	if (n > FILE_WRITER_QUEUE_MAX - w->queue.len || w->ended)
		return -1;
	size_t done = w->transfer.call && !w->early && !w->queue.len ? put_frames(w, &frames, data, n) : 0;
	(void)buf_add(&w->queue, (const uint8_t *)data + done, n - done);
	if (frames.len)
		transfer_send(&w->transfer, &frames);
	send_queue(w);
	return w->queue.len > 0;
}

void file_writer_end(struct file_writer *w)
{
	w->ended = true;
	send_queue(w);
}

/* --- frames ------------------------------------------------------------------------------------------------------ */

static int on_credit(struct file_writer *w, const struct wire_frame *frame)
{
	uint32_t n;
	if (wire_read_credit(frame, &n) < 0 || n > FILE_WINDOW - w->credit)
		return -EPROTO;
	w->credit += n;
	send_more(w);
	return 0;
}

static int on_item(struct file_writer *w, const struct wire_frame *frame)
{
	struct item item;
	if (!w->sent_all || w->info.name || !item_read(frame->payload, frame->n, &item) || item.name_len)
		return -EPROTO;
	file_info_read(&w->info, &item);
	return 0;
}

static int on_end(struct file_writer *w, const struct wire_frame *frame)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct wire_request_end end;
	bool fine = wire_read_request_end(frame, &end, &f) == 0;
	if (fine && !w->info.name)
		return -EPROTO;
	finish(w, end.created, fine ? NULL : &f);
	return 0;
}

static int on_frame(void *ctx, const struct wire_frame *frame)
{
	switch (frame->type) {
	case FRAME_CREDIT:
		return on_credit(ctx, frame);
	case FRAME_ITEM:
		return on_item(ctx, frame);
	case FRAME_END:
		return on_end(ctx, frame);
	default:
		return -EPROTO;
	}
}

static void on_lost(void *ctx, const struct fail *f)
{
	finish(ctx, /* created= */ false, f);
}

static void on_stall(void *ctx)
{
	struct file_writer *w = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	if (w->early) {
		w->early = false;
		send_more(w);
		return;
	}
	cause_set(&f, FAIL_TIMEOUT, CAUSE_STALLED, "the container did not continue to take the file for %d s%s",
		  STALL_MS / 1000, w->sent_all ? "; everything was sent, and may be in its place" : "");
	fail_hint(&f, "Check the file and what is running in the session, and try again.");
	finish(w, /* created= */ false, &f);
}

int file_writer_start(struct file_writer *w, struct dispatch *d, const struct wire_file_request *req, struct fail *f)
{
	w->transfer.on_frame = on_frame;
	w->transfer.on_lost = on_lost;
	w->transfer.ctx = w;
	transfer_join(&w->transfer, d);
	if (transfer_request(&w->transfer, req, f) < 0) {
		transfer_leave(&w->transfer);
		return -1;
	}
	w->stall = timer_new(d->loop, on_stall, w);
	w->credit = FILE_WINDOW;
	/* Data that was written before is sent from the loop: on_drained may end the operation that starts here. */
	w->early = true;
	timer_start(w->stall, 0, 0);
	return 0;
}
