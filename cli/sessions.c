#include "cli/sessions.h"

#include "attach/counters.h"
#include "base/alloc.h"
#include "base/json.h"
#include "base/log.h"
#include "cli/columns.h"
#include "cli/exit.h"
#include "cli/report.h"
#include "manager/json/codec.h"

#define WATCH_MS 2000

struct view {
	const struct options *options;
	struct loop *loop;
	struct manager *manager;
	struct timer *again;
};

static void print_json(json_t *object)
{
	json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
	putchar('\n');
	fflush(stdout);
	json_decref(object);
}

/* --- ps ---------------------------------------------------------------------------------------------------------- */

/* "42s", "12m", "3h": one number is enough to tell how old something is. */
static char *duration(uint64_t seconds)
{
	if (seconds < 120)
		return xasprintf("%llus", (unsigned long long)seconds);
	if (seconds < 7200)
		return xasprintf("%llum", (unsigned long long)seconds / 60);
	return xasprintf("%lluh", (unsigned long long)seconds / 3600);
}

/* The shell completions take the id from the first column, so ids stay whole. A name is more useful than the owner, so
 * 80 columns show the owner only if names are short. */
static const struct column columns[] = {
	{ "SESSION" },
	{ "LANG", .least = 6 },
	{ "STATE" },
	{ "AGE", .right = true },
	{ "IDLE", .right = true, .rank = 2 },
	{ "MEMORY", .right = true, .rank = 3 },
	{ "OF", .right = true, .rank = 5 },
	{ "CPUS", .right = true, .rank = 6 },
	{ "STREAM", .rank = 7 },
	{ "NAME", .least = 15, .rank = 1 },
	{ "OWNER", .least = 11, .rank = 4 },
};

/* With --all, the last column also shows how sessions ended, so it is never left out. There is room for names beside
 * the usual end, "stopped by its client". */
static const struct column columns_of_all[] = {
	{ "SESSION" },
	{ "LANG", .least = 6 },
	{ "STATE" },
	{ "AGE", .right = true },
	{ "IDLE", .right = true, .rank = 3 },
	{ "MEMORY", .right = true, .rank = 4 },
	{ "OF", .right = true, .rank = 5 },
	{ "CPUS", .right = true, .rank = 6 },
	{ "STREAM", .rank = 7 },
	{ "NAME", .least = 7, .rank = 1 },
	{ "OWNER, OR END", .least = 21 },
};
_Static_assert(ARRAY_LEN(columns) == ARRAY_LEN(columns_of_all), "both have the same cells");

/* Where the sessions run. In a cluster: the node, then the phase and its reason. In a pool: the host. */
static const struct column column_of_pods = { "POD", .least = 12, .rank = 2 };
static const struct column column_of_hosts = { "HOST", .least = 4, .rank = 2 };
#define PLACE_AFTER 3

/* The columns of the table, with `place` if that is not NULL. Returns their number. */
static size_t choose_columns(struct column ret[ARRAY_LEN(columns) + 1], bool all, const struct column *place)
{
	size_t n = 0;
	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		if (place && i == PLACE_AFTER)
			ret[n++] = *place;
		ret[n++] = all ? columns_of_all[i] : columns[i];
	}
	return n;
}

static enum paint paint_of(const struct listed_session *s)
{
	if (*s->cause)
		return PAINT_FAINT;
	if (streq(s->state, "left"))
		return PAINT_WARN;
	return streq(s->state, "busy") ? PAINT_GOOD : PAINT_NONE;
}

/* Shortens "process 123 on host": the number and the host are enough. */
static const char *short_owner(const char *owner)
{
	static const char process[] = "process ";
	return strncmp(owner, process, strlen(process)) == 0 ? owner + strlen(process) : owner;
}

/* The owner of a session, or how it ended. A session that its client stopped has no cause. */
static const char *owner_or_end(const struct listed_session *s)
{
	if (*s->cause)
		return s->cause;
	return streq(s->state, "ended") ? "stopped by its client" : short_owner(s->owner);
}

static void add_place(struct columns *table, const struct listed_session *s)
{
	if (!*s->phase)
		columns_add(table, PAINT_NONE, *s->host ? s->host : "-");
	else
		columns_addf(table, PAINT_NONE, "%s%s%s%s%s", s->node, *s->node ? " " : "", s->phase,
			     *s->reason ? ": " : "", s->reason);
}

static void add_row(struct columns *table, const struct listed_session *s, bool place)
{
	AUTO(freep) char *age = duration(s->age_seconds);
	AUTO(freep) char *idle = duration(s->idle_seconds);
	columns_add(table, PAINT_NONE, s->id);
	columns_add(table, PAINT_NONE, s->runtime);
	columns_add(table, paint_of(s), s->state);
	if (place)
		add_place(table, s);
	columns_add(table, PAINT_NONE, age);
	columns_add(table, PAINT_NONE, idle);
	if (s->has_memory)
		columns_addf(table, PAINT_NONE, "%lluM", (unsigned long long)s->memory >> 20);
	else
		columns_add(table, PAINT_NONE, "-");
	columns_addf(table, PAINT_NONE, "%lluM", (unsigned long long)s->limits.memory >> 20);
	columns_addf(table, PAINT_NONE, "%.3g", limits_cpus(&s->limits));
	columns_add(table, PAINT_NONE, s->transport);
	columns_add(table, PAINT_NONE, s->name);
	columns_add(table, PAINT_NONE, owner_or_end(s));
}

static void print_table(const struct options *w, const struct listed_session *v, size_t n)
{
	struct style style = style_of(STDOUT_FILENO);
	struct column chosen[ARRAY_LEN(columns) + 1];
	const struct column *place = NULL;
	for (size_t i = 0; i < n; i++)
		place = *v[i].phase ? &column_of_pods : *v[i].host ? &column_of_hosts : place;
	struct columns *table = columns_new(chosen, choose_columns(chosen, w->all, place));
	for (size_t i = 0; i < n; i++)
		add_row(table, &v[i], place != NULL);
	columns_print(table, &style, stdout);
	columns_free(table);
	if (!n)
		puts("no sessions");
	fflush(stdout);
}

static void on_list(void *ctx, const struct listed_session *v, size_t n, const struct fail *f,
		    const struct fail *unsure)
{
	struct view *w = ctx;
	if (f) {
		loop_stop(w->loop, report_fail(f));
		return;
	}
	if (unsure)
		report_fail(unsure);
	if (w->options->json) {
		json_t *list = json_array();
		for (size_t i = 0; i < n; i++)
			json_array_append_new(list, listed_session_encode(&v[i], /* remote= */ false));
		print_json(json_pack("{s:o}", "sessions", list));
	} else {
		if (w->options->watch && isatty(STDOUT_FILENO))
			fputs("\033[H\033[2J", stdout);
		print_table(w->options, v, n);
	}
	/* The reader has gone, or the disk is full. */
	if (ferror(stdout))
		loop_stop(w->loop, EXIT_SYSTEM);
	else if (w->options->watch)
		timer_start(w->again, WATCH_MS, 0);
	else
		loop_stop(w->loop, EXIT_DONE);
}

static void list_again(void *ctx)
{
	struct view *w = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	(void)manager_list_all(w->manager,
			       &(struct list_request){ .all = w->options->all, .on_done = on_list, .ctx = w }, &f);
}

static void on_counters(void *ctx, const char *text, size_t servers)
{
	if (!servers)
		log_error("no server of this user is running, so there are no counters");
	fputs(text, stdout);
	fflush(stdout);
	loop_stop(ctx, !servers ? EXIT_NO : ferror(stdout) ? EXIT_SYSTEM : EXIT_DONE);
}

static int print_metrics(const struct config *config)
{
	struct loop *loop = loop_new();
	struct counters *counters = counters_ask(
		&(struct counters_request){ .loop = loop, .config = config, .on_done = on_counters, .ctx = loop });
	int code = loop_run(loop);
	counters_free(counters);
	loop_free(loop);
	return code;
}

/* --- stop and gc ------------------------------------------------------------------------------------------------- */

static void on_stop(void *ctx, size_t n, const struct fail *f)
{
	struct view *w = ctx;
	int code = f ? report_fail(f) : EXIT_DONE;
	if (n || !f)
		printf("%zu session%s stopped\n", n, n == 1 ? "" : "s");
	loop_stop(w->loop, code);
}

static void on_gc(void *ctx, const struct collected *c, const struct fail *f)
{
	struct view *w = ctx;
	int code = f ? report_fail(f) : EXIT_DONE;
	if (w->options->json) {
		print_json(collected_encode(c));
	} else {
		for (size_t i = 0; i < c->n; i++)
			printf("removed %s\n", c->containers[i]);
		printf("%zu container%s removed, %zu session%s marked as ended\n", c->n, c->n == 1 ? "" : "s",
		       c->sessions, c->sessions == 1 ? "" : "s");
		if (c->exports)
			printf("%zu export%s deleted (EXPORTS_MAX_AGE_DAYS)\n", c->exports, c->exports == 1 ? "" : "s");
	}
	loop_stop(w->loop, code);
}

/* --- life -------------------------------------------------------------------------------------------------------- */

static void on_signal(void *ctx, int signo UNUSED)
{
	loop_stop(ctx, EXIT_DONE);
}

static int run(const struct options *options, const struct config *config)
{
	struct view w = { .options = options, .loop = loop_new() };
	AUTO(fail_release) struct fail f = { 0 };
	w.manager = manager_new(w.loop, config);
	w.again = timer_new(w.loop, list_again, &w);
	struct signals *signals = signals_new(w.loop, on_signal, w.loop);
	if (options->verb == VERB_PS)
		list_again(&w);
	else if (options->verb == VERB_STOP)
		(void)manager_stop_all(
			w.manager,
			&(struct stop_all_request){ .session_id = options->session, .on_done = on_stop, .ctx = &w },
			&f);
	else
		(void)manager_collect_garbage(w.manager, &(struct collect_request){ .on_done = on_gc, .ctx = &w }, &f);
	int code = loop_run(w.loop);
	signals_free(signals);
	timer_free(w.again);
	manager_free(w.manager);
	loop_free(w.loop);
	return code;
}

int sessions_run(const struct options *options)
{
	struct config config = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	if (settings_load(&config, options->env_file, &f) < 0) {
		return report_refusal(&f, options->verb);
	}
	int code = options->metrics ? print_metrics(&config) : run(options, &config);
	config_release(&config);
	return code;
}
