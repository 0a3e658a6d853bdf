#include "cli/keys.h"

#include <jansson.h>
#include <time.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/loop.h"
#include "cli/columns.h"
#include "cli/exit.h"
#include "cli/report.h"
#include "manager/json/codec.h"
#include "manager/manager.h"

struct keys {
	const struct options *options;
	struct loop *loop;
	struct manager *manager;
	struct fail fail;
};

static void end(struct keys *k, const struct fail *f)
{
	if (f)
		fail_copy(&k->fail, f);
	loop_stop(k->loop, 0);
}

/* --- add and remove ------------------------------------------------------------------------------------------------ */

static void on_added(void *ctx, const char *key, const struct key_info *info, const struct fail *f)
{
	struct keys *k = ctx;
	if (key) {
		/* Alone on standard output, so that scripts can take it. */
		printf("%s\n", key);
		fflush(stdout);
		fprintf(stderr, "husk: the key '%s' of tenant '%s' is shown only this once\n", info->name,
			info->tenant);
	}
	end(k, f);
}

static void add(struct keys *k)
{
	const struct options *o = k->options;
	struct tenant_limits limits = { .sessions = o->max_sessions,
					.memory = o->max_memory,
					.streams = o->max_streams,
					.exports = o->max_exports };
	bool limited = limits.sessions || limits.memory || limits.streams || limits.exports;
	struct add_key_request request = { .name = o->key_name,
					   .tenant = o->tenant ? o->tenant : TENANT_LOCAL,
					   .scopes = SCOPES_DEFAULT,
					   .limits = limited ? &limits : NULL,
					   .on_done = on_added,
					   .ctx = k };
	AUTO(buf_release) struct buf scopes = { 0 };
	for (size_t i = 0; i < o->scopes.n; i++)
		buf_printf(&scopes, "%s ", o->scopes.v[i]);
	if (o->scopes.n && scopes_parse(buf_str(&scopes), &request.scopes, &k->fail) < 0) {
		end(k, NULL);
		return;
	}
	if (!manager_add_key(k->manager, &request, &k->fail))
		end(k, NULL);
}

static void on_removed(void *ctx, const struct fail *f)
{
	struct keys *k = ctx;
	if (!f)
		printf("removed %s\n", k->options->key_name);
	end(k, f);
}

/* --- list ---------------------------------------------------------------------------------------------------------- */

static const struct column columns[] = {
	{ "ID" },      { "NAME", .least = 8 }, { "TENANT", .least = 8 },
	{ "CREATED" }, { "USED", .rank = 1 },  { "SCOPES", .least = 12 },
};

static void add_time(struct columns *table, uint64_t ms)
{
	char text[32] = "-";
	time_t at = (time_t)(ms / 1000);
	struct tm tm;
	if (ms && localtime_r(&at, &tm))
		strftime(text, sizeof(text), "%Y-%m-%d", &tm);
	columns_add(table, PAINT_NONE, text);
}

static void print_table(const struct key_info *v, size_t n)
{
	struct style style = style_of(STDOUT_FILENO);
	if (!n) {
		puts("There are no keys.");
		return;
	}
	struct columns *table = columns_new(columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < n; i++) {
		AUTO(freep) char *scopes = scopes_text(v[i].scopes);
		columns_add(table, PAINT_NONE, v[i].id);
		columns_add(table, PAINT_NONE, v[i].name);
		columns_add(table, PAINT_NONE, v[i].tenant);
		add_time(table, v[i].created_ms);
		add_time(table, v[i].used_ms);
		columns_add(table, PAINT_NONE, v[i].scopes == SCOPES_ALL ? "all" : scopes);
	}
	columns_print(table, &style, stdout);
	columns_free(table);
}

static void print_json(const struct key_info *v, size_t n)
{
	json_t *list = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, key_info_encode(&v[i]));
	json_auto_t *out = json_pack("{s:o}", "keys", list);
	json_dumpf(out, stdout, JSON_INDENT(2));
	putchar('\n');
}

static void on_listed(void *ctx, const struct key_info *v, size_t n, const struct fail *f)
{
	struct keys *k = ctx;
	if (!f && k->options->json)
		print_json(v, n);
	else if (!f)
		print_table(v, n);
	end(k, f);
}

/* --- the verb ------------------------------------------------------------------------------------------------------ */

static void start(void *ctx)
{
	struct keys *k = ctx;
	const struct options *o = k->options;
	if (o->keys_action == KEYS_ADD) {
		add(k);
	} else if (o->keys_action == KEYS_REMOVE) {
		struct remove_key_request request = {
			.tenant = o->tenant, .key = o->key_name, .on_done = on_removed, .ctx = k
		};
		(void)manager_remove_key(k->manager, &request, &k->fail);
	} else {
		struct keys_request request = { .tenant = o->tenant, .on_done = on_listed, .ctx = k };
		(void)manager_keys(k->manager, &request, &k->fail);
	}
}

int keys_run(const struct options *options)
{
	struct config config = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	struct keys k = { .options = options };
	if (settings_load(&config, options->env_file, &f) < 0) {
		config_release(&config);
		return report_refusal(&f, options->verb);
	}
	k.loop = loop_new();
	k.manager = manager_new(k.loop, &config);
	struct timer *timer = timer_new(k.loop, start, &k);
	timer_start(timer, 0, 0);
	loop_run(k.loop);
	timer_free(timer);
	manager_free(k.manager);
	loop_free(k.loop);
	config_release(&config);
	int code = k.fail.kind ? report_fail(&k.fail) : EXIT_DONE;
	fail_release(&k.fail);
	return code;
}
