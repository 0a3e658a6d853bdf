#include "attach/served-private.h"

#include "attach/codec.h"
#include "base/alloc.h"

static const struct served_type *const types[] = {
	&served_run,  &served_run_text, &served_ask,	 &served_info,	      &served_list,	&served_create,
	&served_stop, &served_copy,	&served_exports, &served_read_export, &served_terminal,
};

static const struct served_type *find_type(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_LEN(types); i++)
		if (streq(types[i]->name, name))
			return types[i];
	return NULL;
}

static void send(struct served_host *host, enum attach_frame type, uint32_t number, json_t *json)
{
	AUTO(buf_release) struct buf frames = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	if (attach_put(&frames, type, number, json) < 0) {
		fail_set(&f, FAIL_LIMIT, "the answer is longer than %u MiB", ATTACH_ANSWER_MAX >> 20);
		json_auto_t *instead = json_pack("{s:o}", "fail", fail_encode(&f));
		attach_put(&frames, ATTACH_ANSWER, number, instead);
	}
	json_decref(json);
	host->write(host, &frames);
}

static void end(struct served *s)
{
	list_remove(&s->node);
	s->host->n_calls--;
	if (s->type->release)
		s->type->release(s);
	free(s);
}

/* Freed first: whoever writes may find that there is nobody to write to. */
void served_answer(struct served *s, json_t *result)
{
	struct served_host *host = s->host;
	uint32_t number = s->number;
	end(s);
	send(host, ATTACH_ANSWER, number, json_pack("{s:o}", "result", result));
}

void served_fail(struct served *s, const struct fail *f)
{
	struct served_host *host = s->host;
	uint32_t number = s->number;
	json_t *answer = json_pack("{s:o}", "fail", fail_encode(f));
	end(s);
	send(host, ATTACH_ANSWER, number, answer);
}

void served_note(struct served *s, json_t *note)
{
	send(s->host, ATTACH_NOTE, s->number, note);
}

void served_bytes(struct served *s, int stream, const void *data, size_t n)
{
	AUTO(buf_release) struct buf frames = { 0 };
	if (!n)
		return;
	attach_put_bytes(&frames, stream == 2 ? ATTACH_ERR_BYTES : ATTACH_BYTES, s->number, data, n);
	s->host->write(s->host, &frames);
}

size_t served_queued(const struct served *s)
{
	return s->host->queued(s->host);
}

/* --- for the connection -------------------------------------------------------------------------------------------- */

struct served *served_find(struct served_host *host, uint32_t number)
{
	list_for_each(s, &host->calls, struct served, node)
		if (s->number == number)
			return s;
	return NULL;
}

static void refuse(struct served_host *host, uint32_t number, const struct fail *f)
{
	send(host, ATTACH_ANSWER, number, json_pack("{s:o}", "fail", fail_encode(f)));
}

void served_begin(struct served_host *host, uint32_t number, const json_t *request)
{
	AUTO(fail_release) struct fail f = { 0 };
	const char *op = json_string_value(json_object_get(request, "op"));
	const struct served_type *type = find_type(op);
	if (!type)
		fail_set(&f, FAIL_INVALID, "this server knows no call '%.64s'; it may be older than this program",
			 op ? op : "");
	else if (host->n_calls >= ATTACH_CALLS_MAX)
		fail_set(&f, FAIL_BUSY, "%d calls wait for their answers already", ATTACH_CALLS_MAX);
	if (f.kind) {
		refuse(host, number, &f);
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
