#include "kernels/files/files.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/utf8.h"
#include "kernels/files/erasure.h"
#include "kernels/files/export.h"
#include "kernels/files/files-private.h"
#include "kernels/files/import.h"
#include "kernels/files/listing.h"
#include "kernels/files/open-file.h"
#include "kernels/system/clock.h"

/* END waits at most this long for the staging directory to be cleared; the rest is cleared afterwards. */
#define CLEAR_MS 10000

void files_init(struct files *f, struct sender *sender, const struct disk *home)
{
	list_init(&f->list);
	f->sender = sender;
	f->home = home;
}

static void file_call_free(struct files *f, struct file_call *c)
{
	if (f->passing == c)
		f->passing = NULL;
	list_remove(&c->node);
	import_free(c->import);
	export_free(c->export);
	listing_free(c->listing);
	erasure_free(c->erasure);
	open_file_free(c->file);
	free(c->path);
	free(c->detail);
	free(c);
}

static struct file_call *find(struct files *f, uint32_t number)
{
	list_for_each(c, &f->list, struct file_call, node)
		if (c->number == number && !c->orphan)
			return c;
	return NULL;
}

/* ---- the end */

static void send_end(struct files *f, struct file_call *c)
{
	AUTO(buf_release) struct buf detail = { 0 };
	json_auto_t *end = json_pack("{s:s, s:I}", "ending", c->ending, "duration_ms",
				     (json_int_t)(clock_now_ms() - c->started_ms));
	if (c->detail) {
		utf8_clean(&detail, c->detail, strlen(c->detail));
		json_object_set_new(end, "detail", json_string(buf_str(&detail)));
	}
	if (c->cause)
		json_object_set_new(end, "cause", json_string(c->cause));
	if (c->below)
		json_object_set_new(end, "below", json_true());
	if (c->created)
		json_object_set_new(end, "created", json_true());
	if (c->import) {
		json_object_set_new(end, "entries", json_integer((json_int_t)import_entries(c->import)));
		json_object_set_new(end, "bytes", json_integer((json_int_t)import_bytes(c->import)));
	}
	if (c->export)
		export_describe(c->export, end);
	if (c->listing)
		listing_describe(c->listing, end);
	if (c->erasure)
		json_object_set_new(end, "entries", json_integer((json_int_t)erasure_names(c->erasure)));
	(void)sender_json(f->sender, FRAME_END, c->number, end);
}

static void finish(struct files *f, struct file_call *c)
{
	if (!c->orphan)
		send_end(f, c);
	file_call_free(f, c);
}

/* Records how the transfer ends; takes `detail`. An import continues with clearing its staging directory, an export
 * ends now. */
void file_call_conclude(struct files *f, struct file_call *c, const char *ending, char *detail)
{
	free(c->detail);
	c->detail = detail;
	c->ending = ending;
	if (!c->import) {
		finish(f, c);
		return;
	}
	c->phase = PHASE_CLEAR;
	c->clear_ms = clock_now_ms();
}

bool files_interrupt(struct files *f, uint32_t call)
{
	struct file_call *c = find(f, call);
	/* Once the move into place has begun, it is completed: half a move would be worse, and it takes seconds at
	 * most. */
	if (c && !c->ending && c->phase != PHASE_COMMIT)
		file_call_conclude(f, c, "interrupted",
				   xstrdup(c->erasure ? "The request was cancelled; what was deleted by then is gone." :
							"The transfer was cancelled; nothing was kept."));
	return c;
}

void files_orphan(struct files *f)
{
	list_for_each(c, &f->list, struct file_call, node) {
		c->orphan = true;
		if (!c->ending && c->phase != PHASE_COMMIT)
			file_call_conclude(f, c, "interrupted", NULL);
	}
}

/* ---- frames */

const char *file_call_text(const json_t *fields, const char *name)
{
	const json_t *value = json_object_get(fields, name);
	const char *text = json_string_value(value);
	return text && strlen(text) == json_string_length(value) ? text : "";
}

uint64_t file_call_number(const json_t *fields, const char *name)
{
	json_int_t value = json_integer_value(json_object_get(fields, name));
	return value > 0 ? (uint64_t)value : 0;
}

static uint64_t window_of(const json_t *fields)
{
	return MIN(MAX(file_call_number(fields, "window"), FILE_WINDOW), FILE_WINDOW_MAX);
}

/* True if there are too many calls like this one, itself included. */
bool file_call_is_too_many(const struct files *f, const struct file_call *new)
{
	unsigned n = 0;
	list_for_each(c, &f->list, struct file_call, node)
		n += c->is_request == new->is_request;
	return n > (new->is_request ? FILE_REQUESTS_MAX : FILE_CALLS_MAX);
}

struct file_call *file_call_add(struct files *f, uint32_t number, bool is_request)
{
	struct file_call *c = new0(struct file_call);
	c->number = number;
	c->is_request = is_request;
	c->started_ms = clock_now_ms();
	c->credit = c->window = FILE_WINDOW;
	list_append(&f->list, &c->node);
	return c;
}

static int begin(struct files *f, const struct frame *frame)
{
	json_auto_t *fields = json_parse(frame->payload, frame->header.length, JSON_REJECT_DUPLICATES);
	if (!json_is_object(fields))
		return -EPROTO;
	struct file_call *c = file_call_add(f, frame->header.call, /* is_request= */ false);
	char *detail = NULL;
	int r;
	c->credit = c->window = window_of(fields);
	if (file_call_is_too_many(f, c)) {
		file_call_conclude(f, c, "refused",
				   xstrdup("Too many files are being copied in this session; try again later."));
		return 0;
	}
	if (frame->header.type == FRAME_IMPORT) {
		c->phase = PHASE_RECEIVE;
		const char *destination = file_call_text(fields, "destination");
		AUTO(freep) char *place = import_place(destination, file_call_text(fields, "into"));
		c->below = place;
		r = import_new(place ? place : destination, file_call_number(fields, "bytes"),
			       file_call_number(fields, "entries"), f->home, &c->import, &detail);
	} else {
		c->phase = PHASE_PRODUCE;
		const struct export_options options = {
			.whole = f->descriptors && json_is_true(json_object_get(fields, "whole")),
			.links = json_is_true(json_object_get(fields, "links")),
		};
		r = export_new(file_call_text(fields, "path"), &options, &c->export, &detail);
	}
	if (r < 0)
		file_call_conclude(f, c, "error", detail);
	return 0;
}

static void give_credit(struct files *f, struct file_call *c, uint32_t n)
{
	uint8_t payload[4];
	c->consumed += n;
	if (c->consumed < FILE_WINDOW / 4)
		return;
	entry_put_number(payload, 4, c->consumed);
	c->consumed = 0;
	(void)sender_raw(f->sender, FRAME_CREDIT, c->number, payload, sizeof(payload));
}

static void fail_import(struct files *f, struct file_call *c, int error)
{
	if (c->is_request)
		request_conclude(f, c, error);
	else
		file_call_conclude(f, c, "error", import_explain(c->import, error));
}

static int take_content(struct file_call *c, const struct frame *frame)
{
	struct entry e;
	if (frame->header.type == FRAME_ENTRY)
		return entry_read(frame->payload, frame->header.length, &e) ? import_entry(c->import, &e) : -EPROTO;
	if (frame->header.length < 8)
		return -EPROTO;
	return import_data(c->import, entry_get_number(frame->payload, 8), frame->payload + 8,
			   frame->header.length - 8);
}

static int on_content(struct files *f, struct file_call *c, const struct frame *frame)
{
	if (!c->import)
		return -EPROTO;
	/* These frames were in transit when the transfer failed. */
	if (c->ending)
		return 0;
	if (c->phase != PHASE_RECEIVE)
		return -EPROTO;
	int r = take_content(c, frame);
	if (r < 0)
		fail_import(f, c, r);
	else
		give_credit(f, c, FRAME_HEADER_SIZE + frame->header.length);
	return 0;
}

static int on_credit(struct file_call *c, const struct frame *frame)
{
	if (frame->header.length != 4 || (!c->export && !c->file))
		return -EPROTO;
	c->credit += entry_get_number(frame->payload, 4);
	return c->credit > c->window ? -EPROTO : 0;
}

int files_frame(struct files *f, const struct frame *frame)
{
	struct file_call *c = find(f, frame->header.call);
	switch (frame->header.type) {
	case FRAME_IMPORT:
	case FRAME_EXPORT:
		return begin(f, frame);
	case FRAME_FILES_LIST:
	case FRAME_FILES_STAT:
	case FRAME_FILES_DELETE:
	case FRAME_FILES_MAKE:
	case FRAME_FILES_READ:
	case FRAME_FILES_WRITE:
		return request_begin(f, frame);
	case FRAME_FILES_FETCH:
		return c ? request_fetch(c, frame) : 0;
	case FRAME_ENTRY:
	case FRAME_DATA:
		return c ? on_content(f, c, frame) : 0;
	case FRAME_CREDIT:
		return c ? on_credit(c, frame) : 0;
	case FRAME_DONE:
		if (c && !c->ending && c->phase == PHASE_RECEIVE)
			c->phase = PHASE_COMMIT;
		return 0;
	default:
		return -EPROTO;
	}
}

/* ---- work */

/* True if there is more to do now. */
static bool commit(struct files *f, struct file_call *c)
{
	int r = import_commit(c->import, STEPS_A_TURN);
	if (r == 0 && c->is_request)
		r = request_describe_written(f, c);
	if (r < 0)
		fail_import(f, c, r);
	else if (r == 0)
		file_call_conclude(f, c, "ok", NULL);
	return true;
}

static bool clear(struct files *f, struct file_call *c)
{
	bool more = import_clear(c->import, STEPS_A_TURN);
	if (!more) {
		finish(f, c);
	} else if (!c->orphan && clock_now_ms() - c->clear_ms > CLEAR_MS) {
		send_end(f, c);
		c->orphan = true;
	}
	return more;
}

/* Checks the descriptor that the export sends in place of its data. True if it was sent, which ends the export. */
static bool has_passed(struct files *f, struct file_call *c)
{
	int file = sender_attached(f->sender);
	f->passing = NULL;
	if (file >= 0)
		export_give_back(c->export, file);
	return file < 0;
}

static int produce_frames(struct files *f, struct file_call *c, char **ret_detail)
{
	struct buf *queue = &f->sender->queue;
	size_t before = queue->len, most = (size_t)MIN(c->credit, EXPORT_STEP_BYTES);
	int r = export_produce(c->export, c->number, STEPS_A_TURN, most, queue, ret_detail);
	c->credit -= queue->len - before;
	int file = export_take_file(c->export);
	if (file < 0)
		return r;
	sender_attach(f->sender, file);
	f->passing = c;
	return 1;
}

static bool produce(struct files *f, struct file_call *c)
{
	char *detail = NULL;
	if (c->credit < EXPORT_LEAST_BYTES)
		return false; /* until there is credit */
	if (sender_pending(f->sender) || (f->passing && f->passing != c))
		return true;
	int r = f->passing && has_passed(f, c) ? 0 : produce_frames(f, c, &detail);
	if (r > 0)
		return true;
	if (r < 0)
		file_call_conclude(f, c, "error", detail);
	else
		file_call_conclude(f, c, "ok", NULL);
	return false;
}

/* True if there is more to do now. The call may be gone. */
static bool step(struct files *f, struct file_call *c)
{
	switch (c->phase) {
	case PHASE_COMMIT:
		return commit(f, c);
	case PHASE_CLEAR:
		return clear(f, c);
	case PHASE_PRODUCE:
		return produce(f, c);
	case PHASE_LIST:
	case PHASE_ERASE:
	case PHASE_PASS:
	case PHASE_SERVE:
		return request_step(f, c);
	case PHASE_RECEIVE:
		break;
	}
	return false;
}

bool files_step(struct files *f)
{
	bool more = false;
	list_for_each(c, &f->list, struct file_call, node) {
		struct list *node = &c->node;
		bool takes_turns = c->phase >= PHASE_PRODUCE, again = step(f, c);
		more = more || again;
		/* The call that just had its turn goes to the end of the list: calls share the stream. */
		if (again && takes_turns) {
			list_remove(node);
			list_append(&f->list, node);
			break;
		}
	}
	return more;
}
