#include "kernels/cells/query.h"

#include <signal.h>

#include "base/json.h"
#include "kernels/system/frames.h"

/* How long a query waits for a kernel that starts or whose cell was interrupted. */
#define HOLD_MS 2000
/* Completion takes a second in a large package that must be read first. */
#define LIMIT_MS 4000
/* Time between two signals that cancel a query, and from the first signal until the manager gets "timeout". */
#define LEAVE_MS 1000

static const char *const kinds[] = { "complete", "inspect", "is_complete" };

void query_decline(struct query *q, uint32_t number, const char *status)
{
	json_auto_t *answer = json_pack("{s:s}", "status", status);
	AUTO(buf_release) struct buf text = { 0 };
	json_print(&text, answer);
	q->on_answer(q, number, text.data, text.len);
}

/* The manager no longer waits; the kernel may still be working on the query. */
static void give_up(struct query *q, const char *status)
{
	if (!q->awaited)
		return;
	q->awaited = false;
	query_decline(q, q->number, status);
}

static void on_late(struct timeout *t);

static void signal_kernel(struct query *q)
{
	(void)kill(q->kernel, q->signal);
	timeout_start(q->poller, &q->limit, LEAVE_MS, on_late);
}

static void on_late(struct timeout *t)
{
	struct query *q = container_of(t, struct query, limit);
	give_up(q, "timeout");
	signal_kernel(q);
}

static void on_limit(struct timeout *t)
{
	signal_kernel(container_of(t, struct query, limit));
}

/* The link's message: a new reference, or NULL if the query is not valid. */
static json_t *message_of(const json_t *request, json_int_t id)
{
	const char *kind = json_string_value(json_object_get(request, "kind"));
	json_t *code = json_object_get(request, "code");
	json_int_t cursor = json_integer_value(json_object_get(request, "cursor")),
		   detail = json_integer_value(json_object_get(request, "detail"));
	for (size_t i = 0; kind && json_is_string(code) && cursor >= 0 && i < ARRAY_LEN(kinds); i++)
		if (streq(kind, kinds[i]))
			return json_pack("{s:s, s:I, s:O, s:I, s:I}", "op", kinds[i], "id", id, "code", code, "cursor",
					 cursor, "detail", detail > 0 ? 1 : 0);
	return NULL;
}

void query_send(struct query *q, struct link *link, pid_t kernel, uint32_t number, const json_t *request)
{
	if (q->open || q->held) {
		query_decline(q, number, "busy");
		return;
	}
	const json_int_t id = link_make_id();
	json_auto_t *message = message_of(request, id);
	if (!message || link_send(link, message) < 0) {
		query_decline(q, number, message ? "gone" : "cannot");
		return;
	}
	q->id = id;
	q->open = q->awaited = true;
	q->number = number;
	q->kernel = kernel;
	timeout_start(q->poller, &q->limit, LIMIT_MS, on_limit);
}

static void decline_held(struct query *q, const char *status)
{
	json_auto_t *request = take_ptr(q->held);
	if (!request)
		return;
	timeout_stop(&q->limit);
	query_decline(q, q->number, status);
}

static void on_hold_limit(struct timeout *t)
{
	decline_held(container_of(t, struct query, limit), "busy");
}

void query_hold(struct query *q, uint32_t number, const json_t *request)
{
	if (q->open || q->held) {
		query_decline(q, number, "busy");
		return;
	}
	q->held = json_incref((json_t *)request);
	q->number = number;
	timeout_start(q->poller, &q->limit, HOLD_MS, on_hold_limit);
}

void query_release(struct query *q, struct link *link, pid_t kernel, bool takes_queries)
{
	if (!takes_queries) {
		decline_held(q, "cannot");
		return;
	}
	json_auto_t *request = take_ptr(q->held);
	if (!request)
		return;
	timeout_stop(&q->limit);
	query_send(q, link, kernel, q->number, request);
}

int query_answered(struct query *q, const struct link_message *m)
{
	if (!q->open || m->id != q->id)
		return -1;
	q->open = false;
	timeout_stop(&q->limit);
	if (m->raw_len > ANSWER_BYTES_MAX)
		give_up(q, "too_long");
	if (!q->awaited)
		return 0;
	q->awaited = false;
	q->on_answer(q, q->number, m->raw, m->raw_len);
	return 0;
}

void query_make_way(struct query *q)
{
	decline_held(q, "busy");
	if (!q->open)
		return;
	/* The signal is sent once and before the cell, because a later signal would hit the cell. Only the kernel gets
	 * it, not the processes that the kernel has started. */
	(void)kill(q->kernel, q->signal);
	timeout_stop(&q->limit);
	give_up(q, "busy");
}

void query_stop(struct query *q)
{
	decline_held(q, "gone");
	query_lost(q);
	timeout_stop(&q->limit);
}

void query_lost(struct query *q)
{
	if (!q->open)
		return; /* a query that waits is for the next kernel */
	timeout_stop(&q->limit);
	q->open = false;
	give_up(q, "gone");
}
