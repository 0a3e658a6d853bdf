#include "api/forward.h"

#include "api/host.h"
#include "api/links.h"
#include "api/peers.h"
#include "api/sockets.h"
#include "api/stream.h"
#include "base/alloc.h"
#include "base/percent.h"
#include "base/strv.h"
#include "http/client.h"

/* Time limit of the search. */
#define SEARCH_MS 5000
/* Unsent bytes above which the other side is not read from. */
#define UNSENT_MAX (256u << 10)
/* All routes of a session begin with this. */
#define PREFIX "/v1/sessions/"
#define PREFIX_SEGMENTS 2

/* A server to ask. */
struct candidate {
	struct list node;
	struct forward *forward;
	char *path, *address; /* one of them */
	char nonce[PEERS_NONCE_SIZE];
	bool proven;
	struct http_client *client;
	struct http_call *call; /* NULL = it has answered */
	int status;
};

/* x->data of the exchange. */
struct forward {
	struct exchange *exchange;
	void (*here)(struct exchange *x);
	struct list candidates; /* of struct candidate */
	struct timer *timer;
	char *address; /* of a server on another machine; NULL = none */
	/* The server that has the session, and the request to it. */
	struct candidate *owner;
	struct http_call *call;
	bool begun; /* the head of the answer was sent */
	/* After a change of protocol: the client's connection and the server's. */
	struct channel *near, *far;
};

static struct forward *forward_of(const struct exchange *x)
{
	return x->data;
}

static void candidate_free(struct candidate *c)
{
	if (!c)
		return;
	list_remove(&c->node);
	http_call_free(c->call);
	http_client_free(c->client);
	free(c->path);
	free(c->address);
	free(c);
}

static void forward_free(struct exchange *x)
{
	struct forward *w = forward_of(x);
	x->data = NULL;
	x->closed = NULL;
	http_call_free(w->call);
	list_for_each(c, &w->candidates, struct candidate, node)
		candidate_free(c);
	candidate_free(w->owner);
	timer_free(w->timer);
	free(w->address);
	channel_free(w->near);
	channel_free(w->far);
	if (x->is_stream)
		x->api->n_streams--;
	free(w);
}

/* --- fields -------------------------------------------------------------------------------------------------------- */

/* Not passed on: fields of one connection, fields that http/ writes itself, and the key. */
static bool is_passed(const char *name)
{
	static const char *const stay[] = { "authorization",
					    "connection",
					    "content-length",
					    "cookie",
					    "date",
					    "expect",
					    "host",
					    "husk-base",
					    "husk-conversation",
					    "husk-forwarded",
					    "husk-key",
					    "husk-server",
					    "husk-tenant",
					    "keep-alive",
					    "te",
					    "trailer",
					    "transfer-encoding",
					    "upgrade" };
	for (size_t i = 0; i < ARRAY_LEN(stay); i++)
		if (streq(name, stay[i]))
			return false;
	return true;
}

static void pass_fields(struct http_fields *to, const struct http_fields *from)
{
	for (size_t i = 0; i < from->n; i++)
		if (is_passed(http_fields_name(from, i)))
			http_fields_add(to, http_fields_name(from, i), http_fields_value(from, i));
}

/* Says who the caller is, and proves it to a server on another machine. */
static void mark(const struct exchange *x, struct http_fields *fields, struct candidate *c, const char *method,
		 const char *target)
{
	http_fields_add(fields, "Husk-Forwarded", x->caller.remote ? "remote" : "local");
	http_fields_add(fields, "Husk-Tenant", x->caller.tenant);
	if (x->caller.key)
		http_fields_add(fields, "Husk-Key", x->caller.key);
	AUTO(freep) char *base = links_base(x);
	if (*base)
		http_fields_add(fields, "Husk-Base", base);
	if (c->address)
		peers_sign(x, fields, c->address, method, target, c->nonce);
}

/* --- another protocol ---------------------------------------------------------------------------------------------- */

static struct channel *other_of(const struct forward *w, bool from_near)
{
	return from_near ? w->far : w->near;
}

static void pass_bytes(struct forward *w, bool from_near, const void *data, size_t n)
{
	struct channel *to = other_of(w, from_near);
	if (channel_write(to, data, n) < 0) {
		exchange_end(w->exchange);
		return;
	}
	if (channel_queued(to) > UNSENT_MAX)
		channel_pause(from_near ? w->near : w->far, true);
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
static void on_side_end(struct forward *w, bool near)
{
	struct channel *other = near ? take_ptr(w->far) : take_ptr(w->near);
	channel_finish(other);
	exchange_end(w->exchange);
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
	struct forward *w = ctx;
	channel_pause(w->far, false);
}

static void on_far_drained(void *ctx)
{
	struct forward *w = ctx;
	channel_pause(w->near, false);
}

static void switch_protocol(struct forward *w, const struct http_head *head)
{
	static const struct channel_ops near_ops = { on_near_data, on_near_end, on_near_drained, NULL };
	static const struct channel_ops far_ops = { on_far_data, on_far_end, on_far_drained, NULL };
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	struct exchange *x = w->exchange;
	const char *upgrade = http_fields_get(&head->fields, "upgrade");
	pass_fields(&fields, &head->fields);
	http_fields_add(&fields, "Upgrade", upgrade ? upgrade : "websocket");
	w->far = http_call_take_channel(take_ptr(w->call));
	w->near = http_reply_upgrade(take_ptr(x->request), &fields);
	channel_set_ops(w->far, &far_ops, w);
	channel_set_ops(w->near, &near_ops, w);
	channel_pause(w->far, false);
	channel_pause(w->near, false);
}

/* --- the answer ---------------------------------------------------------------------------------------------------- */

static void on_head(void *ctx, const struct http_head *head)
{
	struct forward *w = ctx;
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	if (head->status == 101) {
		switch_protocol(w, head);
		return;
	}
	pass_fields(&fields, &head->fields);
	w->begun = true;
	exchange_note_status(w->exchange, head->status);
	(void)http_reply_begin(w->exchange->request, head->status, &fields, head->length);
}

static void on_data(void *ctx, const void *data, size_t n)
{
	struct forward *w = ctx;
	(void)http_reply_write(w->exchange->request, data, n);
	if (http_reply_queued(w->exchange->request) > UNSENT_MAX)
		http_call_pause(w->call, true);
}

static void on_reply_drained(void *ctx)
{
	struct forward *w = ctx;
	if (w->call)
		http_call_pause(w->call, false);
}

static void on_end(void *ctx, const char *error)
{
	struct forward *w = ctx;
	struct exchange *x = w->exchange;
	w->call = NULL;
	if (error && !w->begun) {
		exchange_problem(x, 502, "The server of this session ended during the request.",
				 "Send the request again: the session is taken over if its server is gone.");
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
	struct forward *w = ctx;
	if (!w->call)
		return;
	(void)http_call_write(w->call, data, n);
	if (http_call_queued(w->call) > UNSENT_MAX)
		http_request_pause(w->exchange->request, true);
}

static void on_body_end(void *ctx)
{
	struct forward *w = ctx;
	if (w->call)
		http_call_end(w->call);
}

static void on_call_drained(void *ctx)
{
	struct forward *w = ctx;
	if (w->exchange->request)
		http_request_pause(w->exchange->request, false);
}

/* The target, written anew from its decoded parts with the full id of the session instead of its name. The client's own
 * text could differ in its escapes or have an origin, so that the other server would find another route, for which the
 * key was not checked. */
static struct buf target_of(const struct exchange *x)
{
	struct buf target = { 0 };
	const char *query = strchr((const char *)http_request_head(x->request)->target.data, '?');
	buf_add_str(&target, PREFIX);
	percent_encode(&target, x->session, /* keep_slash= */ false);
	for (size_t i = PREFIX_SEGMENTS + 1; i < x->target.n_segments; i++) {
		buf_add_str(&target, "/");
		percent_encode(&target, http_target_segment(&x->target, i), /* keep_slash= */ false);
	}
	if (x->target.folder)
		buf_add_str(&target, "/");
	if (query)
		buf_add_str(&target, query);
	return target;
}

static void pass_on(struct forward *w)
{
	static const struct http_body_ops body = { on_body, on_body_end };
	struct exchange *x = w->exchange;
	const struct http_head *head = http_request_head(x->request);
	bool has_body = head->chunked || head->length > 0;
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	AUTO(buf_release) struct buf target = target_of(x);
	pass_fields(&fields, &head->fields);
	mark(x, &fields, w->owner, head->method_name, buf_str(&target));
	if (head->upgrade) {
		http_fields_add(&fields, "Connection", "Upgrade");
		http_fields_add(&fields, "Upgrade", http_fields_get(&head->fields, "upgrade"));
	}
	if ((head->upgrade || exchange_accepts(x, "text/event-stream")) && !stream_admit(x))
		return;
	w->call = http_call_new(w->owner->client, &(struct http_call_spec){ .method = head->method_name,
									    .target = buf_str(&target),
									    .fields = &fields,
									    .stream = has_body,
									    .on_head = on_head,
									    .on_data = on_data,
									    .on_end = on_end,
									    .on_drained = on_call_drained,
									    .ctx = w });
	http_reply_on_drained(x->request, on_reply_drained, w);
	if (has_body)
		http_request_read(x->request, &body, w);
}

/* --- the search ---------------------------------------------------------------------------------------------------- */

/* Found, or all servers have answered. From the loop, because an answer may be handled inside a callback of its
 * connection. */
static void on_timer(void *ctx)
{
	struct forward *w = ctx;
	struct exchange *x = w->exchange;
	list_for_each(c, &w->candidates, struct candidate, node)
		candidate_free(c);
	if (w->owner) {
		pass_on(w);
		return;
	}
	void (*here)(struct exchange *) = w->here;
	forward_free(x);
	here(x);
}

static void on_probe_head(void *ctx, const struct http_head *head)
{
	struct candidate *c = ctx;
	c->status = head->status;
	c->proven = !c->address || peers_is_proven(c->forward->exchange, head, c->nonce);
}

static void on_probe_data(void *ctx UNUSED, const void *data UNUSED, size_t n UNUSED)
{
}

static void on_probed(void *ctx, const char *error)
{
	struct candidate *c = ctx;
	struct forward *w = c->forward;
	c->call = NULL;
	if (!error && c->status == 200 && c->proven && !w->owner) {
		list_remove(&c->node);
		list_init(&c->node);
		w->owner = c;
	}
	bool waits = false;
	list_for_each(other, &w->candidates, struct candidate, node)
		waits |= other->call != NULL;
	if (w->owner || !waits)
		timer_start(w->timer, 0, 0);
}

static int dial(void *ctx)
{
	const struct candidate *c = ctx;
	return sockets_dial(c->path);
}

/* Exactly one of path and address is set. */
static void probe(struct forward *w, const char *path, const char *address)
{
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	AUTO(fail_release) struct fail invalid = { 0 };
	const struct exchange *x = w->exchange;
	AUTO(freep) char *target = xasprintf(PREFIX "%s?brief=true", x->session);
	struct candidate *c = new0(struct candidate);
	struct http_client_spec spec = { .loop = x->api->spec.loop, .connect_ms = SEARCH_MS };
	c->forward = w;
	c->path = path ? xstrdup(path) : NULL;
	c->address = address ? xstrdup(address) : NULL;
	list_append(&w->candidates, &c->node);
	mark(x, &fields, c, "GET", target);
	spec.address = spec.host = address;
	if (path) {
		spec.dial = dial;
		spec.dial_ctx = c;
	}
	c->client = http_client_new(&spec, &invalid);
	if (!c->client) {
		candidate_free(c);
		return;
	}
	c->call = http_call_new(c->client, &(struct http_call_spec){ .method = "GET",
								     .target = target,
								     .fields = &fields,
								     .on_head = on_probe_head,
								     .on_data = on_probe_data,
								     .on_end = on_probed,
								     .ctx = c });
}

static void search(struct exchange *x)
{
	AUTO(strv_release) struct strv paths = { 0 };
	const char *own = x->api->socket;
	struct forward *w = forward_of(x);
	sockets_list(x->api->spec.config, &paths);
	for (size_t i = 0; i < paths.n; i++)
		if (!own || !streq(paths.v[i], own))
			probe(w, paths.v[i], NULL);
	/* Without the store's key, the other server would not believe this one. */
	if (w->address && manager_can_sign(x->api->spec.manager))
		probe(w, NULL, w->address);
	w->timer = timer_new(x->api->spec.loop, on_timer, w);
	timer_start(w->timer, list_empty(&w->candidates) ? 0 : SEARCH_MS, 0);
}

void forward_begin(struct exchange *x, const char *address, void (*here)(struct exchange *x))
{
	struct forward *w = new0(struct forward);
	w->exchange = x;
	w->here = here;
	w->address = address && *address ? xstrdup(address) : NULL;
	list_init(&w->candidates);
	x->data = w;
	x->closed = forward_free;
	if (w->address)
		links_try(x, search);
	else
		search(x);
}
