#include "manager/deps/install-gate.h"

#include <arpa/inet.h>

#include "base/alloc.h"
#include "base/log.h"
#include "manager/deps/logins.h"
#include "manager/gate/keyring.h"
#include "manager/gate/verify.h"
#include "manager/model/networks.h"
#include "manager/model/token.h"

struct install_gate {
	struct gate *gate;
	struct keyring *keyring; /* NULL = no index has a login */
	struct secret_set *logins;
	struct strv direct, hosts;
	struct verify_load *load;
	struct timer *soon;
	char *trouble; /* of a connection that has ended */
	void (*on_ready)(void *ctx, const struct fail *f);
	void *ctx;
};

/* --- rules ------------------------------------------------------------------------------------------------------- */

/* The operator has named the host, so its address may be any. */
static void add_own(struct rules *rules, const char *entry)
{
	AUTO(fail_release) struct fail f = { 0 };
	if (rules_add(rules, entry, &f) < 0)
		log_debug("install: %s", f.message);
	else
		rules->v[rules->n - 1].own = true;
}

/* Indexes are the operator's own settings, so they need not be in the list as well. */
static void add_index(struct rules *rules, const struct strv *only, const char *url, size_t n)
{
	struct url_place place;
	char name[RULE_NAME_MAX + 1];
	if (!networks_read_url(url, n, &place) || !host_name(name, place.host, strlen(place.host)) ||
	    (only && strv_find(only, name) == SIZE_MAX))
		return;
	AUTO(freep) char *entry = xasprintf("%s:%s", name, place.port);
	add_own(rules, entry);
}

static void add_indexes(struct rules *rules, const struct strv *only, const struct strv *env)
{
	for (size_t i = 0; i < env->n; i++) {
		const char *p = strchr(env->v[i], '=');
		for (p = p ? p + 1 : ""; *p;) {
			size_t blank = strspn(p, " \t\n"), n = strcspn(p + blank, " \t\n");
			if (n)
				add_index(rules, only, p + blank, n);
			p += blank + n;
		}
	}
}

/* With a network, only the hosts of logins are led to the gate: by all their usual ports, since they are one name. */
static void choose_rules(struct rules *ret, const struct install_gate *g, const struct install_gate_spec *spec)
{
	if (spec->config->network_allow) {
		rules_copy(ret, &spec->config->network_rules);
		add_indexes(ret, NULL, spec->env);
		return;
	}
	for (size_t i = 0; i < g->direct.n; i++)
		add_own(ret, g->direct.v[i]);
	add_indexes(ret, &g->direct, spec->env);
}

/* PID 1 gives the names these addresses, in this order. */
static void choose_addresses(struct install_gate *g)
{
	for (size_t i = 0; i < g->direct.n; i++) {
		char text[INET_ADDRSTRLEN];
		struct in_addr address = { htonl(GATE_ADDRESS_FIRST + (uint32_t)i) };
		inet_ntop(AF_INET, &address, text, sizeof(text));
		strv_addf(&g->hosts, "%s:%s", g->direct.v[i], text);
	}
}

/* --- failures ---------------------------------------------------------------------------------------------------- */

static const struct gate_secret *login_of(const struct install_gate *g, const char *name, uint16_t port)
{
	return secret_set_find(g->logins, name, port);
}

/* "https://index.example:8443" */
static char *origin_of(const struct gate_secret *s)
{
	const char *host = s->hosts.v[0], *usual = s->plain ? ":80" : ":443";
	size_t n = strlen(host), m = strlen(usual);
	bool is_usual = n > m && streq(host + n - m, usual);
	return xasprintf("%s://%.*s", s->plain ? "http" : "https", (int)(is_usual ? n - m : n), host);
}

/* NULL unless the failure is that of an index. A request that the gate refuses is not: any program inside may have sent
 * it. */
static char *explain(const struct install_gate *g, const char *name, uint16_t port, enum cause cause,
		     const char *sentence)
{
	const struct gate_secret *s = login_of(g, name, port);
	if (!s || !sentence || cause == CAUSE_NONE || cause == CAUSE_STREAM_BROKE || cause == CAUSE_GATE_HTTP)
		return NULL;
	AUTO(freep) char *origin = origin_of(s);
	return xasprintf("the package index %s could not be read: %s", origin, sentence);
}

static void on_event(void *ctx, const struct gate_event *event)
{
	struct install_gate *g = ctx;
	char *trouble = explain(g, event->name, event->port, event->cause, event->sentence);
	if (!trouble)
		return;
	free(g->trouble);
	g->trouble = trouble;
}

struct search {
	const struct install_gate *gate;
	char *found;
};

static void look(void *ctx, const char *name, uint16_t port, const struct connection_outcome *so_far)
{
	struct search *s = ctx;
	if (!s->found)
		s->found = explain(s->gate, name, port, so_far->cause, so_far->sentence);
}

char *install_gate_trouble(const struct install_gate *g)
{
	for (size_t i = 0; i < g->logins->n; i++) {
		const struct gate_secret *s = &g->logins->v[i];
		if (!s->rejected)
			continue;
		AUTO(freep) char *origin = origin_of(s);
		return xasprintf("the package index %s rejects the login from the settings (HTTP %d)", origin,
				 s->rejected);
	}
	/* A connection that failed may still be open, so that its program can read why. */
	struct search search = { .gate = g };
	gate_each(g->gate, look, &search);
	return search.found ? search.found : g->trouble ? xstrdup(g->trouble) : NULL;
}

char *install_gate_take_note(struct install_gate *g)
{
	return gate_take_note(g->gate);
}

void install_gate_origins(const struct install_gate *g, struct strv *ret)
{
	for (size_t i = 0; i < g->logins->n; i++) {
		AUTO(freep) char *origin = origin_of(&g->logins->v[i]);
		if (strv_find(ret, origin) == SIZE_MAX)
			strv_add(ret, origin);
	}
}

/* --- life -------------------------------------------------------------------------------------------------------- */

static struct gate_filter *on_filter(void *ctx, const char *name, uint16_t port, struct fail *f)
{
	struct install_gate *g = ctx;
	return g->keyring ? keyring_filter(g->keyring, name, port, f) : NULL;
}

static void on_verify(void *ctx, struct tls_context *context, const struct fail *f)
{
	struct install_gate *g = ctx;
	g->load = NULL;
	if (context)
		keyring_set_upstream(g->keyring, context);
	g->on_ready(g->ctx, f);
}

static void on_soon(void *ctx)
{
	struct install_gate *g = ctx;
	g->on_ready(g->ctx, NULL);
}

/* The authority exists as long as the install. */
static int load_logins(struct install_gate *g, const struct install_gate_spec *spec, struct fail *f)
{
	char key[TOKEN_SIZE];
	token_make(key);
	g->keyring = keyring_new();
	int r = keyring_load(g->keyring, key, g->logins, /* upstream= */ NULL, f);
	explicit_bzero(key, sizeof(key));
	if (r == 0)
		g->load = verify_load_start(spec->loop, spec->config->ca_bundle, on_verify, g);
	return r;
}

static void take_names(struct install_gate *g)
{
	AUTO(strv_release) struct strv hosts = { 0 };
	logins_hosts(g->logins, &hosts);
	for (size_t i = 0; i < hosts.n; i++) {
		AUTO(freep) char *name = xstrndup(hosts.v[i], strcspn(hosts.v[i], ":"));
		if (strv_find(&g->direct, name) == SIZE_MAX)
			strv_add(&g->direct, name);
	}
}

struct install_gate *install_gate_new(const struct install_gate_spec *spec, struct fail *f)
{
	const struct config *c = spec->config;
	struct rules rules = { 0 };
	if (!c->network_allow && !spec->logins->n)
		return NULL;
	struct install_gate *g = new0(struct install_gate);
	g->on_ready = spec->on_ready;
	g->ctx = spec->ctx;
	g->logins = secret_set_ref(spec->logins);
	g->gate = gate_new(&(struct gate_spec){ .loop = spec->loop,
						.session = spec->container,
						.private_networks = &c->private_networks,
						.standing = !c->network_allow,
						.on_event = on_event,
						.ctx = g });
	gate_attach(g->gate, spec->dispatch);
	gate_set_filters(g->gate, on_filter, g);
	take_names(g);
	if (!c->network_allow)
		choose_addresses(g);
	choose_rules(&rules, g, spec);
	int r = gate_set_rules(g->gate, &rules, f);
	rules_release(&rules);
	if (r == 0 && g->logins->n)
		r = load_logins(g, spec, f);
	if (r < 0)
		return install_gate_free(g);
	if (!g->load) {
		g->soon = timer_new(spec->loop, on_soon, g);
		timer_start(g->soon, 0, 0);
	}
	return g;
}

struct install_gate *install_gate_free(struct install_gate *g)
{
	if (!g)
		return NULL;
	verify_load_cancel(g->load);
	timer_free(g->soon);
	gate_free(g->gate);
	keyring_free(g->keyring);
	secret_set_unref(g->logins);
	strv_release(&g->direct);
	strv_release(&g->hosts);
	free(g->trouble);
	free(g);
	return NULL;
}

const char *install_gate_authority(const struct install_gate *g)
{
	return g && g->keyring ? keyring_authority(g->keyring) : NULL;
}

const struct strv *install_gate_hosts(const struct install_gate *g)
{
	return &g->hosts;
}

const struct strv *install_gate_direct(const struct install_gate *g)
{
	return &g->direct;
}
