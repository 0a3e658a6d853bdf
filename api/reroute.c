#include "api/reroute.h"

#include "api/conversations.h"
#include "api/forward.h"
#include "api/host.h"
#include "api/peers.h"
#include "api/seal.h"
#include "base/alloc.h"
#include "base/parse.h"
#include "http/client.h"

/* The field that says why a request was passed on: "home", or "call" and a number. */
#define FIELD "Husk-Mcp"
#define FIELD_LOWER "husk-mcp"
#define HOME "home"
#define CALL "call "

struct reroute {
	struct reroute_spec spec; /* without what is borrowed */
	struct buf body;
};

static void count(void *ctx, const struct http_request *r, int status)
{
	api_count_answer(ctx, REROUTE_PATH, http_request_head(r)->method, status);
}

void reroute_count(struct api *api, struct http_request *r)
{
	http_request_on_answer(r, count, api);
}

/* --- calls for a session of another server ------------------------------------------------------------------------- */

/* The exchange is over. */
static void leave(struct exchange *x)
{
	struct reroute *t = take_ptr(x->reroute);
	if (!t)
		return;
	t->spec.gone(t->spec.ctx);
	buf_release(&t->body);
	free(t);
}

static bool keep(struct exchange *x UNUSED, int status UNUSED, const struct http_fields *fields UNUSED,
		 const void *body UNUSED, size_t n UNUSED)
{
	return false;
}

static const struct answer_keeper keeper = { keep, leave };

static void give_back(struct exchange *x)
{
	struct reroute *t = take_ptr(x->reroute);
	struct reroute_spec spec = t->spec;
	struct http_request *r = take_ptr(x->request);
	http_request_on_closed(r, NULL, NULL);
	reroute_count(x->api, r);
	exchange_end(x);
	buf_release(&t->body);
	free(t);
	spec.here(spec.ctx);
}

static void pass_on(struct exchange *x, const char *probe, const char *address, uint64_t number)
{
	const struct reroute *t = x->reroute;
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	http_fields_addf(&fields, FIELD, CALL "%llu", (unsigned long long)number);
	forward_to(x, &(struct forward_spec){ .address = address,
					      .probe = probe,
					      .target = REROUTE_PATH,
					      .fields = &fields,
					      .body = t->body.data,
					      .n = t->body.len,
					      .here = give_back });
}

static void pass_to_owner(struct exchange *x, const char *id, const char *address)
{
	const struct reroute *t = x->reroute;
	AUTO(freep) char *probe = xasprintf("/v1/sessions/%s?brief=true", id);
	pass_on(x, probe, address, t->spec.passed(t->spec.ctx, address));
}

static void on_row(void *ctx, const struct history *history, const struct fail *f)
{
	struct exchange *x = ctx;
	const char *own = x->api->spec.config->advertise;
	x->op = NULL;
	bool known = !f && history->known && history->conversation && history->owner_address &&
		     streq(history->conversation, conversation_id(x->conversation));
	if (!known || !*history->owner_address || (own && streq(own, history->owner_address)))
		give_back(x);
	else
		pass_to_owner(x, history->id, history->owner_address);
}

static bool look_up(struct exchange *x, const char *session)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct history_request request = { .session_id = session, .limit = 1, .on_done = on_row, .ctx = x };
	x->op = manager_history(x->api->spec.manager, &request, &f);
	return x->op;
}

static void on_task(void *ctx, const char *session)
{
	struct exchange *x = ctx;
	struct session_place place;
	x->op = NULL;
	if (!session || manager_find_session(x->conversation, session, &place) || !look_up(x, session))
		give_back(x);
}

static bool look_up_task(struct exchange *x, const char *task)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct task_session_request request = { .task = task, .on_done = on_task, .ctx = x };
	x->op = manager_task_session(x->conversation, &request, &f);
	return x->op;
}

/* An exchange for a request that MCP has taken from its own exchange. */
static struct exchange *exchange_for(struct api *api, const struct reroute_spec *spec, struct http_request *r)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct conversation *c = conversations_get(api->conversations, conversation_id(spec->conversation), &f);
	if (!c)
		return NULL;
	struct exchange *x = exchange_new(api, r);
	http_request_on_answer(r, NULL, NULL);
	x->path = REROUTE_PATH;
	x->conversation = c;
	x->caller = (struct caller){ .tenant = tenant_of(conversation_id(c)),
				     .key = *spec->key ? xstrdup(spec->key) : NULL,
				     .scopes = spec->scopes,
				     .remote = true };
	return x;
}

bool reroute_begin(struct api *api, const struct reroute_spec *spec)
{
	struct session_place place;
	if (!conversation_id(spec->conversation) || !manager_can_sign(api->spec.manager) ||
	    (spec->session && manager_find_session(spec->conversation, spec->session, &place)))
		return false;
	/* A search by name covers all conversations, so it is only for the tenant `local` (lookup.c). */
	AUTO(freep) char *tenant = tenant_of(conversation_id(spec->conversation));
	if (spec->session && !streq(tenant, TENANT_LOCAL) && strlen(spec->session) != SESSION_ID_CHARS)
		return false;
	struct exchange *x = exchange_for(api, spec, spec->request);
	if (!x)
		return false;
	struct reroute *t = new0(struct reroute);
	t->spec = *spec;
	buf_add(&t->body, spec->body, spec->n);
	x->reroute = t;
	x->keeper = &keeper;
	if (spec->address) {
		pass_on(x, "/v1/me", spec->address, spec->number);
		return true;
	}
	if (spec->session ? look_up(x, spec->session) : look_up_task(x, spec->task))
		return true;
	x->reroute = NULL;
	x->keeper = NULL;
	x->request = NULL;
	reroute_count(api, spec->request);
	exchange_end(x);
	buf_release(&t->body);
	free(t);
	return false;
}

/* --- messages that are not answered -------------------------------------------------------------------------------- */

/* A copy on its way. */
struct copy {
	struct list node;
	struct api *api;
	struct peer *peer;
	struct http_call *call;
};

static void copy_free(struct copy *c)
{
	list_remove(&c->node);
	http_call_free(c->call);
	peers_put(c->api->peers, c->peer);
	free(c);
}

void reroutes_drop(struct api *api)
{
	list_for_each(c, &api->copies, struct copy, node)
		copy_free(c);
}

static void on_copy_head(void *ctx UNUSED, const struct http_head *head UNUSED)
{
}

static void on_copy_data(void *ctx UNUSED, const void *data UNUSED, size_t n UNUSED)
{
}

static void on_copied(void *ctx, const char *error UNUSED)
{
	struct copy *c = ctx;
	c->call = NULL;
	copy_free(c);
}

/* Tells the other server about the message, besides its body. */
static void add_fields(struct http_fields *fields, const struct http_request *r, uint64_t number)
{
	static const char *const names[] = { "Accept", "Mcp-Session-Id", "MCP-Protocol-Version" };
	static const char *const lower[] = { "accept", "mcp-session-id", "mcp-protocol-version" };
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *value = http_fields_get(&http_request_head(r)->fields, lower[i]);
		if (value)
			http_fields_add(fields, names[i], value);
	}
	http_fields_add(fields, "Content-Type", "application/json");
	http_fields_addf(fields, FIELD, CALL "%llu", (unsigned long long)number);
}

void reroute_copy(struct api *api, const struct reroute_spec *spec, const char *address, uint64_t number)
{
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	struct peer *peer = peers_take(api->peers, address);
	if (!peer)
		return;
	AUTO(freep) char *tenant = tenant_of(conversation_id(spec->conversation));
	struct exchange who = { .api = api,
				.request = spec->request,
				.conversation = spec->conversation,
				.caller = { .tenant = tenant,
					    .key = *spec->key ? (char *)spec->key : NULL,
					    .scopes = spec->scopes,
					    .remote = true } };
	struct copy *c = new0(struct copy);
	c->api = api;
	c->peer = peer;
	list_append(&api->copies, &c->node);
	forward_mark(&who, &fields);
	add_fields(&fields, spec->request, number);
	c->call = http_call_new(peer_client(peer), &(struct http_call_spec){ .method = "POST",
									     .target = REROUTE_PATH,
									     .fields = &fields,
									     .body = spec->body,
									     .n = spec->n,
									     .on_head = on_copy_head,
									     .on_data = on_copy_data,
									     .on_end = on_copied,
									     .ctx = c });
}

/* --- legacy sessions of another server ----------------------------------------------------------------------------- */

/* The address is believed only if MCP can open the seal: a request with another one is answered by this server. */
void reroute_home(struct exchange *x, void (*here)(struct exchange *x))
{
	const char *id = exchange_field(x, "mcp-session-id"), *sealed = id ? strchr(id, '.') : NULL;
	AUTO(freep) char *address = sealed ? seal_address(sealed + 1) : NULL;
	AUTO(freep) char *context = seal_context(x->conversation, x->caller.key ? x->caller.key : "");
	AUTO(freep) char *text = address ? seal_open(x->api, sealed + 1, context) : NULL;
	const char *own = x->api->spec.config->advertise;
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	if (!text || x->caller.forwarded || (own && streq(own, address))) {
		here(x);
		return;
	}
	http_fields_add(&fields, FIELD, HOME);
	forward_to(x, &(struct forward_spec){ .address = address,
					      .probe = "/v1/me",
					      .target = REROUTE_PATH,
					      .fields = &fields,
					      .here = here });
}

bool reroute_is_final(const struct exchange *x)
{
	const char *value = x->caller.forwarded ? exchange_field(x, FIELD_LOWER) : NULL;
	return value && strncmp(value, CALL, strlen(CALL)) == 0;
}

uint64_t reroute_number(const struct exchange *x)
{
	uint64_t number;
	bool given = reroute_is_final(x) && parse_u64(exchange_field(x, FIELD_LOWER) + strlen(CALL), &number) == 0;
	return given ? number : 0;
}
