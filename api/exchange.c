#include "api/exchange.h"

#include "api/conversations.h"
#include "api/host.h"
#include "api/problem.h"
#include "base/alloc.h"
#include "base/json.h"
#include "base/log.h"
#include "base/trace.h"

/* Longer than the search for an object takes, with its queries to the store. */
#define NOT_FOUND_MS 3

/* --- life ---------------------------------------------------------------------------------------------------------- */

static void release(struct exchange *x)
{
	list_remove(&x->node);
	if (x->is_stream)
		x->api->n_streams--;
	if (x->slot && !x->api->closing)
		manager_release_stream(x->api->spec.manager, x->slot);
	if (x->keeper)
		x->keeper->leave(x);
	if (x->closed)
		x->closed(x);
	if (x->conversation)
		conversations_put(x->api->conversations, x->conversation);
	caller_release(&x->caller);
	http_target_release(&x->target);
	json_decref(x->query_json);
	json_decref(x->body);
	json_decref(x->late);
	timer_free(x->late_timer);
	free(x->origin);
	free(x->slot);
	free(x->session);
	free(x->query);
	free(x->args);
	free(x);
}

void exchange_end(struct exchange *x)
{
	release(x);
}

/* The client has disconnected, or http/ has answered the request itself. */
static void on_closed(void *ctx)
{
	struct exchange *x = ctx;
	x->request = NULL;
	if (x->op)
		op_cancel(take_ptr(x->op));
	release(x);
}

struct exchange *exchange_new(struct api *api, struct http_request *r)
{
	struct exchange *x = new0(struct exchange);
	x->api = api;
	x->request = r;
	x->started_ms = loop_now_ms();
	list_append(&api->exchanges, &x->node);
	http_request_on_closed(r, on_closed, x);
	return x;
}

void exchanges_drop(struct api *api)
{
	api->closing = true;
	list_for_each(x, &api->exchanges, struct exchange, node) {
		x->op = NULL;
		release(x);
	}
}

/* --- the request --------------------------------------------------------------------------------------------------- */

const char *exchange_field(const struct exchange *x, const char *name)
{
	return http_fields_get(&http_request_head(x->request)->fields, name);
}

const char *exchange_target(const struct exchange *x)
{
	const char *target = (const char *)http_request_head(x->request)->target.data;
	const char *authority = *target == '/' ? NULL : strstr(target, "://");
	return authority ? authority + 3 + strcspn(authority + 3, "/") : target;
}

bool exchange_accepts(const struct exchange *x, const char *type)
{
	return http_fields_has(&http_request_head(x->request)->fields, "accept", type);
}

const char *exchange_tenant(struct exchange *x, const char *named)
{
	if (!named || streq(named, x->caller.tenant) || caller_is_operator(&x->caller))
		return named ? named : x->caller.tenant;
	exchange_problem(x, 403, "This key is for its own tenant only.", NULL);
	return NULL;
}

/* --- answers ------------------------------------------------------------------------------------------------------- */

void exchange_note_status(const struct exchange *x, int status)
{
	api_count_answer(x->api, x->path, http_request_head(x->request)->method, status);
	if (!log_shows(LOG_DEBUG))
		return;
	const char *trace = exchange_field(x, "traceparent");
	bool traced = trace && trace_is_valid(trace);
	log_debug("http %s %s: %d in %llu ms%s%s", http_request_head(x->request)->method_name,
		  x->path ? x->path : "(unknown)", status, (unsigned long long)(loop_now_ms() - x->started_ms),
		  traced ? ", trace " : "", traced ? trace : "");
}

/* Caches must not store an answer unless it allows that, and browsers must not guess its type. */
static void add_usual_fields(struct http_fields *fields)
{
	if (!http_fields_get(fields, "cache-control"))
		http_fields_add(fields, "Cache-Control", "no-store");
	http_fields_add(fields, "X-Content-Type-Options", "nosniff");
	/* If a browser shows the answer itself, such as a file of a session, no script of it runs in our origin. */
	if (!http_fields_get(fields, "content-security-policy"))
		http_fields_add(fields, "Content-Security-Policy", "sandbox; default-src 'none'");
}

bool exchange_begin(struct exchange *x, int status, struct http_fields *fields, int64_t length)
{
	add_usual_fields(fields);
	exchange_note_status(x, status);
	return http_reply_begin(x->request, status, fields, length);
}

void exchange_finish(struct exchange *x)
{
	/* The exchange is freed first, because the end of the answer may start the next request of the connection. */
	struct http_request *r = take_ptr(x->request);
	release(x);
	http_reply_end(r);
}

void exchange_abort(struct exchange *x)
{
	struct http_request *r = take_ptr(x->request);
	release(x);
	http_reply_abort(r);
}

void exchange_send(struct exchange *x, int status, const struct http_fields *fields, const void *body, size_t n)
{
	struct http_request *r = x->request;
	exchange_note_status(x, status);
	x->request = NULL;
	/* The exchange is freed first, because http_reply() may start the next request of the connection. */
	release(x);
	http_reply(r, status, fields, body, n);
}

void exchange_reply_text(struct exchange *x, int status, struct http_fields *fields, const char *type, const void *body,
			 size_t n)
{
	AUTO(http_fields_release) struct http_fields own = { 0 };
	if (!fields)
		fields = &own;
	if (type)
		http_fields_add(fields, "Content-Type", type);
	add_usual_fields(fields);
	if (!x->keeper || !x->keeper->keep(x, status, fields, body, n))
		exchange_send(x, status, fields, body, n);
}

/* Takes the body. */
static void reply_json(struct exchange *x, int status, struct http_fields *fields, const char *type, json_t *body)
{
	AUTO(buf_release) struct buf text = { 0 };
	json_auto_t *json = body;
	json_print(&text, json);
	exchange_reply_text(x, status, fields, type, text.data, text.len);
}

void exchange_reply_fields(struct exchange *x, int status, struct http_fields *fields, json_t *body)
{
	reply_json(x, status, fields, "application/json", body);
}

void exchange_reply(struct exchange *x, int status, json_t *body)
{
	exchange_reply_fields(x, status, NULL, body);
}

void exchange_reply_empty(struct exchange *x, int status)
{
	exchange_reply_text(x, status, NULL, NULL, NULL, 0);
}

void exchange_reply_problem(struct exchange *x, int status, struct http_fields *fields, json_t *problem)
{
	reply_json(x, status, fields, "application/problem+json", problem);
}

void exchange_problem(struct exchange *x, int status, const char *detail, const char *hint)
{
	exchange_reply_problem(x, status, NULL, problem_plain(status, detail, hint));
}

static void send_late(void *ctx)
{
	struct exchange *x = ctx;
	exchange_reply_problem(x, 404, NULL, take_ptr(x->late));
}

/* Takes the problem. The data of the handler is released now, so that it does not answer meanwhile. */
static void answer_later(struct exchange *x, json_t *problem)
{
	if (x->closed)
		x->closed(x);
	x->closed = NULL;
	x->late = problem;
	x->late_timer = timer_new(x->api->spec.loop, send_late, x);
	uint64_t due = x->started_ms + NOT_FOUND_MS, now = loop_now_ms();
	timer_start(x->late_timer, due > now ? due - now : 0, 0);
}

void exchange_fail_active(struct exchange *x, const struct fail *f, const struct session_info *active, size_t n)
{
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	int status = problem_status(f);
	unsigned retry = problem_retry_after(f);
	json_t *problem = problem_body(status, f, x->caller.remote);
	if (status == 404 && x->caller.remote && !x->caller.forwarded) {
		answer_later(x, problem);
		return;
	}
	if (retry)
		http_fields_addf(&fields, "Retry-After", "%u", retry);
	if (n) {
		json_t *list = json_array();
		for (size_t i = 0; i < n; i++)
			json_array_append_new(list, json_name(active[i].id));
		json_object_set_new(problem, "active_sessions", list);
	}
	exchange_reply_problem(x, status, &fields, problem);
}

void exchange_fail(struct exchange *x, const struct fail *f)
{
	exchange_fail_active(x, f, NULL, 0);
}

/* --- operations ---------------------------------------------------------------------------------------------------- */

void exchange_await(struct exchange *x, struct op *op, const struct fail *f)
{
	x->op = op;
	if (!op)
		exchange_fail(x, f);
}

bool exchange_resume(struct exchange *x, const struct fail *f)
{
	x->op = NULL;
	if (f)
		exchange_fail(x, f);
	return !f;
}

void exchange_on_done(void *ctx, const struct fail *f)
{
	struct exchange *x = ctx;
	if (exchange_resume(x, f))
		exchange_reply_empty(x, 204);
}
