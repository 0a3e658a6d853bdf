#include "manager/registry/create-network.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "manager/gate/denials.h"

/* Entries that a note names. */
#define NAMED_MAX 10

void create_network_release(struct create_network *n)
{
	free(n->rules);
	free(n->note);
	*n = (struct create_network){ 0 };
}

static int switched_off(struct fail *f)
{
	cause_set(f, FAIL_INVALID, CAUSE_NETWORK_OFF,
		  "the network is switched off for all sessions (CONTAINER_NETWORK_ENABLED=false)");
	return fail_hint(f, "Only the person who runs Husk can switch it on, in its settings. Continue without it.");
}

/* Addresses are the operator's to give: a name that leads to the host's own network is not a caller's choice. */
static int read_list(struct rules *wanted, const struct strv *allow, struct fail *f)
{
	if (allow->n > CREATE_ALLOW_MAX)
		return fail_set(f, FAIL_INVALID, "network: at most %d hosts", CREATE_ALLOW_MAX);
	for (size_t i = 0; i < allow->n; i++) {
		if (strchr(allow->v[i], '=')) {
			fail_set(f, FAIL_INVALID, "network: '%.*s' gives an address a name", RULE_TEXT_MAX,
				 allow->v[i]);
			return fail_hint(
				f, "Only the operator can do that, in CONTAINER_NETWORK_ALLOW; list the name alone.");
		}
		if (rules_add(wanted, allow->v[i], f) < 0)
			return fail_wrap(f, "network");
	}
	return 0;
}

static char *left_out_note(const struct strv *left_out, const struct rules *rules)
{
	struct buf note = { 0 };
	if (!left_out->n)
		return NULL;
	buf_add_str(&note, "Not in the operator's list (CONTAINER_NETWORK_ALLOW), so not reached: ");
	for (size_t i = 0; i < left_out->n && i < NAMED_MAX; i++)
		buf_printf(&note, "%s%s", i ? ", " : "", left_out->v[i]);
	if (left_out->n > NAMED_MAX)
		buf_printf(&note, " and %zu more", left_out->n - NAMED_MAX);
	buf_add_str(&note, ". Only the person who runs Husk can add hosts. The session reaches ");
	denials_put_reach(&note, rules);
	buf_add_str(&note, ".");
	return buf_steal_str(&note);
}

/* The rules from `first` on are narrowed to what the operator allows. */
static int choose_more(struct create_network *ret, const struct config *c, const struct rules *wanted, size_t first,
		       struct fail *f)
{
	struct rules rules = { 0 };
	struct rules granted = { .v = wanted->v, .n = first };
	struct rules asked = { .v = wanted->v + first, .n = wanted->n - first };
	AUTO(strv_release) struct strv left_out = { 0 };
	int r = 0;
	rules_copy(&rules, c->network_allow ? &granted : wanted);
	if (c->network_allow)
		r = rules_narrow(&rules, &c->network_rules, &asked, &left_out, f);
	if (r == 0) {
		ret->rules = rules_to_text(&rules);
		ret->note = left_out_note(&left_out, &rules);
	}
	rules_release(&rules);
	return r;
}

int create_network_add(struct create_network *n, const struct config *c, const struct strv *hosts, struct fail *f)
{
	struct rules wanted = { 0 };
	struct create_network both = { 0 };
	if (!c->network_enabled)
		return switched_off(f);
	int r = n->rules ? rules_from_text(&wanted, n->rules, f) : 0;
	/* Earlier rules stay, with the addresses of endpoints. */
	size_t before = wanted.n;
	for (size_t i = 0; r == 0 && i < hosts->n; i++)
		r = rules_add(&wanted, hosts->v[i], f);
	if (r == 0)
		r = choose_more(&both, c, &wanted, before, f);
	rules_release(&wanted);
	if (r < 0)
		return -1;
	free(n->rules);
	n->rules = take_ptr(both.rules);
	if (!n->note)
		n->note = take_ptr(both.note);
	create_network_release(&both);
	return 0;
}

int create_network_choose(struct create_network *ret, const struct config *c, const struct create_request *req,
			  struct fail *f)
{
	struct rules wanted = { 0 };
	if (!req->network && !req->allow)
		return 0;
	if (!c->network_enabled)
		return switched_off(f);
	/* With secrets, the session reaches their hosts, which are added later, through its gate alone. */
	if (!req->allow && !c->network_allow) {
		ret->container = !req->secrets.n;
		return 0;
	}
	if (!req->allow) {
		ret->rules = rules_to_text(&c->network_rules);
		return 0;
	}
	int r = read_list(&wanted, req->allow, f);
	if (r == 0)
		r = choose_more(ret, c, &wanted, 0, f);
	rules_release(&wanted);
	return r;
}
