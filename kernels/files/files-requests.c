/* Requests about files in place. */
#include <errno.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "kernels/files/erasure.h"
#include "kernels/files/export.h"
#include "kernels/files/files-private.h"
#include "kernels/files/import.h"
#include "kernels/files/listing.h"
#include "kernels/files/open-file.h"
#include "kernels/files/place.h"
#include "kernels/files/request.h"

void request_conclude(struct files *f, struct file_call *c, int error)
{
	/* A sentence that was found earlier says more. */
	char *detail = take_ptr(c->detail);
	c->cause = error < 0 ? place_cause(error) : NULL;
	if (error < 0 && !detail)
		detail = place_explain(c->path, error);
	file_call_conclude(f, c, error < 0 ? "error" : "ok", detail);
}

/* 1 if the request continues in files_step(), 0 if it is done, -errno. */
static int list_directory(struct files *f UNUSED, struct file_call *c, const struct request *r)
{
	uint64_t limit = file_call_number(r->options, "limit");
	c->phase = PHASE_LIST;
	int error = listing_new(r->path, r->after, MIN(MAX(limit, 1), FILE_PAGE_MAX), &c->listing);
	return error < 0 ? error : 1;
}

static int describe(struct files *f, struct file_call *c, const struct place *place)
{
	struct stat st;
	int r = place_stat(place, &st);
	return r < 0 ? r : place_put_item(&f->sender->queue, c->number, &st, "", place->parent, place->name);
}

static int stat_path(struct files *f, struct file_call *c, const struct request *r)
{
	AUTO(place_release) struct place place = { .parent = -1 };
	int error = place_find(&place, r->path);
	return error < 0 ? error : describe(f, c, &place);
}

static int delete_path(struct files *f UNUSED, struct file_call *c, const struct request *r)
{
	const struct erasure_options options = { .recursive = json_is_true(json_object_get(r->options, "recursive")),
						 .tag = file_call_text(r->options, "tag") };
	c->phase = PHASE_ERASE;
	int error = erasure_new(r->path, &options, &c->erasure);
	return error < 0 ? error : 1;
}

static int make_directory(struct files *f, struct file_call *c, const struct request *r)
{
	AUTO(place_release) struct place place = { .parent = -1 };
	struct stat st;
	int error = place_make(&place, r->path);
	if (error < 0)
		return error;
	c->created = *place.name && mkdirat(place.parent, place.name, 0755) == 0;
	if (!c->created && *place.name && errno != EEXIST)
		return -errno;
	error = place_stat(&place, &st);
	if (error == 0 && !S_ISDIR(st.st_mode))
		error = -EEXIST;
	return error < 0 ? error : describe(f, c, &place);
}

static int read_file(struct files *f, struct file_call *c, const struct request *r)
{
	bool whole = f->descriptors && json_is_true(json_object_get(r->options, "whole"));
	int error = open_file_new(r->path, &c->file);
	if (error < 0)
		return error;
	c->phase = whole && open_file_is_large(c->file) ? PHASE_PASS : PHASE_SERVE;
	if (c->phase == PHASE_SERVE)
		error = open_file_put_item(c->file, c->number, &f->sender->queue);
	return error < 0 ? error : 1;
}

/* Data follows, and then DONE. */
static int write_file(struct files *f, struct file_call *c, const struct request *r)
{
	const struct import_condition condition = { .tag = file_call_text(r->options, "tag"),
						    .absent = json_is_true(json_object_get(r->options, "absent")) };
	char *detail = NULL;
	c->phase = PHASE_RECEIVE;
	int error =
		import_write(r->path, file_call_number(r->options, "bytes"), &condition, f->home, &c->import, &detail);
	free(c->detail);
	c->detail = detail;
	return error < 0 ? error : 1;
}

int request_describe_written(struct files *f, struct file_call *c)
{
	const struct stat *st = import_written(c->import, &c->created);
	return st ? place_put_item(&f->sender->queue, c->number, st, "", /* dir= */ -1, "") : -EPROTO;
}

int request_fetch(struct file_call *c, const struct frame *frame)
{
	if (frame->header.length != 16 || c->phase != PHASE_SERVE)
		return -EPROTO;
	return open_file_fetch(c->file, entry_get_number(frame->payload, 8), entry_get_number(frame->payload + 8, 8));
}

static int start_request(struct files *f, struct file_call *c, uint8_t type, const struct request *r)
{
	switch (type) {
	case FRAME_FILES_LIST:
		return list_directory(f, c, r);
	case FRAME_FILES_STAT:
		return stat_path(f, c, r);
	case FRAME_FILES_DELETE:
		return delete_path(f, c, r);
	case FRAME_FILES_READ:
		return read_file(f, c, r);
	case FRAME_FILES_WRITE:
		return write_file(f, c, r);
	default:
		return make_directory(f, c, r);
	}
}

int request_begin(struct files *f, const struct frame *frame)
{
	AUTO(request_release) struct request request = { 0 };
	if (request_read(frame->payload, frame->header.length, &request) < 0)
		return -EPROTO;
	struct file_call *c = file_call_add(f, frame->header.call, /* is_request= */ true);
	c->path = xstrdup(request.path);
	if (file_call_is_too_many(f, c)) {
		c->cause = "queue_full";
		file_call_conclude(f, c, "refused",
				   xstrdup("Too many files of this session are in use; try again later."));
		return 0;
	}
	int r = start_request(f, c, frame->header.type, &request);
	if (r <= 0)
		request_conclude(f, c, r);
	return 0;
}

/* ---- work */

static bool list_more(struct files *f, struct file_call *c)
{
	int r = listing_step(c->listing, c->number, STEPS_A_TURN, &f->sender->queue);
	if (r <= 0)
		request_conclude(f, c, r);
	return r > 0;
}

static bool erase_more(struct files *f, struct file_call *c)
{
	int r = erasure_step(c->erasure, STEPS_A_TURN);
	if (r <= 0)
		request_conclude(f, c, r);
	return r > 0;
}

/* The descriptor is sent before the ITEM: without it, the manager knows that the file is sent as data. */
static bool pass(struct files *f, struct file_call *c)
{
	struct buf *queue = &f->sender->queue;
	if (f->passing != c) {
		(void)frame_append(queue, FRAME_FILE, c->number, NULL, 0);
		sender_attach(f->sender, open_file_take(c->file));
		f->passing = c;
		return true;
	}
	int refused = sender_attached(f->sender);
	f->passing = NULL;
	(void)open_file_put_item(c->file, c->number, queue);
	if (refused < 0) {
		request_conclude(f, c, 0);
		return false;
	}
	open_file_give_back(c->file, refused);
	c->phase = PHASE_SERVE;
	return true;
}

static bool serve(struct files *f, struct file_call *c)
{
	struct buf *queue = &f->sender->queue;
	size_t before = queue->len;
	int r = open_file_produce(c->file, c->number, (size_t)MIN(c->credit, EXPORT_STEP_BYTES), queue);
	bool more = r > 0 && queue->len > before; /* else it waits for credit, or for FILES_FETCH */
	c->credit -= queue->len - before;
	if (r <= 0)
		request_conclude(f, c, r);
	return more;
}

bool request_step(struct files *f, struct file_call *c)
{
	if (c->phase == PHASE_ERASE)
		return erase_more(f, c);
	/* Frames are only produced when there is nothing else to send, and one descriptor is sent at a time. */
	if (sender_pending(f->sender) || (f->passing && f->passing != c))
		return true;
	switch (c->phase) {
	case PHASE_LIST:
		return list_more(f, c);
	case PHASE_PASS:
		return pass(f, c);
	default:
		return serve(f, c);
	}
}
