#include "cli/connections.h"

#include <time.h>

#include "attach/open.h"
#include "base/alloc.h"
#include "base/json.h"
#include "cli/columns.h"
#include "cli/exit.h"
#include "cli/report.h"

struct connections {
	const struct options *options;
	struct config config;
	struct loop *loop;
	struct opening *opening;
	struct opened *opened;
	json_t *list; /* events, the oldest first */
	struct fail why;
};

static const struct column columns[] = {
	{ "TIME" },
	{ "HOST", .least = 16 },
	{ "COUNT", .right = true, .rank = 3 },
	{ "UP", .right = true },
	{ "DOWN", .right = true },
	{ "MS", .right = true, .rank = 2 },
	{ "SECRET", .rank = 1 },
	{ "ENDED", .least = 9 },
};

static void add_number(struct columns *table, const json_t *e, const char *name)
{
	columns_addf(table, PAINT_NONE, "%lld", (long long)json_integer_value(json_object_get(e, name)));
}

static const char *word(const json_t *e, const char *name)
{
	const char *s = json_string_value(json_object_get(e, name));
	return s ? s : "-";
}

static void add_connection(struct columns *table, const json_t *e)
{
	char text[32] = "-";
	struct tm tm = { 0 };
	time_t seconds = (time_t)(json_integer_value(json_object_get(e, "time_ms")) / 1000);
	const char *cause = json_string_value(json_object_get(e, "cause"));
	if (localtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	columns_add(table, PAINT_NONE, text);
	columns_add(table, PAINT_NONE, word(e, "text"));
	add_number(table, e, "count");
	add_number(table, e, "up");
	add_number(table, e, "down");
	add_number(table, e, "duration_ms");
	columns_add(table, PAINT_NONE, word(e, "secret"));
	columns_add(table, cause ? PAINT_WARN : PAINT_NONE, cause ? cause : "ok");
}

static void print(const struct connections *c)
{
	struct style style = style_of(STDOUT_FILENO);
	size_t i;
	json_t *e;
	if (c->options->json) {
		json_auto_t *out =
			json_pack("{s:s, s:O}", "session", opened_session(c->opened), "connections", c->list);
		json_dumpf(out, stdout, JSON_INDENT(2));
		putchar('\n');
		return;
	}
	if (!json_array_size(c->list)) {
		puts("No connection through the gate is recorded.");
		return;
	}
	struct columns *table = columns_new(columns, ARRAY_LEN(columns));
	json_array_foreach(c->list, i, e)
		add_connection(table, e);
	columns_print(table, &style, stdout);
	columns_free(table);
}

static void ask(struct connections *c, uint64_t after);

static void end(struct connections *c, const struct fail *f)
{
	if (f)
		fail_copy(&c->why, f);
	loop_stop(c->loop, f ? EXIT_SYSTEM : EXIT_SUCCESS);
}

static void on_events(void *ctx, const json_t *events, uint64_t next, const struct fail *f)
{
	struct connections *c = ctx;
	size_t i;
	json_t *e;
	json_array_foreach(events, i, e)
		if (streq(word(e, "event"), journal_kind_name(JOURNAL_NETWORK)))
			json_array_append(c->list, e);
	if (!f && json_array_size(events)) {
		ask(c, next);
		return;
	}
	if (!f)
		print(c);
	end(c, f);
}

static void ask(struct connections *c, uint64_t after)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct attach_events_request request = { .session_id = opened_session(c->opened),
						 .only = journal_kind_name(JOURNAL_NETWORK),
						 .after = after,
						 .on_done = on_events,
						 .ctx = c };
	if (!attach_events(opened_attach(c->opened), &request, &f))
		end(c, &f);
}

static void on_opened(void *ctx, struct opened *opened, const struct fail *f)
{
	struct connections *c = ctx;
	c->opening = NULL;
	c->opened = opened;
	if (f)
		end(c, f);
	else
		ask(c, 0);
}

static void on_signal(void *ctx, int signo UNUSED)
{
	loop_stop(((struct connections *)ctx)->loop, EXIT_SYSTEM);
}

static int go(struct connections *c)
{
	c->loop = loop_new();
	struct signals *ends = signals_new(c->loop, on_signal, c);
	c->opening = attach_open(&(struct open_request){ .loop = c->loop,
							 .config = &c->config,
							 .session_id = c->options->session,
							 .on_done = on_opened,
							 .ctx = c });
	int code = loop_run(c->loop);
	if (c->opening)
		attach_open_cancel(c->opening);
	signals_free(ends);
	opened_free(c->opened);
	loop_free(c->loop);
	return c->why.kind ? report_fail(&c->why) : code;
}

int connections_run(const struct options *options)
{
	struct connections c = { .options = options, .list = json_array() };
	AUTO(fail_release) struct fail f = { 0 };
	int code = settings_load(&c.config, options->env_file, &f) < 0 ? report_refusal(&f, options->verb) : go(&c);
	json_decref(c.list);
	fail_release(&c.why);
	config_release(&c.config);
	return code;
}
