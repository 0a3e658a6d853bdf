#include "cli/gate.h"

#include "attach/open.h"
#include "base/alloc.h"
#include "base/json.h"
#include "cli/exit.h"
#include "cli/report.h"
#include "manager/json/codec.h"

struct gate_verb {
	const struct options *options;
	struct config config;
	struct loop *loop;
	struct opening *opening;
	struct opened *opened;
	struct strv hosts;
	struct fail why;
	bool refused; /* `check`: the answer */
};

/* --- the sets ---------------------------------------------------------------------------------------------------- */

static int print_sets(const struct options *o)
{
	size_t n;
	const struct rule_set *sets = rules_sets(&n);
	if (o->json) {
		json_auto_t *out = json_object();
		for (size_t i = 0; i < n; i++)
			json_object_set_new(out, sets[i].name, json_string(sets[i].hosts));
		json_dumpf(out, stdout, JSON_INDENT(2));
		putchar('\n');
	}
	for (size_t i = 0; i < n && !o->json; i++)
		printf("@%s: %s\n    %s\n", sets[i].name, sets[i].meaning, sets[i].hosts);
	return EXIT_SUCCESS;
}

/* --- one session ------------------------------------------------------------------------------------------------- */

static void print_rules(const struct network_info *info)
{
	if (info->open) {
		printf("The container of this session has a network: it reaches every public address.\n");
		return;
	}
	if (!info->rules || !*info->rules)
		printf("This session reaches no host.\n");
	json_auto_t *rules = info->rules ? session_rules_encode(info->rules) : NULL;
	for (size_t i = 0; i < json_array_size(rules); i++) {
		const char *text = json_string_value(json_array_get(rules, i));
		printf("%s %s\n", *text == '!' ? "deny " : "allow", text + (*text == '!'));
	}
}

static void print_all(const struct network_info *info)
{
	print_rules(info);
	for (size_t i = 0; i < info->n_connections; i++) {
		const struct network_connection *c = &info->connections[i];
		printf("open  %s:%u, %llu bytes up, %llu down, %llu s%s%s\n", c->name, c->port,
		       (unsigned long long)c->up, (unsigned long long)c->down, (unsigned long long)c->age_ms / 1000,
		       c->secret ? ", secret " : "", c->secret ? c->secret : "");
	}
	for (size_t i = 0; i < info->n_denials; i++) {
		const struct network_denial *d = &info->denials[i];
		printf("%llu × %s", (unsigned long long)d->count, *d->name ? d->name : "an address without a name");
		if (d->port)
			printf(":%u", d->port);
		printf(": %s\n", cause_name(d->cause));
	}
}

static void print_check(const struct gate_verb *g, const struct network_info *info)
{
	const char *name = g->hosts.v[0];
	if (info->open)
		printf("%s: allowed if its address is public; this session has no list\n", name);
	else if (info->decides)
		printf("%s: %s by %s\n", name, info->allowed ? "allowed" : "refused", info->decides);
	else
		printf("%s: refused, because no rule names it\n", name);
}

static void on_info(void *ctx, const struct network_info *info, const struct fail *f)
{
	struct gate_verb *g = ctx;
	if (f) {
		fail_copy(&g->why, f);
		loop_stop(g->loop, EXIT_SYSTEM);
		return;
	}
	g->refused = g->options->gate_action == GATE_CHECK && !info->open && !info->allowed;
	if (g->options->json) {
		json_auto_t *out = network_info_encode(info);
		json_dumpf(out, stdout, JSON_INDENT(2));
		putchar('\n');
	} else if (g->options->gate_action == GATE_CHECK) {
		print_check(g, info);
	} else if (g->options->gate_action == GATE_SHOW) {
		print_all(info);
	} else {
		print_rules(info);
	}
	loop_stop(g->loop, EXIT_SUCCESS);
}

static void on_opened(void *ctx, struct opened *opened, const struct fail *f)
{
	struct gate_verb *g = ctx;
	enum gate_action action = g->options->gate_action;
	g->opening = NULL;
	g->opened = opened;
	if (f) {
		fail_copy(&g->why, f);
		loop_stop(g->loop, EXIT_SYSTEM);
		return;
	}
	struct network_request request = { .session_id = opened_session(opened),
					   .allow = action == GATE_ALLOW ? &g->hosts : NULL,
					   .deny = action == GATE_DENY ? &g->hosts : NULL,
					   .check = action == GATE_CHECK ? g->hosts.v[0] : NULL,
					   .on_done = on_info,
					   .ctx = g };
	if (!attach_network(opened_attach(opened), &request, &g->why))
		loop_stop(g->loop, EXIT_SYSTEM);
}

static void on_signal(void *ctx, int signo UNUSED)
{
	loop_stop(((struct gate_verb *)ctx)->loop, EXIT_SYSTEM);
}

static void on_settled(void *ctx)
{
	loop_stop(((struct gate_verb *)ctx)->loop, EXIT_SUCCESS);
}

static int go(struct gate_verb *g)
{
	g->loop = loop_new();
	struct signals *ends = signals_new(g->loop, on_signal, g);
	g->opening = attach_open(&(struct open_request){ .loop = g->loop,
							 .config = &g->config,
							 .session_id = g->options->session,
							 .on_done = on_opened,
							 .ctx = g });
	int code = loop_run(g->loop);
	if (g->opening)
		attach_open_cancel(g->opening);
	if (g->opened) {
		opened_settle(g->opened, 2000, on_settled, g);
		loop_run(g->loop);
	}
	signals_free(ends);
	opened_free(g->opened);
	loop_free(g->loop);
	return g->why.kind ? report_fail(&g->why) : g->refused ? EXIT_FAILURE : code;
}

int gate_run(const struct options *options)
{
	struct gate_verb g = { .options = options };
	AUTO(fail_release) struct fail f = { 0 };
	if (options->gate_action == GATE_LIST)
		return print_sets(options);
	for (size_t i = 0; options->arguments && options->arguments[i]; i++)
		strv_add(&g.hosts, options->arguments[i]);
	int code = settings_load(&g.config, options->env_file, &f) < 0 ? report_refusal(&f, options->verb) : go(&g);
	strv_release(&g.hosts);
	fail_release(&g.why);
	config_release(&g.config);
	return code;
}
