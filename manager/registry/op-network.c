/* Shows and changes what the gate of a session lets through. */
#include "base/alloc.h"
#include "base/parse.h"
#include "manager/gate/gate.h"
#include "manager/registry/claims.h"
#include "manager/registry/op.h"
#include "manager/registry/session-entry.h"

struct network_op {
	struct op op;
	struct network_request request;
	struct strv allow, deny;
	char *check;
	struct store_job *job;
	struct timer *soon; /* the answer never comes from inside the start */
};

static struct network_op *network_op_of(struct op *op)
{
	return container_of(op, struct network_op, op);
}

/* --- the answer -------------------------------------------------------------------------------------------------- */

struct listing {
	struct network_connection v[GATE_CONNECTIONS_MAX];
	size_t n;
};

static void add_connection(void *ctx, const char *name, uint16_t port, const struct connection_outcome *so_far)
{
	struct listing *l = ctx;
	if (l->n < ARRAY_LEN(l->v))
		l->v[l->n++] = (struct network_connection){ .name = name,
							    .port = port,
							    .up = so_far->up,
							    .down = so_far->down,
							    .age_ms = so_far->duration_ms,
							    .secret = so_far->secret };
}

/* "name" means port 443. */
static char *check_name(const struct rules *rules, const char *text, struct network_info *info)
{
	char name[RULE_NAME_MAX + 1];
	uint64_t port = 443;
	const char *colon = strrchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : strlen(text);
	if ((colon && (parse_u64(colon + 1, &port) < 0 || port > UINT16_MAX)) || !host_name(name, text, n))
		return NULL;
	const struct rule *rule = rules_deciding(rules, name, (uint16_t)port);
	info->allowed = rule && !rule->deny;
	return rule ? rule_text(rule) : NULL;
}

static void answer(void *ctx)
{
	struct network_op *o = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	/* The session may have ended meanwhile. */
	if (session_entry_check(o->op.entry, &f) < 0) {
		op_fail(&o->op, &f);
		return;
	}
	const struct session_entry *entry = o->op.entry;
	const struct rules *rules = gate_rules(entry->gate);
	const struct denials *denials = gate_denials(entry->gate);
	struct listing listing = { 0 };
	struct network_denial list[DENIALS_MAX];
	struct network_info info = { .open = session_network(entry->session), .rules = entry->rules };
	gate_each(entry->gate, add_connection, &listing);
	for (size_t i = 0; i < denials->n; i++)
		list[i] = (struct network_denial){ denials->v[i].name, denials->v[i].port, denials->v[i].cause,
						   denials->v[i].count };
	info.connections = listing.v;
	info.n_connections = listing.n;
	info.denials = list;
	info.n_denials = denials->n;
	AUTO(freep) char *decides = o->check && rules ? check_name(rules, o->check, &info) : NULL;
	info.decides = decides;
	o->request.on_done(o->request.ctx, &info, NULL);
	op_end(&o->op);
}

/* --- changes ----------------------------------------------------------------------------------------------------- */

static int change(struct network_op *o, struct fail *f)
{
	struct session_entry *entry = o->op.entry;
	struct rules rules = { 0 };
	const struct rules *now = gate_rules(entry->gate);
	int r = 0;
	if (session_network(entry->session))
		return fail_set(f, FAIL_INVALID, "this session has a network of its own, which no rules narrow");
	if (now)
		rules_copy(&rules, now);
	for (size_t i = 0; r == 0 && i < o->allow.n; i++)
		r = rules_allow(&rules, o->allow.v[i], f);
	for (size_t i = 0; r == 0 && i < o->deny.n; i++)
		r = rules_deny(&rules, o->deny.v[i], f);
	if (r == 0)
		r = gate_set_rules(entry->gate, &rules, f);
	if (r == 0) {
		free(entry->rules);
		entry->rules = rules_to_text(&rules);
	}
	rules_release(&rules);
	return r;
}

static void on_recorded(void *ctx, const struct fail *f)
{
	struct network_op *o = ctx;
	o->job = NULL;
	if (f)
		op_fail(&o->op, f);
	else
		answer(o);
}

static int start(struct op *op, struct fail *f)
{
	struct network_op *o = network_op_of(op);
	if (!o->allow.n && !o->deny.n) {
		o->soon = timer_new(op->registry->loop, answer, o);
		timer_start(o->soon, 0, 0);
		return 0;
	}
	if (change(o, f) < 0)
		return -1;
	o->job = claim_rules(op->entry, on_recorded, o);
	return 0;
}

static void answer_fail(struct op *op, const struct fail *f)
{
	struct network_op *o = network_op_of(op);
	o->request.on_done(o->request.ctx, NULL, f);
}

static void network_op_free(struct op *op)
{
	struct network_op *o = network_op_of(op);
	store_cancel(o->job);
	timer_free(o->soon);
	strv_release(&o->allow);
	strv_release(&o->deny);
	free(o->check);
	free(o);
}

struct op *manager_network(struct conversation *c, const struct network_request *req, struct fail *f)
{
	static const struct op_type type = { .start = start, .fail = answer_fail, .free = network_op_free };
	struct network_op *o = new0(struct network_op);
	op_init(&o->op, c->registry, c, &type);
	o->request = *req;
	for (size_t i = 0; req->allow && i < req->allow->n; i++)
		strv_add(&o->allow, req->allow->v[i]);
	for (size_t i = 0; req->deny && i < req->deny->n; i++)
		strv_add(&o->deny, req->deny->v[i]);
	o->check = req->check ? xstrdup(req->check) : NULL;
	o->request.session_id = o->request.check = NULL;
	o->request.allow = o->request.deny = NULL;
	return op_begin(&o->op, req->session_id, f);
}
