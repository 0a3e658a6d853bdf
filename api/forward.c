#include "api/forward.h"

#include "api/host.h"
#include "api/links.h"
#include "api/pass.h"
#include "api/peers.h"
#include "api/port-fields.h"
#include "api/sockets.h"
#include "base/alloc.h"
#include "base/percent.h"
#include "base/strv.h"
#include "http/client.h"

/* Time limit of the search. */
#define SEARCH_MS 5000
/* All routes of a session begin with this. */
#define PREFIX "/v1/sessions/"
#define PREFIX_SEGMENTS 2

/* A server to ask. */
struct candidate {
	struct list node;
	struct forward *forward;
	char *path;	   /* of a unix socket; NULL = a peer */
	struct peer *peer; /* NULL = a unix socket */
	struct http_client *client;
	struct http_call *call; /* NULL = it has answered */
	int status;
};

/* x->data of the exchange. */
struct forward {
	struct exchange *exchange;
	void (*here)(struct exchange *x);
	char *probe, *target;
	struct http_fields fields; /* more fields of the request */
	struct buf body;
	bool has_body;		/* the body was read already */
	bool local;		/* servers of this user are asked, too */
	struct list candidates; /* of struct candidate */
	struct timer *timer;
	char *address; /* of a server on another machine; NULL = none */
	/* The server that has the session, and the request to it. */
	struct candidate *owner;
	struct pass *pass;
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
	if (c->peer)
		peers_put(c->forward->exchange->api->peers, c->peer);
	else
		http_client_free(c->client);
	free(c->path);
	free(c);
}

static void forward_free(struct exchange *x)
{
	struct forward *w = forward_of(x);
	x->data = NULL;
	x->closed = NULL;
	pass_free(w->pass);
	list_for_each(c, &w->candidates, struct candidate, node)
		candidate_free(c);
	candidate_free(w->owner);
	timer_free(w->timer);
	free(w->address);
	free(w->probe);
	free(w->target);
	http_fields_release(&w->fields);
	buf_release(&w->body);
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
					    "husk-mcp",
					    "husk-owner",
					    "husk-port-origin",
					    "husk-port-target",
					    "husk-scopes",
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

void forward_mark(const struct exchange *x, struct http_fields *fields)
{
	http_fields_add(fields, "Husk-Forwarded", x->caller.remote ? "remote" : "local");
	http_fields_add(fields, "Husk-Tenant", x->caller.tenant);
	if (x->caller.key)
		http_fields_add(fields, "Husk-Key", x->caller.key);
	const char *owner = x->conversation ? conversation_id(x->conversation) : NULL;
	if (owner)
		http_fields_add(fields, "Husk-Owner", owner);
	http_fields_addf(fields, "Husk-Scopes", "%u", x->caller.scopes);
	AUTO(freep) char *base = links_base(x);
	if (*base)
		http_fields_add(fields, "Husk-Base", base);
}

static void pass_field(void *ctx, struct http_fields *to, const char *name, const char *value, bool of_answer)
{
	const struct exchange *x = ctx;
	if (x->origin && !of_answer)
		port_fields_forward(to, name, value);
	else if (is_passed(name))
		http_fields_add(to, name, value);
}

const char *forward_port_origin(const struct exchange *x)
{
	return x->caller.forwarded ? exchange_field(x, "husk-port-origin") : NULL;
}

const char *forward_port_target(const struct exchange *x)
{
	return x->caller.forwarded ? exchange_field(x, "husk-port-target") : NULL;
}

/* --- the request --------------------------------------------------------------------------------------------------- */

/* The target, written anew from its decoded parts with the full id of the session instead of its name. The client's own
 * text could differ in its escapes or have an origin, so that the other server would find another route, for which the
 * key was not checked. */
static struct buf target_of(const struct exchange *x)
{
	struct buf target = { 0 };
	/* The origin of a port has the target in a field of its own. */
	const char *query = x->origin ? NULL : strchr((const char *)http_request_head(x->request)->target.data, '?');
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
	struct exchange *x = w->exchange;
	if (w->local && !pass_admit(x))
		return;
	forward_mark(x, &w->fields);
	if (x->origin) {
		http_fields_add(&w->fields, "Husk-Port-Origin", x->origin);
		http_fields_add(&w->fields, "Husk-Port-Target", exchange_target(x));
	}
	struct pass_spec spec = { .client = w->owner->client,
				  .target = w->target,
				  .fields = &w->fields,
				  .pass_field = pass_field,
				  .ctx = x,
				  .body = w->has_body ? &w->body : NULL,
				  .lost = "The server that handled this request ended meanwhile.",
				  .lost_hint =
					  "Send the request again: the session is taken over if its server is gone." };
	w->pass = pass_new(x, &spec);
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
}

static void on_probe_data(void *ctx UNUSED, const void *data UNUSED, size_t n UNUSED)
{
}

static void on_probed(void *ctx, const char *error)
{
	struct candidate *c = ctx;
	struct forward *w = c->forward;
	c->call = NULL;
	if (!error && c->status == 200 && !w->owner) {
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

/* Exactly one of path and peer is set. Takes the peer. */
static void probe(struct forward *w, const char *path, struct peer *peer)
{
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	AUTO(fail_release) struct fail invalid = { 0 };
	const struct exchange *x = w->exchange;
	struct candidate *c = new0(struct candidate);
	c->forward = w;
	c->path = path ? xstrdup(path) : NULL;
	c->peer = peer;
	list_append(&w->candidates, &c->node);
	forward_mark(x, &fields);
	c->client = peer ? peer_client(peer) :
			   http_client_new(
				   &(struct http_client_spec){ .loop = x->api->spec.loop, .dial = dial, .dial_ctx = c },
				   &invalid);
	c->call = http_call_new(c->client, &(struct http_call_spec){ .method = "GET",
								     .target = w->probe,
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
	if (w->local)
		sockets_list(x->api->spec.config, &paths);
	for (size_t i = 0; i < paths.n; i++)
		if (!own || !streq(paths.v[i], own))
			probe(w, paths.v[i], NULL);
	/* Without the store's key, the other server would not believe this one. */
	struct peer *peer = w->address ? peers_take(x->api->peers, w->address) : NULL;
	if (peer)
		probe(w, NULL, peer);
	w->timer = timer_new(x->api->spec.loop, on_timer, w);
	timer_start(w->timer, list_empty(&w->candidates) ? 0 : SEARCH_MS, 0);
}

static struct forward *forward_new(struct exchange *x, const char *address, void (*here)(struct exchange *x))
{
	struct forward *w = new0(struct forward);
	const char *own = x->api->spec.config->advertise;
	w->exchange = x;
	w->here = here;
	w->address = address && *address && !(own && streq(own, address)) ? xstrdup(address) : NULL;
	list_init(&w->candidates);
	x->data = w;
	x->closed = forward_free;
	return w;
}

static void begin(struct forward *w)
{
	if (w->address)
		links_try(w->exchange, search);
	else
		search(w->exchange);
}

void forward_begin(struct exchange *x, const char *address, void (*here)(struct exchange *x))
{
	AUTO(buf_release) struct buf target = target_of(x);
	struct forward *w = forward_new(x, address, here);
	w->local = true;
	w->probe = xasprintf(PREFIX "%s?brief=true", x->session);
	w->target = xstrdup(buf_str(&target));
	begin(w);
}

void forward_to(struct exchange *x, const struct forward_spec *spec)
{
	struct forward *w = forward_new(x, spec->address, spec->here);
	w->probe = xstrdup(spec->probe);
	w->target = xstrdup(spec->target);
	w->has_body = spec->body;
	if (spec->body)
		buf_add(&w->body, spec->body, spec->n);
	for (size_t i = 0; spec->fields && i < spec->fields->n; i++)
		http_fields_add(&w->fields, http_fields_name(spec->fields, i), http_fields_value(spec->fields, i));
	begin(w);
}
