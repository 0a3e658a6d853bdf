#include "api/replay.h"

#include "api/host.h"
#include "api/problem.h"
#include "api/route.h"
#include "base/alloc.h"

#define NAME_MAX_BYTES 255
/* A longer body is not stored: a repeated request gets an empty one, or what replay_note() has stored. */
#define BODY_MAX (1u << 20)

/* Exists until the store has answered, even if the exchange ends before. */
struct replay {
	struct exchange *x; /* NULL = the exchange is over */
	char *id;
	bool stored;	  /* a repeated request has an answer */
	unsigned writing; /* answers that the store is writing */
	bool sending;	  /* the answer below is sent after that */
	int status;
	struct http_fields fields;
	struct buf body;
};

static void replay_free(struct replay *r)
{
	free(r->id);
	http_fields_release(&r->fields);
	buf_release(&r->body);
	free(r);
}

static void leave(struct exchange *x)
{
	struct replay *r = take_ptr(x->replay);
	if (!r)
		return;
	/* Without an answer, the work was cancelled: the client may repeat the request. */
	if (!r->stored && !x->api->closing)
		manager_drop_answer(x->api->spec.manager, r->id);
	r->x = NULL;
	/* After the manager was freed, no callback will free this. */
	if (!r->writing || x->api->closing)
		replay_free(r);
}

/* --- the end ------------------------------------------------------------------------------------------------------- */

static void on_written(void *ctx, const struct fail *f UNUSED)
{
	struct replay *r = ctx;
	struct exchange *x = r->x;
	r->writing--;
	if (x && r->sending && !r->writing) {
		/* Detached from the exchange, which is freed with the answer. */
		x->keeper = NULL;
		x->replay = NULL;
		exchange_send(x, r->status, &r->fields, r->body.data, r->body.len);
		replay_free(r);
	} else if (!x && !r->writing) {
		replay_free(r);
	}
}

static void store(struct replay *r, const struct kept_answer *answer)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct keep_answer_request request = {
		.id = r->id, .tenant = r->x->caller.tenant, .answer = *answer, .on_done = on_written, .ctx = r
	};
	r->stored = true;
	if (manager_keep_answer(r->x->api->spec.manager, &request, &f))
		r->writing++;
}

void replay_note(struct exchange *x, int status, const char *location, const char *body)
{
	if (x->replay)
		store(x->replay, &(struct kept_answer){ status, "application/json", location, body });
}

static bool keep(struct exchange *x, int status, const struct http_fields *fields, const void *body, size_t n)
{
	struct replay *r = x->replay;
	if (status < 200 || status > 299)
		return false;
	r->sending = true;
	r->status = status;
	for (size_t i = 0; i < fields->n; i++)
		http_fields_add(&r->fields, http_fields_name(fields, i), http_fields_value(fields, i));
	if (n)
		buf_add(&r->body, body, n);
	if (n <= BODY_MAX || !r->stored)
		store(r, &(struct kept_answer){ status, http_fields_get(&r->fields, "content-type"),
						http_fields_get(&r->fields, "location"),
						n && n <= BODY_MAX ? buf_str(&r->body) : NULL });
	return r->writing;
}

static const struct answer_keeper keeper = { keep, leave };

/* --- the beginning ------------------------------------------------------------------------------------------------- */

static void repeat(struct exchange *x, const struct kept_answer *answer)
{
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	http_fields_add(&fields, "Idempotent-Replayed", "true");
	if (answer->location)
		http_fields_add(&fields, "Location", answer->location);
	exchange_reply_text(x, answer->status, &fields, answer->type, answer->body,
			    answer->body ? strlen(answer->body) : 0);
}

static void under_way(struct exchange *x)
{
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	http_fields_add(&fields, "Retry-After", "1");
	exchange_reply_problem(
		x, 409, &fields,
		problem_plain(409, "The first request with this Idempotency-Key was not answered yet.",
			      "Try again soon. If its server was killed, look at what it did, and use another key."));
}

static void on_begun(void *ctx, enum answer_state state, const char *id, const struct kept_answer *answer,
		     const struct fail *f)
{
	struct exchange *x = ctx;
	if (!exchange_resume(x, f))
		return;
	switch (state) {
	case ANSWER_KEPT:
		repeat(x, answer);
		return;
	case ANSWER_UNDER_WAY:
		under_way(x);
		return;
	case ANSWER_OTHER:
		exchange_problem(x, 422, "This Idempotency-Key was used for another request.",
				 "Use a new key for each request.");
		return;
	case ANSWER_NEW:
		x->keeper = &keeper;
		x->replay = new0(struct replay);
		x->replay->x = x;
		x->replay->id = xstrdup(id);
		x->next(x);
	}
}

static bool is_valid(const char *name)
{
	size_t n = strlen(name);
	for (size_t i = 0; i < n; i++)
		if (name[i] < '!' || name[i] > '~')
			return false;
	return n > 0 && n <= NAME_MAX_BYTES;
}

bool replay_is_wanted(const struct exchange *x)
{
	return exchange_field(x, "idempotency-key") && route_is_idempotent(x->route);
}

void replay_begin(struct exchange *x, const void *body, size_t n, void (*next)(struct exchange *x))
{
	AUTO(fail_release) struct fail f = { 0 };
	const struct http_head *head = http_request_head(x->request);
	const char *name = exchange_field(x, "idempotency-key");
	if (!replay_is_wanted(x)) {
		next(x);
		return;
	}
	if (!is_valid(name)) {
		exchange_problem(x, 400, "Idempotency-Key must have 1 to 255 visible ASCII characters.", NULL);
		return;
	}
	AUTO(freep) char *text = n ? xstrndup(body, n) : xstrdup("");
	/* The conversation is part of the request, since it can come from a header. */
	AUTO(freep) char *request = xasprintf("%s %s %s", head->method_name, (const char *)head->target.data,
					      exchange_field(x, "husk-conversation") ?: "");
	struct begin_answer_request begin = { .tenant = x->caller.tenant,
					      .key = x->caller.key,
					      .name = name,
					      .request = request,
					      .body = text,
					      .on_done = on_begun,
					      .ctx = x };
	x->next = next;
	exchange_await(x, manager_begin_answer(x->api->spec.manager, &begin, &f), &f);
}
