#include "manager/files/file-query.h"

#include <errno.h>

#include "base/alloc.h"
#include "kernels/item.h"
#include "manager/model/cause.h"

/* PID 1 bounds the work of each request, so this limit is only reached on a very slow disk. */
#define LIMIT_MS 600000

void file_info_read(struct file_info *ret, const struct item *item)
{
	static const enum file_type types[] = {
		[ITEM_FILE] = FILE_REGULAR,
		[ITEM_DIRECTORY] = FILE_DIRECTORY,
		[ITEM_SYMLINK] = FILE_SYMLINK,
		[ITEM_OTHER] = FILE_OTHER,
	};
	const int64_t most = INT64_MAX / 1000 - 1;
	*ret = (struct file_info){
		.name = xstrndup(item->name, item->name_len),
		.type = types[item->type],
		.mode = item->mode,
		.size = item->size,
		.mtime_ms = (uint64_t)MIN(MAX(item->mtime, 0), most) * 1000 + item->mtime_ns / 1000000,
		.target = item->target_len ? xstrndup(item->target, item->target_len) : NULL,
		.etag = xstrndup(item->tag, item->tag_len),
	};
}

static void release(struct file_query *q)
{
	struct file_page *page = &q->answer.page;
	q->limit = timer_free(q->limit);
	file_info_release(&page->directory);
	for (size_t i = 0; i < page->n; i++)
		file_info_release(&page->v[i]);
	free(page->v);
	free(take_ptr(q->after));
	q->answer = (struct file_answer){ 0 };
}

void file_query_stop(struct file_query *q)
{
	transfer_leave(&q->transfer);
	release(q);
}

static void finish(struct file_query *q, const struct fail *f)
{
	AUTO(fail_release) struct fail copy = { 0 };
	struct file_query answered = { .answer = q->answer };
	if (f)
		fail_copy(&copy, f);
	q->answer = (struct file_answer){ 0 };
	file_query_stop(q);
	q->on_done(q, f ? NULL : &answered.answer, f ? &copy : NULL); /* may free q */
	release(&answered);
}

/* The order of names is part of the answer: a page without it would never end. */
static bool is_next(const struct file_query *q, const struct item *item)
{
	const struct file_page *page = &q->answer.page;
	const char *before = page->n ? page->v[page->n - 1].name : q->after;
	AUTO(freep) char *name = xstrndup(item->name, item->name_len);
	return *name && strcmp(name, before) > 0 && page->n < q->most;
}

static int on_item(struct file_query *q, const struct wire_frame *frame)
{
	struct file_page *page = &q->answer.page;
	struct item item;
	q->bytes += FRAME_HEADER_SIZE + frame->n;
	if (q->bytes > FILE_WINDOW || !item_read(frame->payload, frame->n, &item))
		return -EPROTO;
	if (!page->directory.name) {
		if (item.name_len)
			return -EPROTO;
		file_info_read(&page->directory, &item);
		return 0;
	}
	if (!is_next(q, &item))
		return -EPROTO;
	page->v = page->v ? page->v : xcalloc(q->most, sizeof(*page->v));
	file_info_read(&page->v[page->n++], &item);
	return 0;
}

static int on_end(struct file_query *q, const struct wire_frame *frame)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct wire_request_end end;
	bool fine = wire_read_request_end(frame, &end, &f) == 0;
	if (fine && !q->answer.page.directory.name && q->type != FRAME_FILES_DELETE)
		return -EPROTO;
	q->answer.page.total = end.total;
	q->answer.page.more = end.more && q->answer.page.n;
	q->answer.created = end.created;
	finish(q, fine ? NULL : &f);
	return 0;
}

static int on_frame(void *ctx, const struct wire_frame *frame)
{
	if (frame->type == FRAME_ITEM)
		return on_item(ctx, frame);
	return frame->type == FRAME_END ? on_end(ctx, frame) : -EPROTO;
}

static void on_lost(void *ctx, const struct fail *f)
{
	finish(ctx, f);
}

static void on_limit(void *ctx)
{
	AUTO(fail_release) struct fail f = { 0 };
	cause_set(&f, FAIL_TIMEOUT, CAUSE_STALLED, "the container did not complete the request within %d s",
		  LIMIT_MS / 1000);
	fail_hint(&f, "Check what is running in the session, and try again.");
	finish(ctx, &f);
}

int file_query_start(struct file_query *q, struct dispatch *d, const struct wire_file_request *req, struct fail *f)
{
	q->type = req->type;
	q->transfer.on_frame = on_frame;
	q->transfer.on_lost = on_lost;
	q->transfer.ctx = q;
	transfer_join(&q->transfer, d);
	if (transfer_request(&q->transfer, req, f) < 0) {
		transfer_leave(&q->transfer);
		return -1;
	}
	q->after = xstrdup(req->after ? req->after : "");
	q->most = req->type == FRAME_FILES_LIST ? req->limit : 0;
	q->limit = timer_new(d->loop, on_limit, q);
	timer_start(q->limit, LIMIT_MS, 0);
	return 0;
}
