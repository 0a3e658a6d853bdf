#include "manager/files/file-reader.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/work.h"
#include "kernels/item.h"
#include "manager/files/file-query.h"
#include "manager/model/cause.h"

/* How long PID 1 may take for its next frame. */
#define STALL_MS 120000
/* PID 1 still has most of its window when it gets this much credit. */
#define CREDIT_STEP (FILE_WINDOW / 8)

void file_reader_stop(struct file_reader *r)
{
	struct dispatch *d = r->transfer.dispatch;
	if (r->stopped)
		*r->stopped = true;
	r->stopped = NULL;
	if (!r->stall)
		return; /* never started, or stopped already */
	transfer_leave(&r->transfer);
	r->stall = timer_free(r->stall);
	if (r->file >= 0 && d)
		work_close(d->loop, take_fd(r->file));
	closep(&r->file);
	file_info_release(&r->info);
	buf_release(&r->waiting);
}

static void finish(struct file_reader *r, const struct fail *f)
{
	AUTO(fail_release) struct fail copy = { 0 };
	if (f)
		fail_copy(&copy, f);
	file_reader_stop(r);
	r->on_end(r, f ? &copy : NULL);
}

/* The container has STALL_MS for its next step, unless the reader waits for its owner. */
static void wait_for_pid1(struct file_reader *r)
{
	bool waits = r->state == READER_OPENING || (r->state == READER_READING && !r->paused);
	if (waits)
		timer_start(r->stall, STALL_MS, 0);
	else
		timer_stop(r->stall);
}

static void give_credit(struct file_reader *r)
{
	AUTO(buf_release) struct buf frame = { 0 };
	r->handed += r->held;
	r->held = 0;
	if (r->handed < CREDIT_STEP || r->state != READER_READING)
		return;
	wire_put_credit(&frame, r->transfer.call, (uint32_t)r->handed);
	r->handed = 0;
	transfer_send(&r->transfer, &frame);
}

/* False if the callback has stopped the reader. */
static bool deliver(struct file_reader *r, const void *data, size_t n)
{
	bool stopped = false;
	r->stopped = &stopped;
	r->on_data(r, data, n);
	if (stopped)
		return false;
	r->stopped = NULL;
	give_credit(r);
	wait_for_pid1(r);
	return true;
}

void file_reader_pause(struct file_reader *r, bool paused)
{
	r->paused = paused;
	if (!r->stall)
		return;
	wait_for_pid1(r);
	/* A callback of on_data continues below; nothing is delivered from inside it. */
	if (paused || r->stopped)
		return;
	if (r->waiting.len) {
		AUTO(buf_release) struct buf data = r->waiting;
		r->waiting = (struct buf){ 0 };
		if (!deliver(r, data.data, data.len))
			return;
	}
	if (r->state == READER_COMPLETE && !r->waiting.len && !r->paused)
		finish(r, NULL);
}

void file_reader_fetch(struct file_reader *r, uint64_t offset, uint64_t length)
{
	AUTO(buf_release) struct buf frame = { 0 };
	uint8_t payload[16];
	if (r->state != READER_OPEN || !r->transfer.call)
		return;
	r->at = MIN(offset, r->info.size);
	r->end = r->at + MIN(length, r->info.size - r->at);
	entry_put_number(payload, 8, r->at);
	entry_put_number(payload + 8, 8, r->end - r->at);
	wire_put(&frame, FRAME_FILES_FETCH, r->transfer.call, payload, sizeof(payload));
	r->state = READER_READING;
	wait_for_pid1(r);
	transfer_send(&r->transfer, &frame);
}

/* --- frames ------------------------------------------------------------------------------------------------------ */

static int on_descriptor(struct file_reader *r, const struct wire_frame *frame)
{
	AUTO(fail_release) struct fail f = { 0 };
	if (r->state != READER_OPENING || r->file >= 0 || r->info.name)
		return -EPROTO;
	r->file = take_fd(*frame->descriptor);
	if (r->file >= 0)
		return 0;
	/* The system drops a passed descriptor if this process has no free number for it. */
	fail_set(&f, FAIL_BUSY, "cannot receive the file from the session: no file descriptor was free");
	fail_hint(&f, "Try again; check the server's limit of open files (ulimit -n).");
	finish(r, &f);
	return 0;
}

static int on_item(struct file_reader *r, const struct wire_frame *frame)
{
	struct item item;
	if (r->state != READER_OPENING || r->info.name || !item_read(frame->payload, frame->n, &item) ||
	    item.name_len || item.type != ITEM_FILE)
		return -EPROTO;
	file_info_read(&r->info, &item);
	if (r->file >= 0)
		return 0; /* END follows */
	r->state = READER_OPEN;
	wait_for_pid1(r);
	r->on_open(r, &r->info, -1);
	return 0;
}

static int on_data(struct file_reader *r, const struct wire_frame *frame)
{
	size_t n = frame->n - 8;
	if (r->state != READER_READING || frame->n <= 8 || entry_get_number(frame->payload, 8) != r->at ||
	    n > r->end - r->at || r->held + r->handed + FRAME_HEADER_SIZE + frame->n > FILE_WINDOW)
		return -EPROTO;
	r->at += n;
	r->held += FRAME_HEADER_SIZE + frame->n;
	if (!r->paused)
		(void)deliver(r, frame->payload + 8, n);
	else
		(void)buf_add(&r->waiting, frame->payload + 8, n);
	return 0;
}

/* The descriptor must be a file, and at least as large as PID 1 says: its reader promises that size. */
static void hand_over(struct file_reader *r)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct stat st;
	if (fstat(r->file, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size < r->info.size) {
		cause_set(&f, FAIL_INVALID, CAUSE_FILE_CHANGED,
			  "the file changed while it was opened, or is not a file");
		finish(r, &f);
		return;
	}
	struct file_info info = r->info;
	int file = take_fd(r->file);
	r->info = (struct file_info){ 0 };
	file_reader_stop(r);
	r->on_open(r, &info, file); /* may free r */
	file_info_release(&info);
}

static int on_end(struct file_reader *r, const struct wire_frame *frame)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct wire_request_end end;
	if (wire_read_request_end(frame, &end, &f) < 0) {
		finish(r, &f);
		return 0;
	}
	if (r->state == READER_OPENING && r->file >= 0 && r->info.name) {
		hand_over(r);
		return 0;
	}
	if (r->state != READER_READING || r->at < r->end)
		return -EPROTO;
	r->state = READER_COMPLETE;
	wait_for_pid1(r);
	if (!r->waiting.len && !r->paused)
		finish(r, NULL);
	return 0;
}

static int on_frame(void *ctx, const struct wire_frame *frame)
{
	switch (frame->type) {
	case FRAME_FILE:
		return on_descriptor(ctx, frame);
	case FRAME_ITEM:
		return on_item(ctx, frame);
	case FRAME_DATA:
		return on_data(ctx, frame);
	case FRAME_END:
		return on_end(ctx, frame);
	default:
		return -EPROTO;
	}
}

static void on_lost(void *ctx, const struct fail *f)
{
	struct file_reader *r = ctx;
	/* After END everything has arrived, and is only waiting for its owner. */
	if (r->state != READER_COMPLETE)
		finish(r, f);
}

static void on_stall(void *ctx)
{
	AUTO(fail_release) struct fail f = { 0 };
	cause_set(&f, FAIL_TIMEOUT, CAUSE_STALLED, "the container did not continue to send the file for %d s",
		  STALL_MS / 1000);
	fail_hint(&f, "Check what is running in the session, and try again.");
	finish(ctx, &f);
}

int file_reader_start(struct file_reader *r, struct dispatch *d, const char *path, struct fail *f)
{
	struct wire_file_request req = { .type = FRAME_FILES_READ, .path = path, .whole = true };
	r->transfer.on_frame = on_frame;
	r->transfer.on_lost = on_lost;
	r->transfer.ctx = r;
	transfer_join(&r->transfer, d);
	if (transfer_request(&r->transfer, &req, f) < 0) {
		transfer_leave(&r->transfer);
		return -1;
	}
	r->file = -1;
	r->stall = timer_new(d->loop, on_stall, r);
	wait_for_pid1(r);
	return 0;
}
