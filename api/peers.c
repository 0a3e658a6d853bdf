#include "api/peers.h"

#include "api/host.h"
#include "base/alloc.h"
#include "base/log.h"
#include "base/parse.h"
#include "http/client.h"
#include "http/server.h"

/* If more servers are known, those that were used least recently are forgotten. */
#define KNOWN_MAX 64
#define RETRY_MS 1000
#define CONNECT_MS 3000

struct peer {
	struct list node;
	char *address;
	struct http_client *client;
	unsigned users;
};

struct peers {
	struct api *api;
	struct tls_context *tls;      /* NULL = the key is not loaded yet */
	struct tls_context *listener; /* the certificate of the listener; NULL = plain */
	struct list known;	      /* of struct peer, the least recently used first */
	size_t n_known;
	struct op *op; /* loads the key */
	struct timer *retry;
};

/* --- the secret ---------------------------------------------------------------------------------------------------- */

/* The store's key must be loaded. */
static void use_key(struct peers *p)
{
	AUTO(fail_release) struct fail f = { 0 };
	char secret[MANAGER_SIGNATURE_SIZE];
	if (p->tls)
		return;
	manager_sign(p->api->spec.manager, "the secret of servers that share this store", secret);
	p->tls = tls_context_shared(secret, &f);
	if (!p->tls)
		log_error("other servers cannot be reached: %s", f.message);
	else if (p->api->spec.config->advertise)
		http_server_accept_peers(p->api->server, p->tls);
	if (p->tls && p->listener)
		tls_context_add_shared(p->listener, secret);
	explicit_bzero(secret, sizeof(secret));
}

static void on_key(void *ctx, const struct fail *f)
{
	struct peers *p = ctx;
	p->op = NULL;
	if (!f) {
		use_key(p);
		return;
	}
	log_warning("requests of other servers are not accepted yet: %s", f->message);
	timer_start(p->retry, RETRY_MS, 0);
}

static void load_key(void *ctx)
{
	struct peers *p = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	if (p->api->closing)
		return;
	p->op = manager_prepare_signing(p->api->spec.manager, &(struct signing_request){ .on_done = on_key, .ctx = p },
					&f);
	if (!p->op)
		timer_start(p->retry, RETRY_MS, 0);
}

/* --- clients ------------------------------------------------------------------------------------------------------- */

static void peer_free(struct peers *p, struct peer *peer)
{
	list_remove(&peer->node);
	p->n_known--;
	http_client_free(peer->client);
	free(peer->address);
	free(peer);
}

static struct peer *peer_find(struct peers *p, const char *address)
{
	list_for_each(peer, &p->known, struct peer, node)
		if (streq(peer->address, address))
			return peer;
	return NULL;
}

static struct peer *peer_new(struct peers *p, const char *address)
{
	AUTO(fail_release) struct fail invalid = { 0 };
	struct http_client *client = http_client_new(&(struct http_client_spec){ .loop = p->api->spec.loop,
										 .address = address,
										 .host = address,
										 .tls = p->tls,
										 .connect_ms = CONNECT_MS },
						     &invalid);
	if (!client)
		return NULL;
	struct peer *peer = new0(struct peer);
	peer->client = client;
	peer->address = xstrdup(address);
	p->n_known++;
	return peer;
}

static void forget_old(struct peers *p)
{
	list_for_each(peer, &p->known, struct peer, node)
		if (p->n_known > KNOWN_MAX && !peer->users)
			peer_free(p, peer);
}

struct peer *peers_take(struct peers *p, const char *address)
{
	if (manager_can_sign(p->api->spec.manager))
		use_key(p);
	if (!p->tls)
		return NULL;
	struct peer *peer = peer_find(p, address);
	if (peer)
		list_remove(&peer->node);
	else
		peer = peer_new(p, address);
	if (!peer)
		return NULL;
	list_append(&p->known, &peer->node);
	peer->users++;
	forget_old(p);
	return peer;
}

struct peer *peers_put(struct peers *p, struct peer *peer)
{
	if (!peer)
		return NULL;
	peer->users--;
	forget_old(p);
	return NULL;
}

struct http_client *peer_client(const struct peer *peer)
{
	return peer->client;
}

/* --- requests of peers --------------------------------------------------------------------------------------------- */

bool peers_accept(struct exchange *x)
{
	const char *tenant = exchange_field(x, "husk-tenant"), *key = exchange_field(x, "husk-key");
	const char *owner = exchange_field(x, "husk-owner"), *scopes = exchange_field(x, "husk-scopes");
	uint64_t bits = SCOPES_ALL;
	if (!tenant || !exchange_field(x, "husk-forwarded") || (scopes && parse_u64(scopes, &bits) < 0)) {
		exchange_problem(x, 400, "The other server does not say for whom it asks.",
				 "Run the same version of Husk on all servers.");
		return false;
	}
	x->caller = (struct caller){ .tenant = xstrdup(tenant),
				     .key = key ? xstrdup(key) : NULL,
				     .conversation = owner ? xstrdup(owner) : NULL,
				     .scopes = (unsigned)bits & SCOPES_ALL,
				     .forwarded = true,
				     .remote = true };
	return true;
}

/* --- life ---------------------------------------------------------------------------------------------------------- */

struct peers *peers_new(struct api *api)
{
	struct peers *p = new0(struct peers);
	p->api = api;
	list_init(&p->known);
	p->retry = timer_new(api->spec.loop, load_key, p);
	if (api->spec.for_all && api->spec.config->advertise)
		timer_start(p->retry, 0, 0);
	return p;
}

void peers_accept_on(struct peers *p, struct tls_context *tls)
{
	p->listener = tls;
}

void peers_stop(struct peers *p)
{
	timer_stop(p->retry);
	if (p->op)
		op_cancel(p->op);
	p->op = NULL;
}

struct peers *peers_free(struct peers *p)
{
	if (!p)
		return NULL;
	list_for_each(peer, &p->known, struct peer, node)
		peer_free(p, peer);
	timer_free(p->retry);
	tls_context_free(p->tls);
	free(p);
	return NULL;
}
