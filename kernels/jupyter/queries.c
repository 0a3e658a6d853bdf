#include "kernels/jupyter/queries.h"

#include "base/utf8.h"
#include "kernels/jupyter/bundle.h"
#include "kernels/protocol.h"

#define MATCHES_MAX 1000
/* Stays below ANSWER_BYTES_MAX even with JSON's overhead. */
#define MATCHES_BYTES (100u << 10)
#define TEXT_CHARS 30000
#define HTML_BYTES (60u << 10)
#define INDENT_CHARS 200

enum { COMPLETE, INSPECT, IS_COMPLETE };

static const struct {
	const char *op, *request, *reply;
} names[] = {
	[COMPLETE] = { "complete", "complete_request", "complete_reply" },
	[INSPECT] = { "inspect", "inspect_request", "inspect_reply" },
	[IS_COMPLETE] = { "is_complete", "is_complete_request", "is_complete_reply" },
};

/* Takes `fields`. */
static void answer(struct queries *q, const char *status, json_t *fields)
{
	json_auto_t *message = fields;
	q->open = false;
	json_object_set_new(message, "op", json_string("answer"));
	json_object_set_new(message, "id", json_integer(q->id));
	json_object_set_new(message, "status", json_string(status));
	q->answer(q, message);
}

static json_t *content_of(const json_t *message, size_t kind)
{
	json_t *code = json_object_get(message, "code");
	json_int_t cursor = json_integer_value(json_object_get(message, "cursor")),
		   detail = json_integer_value(json_object_get(message, "detail"));
	switch (kind) {
	case COMPLETE:
		return json_pack("{s:O, s:I}", "code", code, "cursor_pos", cursor);
	case INSPECT:
		return json_pack("{s:O, s:I, s:I}", "code", code, "cursor_pos", cursor, "detail_level", detail);
	default:
		return json_pack("{s:O}", "code", code);
	}
}

bool queries_send(struct queries *q, const json_t *message, bool idle, uint64_t now_ms)
{
	const char *op = json_string_value(json_object_get(message, "op"));
	size_t kind = 0;
	while (kind < ARRAY_LEN(names) && (!op || !streq(op, names[kind].op)))
		kind++;
	if (kind == ARRAY_LEN(names))
		return false;
	queries_leave(q);
	q->id = json_integer_value(json_object_get(message, "id"));
	q->kind = kind;
	json_auto_t *content =
		json_is_string(json_object_get(message, "code")) && idle ? content_of(message, kind) : NULL;
	if (q->kinds[kind].silent)
		answer(q, "cannot", json_object());
	else if (!content || !q->request(q, names[kind].request, content, q->kinds[kind].request))
		answer(q, "busy", json_object());
	else
		q->open = true;
	q->due_ms = now_ms + QUERIES_PATIENCE_MS;
	return true;
}

void queries_leave(struct queries *q)
{
	if (q->open)
		answer(q, "timeout", json_object());
}

void queries_tick(struct queries *q, uint64_t now_ms)
{
	if (!q->open || now_ms < q->due_ms)
		return;
	q->kinds[q->kind].silent = true; /* until a late reply arrives */
	queries_leave(q);
}

/* ---- replies */

static json_t *completion_of(const json_t *reply)
{
	const json_t *list = json_object_get(reply, "matches");
	json_t *start = json_object_get(reply, "cursor_start"), *end = json_object_get(reply, "cursor_end"),
	       *out = json_object(), *matches = json_array();
	size_t n = json_array_size(list), bytes = 0, i = 0;
	for (; i < n && i < MATCHES_MAX; i++) {
		json_auto_t *match = bundle_text(json_array_get(list, i));
		bytes += json_string_length(match) + 4;
		if (bytes > MATCHES_BYTES)
			break;
		if (json_string_length(match))
			json_array_append(matches, match);
	}
	json_object_set_new(out, "matches", matches);
	json_object_set_new(out, "more", json_boolean(i < n));
	if (json_is_integer(start) && json_is_integer(end)) {
		json_object_set(out, "start", start);
		json_object_set(out, "end", end);
	}
	return out;
}

static json_t *cut_text(const json_t *text, size_t chars)
{
	const char *s = json_string_value(text);
	size_t n = json_string_length(text);
	return s ? json_stringn(s, utf8_head(s, n, chars)) : json_string("");
}

static json_t *help_of(const json_t *reply)
{
	json_auto_t *data = bundle_clean(json_object_get(reply, "data"));
	json_t *text = json_object_get(data, "text/plain"), *html = json_object_get(data, "text/html"),
	       *kept = json_object();
	bool found = json_is_true(json_object_get(reply, "found")) && json_string_length(text);
	if (found)
		json_object_set_new(kept, "text/plain", cut_text(text, TEXT_CHARS));
	if (found && json_is_string(html) && json_string_length(html) <= HTML_BYTES)
		json_object_set(kept, "text/html", html);
	return json_pack("{s:b, s:o}", "found", found, "data", kept);
}

static json_t *wholeness_of(const json_t *reply)
{
	json_auto_t *state = bundle_text(json_object_get(reply, "status")),
		    *indent = bundle_text(json_object_get(reply, "indent"));
	return json_pack("{s:o, s:o}", "completeness", cut_text(state, INDENT_CHARS), "indent",
			 cut_text(indent, INDENT_CHARS));
}

static json_t *fields_of(size_t kind, const json_t *reply)
{
	switch (kind) {
	case COMPLETE:
		return completion_of(reply);
	case INSPECT:
		return help_of(reply);
	default:
		return wholeness_of(reply);
	}
}

bool queries_replied(struct queries *q, const struct message *m)
{
	for (size_t kind = 0; kind < ARRAY_LEN(names); kind++) {
		if (!streq(m->type, names[kind].reply))
			continue;
		bool expected = streq(m->parent_id, q->kinds[kind].request);
		if (expected)
			q->kinds[kind].silent = false;
		if (expected && q->open && q->kind == kind)
			answer(q, "ok", fields_of(kind, m->content));
		return true;
	}
	return false;
}
