#include "cli/secrets.h"

#include <jansson.h>

#include "base/alloc.h"
#include "base/loop.h"
#include "cli/columns.h"
#include "cli/exit.h"
#include "cli/report.h"
#include "cli/typed.h"
#include "manager/json/codec.h"
#include "manager/manager.h"

struct secrets {
	const struct options *options;
	const char *tenant;
	struct buf value;
	struct loop *loop;
	struct manager *manager;
	struct fail fail;
};

static void end(struct secrets *s, const struct fail *f)
{
	if (f)
		fail_copy(&s->fail, f);
	loop_stop(s->loop, 0);
}

/* --- list ---------------------------------------------------------------------------------------------------------- */

static const struct column columns[] = {
	{ "NAME", .least = 8 },
	{ "HOSTS", .least = 12 },
	{ "USED IN", .least = 8 },
};

static char *places(const struct secret_info *s)
{
	struct buf b = { 0 };
	if (s->header)
		buf_printf(&b, "header %s", s->header);
	if (s->query)
		buf_printf(&b, "%squery %s", b.len ? ", " : "", s->query);
	if (s->basic)
		buf_printf(&b, "%sbasic %s", b.len ? ", " : "", s->basic);
	return b.len ? buf_steal_str(&b) : xstrdup("any header");
}

static void print_table(const struct secret_info *v, size_t n)
{
	struct style style = style_of(STDOUT_FILENO);
	if (!n) {
		puts("There are no secrets.");
		return;
	}
	struct columns *table = columns_new(columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < n; i++) {
		AUTO(freep) char *used = places(&v[i]);
		columns_add(table, PAINT_NONE, v[i].name);
		columns_add(table, PAINT_NONE, v[i].hosts);
		columns_add(table, PAINT_NONE, used);
	}
	columns_print(table, &style, stdout);
	columns_free(table);
}

static void print_json(const struct secret_info *v, size_t n)
{
	json_t *list = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, secret_info_encode(&v[i]));
	json_auto_t *out = json_pack("{s:o}", "secrets", list);
	json_dumpf(out, stdout, JSON_INDENT(2));
	putchar('\n');
}

static void on_listed(void *ctx, const struct secret_info *v, size_t n, const struct fail *f)
{
	struct secrets *s = ctx;
	if (!f && s->options->json)
		print_json(v, n);
	else if (!f)
		print_table(v, n);
	end(s, f);
}

/* --- set and remove ------------------------------------------------------------------------------------------------ */

static void on_set(void *ctx, const struct secret_info *info, const struct fail *f)
{
	struct secrets *s = ctx;
	if (!f)
		printf("stored %s for %s\n", info->name, info->hosts);
	end(s, f);
}

static void set(struct secrets *s)
{
	const struct options *o = s->options;
	struct set_secret_request request = { .info = { .name = o->secret_name,
							.tenant = s->tenant,
							.header = o->header,
							.query = o->query,
							.basic = o->basic },
					      .hosts = (const char *const *)o->secret_hosts.v,
					      .n_hosts = o->secret_hosts.n,
					      .value = buf_str(&s->value),
					      .on_done = on_set,
					      .ctx = s };
	if (!manager_set_secret(s->manager, &request, &s->fail))
		end(s, NULL);
	buf_wipe(&s->value);
}

static void on_removed(void *ctx, const struct fail *f)
{
	struct secrets *s = ctx;
	if (!f)
		printf("removed %s\n", s->options->secret_name);
	end(s, f);
}

/* --- the verb ------------------------------------------------------------------------------------------------------ */

static void start(void *ctx)
{
	struct secrets *s = ctx;
	const struct options *o = s->options;
	if (o->secret_action == SECRET_SET) {
		set(s);
	} else if (o->secret_action == SECRET_REMOVE) {
		struct remove_secret_request request = {
			.tenant = s->tenant, .name = o->secret_name, .on_done = on_removed, .ctx = s
		};
		(void)manager_remove_secret(s->manager, &request, &s->fail);
	} else {
		struct secrets_request request = { .tenant = s->tenant, .on_done = on_listed, .ctx = s };
		(void)manager_secrets(s->manager, &request, &s->fail);
	}
}

static void run(struct secrets *s, const struct config *config)
{
	s->loop = loop_new();
	s->manager = manager_new(s->loop, config);
	struct timer *timer = timer_new(s->loop, start, s);
	timer_start(timer, 0, 0);
	loop_run(s->loop);
	timer_free(timer);
	manager_free(s->manager);
	loop_free(s->loop);
}

int secrets_run(const struct options *options)
{
	AUTO(config_release) struct config config = { 0 };
	struct secrets s = { .options = options, .tenant = options->tenant ? options->tenant : TENANT_LOCAL };
	AUTO(fail_release) struct fail f = { 0 };
	int r = settings_load(&config, options->env_file, &f);
	if (r == 0 && options->secret_action == SECRET_SET)
		r = typed_value(options->secret_name, SECRET_VALUE_MAX, &s.value);
	if (r < 0 && !f.kind)
		fail_set(&f, FAIL_INVALID, "cannot read the value from standard input: it has at most %d bytes",
			 SECRET_VALUE_MAX);
	if (r < 0)
		return report_refusal(&f, options->verb);
	run(&s, &config);
	buf_wipe(&s.value);
	int code = s.fail.kind ? report_fail(&s.fail) : EXIT_DONE;
	fail_release(&s.fail);
	return code;
}
