#include "api/pass.h"

#include "api/stream.h"
#include "base/alloc.h"

/* Unsent bytes above which the other side is not read from. */
#define UNSENT_MAX (256u << 10)

struct pass {
	struct pass_spec spec;
	struct exchange *exchange;
	struct http_call *call;
	bool begun; /* the head of the answer was sent */
	/* After a change of protocol: the client's connection and the server's. */
	struct channel *near, *far;
};

struct pass *pass_free(struct pass *p)
{
	if (!p)
		return NULL;
	http_call_free(p->call);
	channel_free(p->near);
	channel_free(p->far);
	free(p);
	return NULL;
}

static void pass_fields(const struct pass *p, struct http_fields *to, const struct http_fields *from, bool of_answer)
{
	for (size_t i = 0; i < from->n; i++)
		p->spec.pass_field(p->spec.ctx, to, http_fields_name(from, i), http_fields_value(from, i), of_answer);
}

/* --- another protocol ---------------------------------------------------------------------------------------------- */

static struct channel *other_of(const struct pass *p, bool from_near)
{
	return from_near ? p->far : p->near;
}

static void pass_bytes(struct pass *p, bool from_near, const void *data, size_t n)
{
	struct channel *to = other_of(p, from_near);
	if (channel_write(to, data, n) < 0) {
		exchange_end(p->exchange);
		return;
	}
	if (channel_queued(to) > UNSENT_MAX)
		channel_pause(from_near ? p->near : p->far, true);
}

static void on_near_data(void *ctx, const void *data, size_t n)
{
	pass_bytes(ctx, /* from_near= */ true, data, n);
}

static void on_far_data(void *ctx, const void *data, size_t n)
{
	pass_bytes(ctx, /* from_near= */ false, data, n);
}

/* One side has ended: what is on its way to the other is still sent. */
static void on_side_end(struct pass *p, bool near)
{
	struct channel *other = near ? take_ptr(p->far) : take_ptr(p->near);
	channel_finish(other);
	exchange_end(p->exchange);
}

static void on_near_end(void *ctx, int error UNUSED)
{
	on_side_end(ctx, /* near= */ true);
}

static void on_far_end(void *ctx, int error UNUSED)
{
	on_side_end(ctx, /* near= */ false);
}

static void on_near_drained(void *ctx)
{
	struct pass *p = ctx;
	channel_pause(p->far, false);
}

static void on_far_drained(void *ctx)
{
	struct pass *p = ctx;
	channel_pause(p->near, false);
}

static void switch_protocol(struct pass *p, const struct http_head *head)
{
	static const struct channel_ops near_ops = { on_near_data, on_near_end, on_near_drained, NULL };
	static const struct channel_ops far_ops = { on_far_data, on_far_end, on_far_drained, NULL };
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	struct exchange *x = p->exchange;
	const char *upgrade = http_fields_get(&head->fields, "upgrade");
	pass_fields(p, &fields, &head->fields, /* of_answer= */ true);
	http_fields_add(&fields, "Upgrade", upgrade ? upgrade : "websocket");
	p->far = http_call_take_channel(take_ptr(p->call));
	p->near = http_reply_upgrade(take_ptr(x->request), &fields);
	channel_set_ops(p->far, &far_ops, p);
	channel_set_ops(p->near, &near_ops, p);
	channel_pause(p->far, false);
	channel_pause(p->near, false);
}

/* --- the answer ---------------------------------------------------------------------------------------------------- */

static void on_head(void *ctx, const struct http_head *head)
{
	struct pass *p = ctx;
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	if (head->status == 101) {
		switch_protocol(p, head);
		return;
	}
	pass_fields(p, &fields, &head->fields, /* of_answer= */ true);
	for (size_t i = 0; p->spec.answer_fields && i < p->spec.answer_fields->n; i++)
		http_fields_add(&fields, http_fields_name(p->spec.answer_fields, i),
				http_fields_value(p->spec.answer_fields, i));
	p->begun = true;
	exchange_note_status(p->exchange, head->status);
	(void)http_reply_begin(p->exchange->request, head->status, &fields, head->length);
}

static void on_data(void *ctx, const void *data, size_t n)
{
	struct pass *p = ctx;
	(void)http_reply_write(p->exchange->request, data, n);
	if (http_reply_queued(p->exchange->request) > UNSENT_MAX)
		http_call_pause(p->call, true);
}

static void on_reply_drained(void *ctx)
{
	struct pass *p = ctx;
	if (p->call)
		http_call_pause(p->call, false);
}

static void on_end(void *ctx, const char *error)
{
	struct pass *p = ctx;
	struct exchange *x = p->exchange;
	p->call = NULL;
	if (error && !p->begun) {
		exchange_problem(x, 502, p->spec.lost, p->spec.lost_hint);
		return;
	}
	struct http_request *r = take_ptr(x->request);
	exchange_end(x);
	if (error)
		http_reply_abort(r);
	else
		http_reply_end(r);
}

/* --- the request --------------------------------------------------------------------------------------------------- */

static void on_body(void *ctx, const void *data, size_t n)
{
	struct pass *p = ctx;
	if (!p->call)
		return;
	(void)http_call_write(p->call, data, n);
	if (http_call_queued(p->call) > UNSENT_MAX)
		http_request_pause(p->exchange->request, true);
}

static void on_body_end(void *ctx)
{
	struct pass *p = ctx;
	if (p->call)
		http_call_end(p->call);
}

static void on_call_drained(void *ctx)
{
	struct pass *p = ctx;
	if (p->exchange->request)
		http_request_pause(p->exchange->request, false);
}

bool pass_admit(struct exchange *x)
{
	return !stream_is_wanted(x) || stream_admit(x);
}

struct pass *pass_new(struct exchange *x, const struct pass_spec *spec)
{
	static const struct http_body_ops body = { on_body, on_body_end };
	const struct http_head *head = http_request_head(x->request);
	bool has_body = !spec->body && (head->chunked || head->length > 0);
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	struct pass *p = new0(struct pass);
	p->spec = *spec;
	p->spec.fields = NULL;
	p->spec.body = NULL;
	p->exchange = x;
	pass_fields(p, &fields, &head->fields, /* of_answer= */ false);
	for (size_t i = 0; i < spec->fields->n; i++)
		http_fields_add(&fields, http_fields_name(spec->fields, i), http_fields_value(spec->fields, i));
	if (head->upgrade) {
		http_fields_add(&fields, "Connection", "Upgrade");
		http_fields_add(&fields, "Upgrade", http_fields_get(&head->fields, "upgrade"));
	}
	p->call = http_call_new(spec->client, &(struct http_call_spec){ .method = head->method_name,
									.target = spec->target,
									.fields = &fields,
									.stream = has_body,
									.length = head->length,
									.body = spec->body ? spec->body->data : NULL,
									.n = spec->body ? spec->body->len : 0,
									.on_head = on_head,
									.on_data = on_data,
									.on_end = on_end,
									.on_drained = on_call_drained,
									.ctx = p });
	http_reply_on_drained(x->request, on_reply_drained, p);
	if (has_body)
		http_request_read(x->request, &body, p);
	return p;
}
