#include "mcp/client-request.h"

#include "base/alloc.h"
#include "mcp/rpc.h"

#define ID_MAX 32

struct client_request {
	struct list node;
	struct connection *connection;
	struct timer *timer; /* NULL = no time limit */
	char id[ID_MAX];
	client_request_fn *fn;
	void *ctx;
};

static void request_free(struct client_request *r)
{
	list_remove(&r->node);
	timer_free(r->timer);
	free(r);
}

static void withdraw(const struct client_request *r, const struct call *call, const char *reason)
{
	connection_notify(r->connection, call,
			  rpc_notification("notifications/cancelled",
					   json_pack("{s:s, s:s}", "requestId", r->id, "reason", reason)));
}

static void finish(struct client_request *r, json_t *result)
{
	client_request_fn *fn = r->fn;
	void *ctx = r->ctx;
	request_free(r);
	fn(ctx, result);
}

static void on_timeout(void *ctx)
{
	struct client_request *r = ctx;
	withdraw(r, /* call= */ NULL, "there was no answer in time");
	finish(r, NULL);
}

struct client_request *client_request_send(struct connection *c, const struct call *call, const char *method,
					   json_t *params, uint64_t timeout_ms, client_request_fn *fn, void *ctx)
{
	struct client_request *r = new0(struct client_request);
	r->connection = c;
	r->fn = fn;
	r->ctx = ctx;
	snprintf(r->id, sizeof(r->id), "husk-%llu", (unsigned long long)++c->requests.number);
	list_append(&c->requests.open, &r->node);
	json_t *message = json_pack("{s:s, s:s, s:s}", "jsonrpc", "2.0", "id", r->id, "method", method);
	if (params)
		json_object_set_new(message, "params", params);
	connection_notify(c, call, message);
	if (timeout_ms) {
		r->timer = timer_new(c->loop, on_timeout, r);
		timer_start(r->timer, timeout_ms, 0);
	}
	return r;
}

struct client_request *client_request_cancel(struct client_request *r, const struct call *call)
{
	if (!r)
		return NULL;
	withdraw(r, call, "the call has ended");
	request_free(r);
	return NULL;
}

void client_requests_answered(struct connection *c, const json_t *message)
{
	const char *id = json_string_value(json_object_get(message, "id"));
	json_t *result = json_object_get(message, "result");
	list_for_each(r, &c->requests.open, struct client_request, node) {
		if (!id || !streq(r->id, id))
			continue;
		finish(r, json_is_object(result) ? result : NULL);
		return;
	}
}

void client_requests_bind(struct connection *c)
{
	list_init(&c->requests.open);
}

void client_requests_release(struct connection *c)
{
	for (struct client_request *r; (r = list_first(&c->requests.open, struct client_request, node));)
		request_free(r);
}
