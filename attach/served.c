#include "attach/served-private.h"

#include "attach/codec.h"
#include "base/alloc.h"

/* Answers up to this size are always sent; few of them can be pending. */
#define SHORT (128u << 10)

static const struct served_type *const types[] = {
	&served_run,  &served_run_text, &served_query,	 &served_info,	      &served_list,	&served_create,
	&served_stop, &served_copy,	&served_exports, &served_read_export, &served_terminal,
};

static const struct served_type *find_type(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_LEN(types); i++)
		if (streq(types[i]->name, name))
			return types[i];
	return NULL;
}

/* There is always room for a short answer. */
static bool has_room(const struct served_host *host, size_t n)
{
	return n <= SHORT || n <= host->room(host);
}

static void send_fail(struct served_host *host, uint32_t number, const struct fail *f)
{
	AUTO(buf_release) struct buf frames = { 0 };
	json_auto_t *answer = json_pack("{s:o}", "fail", fail_encode(f));
	attach_put(&frames, ATTACH_SERVER, ATTACH_ANSWER, number, answer);
	host->write(host, &frames);
}

/* Sends the answer, or a failure if the answer cannot be sent. Empty frames mean that it is too long. */
static void send_frames(struct served_host *host, uint32_t number, const struct buf *frames)
{
	AUTO(fail_release) struct fail f = { 0 };
	if (!frames->len)
		fail_set(&f, FAIL_LIMIT, "the answer is longer than %u MiB", ATTACH_ANSWER_MAX >> 20);
	else if (!has_room(host, frames->len))
		fail_set(
			&f, FAIL_BUSY,
			"the answer of %zu MiB does not fit into the buffer, because this program has not read earlier answers; "
			"request large answers one at a time",
			frames->len >> 20);
	if (f.kind)
		send_fail(host, number, &f);
	else
		host->write(host, frames);
}

/* Sends bytes, if any, and the answer. Takes json. */
static void send_answer(struct served_host *host, uint32_t number, json_t *json, const struct buf *bytes)
{
	AUTO(buf_release) struct buf frames = { 0 };
	json_auto_t *answer = json;
	if (bytes)
		buf_add(&frames, bytes->data, bytes->len);
	if (attach_put(&frames, ATTACH_SERVER, ATTACH_ANSWER, number, answer) < 0)
		buf_reset(&frames);
	send_frames(host, number, &frames);
}

static void end(struct served *s)
{
	list_remove(&s->node);
	s->host->n_calls--;
	if (s->type->release)
		s->type->release(s);
	free(s);
}

/* The request is freed first, because writing may find that the client is gone. */
void served_answer(struct served *s, json_t *result)
{
	struct served_host *host = s->host;
	uint32_t number = s->number;
	end(s);
	send_answer(host, number, json_pack("{s:o}", "result", result), /* bytes= */ NULL);
}

void served_answer_frames(struct served *s, const struct buf *frames)
{
	struct served_host *host = s->host;
	uint32_t number = s->number;
	end(s);
	send_frames(host, number, frames);
}

void served_answer_bytes(struct served *s, json_t *result, const void *data, size_t n)
{
	AUTO(buf_release) struct buf bytes = { 0 };
	struct served_host *host = s->host;
	uint32_t number = s->number;
	if (n)
		attach_put_bytes(&bytes, ATTACH_BYTES, number, data, n);
	end(s);
	send_answer(host, number, json_pack("{s:o}", "result", result), &bytes);
}

void served_fail(struct served *s, const struct fail *f)
{
	struct served_host *host = s->host;
	uint32_t number = s->number;
	end(s);
	send_fail(host, number, f);
}

/* A note that is too long is dropped: the answer has its content too. */
void served_note(struct served *s, json_t *note)
{
	AUTO(buf_release) struct buf frames = { 0 };
	json_auto_t *json = note;
	if (attach_put(&frames, ATTACH_SERVER, ATTACH_NOTE, s->number, json) == 0)
		served_note_frames(s, &frames);
}

void served_note_frames(struct served *s, const struct buf *frames)
{
	if (frames->len && has_room(s->host, frames->len))
		s->host->write(s->host, frames);
}

void served_bytes(struct served *s, int stream, const void *data, size_t n)
{
	AUTO(buf_release) struct buf frames = { 0 };
	if (!n)
		return;
	attach_put_bytes(&frames, stream == 2 ? ATTACH_ERR_BYTES : ATTACH_BYTES, s->number, data, n);
	s->host->write(s->host, &frames);
}

/* --- for the connection -------------------------------------------------------------------------------------------- */

struct served *served_find(struct served_host *host, uint32_t number)
{
	list_for_each(s, &host->calls, struct served, node)
		if (s->number == number)
			return s;
	return NULL;
}

void served_begin(struct served_host *host, uint32_t number, const json_t *request)
{
	AUTO(fail_release) struct fail f = { 0 };
	const char *op = json_string_value(json_object_get(request, "op"));
	const struct served_type *type = find_type(op);
	if (!type)
		fail_set(&f, FAIL_INVALID,
			 "this server does not know the request '%.64s'; it may be older than this program",
			 op ? op : "");
	else if (host->n_calls >= ATTACH_CALLS_MAX)
		fail_set(&f, FAIL_BUSY, "%d requests are already waiting for their answers", ATTACH_CALLS_MAX);
	if (f.kind) {
		send_fail(host, number, &f);
		return;
	}
	struct served *s = xcalloc(1, type->size);
	s->type = type;
	s->host = host;
	s->number = number;
	list_append(&host->calls, &s->node);
	host->n_calls++;
	if (type->start(s, request, &f) < 0)
		served_fail(s, &f);
}

void served_interrupt(struct served *s)
{
	if (s->type->interrupt)
		s->type->interrupt(s);
	else if (s->op)
		op_interrupt(s->op);
}

void served_cancel(struct served *s)
{
	if (s->op)
		op_cancel(take_ptr(s->op));
	if (s->type->cancel)
		s->type->cancel(s);
	end(s);
}

void served_drop_all(struct served_host *host)
{
	list_for_each(s, &host->calls, struct served, node)
		end(s);
}
