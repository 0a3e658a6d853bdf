#include "api/auth.h"

#include <strings.h>

#include "api/cookie.h"
#include "api/host.h"
#include "api/links.h"
#include "api/origins.h"
#include "api/peers.h"
#include "api/problem.h"
#include "api/route.h"
#include "base/alloc.h"
#include "base/json.h"
#include "http/problem.h"

static struct listener_tag *listener_of(const struct exchange *x)
{
	return http_request_tag(x->request);
}

/* A page of another site can make a browser send requests here (DNS rebinding), but it cannot change Host and Origin.
 * Answers with 403 and returns false if they are not ours. */
static bool check_origin(struct exchange *x, const struct listener_tag *tag)
{
	const char *host = exchange_field(x, "host"), *origin = exchange_field(x, "origin");
	if (!host || !listener_accepts(tag, host)) {
		exchange_problem(x, 403, "The Host of the request is not an address of this server.",
				 "Use the address that `husk serve` prints, or name this host with --allow-host.");
		return false;
	}
	if (!origin)
		return true;
	const char *own = strstr(origin, "://");
	if (own && strcasecmp(own + 3, host) == 0)
		return true;
	exchange_problem(x, 403, "Requests from pages of other origins are refused.",
			 "Send the request from a program, or from a page of this address.");
	return false;
}

static void refuse(struct exchange *x, const char *cause, const char *detail)
{
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	AUTO(buf_release) struct buf text = { 0 };
	json_auto_t *problem = http_problem(
		401, cause, detail, "Send the header Authorization: Bearer KEY; `husk keys add NAME` makes a key.");
	http_fields_add(&fields, "WWW-Authenticate", "Bearer realm=\"husk\"");
	json_print(&text, problem);
	exchange_reply_text(x, 401, &fields, "application/problem+json", text.data, text.len);
}

static void accept_key(struct exchange *x, const struct key_info *key)
{
	x->caller.tenant = xstrdup(key->tenant);
	x->caller.key = xstrdup(key->id);
	x->caller.conversation = key->conversation ? xstrdup(key->conversation) : NULL;
	x->caller.scopes = key->scopes;
	x->caller.max_streams = key->max_streams;
}

/* Accepts the key and continues, unless its tenant has too many connections already. The tenant `local` belongs to the
 * operator and may use all of them. Another one uses at most half, so that it alone cannot lock the others out. */
static void admit(struct exchange *x, const struct key_info *key, void (*next)(struct exchange *x))
{
	unsigned most = (unsigned)MAX(x->api->spec.config->serve_max_connections / 2, (uint64_t)1);
	accept_key(x, key);
	if (streq(key->tenant, TENANT_LOCAL) || http_request_claim(x->request, key->tenant, most)) {
		next(x);
		return;
	}
	AUTO(fail_release) struct fail f = { 0 };
	cause_set(&f, FAIL_LIMIT, CAUSE_LIMIT_TENANT, "This tenant has %u requests in progress, the maximum.", most);
	fail_hint(&f, "Wait for one of them to end.");
	exchange_fail(x, &f);
}

static void on_checked(void *ctx, const struct key_info *key, const struct fail *f)
{
	struct exchange *x = ctx;
	if (!exchange_resume(x, f))
		return;
	if (key)
		admit(x, key, x->next);
	else
		refuse(x, "bad_key", "The key is not valid.");
}

/* The key of the request; NULL = it has none. */
static const char *key_of(const struct exchange *x)
{
	const char *value = exchange_field(x, "authorization");
	if (!value || strncasecmp(value, "bearer ", 7) != 0)
		return NULL;
	value += 7;
	return value + strspn(value, " ");
}

char *auth_key_text(const struct exchange *x)
{
	const char *text = key_of(x);
	return text ? xstrdup(text) : cookie_key(x);
}

static void check_text(struct exchange *x, const char *text, void (*next)(struct exchange *x))
{
	AUTO(fail_release) struct fail f = { 0 };
	struct manager *m = x->api->spec.manager;
	const struct key_info *known = manager_known_key(m, text);
	if (known) {
		admit(x, known, next);
		return;
	}
	x->next = next;
	exchange_await(x,
		       manager_check_key(m, &(struct check_key_request){ .key = text, .on_done = on_checked, .ctx = x },
					 &f),
		       &f);
}

static void check_key(struct exchange *x, void (*next)(struct exchange *x))
{
	AUTO(freep) char *text = auth_key_text(x);
	const char *sent = exchange_field(x, "authorization");
	if (text && !key_of(x) && !cookie_check(x))
		return;
	if (text)
		check_text(x, text, next);
	else if (sent && *sent)
		refuse(x, "no_key", "The header Authorization is not of the form 'Bearer KEY'.");
	else
		refuse(x, "no_key", "This request needs a key.");
}

void auth_check(struct exchange *x, void (*next)(struct exchange *x))
{
	const struct listener_tag *tag = listener_of(x);
	if (tag->local) {
		const char *forwarded = exchange_field(x, "husk-forwarded"),
			   *tenant = forwarded ? exchange_field(x, "husk-tenant") : NULL,
			   *key = forwarded ? exchange_field(x, "husk-key") : NULL;
		x->caller = (struct caller){ .tenant = xstrdup(tenant ? tenant : TENANT_LOCAL),
					     .key = key ? xstrdup(key) : NULL,
					     .scopes = SCOPES_ALL,
					     .forwarded = forwarded != NULL,
					     .remote = forwarded && streq(forwarded, "remote") };
		next(x);
		return;
	}
	x->caller.remote = true;
	if (http_request_is_peer(x->request)) {
		if (peers_accept(x))
			next(x);
		return;
	}
	if (x->origin) {
		const char *key = origins_enter(x);
		if (key)
			check_text(x, key, next);
		return;
	}
	if (!check_origin(x, tag))
		return;
	if (x->route->flags & ROUTE_OPEN)
		next(x);
	else if ((x->route->flags & ROUTE_LINK) && http_target_parameter(&x->target, "signature"))
		links_check(x, next);
	else
		check_key(x, next);
}

bool auth_allows(struct exchange *x)
{
	if ((x->route->flags & ROUTE_OPEN) || scopes_allow(x->caller.scopes, x->route->scope))
		return true;
	AUTO(freep) char *detail = xasprintf("This key lacks the scope '%s'.", scope_name(x->route->scope));
	exchange_problem(x, 403, detail, "`husk keys add NAME --scope …` makes a key with other scopes.");
	return false;
}
