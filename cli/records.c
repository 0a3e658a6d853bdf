#include "cli/records.h"

#include <jansson.h>
#include <time.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/utf8.h"
#include "cli/columns.h"
#include "cli/exit.h"
#include "cli/report.h"
#include "manager/json/codec.h"
#include "manager/json/notebook.h"

#define PAGE 500
#define HISTORY_MAX 10000

struct records {
	const struct options *options;
	struct config config;
	struct loop *loop;
	struct manager *manager;
	char *conversation; /* NULL = all */
	json_t *list;	    /* the records: newest last for history, newest first for exports */
	json_t *about;	    /* the session of a history */
	json_t *notebook;
	struct fail fail;
};

/* --- values ------------------------------------------------------------------------------------------------------ */

/* For a table: local time. */
static const char *when(const json_t *ms, char out[32])
{
	time_t seconds = (time_t)(json_integer_value(ms) / 1000);
	struct tm tm = { 0 };
	if (!seconds || !localtime_r(&seconds, &tm))
		return "-";
	strftime(out, 32, "%Y-%m-%d %H:%M:%S", &tm);
	return out;
}

static const char *size(const json_t *value, char out[32])
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB" };
	double n = (double)json_integer_value(value);
	size_t unit = 0;
	for (; n >= 1000 && unit + 1 < ARRAY_LEN(units); unit++)
		n /= 1000;
	snprintf(out, 32, unit && n < 100 ? "%.1f %s" : "%.0f %s", n, units[unit]);
	return out;
}

static const char *word(const json_t *object, const char *name)
{
	const char *s = json_string_value(json_object_get(object, name));
	return s ? s : "-";
}

/* --- asking ------------------------------------------------------------------------------------------------------ */

static void load_exports(struct records *r, const struct export_info *after);

static void end(struct records *r, const struct fail *f)
{
	if (f)
		fail_copy(&r->fail, f);
	loop_stop(r->loop, 0);
}

static void on_exports(void *ctx, const struct export_info *v, size_t n, const struct fail *f)
{
	struct records *r = ctx;
	for (size_t i = 0; i < n; i++) {
		json_array_append_new(r->list, listed_export_encode(&v[i]));
	}
	if (n == PAGE)
		load_exports(r, &v[n - 1]);
	else
		end(r, f);
}

static void load_exports(struct records *r, const struct export_info *after)
{
	struct exports_request request = {
		.before_ms = after ? after->created_ms : 0,
		.before_id = after ? after->id : NULL,
		.limit = PAGE,
		.on_done = on_exports,
		.ctx = r,
	};
	(void)manager_all_exports(r->manager, r->conversation, &request, &r->fail);
}

static void on_deleted(void *ctx, const struct fail *f)
{
	end(ctx, f);
}

static void on_history(void *ctx, const struct history *h, const struct fail *f)
{
	struct records *r = ctx;
	if (h && r->options->ipynb)
		r->notebook = notebook_of(h, h->id ? h->id : r->options->session);
	for (size_t i = 0; h && i < h->n; i++)
		json_array_append_new(r->list, executed_encode(&h->v[i]));
	if (h && h->known)
		r->about = history_session_encode(h);
	end(r, f);
}

/* --- printing ---------------------------------------------------------------------------------------------------- */

/* An id stays whole, because --delete takes it. */
static const struct column export_columns[] = {
	{ "CREATED" }, { "SIZE", .right = true }, { "SESSION", .least = 9, .rank = 1 },
	{ "ID" },      { "PATH", .least = 21 },
};

static void print_exports(const struct records *r)
{
	struct style style = style_of(STDOUT_FILENO);
	char created[32], bytes[32];
	size_t i;
	json_t *e;
	if (!json_array_size(r->list)) {
		printf("No exports%s.\n", r->options->all || r->options->thread ?
						  "" :
						  " of this conversation (--all shows those of all conversations)");
		return;
	}
	struct columns *table = columns_new(export_columns, ARRAY_LEN(export_columns));
	json_array_foreach(r->list, i, e) {
		columns_add(table, PAINT_NONE, when(json_object_get(e, "created_ms"), created));
		columns_add(table, PAINT_NONE, size(json_object_get(e, "size"), bytes));
		columns_add(table, PAINT_NONE, word(e, "session"));
		columns_add(table, PAINT_NONE, word(e, "id"));
		columns_addf(table, PAINT_NONE, "%s%s", word(e, "path"),
			     json_is_true(json_object_get(e, "directory")) ? "/" : "");
	}
	columns_print(table, &style, stdout);
	columns_free(table);
}

static void print_session(const struct records *r)
{
	AUTO(buf_release) struct buf line = { 0 };
	struct style style = style_of(STDOUT_FILENO);
	char created[32];
	if (!r->about)
		return;
	bool ended = json_object_get(r->about, "ended_ms");
	buf_printf(&line, "session %s (%s), %s %s%s", word(r->about, "id"), word(r->about, "language"),
		   word(r->about, "status"), ended ? "" : "since ",
		   when(json_object_get(r->about, ended ? "ended_ms" : "created_ms"), created));
	if (json_is_string(json_object_get(r->about, "cause"))) {
		buf_add_str(&line, ": ");
		utf8_clean_name(&line, word(r->about, "cause"));
	}
	columns_wrap(stdout, &style, buf_str(&line), 0, /* whole= */ true);
	putchar('\n');
}

static const struct column run_columns[] = {
	{ "RUN", .right = true },
	{ "KIND" },
	{ "STARTED" },
	{ "MS", .right = true },
	{ "ENDED", .least = 9 },
	{ "IN", .right = true, .rank = 3 },
	{ "OUT", .right = true, .rank = 2 },
	{ "ENV", .least = 8, .rank = 1 },
};

static void add_run(struct columns *table, const json_t *e)
{
	char started[32], in[32], out[32];
	const json_t *duration = json_object_get(e, "duration_ms");
	const char *ending = word(e, "ending");
	bool usual = streq(ending, "ok") || streq(ending, "-");
	columns_addf(table, PAINT_NONE, "%lld", (long long)json_integer_value(json_object_get(e, "run")));
	columns_add(table, PAINT_NONE, word(e, "kind"));
	columns_add(table, PAINT_NONE, when(json_object_get(e, "started_ms"), started));
	if (duration)
		columns_addf(table, PAINT_NONE, "%lld", (long long)json_integer_value(duration));
	else
		columns_add(table, PAINT_NONE, "-");
	columns_add(table, usual ? PAINT_NONE : PAINT_WARN, ending);
	columns_add(table, PAINT_NONE, size(json_object_get(e, "in_bytes"), in));
	columns_add(table, PAINT_NONE, size(json_object_get(e, "out_bytes"), out));
	columns_add(table, PAINT_NONE, word(e, "env"));
}

static void print_history(const struct records *r)
{
	struct style style = style_of(STDOUT_FILENO);
	size_t i;
	json_t *e;
	print_session(r);
	if (!json_array_size(r->list)) {
		puts("The session has no runs.");
		return;
	}
	struct columns *table = columns_new(run_columns, ARRAY_LEN(run_columns));
	json_array_foreach(r->list, i, e)
		add_run(table, e);
	columns_print(table, &style, stdout);
	columns_free(table);
}

static void print_json(const struct records *r)
{
	json_auto_t *object = NULL;
	if (r->options->verb == VERB_EXPORTS)
		object = json_pack("{s:O}", "exports", r->list);
	else
		object = json_pack("{s:O?, s:O}", "session", r->about, "runs", r->list);
	if (!r->about && r->options->verb == VERB_HISTORY)
		json_object_set_new(object, "session", json_null());
	json_dumpf(object, stdout, JSON_INDENT(2));
	putchar('\n');
}

static int print_notebook(const struct records *r)
{
	if (!r->notebook) {
		log_error("cannot print session '%s' as a notebook: its code was not kept\n"
			  "Run husk config set HISTORY_KEEPS_CODE true; it applies to code that runs later.",
			  word(r->about, "id"));
		return EXIT_NO;
	}
	json_dumpf(r->notebook, stdout, JSON_INDENT(1));
	putchar('\n');
	return EXIT_DONE;
}

static int print_deleted(const struct records *r)
{
	if (r->options->json)
		printf("{\n  \"deleted\": \"%s\"\n}\n",
		       r->options->delete_id); /* the id was found, so it has only letters and digits */
	else
		printf("deleted %s\n", r->options->delete_id);
	return EXIT_DONE;
}

/* --- both verbs -------------------------------------------------------------------------------------------------- */

static void run_loop(struct records *r)
{
	r->manager = manager_new(r->loop, &r->config);
	if (r->options->delete_id)
		(void)manager_delete_export(
			r->manager,
			&(struct delete_export_request){ .id = r->options->delete_id, .on_done = on_deleted, .ctx = r },
			&r->fail);
	else if (r->options->verb == VERB_EXPORTS)
		load_exports(r, NULL);
	else
		(void)manager_history(r->manager,
				      &(struct history_request){ .session_id = r->options->session,
								 .limit = HISTORY_MAX,
								 .texts = r->options->ipynb,
								 .on_done = on_history,
								 .ctx = r },
				      &r->fail);
	loop_run(r->loop);
	r->manager = manager_free(r->manager);
}

static int report(const struct records *r)
{
	bool history = r->options->verb == VERB_HISTORY;
	if (r->fail.kind)
		return report_fail(&r->fail);
	if (history && !r->about && !json_array_size(r->list)) {
		if (r->options->session)
			log_error(
				"there is no session '%s' in the store\nhusk ps --all lists the sessions that are known.",
				r->options->session);
		else
			log_error("there is no session in the store");
		return EXIT_NO;
	}
	if (r->options->ipynb)
		return print_notebook(r);
	if (r->options->delete_id)
		return print_deleted(r);
	if (r->options->json)
		print_json(r);
	else if (history)
		print_history(r);
	else
		print_exports(r);
	return EXIT_DONE;
}

int records_run(const struct options *options)
{
	struct records r = { .options = options, .list = json_array() };
	if (settings_load(&r.config, options->env_file, &r.fail) < 0) {
		int code = report_refusal(&r.fail, options->verb);
		json_decref(r.list);
		fail_release(&r.fail);
		return code;
	}
	r.loop = loop_new();
	if (options->thread)
		r.conversation = xstrdup(options->thread);
	else if (!options->all)
		r.conversation = manager_own_conversation(&r.config);
	/* Without a conversation there are no exports yet. */
	if (r.conversation || options->all || options->delete_id || options->verb == VERB_HISTORY)
		run_loop(&r);
	int code = report(&r);
	loop_free(r.loop);
	json_decref(r.list);
	json_decref(r.about);
	json_decref(r.notebook);
	free(r.conversation);
	fail_release(&r.fail);
	config_release(&r.config);
	return code;
}
