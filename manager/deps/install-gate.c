#include "manager/deps/install-gate.h"

#include "base/alloc.h"
#include "base/log.h"
#include "manager/model/networks.h"

/* Indexes are the operator's own settings, so they need not be in the list as well. Local addresses of the relay are not
 * names. */
static void add_index(struct rules *rules, const char *url, size_t n)
{
	struct url_place place;
	char name[RULE_NAME_MAX + 1];
	AUTO(fail_release) struct fail f = { 0 };
	if (!networks_read_url(url, n, &place) || !host_name(name, place.host, strlen(place.host)))
		return;
	AUTO(freep) char *entry = xasprintf("%s:%s", name, place.port);
	if (rules_add(rules, entry, &f) < 0)
		log_debug("install: %s", f.message);
}

static void add_indexes(struct rules *rules, const struct strv *env)
{
	for (size_t i = 0; i < env->n; i++) {
		const char *p = strchr(env->v[i], '=');
		for (p = p ? p + 1 : ""; *p;) {
			size_t blank = strspn(p, " \t\n"), n = strcspn(p + blank, " \t\n");
			if (n)
				add_index(rules, p + blank, n);
			p += blank + n;
		}
	}
}

struct gate *install_gate(struct loop *loop, const struct config *config, const char *container, struct dispatch *d,
			  const struct strv *env)
{
	struct rules rules = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	if (!config->network_allow)
		return NULL;
	struct gate *g = gate_new(&(struct gate_spec){
		.loop = loop, .session = container, .private_networks = &config->private_networks });
	gate_attach(g, d);
	rules_copy(&rules, &config->network_rules);
	add_indexes(&rules, env);
	if (gate_set_rules(g, &rules, &f) < 0)
		log_warning("an install has no gate: %s", f.message);
	rules_release(&rules);
	return g;
}
