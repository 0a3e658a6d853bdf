#include "manager/line/queries.h"

#include <jansson.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/shape.h"
#include "base/utf8.h"
#include "manager/line/wire-private.h"

/* PID 1 answers within 7 s even if its kernel does not. */
#define LIMIT_MS 10000
/* The limit for the answer to a stopped query, which PID 1 still sends. It is shorter, so that the next query has
 * time left. */
#define REST_MS 8000
/* Limits of an answer. */
#define MATCHES_MAX 1000
#define MATCH_CHARS 1000
#define TEXT_CHARS 60000
#define INDENT_CHARS 200
/* Values in the JSON of an answer; larger answers are not parsed. */
#define VALUES_MAX 10000u

/* The query that is being answered. */
static struct query_waiter *first(struct dispatch *d)
{
	return list_first(&d->queries, struct query_waiter, node);
}

static void send_next(struct dispatch *d)
{
	struct query_waiter *a = first(d);
	if (!a || a->sent)
		return;
	a->sent = true;
	dispatch_send(d, &a->frame);
	buf_release(&a->frame);
}

static void leave(struct query_waiter *a)
{
	list_remove(&a->node);
	a->limit = timer_free(a->limit);
	a->dispatch = NULL;
	buf_release(&a->frame);
}

/* A stopped query has no callback. */
static void tell(struct query_waiter *a, const struct query_answer *answer, const struct fail *f)
{
	if (a->on_json)
		a->on_json(a, NULL, f);
	else if (a->on_answer)
		a->on_answer(a, answer, f);
	else
		free(a);
}

static void on_limit(void *ctx)
{
	struct query_waiter *a = ctx;
	struct dispatch *d = a->dispatch;
	AUTO(fail_release) struct fail f = { 0 };
	cause_set(&f, FAIL_TIMEOUT, CAUSE_NO_ANSWER, "the session has not answered within %d s", LIMIT_MS / 1000);
	fail_hint(&f, "Try again in a moment.");
	leave(a);
	send_next(d);
	tell(a, NULL, &f);
}

static void join(struct query_waiter *a, struct dispatch *d, struct list *before, uint64_t limit_ms)
{
	a->dispatch = d;
	list_append(before, &a->node);
	a->limit = timer_new(d->loop, on_limit, a);
	timer_start(a->limit, limit_ms, 0);
}

void query_stop(struct query_waiter *a)
{
	struct dispatch *d = a->dispatch;
	if (!d)
		return;
	/* PID 1 refuses the next query until it has answered this one. */
	if (a->sent) {
		struct query_waiter *rest = new0(struct query_waiter);
		rest->number = a->number;
		rest->sent = true;
		join(rest, d, &a->node, REST_MS);
	}
	leave(a);
}

static int set_reconnecting(struct fail *f)
{
	cause_set(f, FAIL_BUSY, CAUSE_RECONNECTING, "Husk is reconnecting to the session");
	return fail_hint(f, "Try again in a moment.");
}

void queries_lost(struct dispatch *d, const struct fail *why)
{
	AUTO(fail_release) struct fail reconnecting = { 0 };
	if (!why)
		set_reconnecting(&reconnecting);
	/* The loop ends, because a query started in a callback is refused. */
	for (struct query_waiter *a; (a = first(d));) {
		leave(a);
		tell(a, NULL, why ? why : &reconnecting);
	}
}

void queries_release(struct dispatch *d)
{
	list_for_each(a, &d->queries, struct query_waiter, node) {
		leave(a);
		if (!a->on_answer && !a->on_json)
			free(a);
	}
}

static int check(const struct dispatch *d, struct fail *f)
{
	if (!d->open)
		return set_reconnecting(f);
	if (!d->has_queries) {
		cause_set(f, FAIL_INVALID, CAUSE_OLD_SESSION,
			  "this session was created by an older Husk, which does not support queries");
		return fail_hint(f, "Rebuild the images, then create a new session.");
	}
	if (list_length(&d->queries) >= QUERIES_MAX) {
		cause_set(f, FAIL_BUSY, CAUSE_QUEUE_FULL, "this session already has %d queries waiting", QUERIES_MAX);
		return fail_hint(f, "Wait for their answers.");
	}
	return 0;
}

int query_start(struct query_waiter *a, struct dispatch *d, const struct query *query, struct fail *f)
{
	if (check(d, f) < 0)
		return -1;
	a->number = ++d->last_query;
	if (wire_put_query(&a->frame, a->number,
			   &(struct wire_query){ query_kind_name(query->kind), query->code, query->len, query->cursor,
						 query->detail }) < 0)
		return fail_set(f, FAIL_INVALID, "the code is not valid UTF-8");
	a->kind = query->kind;
	a->cursor = query->cursor;
	a->code_points = utf8_count(query->code, query->len);
	join(a, d, &d->queries, LIMIT_MS);
	send_next(d);
	return 0;
}

int query_start_json(struct query_waiter *a, struct dispatch *d, enum frame_type frame, json_t *request, struct fail *f)
{
	if (check(d, f) < 0)
		return -1;
	a->number = ++d->last_query;
	if (wire_put_json(&a->frame, frame, a->number, request) < 0)
		return fail_set(f, FAIL_INVALID, "the request is not valid UTF-8");
	join(a, d, &d->queries, LIMIT_MS);
	send_next(d);
	return 0;
}

/* --- answers ----------------------------------------------------------------------------------------------------- */

static char *clean_text(const json_t *value, size_t max)
{
	struct buf clean = { 0 };
	const char *s = json_string_value(value);
	size_t n = json_string_length(value);
	if (s)
		utf8_clean(&clean, s, utf8_head(s, n, max));
	return buf_steal_str(&clean);
}

/* A match is inserted into the code exactly as shown. So NULL if it is not one line, or if cleaning would change
 * it. */
static char *match_of(const json_t *value)
{
	const char *s = json_string_value(value);
	size_t n = json_string_length(value);
	if (!s || !n || utf8_count(s, n) > MATCH_CHARS || strcspn(s, "\t\n\r\b") != n)
		return NULL;
	AUTO(freep) char *clean = clean_text(value, MATCH_CHARS);
	return streq(clean, s) ? take_ptr(clean) : NULL;
}

static size_t position_of(const json_t *answer, const char *name, size_t otherwise, size_t max)
{
	const json_t *value = json_object_get(answer, name);
	json_int_t n = json_integer_value(value);
	return json_is_integer(value) && n >= 0 && (uint64_t)n <= max ? (size_t)n : otherwise;
}

static void read_matches(struct query_answer *ret, const struct query_waiter *a, const json_t *answer)
{
	const json_t *list = json_object_get(answer, "matches");
	size_t n = json_array_size(list);
	ret->end = position_of(answer, "end", a->cursor, a->code_points);
	ret->start = position_of(answer, "start", ret->end, ret->end);
	ret->more = json_is_true(json_object_get(answer, "more")) || n > MATCHES_MAX;
	ret->matches = xcalloc(MIN(n, (size_t)MATCHES_MAX) + 1, sizeof(*ret->matches));
	for (size_t i = 0; i < MIN(n, (size_t)MATCHES_MAX); i++) {
		char *match = match_of(json_array_get(list, i));
		if (match)
			ret->matches[ret->n_matches++] = match;
	}
}

static void read_help(struct query_answer *ret, const json_t *answer)
{
	const json_t *data = json_object_get(answer, "data"), *text = json_object_get(data, "text/plain"),
		     *html = json_object_get(data, "text/html");
	ret->found = json_is_true(json_object_get(answer, "found")) && json_string_length(text) > 0;
	if (!ret->found)
		return;
	ret->text = clean_text(text, TEXT_CHARS);
	/* HTML that is too long is dropped, since cut HTML is invalid. */
	if (json_string_length(html) && utf8_count(json_string_value(html), json_string_length(html)) <= TEXT_CHARS)
		ret->html = clean_text(html, TEXT_CHARS);
}

static void read_answer(struct query_answer *ret, const struct query_waiter *a, const json_t *answer)
{
	*ret = (struct query_answer){ .kind = a->kind };
	switch (a->kind) {
	case QUERY_COMPLETE:
		read_matches(ret, a, answer);
		break;
	case QUERY_INSPECT:
		read_help(ret, answer);
		break;
	case QUERY_IS_COMPLETE:
		ret->completeness = completeness_find(json_string_value(json_object_get(answer, "completeness")));
		ret->indent = clean_text(json_object_get(answer, "indent"), INDENT_CHARS);
		break;
	case QUERY_KINDS:
		break;
	}
}

/* 0 if the interpreter answered, else -1 with f. */
static int read_status(const char *status, struct fail *f)
{
	if (status && streq(status, "ok"))
		return 0;
	if (status && streq(status, "cannot")) {
		cause_set(f, FAIL_INVALID, CAUSE_CANNOT_ANSWER,
			  "the session's interpreter does not support this query");
		return -1;
	}
	if (status && streq(status, "timeout")) {
		cause_set(f, FAIL_TIMEOUT, CAUSE_INTERPRETER_BUSY, "the interpreter took too long to answer");
		return fail_hint(f, "Try again later; the query itself may be slow.");
	}
	if (status && (streq(status, "busy") || streq(status, "gone"))) {
		cause_set(f, FAIL_BUSY, CAUSE_INTERPRETER_BUSY, "%s",
			  *status == 'b' ? "the interpreter is busy" : "the interpreter ended before it answered");
		return fail_hint(f, "Try again when it is idle.");
	}
	return cause_set(f, FAIL_LIMIT, CAUSE_CANNOT_ANSWER, "the interpreter's answer cannot be used");
}

int queries_frame(struct dispatch *d, const struct wire_frame *frame)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(query_answer_release) struct query_answer answer = { 0 };
	struct query_waiter *a = first(d);
	if (!a || !a->sent || a->number != frame->call)
		return 0; /* no longer wanted */
	struct shape shape = shape_of(frame->payload, frame->n);
	bool small = shape.values + shape.containers <= VALUES_MAX;
	json_auto_t *said = small ? json_parse(frame->payload, frame->n, JSON_REJECT_DUPLICATES) : NULL;
	if (small && !json_is_object(said))
		return -1;
	if (a->on_json) {
		if (!said)
			cause_set(&f, FAIL_LIMIT, CAUSE_CANNOT_ANSWER, "the session's answer cannot be used");
		leave(a);
		send_next(d);
		a->on_json(a, said, said ? NULL : &f);
		return 0;
	}
	/* An answer without a status is treated as unusable. */
	int r = read_status(json_string_value(json_object_get(said, "status")), &f);
	if (r == 0)
		read_answer(&answer, a, said);
	leave(a);
	send_next(d);
	tell(a, r == 0 ? &answer : NULL, r == 0 ? NULL : &f);
	return 0;
}
