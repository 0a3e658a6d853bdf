#include "cli/records.h"

#include <jansson.h>
#include <time.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/utf8.h"
#include "cli/exit.h"
#include "cli/report.h"
#include "manager/registry/thread.h"
#include "manager/store/store.h"

#define PAGE 500
#define HISTORY_MAX 10000

struct records {
	const struct options *options;
	struct config config;
	struct loop *loop;
	struct store *store;
	char *thread;  /* NULL = all */
	json_t *list;  /* what was found, newest last for history, newest first for exports */
	json_t *about; /* the session of a history */
	struct fail fail;
};

/* --- values ------------------------------------------------------------------------------------------------------ */

/* Paths may be any bytes, and what is printed must not steer a terminal. */
static json_t *text(const char *s)
{
	AUTO(buf_release) struct buf clean = { 0 };
	if (!s)
		return json_null();
	utf8_clean(&clean, s, strlen(s));
	return json_stringn(buf_str(&clean), clean.len);
}

static json_t *moment(uint64_t ms)
{
	char out[64];
	time_t seconds = (time_t)(ms / 1000);
	struct tm tm;
	if (!ms || !gmtime_r(&seconds, &tm))
		return json_null();
	size_t n = strftime(out, sizeof(out), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out + n, sizeof(out) - n, ".%03uZ", (unsigned)(ms % 1000));
	return json_string(out);
}

/* For a table: local time. */
static const char *when(const json_t *value, char out[32])
{
	struct tm tm = { 0 };
	const char *s = json_string_value(value);
	if (!s || !strptime(s, "%Y-%m-%dT%H:%M:%S", &tm))
		return "-";
	time_t seconds = timegm(&tm);
	localtime_r(&seconds, &tm);
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

/* A line of a table has no line breaks in it. */
static void print_field(const char *s)
{
	for (; *s; s++)
		putchar((unsigned char)*s < ' ' ? '?' : *s);
}

/* --- asking ------------------------------------------------------------------------------------------------------ */

static void ask_exports(struct records *r, const struct export_record *after);

static void end(struct records *r, const struct fail *f)
{
	if (f)
		fail_copy(&r->fail, f);
	loop_stop(r->loop, 0);
}

static void on_exports(void *ctx, const struct export_list *list, const struct fail *f)
{
	struct records *r = ctx;
	for (size_t i = 0; list && i < list->n; i++) {
		const struct export_record *e = &list->v[i];
		json_array_append_new(r->list,
				      json_pack("{s:s, s:o, s:o, s:o, s:o, s:b, s:I, s:o, s:o, s:o}", "id", e->id,
						"thread", text(e->thread), "session_id", text(e->session), "path",
						text(e->path), "name", text(e->name), "directory", e->directory, "size",
						(json_int_t)e->size, "hash", text(e->hash), "mime", text(e->mime),
						"created", moment(e->created)));
	}
	if (list && list->n == PAGE)
		ask_exports(r, &list->v[list->n - 1]);
	else
		end(r, f);
}

static void ask_exports(struct records *r, const struct export_record *after)
{
	(void)store_exports(r->store, r->thread, after ? after->created : 0, after ? after->id : NULL, PAGE, on_exports,
			    r);
}

static void on_executions(void *ctx, const struct execution_list *list, const struct fail *f)
{
	struct records *r = ctx;
	for (size_t i = 0; list && i < list->n; i++) {
		const struct execution_record *e = &list->v[i];
		json_array_append_new(r->list,
				      json_pack("{s:I, s:o, s:o, s:o, s:o, s:I, s:I}", "seq", (json_int_t)e->seq,
						"tool", text(e->tool), "started", moment(e->started), "ended",
						moment(e->ended), "ending", text(e->ending), "in_bytes",
						(json_int_t)e->in_bytes, "out_bytes", (json_int_t)e->out_bytes));
		if (e->ended >= e->started)
			json_object_set_new(json_array_get(r->list, i), "duration_ms",
					    json_integer((json_int_t)(e->ended - e->started)));
	}
	end(r, f);
}

static void on_session(void *ctx, const struct session_record *s, const struct fail *f)
{
	struct records *r = ctx;
	if (f) {
		end(r, f);
		return;
	}
	if (s)
		r->about = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "session_id", text(s->id), "thread",
				     text(s->thread), "runtime", text(s->runtime), "state", text(s->state), "cause",
				     text(s->cause), "created", moment(s->created), "ended", moment(s->ended));
	(void)store_executions(r->store, r->options->session, HISTORY_MAX, on_executions, r);
}

/* --- printing ---------------------------------------------------------------------------------------------------- */

static void print_exports(const struct records *r)
{
	char created[32], bytes[32];
	size_t i;
	json_t *e;
	if (!json_array_size(r->list)) {
		printf("No exports%s.\n",
		       r->options->all || r->options->thread ? "" : " of this conversation (--all shows those of all)");
		return;
	}
	printf("%-19s  %8s  %-26s  %-26s  %s\n", "CREATED", "SIZE", "SESSION", "ID", "PATH");
	json_array_foreach(r->list, i, e) {
		printf("%-19s  %8s  %-26s  %-26s  ", when(json_object_get(e, "created"), created),
		       size(json_object_get(e, "size"), bytes), word(e, "session_id"), word(e, "id"));
		print_field(word(e, "path"));
		puts(json_is_true(json_object_get(e, "directory")) ? "/" : "");
	}
}

static void print_session(const struct records *r)
{
	char created[32];
	if (!r->about)
		return;
	printf("session %s (%s), %s since %s", word(r->about, "session_id"), word(r->about, "runtime"),
	       word(r->about, "state"),
	       when(json_object_get(r->about, json_is_string(json_object_get(r->about, "ended")) ? "ended" : "created"),
		    created));
	if (json_is_string(json_object_get(r->about, "cause"))) {
		printf(": ");
		print_field(word(r->about, "cause"));
	}
	puts("\n");
}

static void print_history(const struct records *r)
{
	char started[32], in[32], out[32], took[32];
	size_t i;
	json_t *e;
	print_session(r);
	if (!json_array_size(r->list)) {
		puts("Nothing was executed in it.");
		return;
	}
	printf("%6s  %-16s  %-19s  %10s  %-14s  %8s  %8s\n", "CALL", "TOOL", "STARTED", "MS", "ENDED", "IN", "OUT");
	json_array_foreach(r->list, i, e) {
		const json_t *duration = json_object_get(e, "duration_ms");
		snprintf(took, sizeof(took), "%lld", (long long)json_integer_value(duration));
		printf("%6lld  %-16s  %-19s  %10s  %-14s  %8s  %8s\n",
		       (long long)json_integer_value(json_object_get(e, "seq")), word(e, "tool"),
		       when(json_object_get(e, "started"), started), duration ? took : "-", word(e, "ending"),
		       size(json_object_get(e, "in_bytes"), in), size(json_object_get(e, "out_bytes"), out));
	}
}

static void print_json(const struct records *r)
{
	json_auto_t *object = NULL;
	if (r->options->verb == VERB_EXPORTS)
		object = json_pack("{s:O}", "exports", r->list);
	else
		object = json_pack("{s:O?, s:O}", "session", r->about, "executions", r->list);
	if (!r->about && r->options->verb == VERB_HISTORY)
		json_object_set_new(object, "session", json_null());
	json_dumpf(object, stdout, JSON_INDENT(2));
	putchar('\n');
}

/* --- both -------------------------------------------------------------------------------------------------------- */

static void run_loop(struct records *r)
{
	/* Nothing is made by a look: without a store there is nothing in it. */
	if (!store_is_there(&r->config))
		return;
	r->store = store_new(r->loop, &r->config);
	if (r->options->verb == VERB_EXPORTS)
		ask_exports(r, NULL);
	else
		(void)store_session_get(r->store, r->options->session, on_session, r);
	loop_run(r->loop);
	r->store = store_free(r->store);
}

static int report(const struct records *r)
{
	bool history = r->options->verb == VERB_HISTORY;
	if (r->fail.kind)
		return report_fail(&r->fail);
	if (history && !r->about && !json_array_size(r->list)) {
		log_error("the store knows no session '%s'", r->options->session);
		return EXIT_NO;
	}
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
	if (config_load(&r.config, options->env_file, &r.fail) < 0) {
		report_fail(&r.fail);
		json_decref(r.list);
		fail_release(&r.fail);
		return EXIT_USAGE;
	}
	r.loop = loop_new();
	if (options->thread)
		r.thread = xstrdup(options->thread);
	else if (!options->all)
		r.thread = thread_id_known(&r.config);
	/* Who has no conversation yet has exported nothing. */
	if (r.thread || options->all || options->verb == VERB_HISTORY)
		run_loop(&r);
	int code = report(&r);
	loop_free(r.loop);
	json_decref(r.list);
	json_decref(r.about);
	free(r.thread);
	fail_release(&r.fail);
	config_release(&r.config);
	return code;
}
