#include "manager/gate/gate.h"

#include "base/alloc.h"
#include "base/list.h"
#include "manager/gate/checks.h"
#include "manager/line/line-gate.h"

struct gate {
	struct gate_spec spec; /* do not read its strings */
	char *session;
	struct line_gate line;
	struct dispatch *dispatch;
	struct rules rules;
	bool has_rules;
	struct gate_filter *(*make)(void *ctx, const char *name, uint16_t port, struct fail *f);
	void *make_ctx;
	struct list open; /* of struct open */
	size_t n_open;
	struct denials all, untold;
};

struct open {
	struct list node;
	struct gate *gate;
	struct connection *connection;
};

/* --- the record -------------------------------------------------------------------------------------------------- */

/* The session's own doing is not a failure of the connection. */
static bool is_failure(enum cause cause)
{
	return cause != CAUSE_NONE && cause != CAUSE_STREAM_BROKE;
}

static void note(struct gate *g, const struct gate_event *event)
{
	if (is_failure(event->cause)) {
		denials_add(&g->all, event->name, event->port, event->cause, event->count);
		denials_add(&g->untold, event->name, event->port, event->cause, event->count);
	}
	if (g->spec.on_event)
		g->spec.on_event(g->spec.ctx, event);
}

static enum cause cause_for(enum wire_refusal why)
{
	return why == WIRE_REFUSAL_LIMIT ? CAUSE_GATE_LIMIT : CAUSE_GATE_DENIED;
}

static void on_denied(struct line_gate *line, const char *name, uint16_t port, enum wire_refusal why, uint64_t count)
{
	struct gate *g = container_of(line, struct gate, line);
	note(g, &(struct gate_event){ .name = name, .port = port, .cause = cause_for(why), .count = count });
}

/* --- connections ------------------------------------------------------------------------------------------------- */

static void on_over(void *ctx, struct connection *c, const struct connection_outcome *outcome)
{
	struct open *o = ctx;
	struct gate *g = o->gate;
	note(g, &(struct gate_event){ .name = connection_name(c),
				      .port = connection_port(c),
				      .cause = outcome->cause,
				      .sentence = outcome->sentence,
				      .count = 1,
				      .up = outcome->up,
				      .down = outcome->down,
				      .duration_ms = outcome->duration_ms,
				      .secret = outcome->secret });
	list_remove(&o->node);
	g->n_open--;
	connection_free(c);
	free(o);
}

static void refuse(struct gate *g, struct line_stream *s, const char *name, uint16_t port, const struct fail *f)
{
	line_stream_refuse(s, connection_refusal(cause_of(f)));
	line_gate_free(s);
	note(g, &(struct gate_event){
			.name = name, .port = port, .cause = cause_of(f), .sentence = f->message, .count = 1 });
}

/* The checks that the rules demand. 0, or -1 with f. */
static int choose_filter(struct gate *g, const struct rule *rule, const char *name, uint16_t port,
			 struct gate_filter **ret, struct fail *f)
{
	*ret = g->make ? g->make(g->make_ctx, name, port, f) : NULL;
	if (f->kind)
		return -1;
	if (!*ret)
		*ret = checks_new(rule, name, port);
	return 0;
}

static void on_open(struct line_gate *line, struct line_stream *s, const char *name, uint16_t port)
{
	struct gate *g = container_of(line, struct gate, line);
	AUTO(fail_release) struct fail f = { 0 };
	const struct rule *rule = g->has_rules ? rules_find(&g->rules, name, port) : NULL;
	struct gate_filter *filter = NULL;
	if (!rule)
		cause_set(&f, FAIL_INVALID, CAUSE_GATE_DENIED, "no rule allows %s:%u", name, port);
	else if (g->n_open >= GATE_CONNECTIONS_MAX)
		cause_set(&f, FAIL_LIMIT, CAUSE_GATE_LIMIT, "%u connections are open", GATE_CONNECTIONS_MAX);
	if (f.kind || choose_filter(g, rule, name, port, &filter, &f) < 0) {
		refuse(g, s, name, port, &f);
		return;
	}
	struct open *o = new0(struct open);
	o->gate = g;
	o->connection = connection_new(&(struct connection_spec){ .loop = g->spec.loop,
								  .session = g->session,
								  .name = name,
								  .port = port,
								  .address = rule->address,
								  .any_address = rule->own,
								  .private_networks = g->spec.private_networks,
								  .filter = filter,
								  .stream = s,
								  .on_over = on_over,
								  .ctx = o });
	list_append(&g->open, &o->node);
	g->n_open++;
}

void gate_each(const struct gate *g,
	       void (*fn)(void *ctx, const char *name, uint16_t port, const struct connection_outcome *so_far),
	       void *ctx)
{
	list_for_each(o, (struct list *)&g->open, struct open, node) {
		struct connection_outcome so_far = connection_so_far(o->connection);
		fn(ctx, connection_name(o->connection), connection_port(o->connection), &so_far);
	}
}

/* --- rules ------------------------------------------------------------------------------------------------------- */

static void put_port(struct wire_gate_rule *to, uint16_t first, uint16_t last)
{
	to->ports[to->n_ports].first = first;
	to->ports[to->n_ports++].last = last;
}

/* The rules as PID 1 needs them; names of `ret` that are made here are kept in `names`. */
static size_t for_pid1(const struct rules *rules, struct wire_gate_rule *ret, struct strv *names)
{
	size_t n = 0;
	for (size_t i = 0; i < rules->n; i++) {
		const struct rule *rule = &rules->v[i];
		if (rule->deny)
			continue;
		strv_addf(names, "%s%s", rule->below ? "*." : "", rule->name);
		ret[n] = (struct wire_gate_rule){ .tcp = rule->tcp };
		if (rule->first) {
			put_port(&ret[n++], rule->first, rule->last);
			continue;
		}
		put_port(&ret[n], 80, 80);
		put_port(&ret[n++], 443, 443);
	}
	for (size_t i = 0; i < n; i++)
		ret[i].name = names->v[i];
	return n;
}

int gate_set_rules(struct gate *g, const struct rules *rules, struct fail *f)
{
	AUTO(freep) struct wire_gate_rule *list = xcalloc(rules->n + 1, sizeof(*list));
	AUTO(strv_release) struct strv names = { 0 };
	AUTO(buf_release) struct buf hint = { 0 };
	buf_add_str(&hint, "The network of this session reaches ");
	denials_put_reach(&hint, rules);
	buf_add_str(&hint, ". The operator can allow more: CONTAINER_NETWORK_ALLOW.");
	if (hint.len > GATE_HINT_MAX)
		buf_reset(&hint);
	struct wire_gate wire = { .rules = list,
				  .n_rules = for_pid1(rules, list, &names),
				  .hint = buf_str(&hint),
				  .standing = g->spec.standing };
	if (line_gate_rules(g->dispatch, &wire, f) < 0)
		return -1;
	rules_copy(&g->rules, rules);
	g->has_rules = true;
	list_for_each(o, &g->open, struct open, node)
		if (!rules_find(&g->rules, connection_name(o->connection), connection_port(o->connection)))
			connection_deny(o->connection);
	return 0;
}

const struct rules *gate_rules(const struct gate *g)
{
	return g->has_rules ? &g->rules : NULL;
}

void gate_set_filters(struct gate *g,
		      struct gate_filter *(*make)(void *ctx, const char *name, uint16_t port, struct fail *f),
		      void *ctx)
{
	g->make = make;
	g->make_ctx = ctx;
}

/* --- notes ------------------------------------------------------------------------------------------------------- */

const struct denials *gate_denials(const struct gate *g)
{
	return &g->all;
}

char *gate_take_note(struct gate *g)
{
	char *text = denials_note(&g->untold, &g->rules);
	g->untold = (struct denials){ 0 };
	return text;
}

/* --- life -------------------------------------------------------------------------------------------------------- */

struct gate *gate_new(const struct gate_spec *spec)
{
	struct gate *g = new0(struct gate);
	g->spec = *spec;
	g->session = xstrdup(spec->session);
	g->line = (struct line_gate){ .on_open = on_open, .on_denied = on_denied };
	list_init(&g->open);
	return g;
}

void gate_attach(struct gate *g, struct dispatch *d)
{
	g->dispatch = d;
	line_gate_set(d, &g->line);
}

struct gate *gate_free(struct gate *g)
{
	if (!g)
		return NULL;
	list_for_each(o, &g->open, struct open, node) {
		connection_free(o->connection);
		free(o);
	}
	if (g->dispatch)
		line_gate_set(g->dispatch, NULL);
	rules_release(&g->rules);
	free(g->session);
	free(g);
	return NULL;
}
