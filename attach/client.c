#include "attach/client.h"

#include <errno.h>
#include <sys/random.h>

#include "api/local.h"
#include "api/sockets.h"
#include "attach/client-private.h"
#include "base/alloc.h"
#include "base/json.h"
#include "base/percent.h"
#include "manager/json/codec.h"
#include "manager/json/fields.h"

/* --- the end of the server ----------------------------------------------------------------------------------------- */

void attach_enter(struct attach *a)
{
	a->depth++;
}

void attach_leave(struct attach *a)
{
	if (--a->depth || !a->freed)
		return;
	a->freed = false;
	attach_free(a);
}

/* The loss is reported from the loop, because callbacks never run inside a function that the user called. */
void attach_lose(struct attach *a, const char *why)
{
	if (a->loss.kind)
		return;
	cause_set(&a->loss, FAIL_DIED, CAUSE_NO_SERVER, "the connection to the session's server is gone: %s", why);
	timer_start(a->timer, 0, 0);
}

static void remove_call(struct attach_call *call)
{
	list_remove(&call->node);
	call->attach->n_calls--;
	call->http = http_call_free(call->http);
}

/* A call whose event is being delivered is freed after that. */
static void free_call(struct attach_call *call)
{
	call->dropped = true;
	if (call->feeding)
		return;
	if (call->streams)
		http_event_reader_release(&call->reader);
	buf_release(&call->body);
	call->type->free(call);
}

static void tell_loss(void *ctx)
{
	struct attach *a = ctx;
	attach_enter(a);
	a->watch = http_call_free(a->watch);
	attach_runs_drop(a);
	for (struct attach_call *call; !a->freed && (call = list_first(&a->calls, struct attach_call, node));)
		attach_call_fail(call, &a->loss);
	if (!a->freed && a->on_lost)
		a->on_lost(a->lost_ctx, &a->loss);
	attach_leave(a);
}

/* --- calls --------------------------------------------------------------------------------------------------------- */

void attach_call_fail(struct attach_call *call, const struct fail *f)
{
	struct attach *a = call->attach;
	attach_enter(a);
	remove_call(call);
	call->type->on_fail(call, f);
	free_call(call);
	attach_leave(a);
}

void attach_call_answer(struct attach_call *call, const json_t *json)
{
	struct attach *a = call->attach;
	AUTO(fail_release) struct fail bad = { 0 };
	attach_enter(a);
	remove_call(call);
	if (call->type->on_answer(call, json, &bad) < 0)
		call->type->on_fail(call, &bad);
	free_call(call);
	attach_leave(a);
}

void attach_cancel(struct attach_call *call)
{
	if (call->type->on_cancel)
		call->type->on_cancel(call);
	remove_call(call);
	free_call(call);
}

/* The kind of failure for an answer without a `kind`. */
static enum fail_kind kind_of_status(int status)
{
	switch (status) {
	case 404:
		return FAIL_NOT_FOUND;
	case 408:
		return FAIL_TIMEOUT;
	case 413:
	case 429:
		return FAIL_LIMIT;
	case 503:
		return FAIL_BUSY;
	default:
		return status < 500 ? FAIL_INVALID : FAIL_INTERNAL;
	}
}

void attach_problem(int status, const struct buf *body, struct fail *f)
{
	json_auto_t *json = json_parse(body->data, body->len, 0);
	const char *detail = json_string_value(json_object_get(json, "detail")),
		   *hint = json_string_value(json_object_get(json, "hint"));
	AUTO(freep) char *message = detail ? xstrdup(detail) : xasprintf("the server answered with status %d", status);
	if (detail && json_object_get(json, "kind")) {
		fail_decode(json, f);
		return;
	}
	cause_set(f, kind_of_status(status), CAUSE_NONE, "%s", message);
	if (hint)
		fail_hint(f, "%s", hint);
}

static void on_event(void *ctx, const struct http_event *e)
{
	struct attach_call *call = ctx;
	if (!call->dropped)
		call->type->on_event(call, e);
}

static void on_head(void *ctx, const struct http_head *head)
{
	struct attach_call *call = ctx;
	const char *type = http_fields_get(&head->fields, "content-type");
	call->status = head->status;
	call->body.max = ATTACH_ANSWER_MAX;
	call->streams = call->type->on_event && type && streq(type, "text/event-stream");
	if (call->streams)
		http_event_reader_init(&call->reader, ATTACH_ANSWER_MAX, on_event, call);
}

static void on_data(void *ctx, const void *data, size_t n)
{
	struct attach_call *call = ctx;
	struct attach *a = call->attach;
	attach_enter(a);
	call->feeding = true;
	int r = call->streams ? http_event_reader_feed(&call->reader, data, n) : buf_add(&call->body, data, n);
	call->feeding = false;
	if (call->dropped)
		free_call(call);
	else if (r < 0)
		attach_lose(a, "its answer is too long");
	attach_leave(a);
}

static void on_end(void *ctx, const char *error)
{
	struct attach_call *call = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	call->http = NULL;
	if (error) {
		attach_lose(call->attach, error);
		return;
	}
	json_auto_t *json = NULL;
	if (call->status >= 300)
		attach_problem(call->status, &call->body, &f);
	else if (call->body.len && !(json = json_parse(call->body.data, call->body.len, JSON_ALLOW_NUL)))
		fail_set(&f, FAIL_INVALID, "the server's answer is not valid JSON");
	if (f.kind)
		attach_call_fail(call, &f);
	else
		attach_call_answer(call, json);
}

struct attach_call *attach_call_add(struct attach *a, struct attach_call *call, const struct attach_call_type *type,
				    struct fail *f)
{
	call->type = type;
	call->attach = a;
	if (a->loss.kind)
		fail_copy(f, &a->loss);
	else if (a->n_calls >= ATTACH_CALLS_MAX)
		fail_set(f, FAIL_BUSY, "%d requests already wait for answers", ATTACH_CALLS_MAX);
	else {
		list_append(&a->calls, &call->node);
		a->n_calls++;
		return call;
	}
	free_call(call);
	return NULL;
}

int attach_print(struct buf *out, json_t *json, struct fail *f)
{
	json_auto_t *value = json;
	json_print(out, value);
	return out->len <= ATTACH_REQUEST_MAX ? 0 : fail_set(f, FAIL_LIMIT, "the request is too long");
}

void attach_fields(const struct attach *a, struct http_fields *fields)
{
	http_fields_add(fields, "Husk-Client", a->token);
	http_fields_add(fields, "Husk-Forwarded", "local");
}

struct buf attach_target(const char *session_id, const char *rest)
{
	struct buf target = { 0 };
	buf_add_str(&target, "/v1/sessions/");
	percent_encode(&target, session_id, /* keep_slash= */ false);
	buf_add_str(&target, rest);
	return target;
}

struct attach_call *attach_call_start(struct attach *a, struct attach_call *call, const struct attach_call_type *type,
				      const struct attach_request *request, struct fail *f)
{
	AUTO(buf_release) struct buf body = { 0 };
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	if (request->body && attach_print(&body, request->body, f) < 0) {
		call->type = type;
		free_call(call);
		return NULL;
	}
	if (!attach_call_add(a, call, type, f))
		return NULL;
	attach_fields(a, &fields);
	if (request->body)
		http_fields_add(&fields, "Content-Type", "application/json");
	if (request->events)
		http_fields_add(&fields, "Accept", "text/event-stream");
	call->http = http_call_new(a->http, &(struct http_call_spec){ .method = request->method,
								      .target = request->target,
								      .fields = &fields,
								      .body = body.data,
								      .n = body.len,
								      .files = request->files,
								      .n_files = request->n_files,
								      .on_head = on_head,
								      .on_data = on_data,
								      .on_end = on_end,
								      .ctx = call });
	return call;
}

/* --- watching ------------------------------------------------------------------------------------------------------ */

static void on_watch_head(void *ctx UNUSED, const struct http_head *head UNUSED)
{
}

static void on_watch_data(void *ctx UNUSED, const void *data UNUSED, size_t n UNUSED)
{
}

/* The stream ends properly with its session, or the answer is not a stream: the server is still there. */
static void on_watch_end(void *ctx, const char *error)
{
	struct attach *a = ctx;
	a->watch = NULL;
	if (error)
		attach_lose(a, error);
}

void attach_watch(struct attach *a, const char *session_id, void (*on_lost)(void *ctx, const struct fail *f), void *ctx)
{
	AUTO(buf_release) struct buf target = attach_target(session_id, "/events?after=now&only=session");
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	attach_fields(a, &fields);
	http_fields_add(&fields, "Accept", "text/event-stream");
	a->on_lost = on_lost;
	a->lost_ctx = ctx;
	http_call_free(a->watch);
	a->watch = http_call_new(a->http, &(struct http_call_spec){ .method = "GET",
								    .target = buf_str(&target),
								    .fields = &fields,
								    .on_head = on_watch_head,
								    .on_data = on_watch_data,
								    .on_end = on_watch_end,
								    .ctx = a });
}

/* --- life ---------------------------------------------------------------------------------------------------------- */

static int dial(void *ctx)
{
	struct attach *a = ctx;
	if (a->fd >= 0)
		return take_fd(a->fd);
	return a->server ? local_server_connect(a->server) : sockets_dial(a->path);
}

static void make_token(char token[33])
{
	uint64_t random[2] = { 0 };
	(void)!getrandom(random, sizeof(random), 0);
	snprintf(token, 33, "%016llx%016llx", (unsigned long long)random[0], (unsigned long long)random[1]);
}

struct attach *attach_new(const struct attach_spec *spec)
{
	AUTO(fail_release) struct fail never = { 0 };
	struct attach *a = new0(struct attach);
	a->loop = spec->loop;
	a->server = spec->server;
	a->path = spec->path ? xstrdup(spec->path) : NULL;
	a->fd = spec->fd;
	list_init(&a->calls);
	list_init(&a->runs);
	make_token(a->token);
	a->timer = timer_new(spec->loop, tell_loss, a);
	a->http =
		http_client_new(&(struct http_client_spec){ .loop = spec->loop, .dial = dial, .dial_ctx = a }, &never);
	return a;
}

struct attach *attach_free(struct attach *a)
{
	if (!a)
		return NULL;
	a->watch = http_call_free(a->watch);
	attach_runs_drop(a);
	for (struct attach_call *call; (call = list_first(&a->calls, struct attach_call, node));) {
		remove_call(call);
		free_call(call);
	}
	timer_stop(a->timer);
	a->freed = true;
	if (a->depth)
		return NULL;
	http_client_free(a->http);
	timer_free(a->timer);
	closep(&a->fd);
	fail_release(&a->loss);
	free(a->path);
	free(a);
	return NULL;
}
