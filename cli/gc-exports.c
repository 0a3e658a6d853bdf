#include "cli/gc-exports.h"

#include <jansson.h>
#include <time.h>

#include "base/alloc.h"
#include "base/loop.h"
#include "cli/exit.h"
#include "cli/report.h"
#include "manager/manager.h"

#define PAGE 500

struct gc_exports {
	const struct options *options;
	struct config config;
	struct loop *loop;
	struct manager *manager;
	uint64_t until_ms; /* older ones go */
	struct strv ids;
	uint64_t bytes;
	size_t deleted;
	struct fail fail;
};

static void end(struct gc_exports *g, const struct fail *f)
{
	if (f)
		fail_copy(&g->fail, f);
	loop_stop(g->loop, 0);
}

/* --- what is there ----------------------------------------------------------------------------------------------- */

static void ask_page(struct gc_exports *g, uint64_t before_ms, const char *before_id);

static void on_page(void *ctx, const struct export_info *v, size_t n, const struct fail *f)
{
	struct gc_exports *g = ctx;
	for (size_t i = 0; i < n; i++) {
		if (v[i].created_ms >= g->until_ms)
			continue;
		strv_add(&g->ids, v[i].id);
		g->bytes += v[i].size;
	}
	if (n == PAGE)
		ask_page(g, v[n - 1].created_ms, v[n - 1].id);
	else
		end(g, f);
}

static void ask_page(struct gc_exports *g, uint64_t before_ms, const char *before_id)
{
	struct exports_request request = {
		.before_ms = before_ms, .before_id = before_id, .limit = PAGE, .on_done = on_page, .ctx = g
	};
	if (!manager_all_exports(g->manager, /* thread= */ NULL, &request, &g->fail))
		end(g, /* f= */ NULL);
}

/* --- what goes --------------------------------------------------------------------------------------------------- */

static void delete_next(struct gc_exports *g);

static void on_deleted(void *ctx, const struct fail *f)
{
	struct gc_exports *g = ctx;
	/* Somebody else may have deleted it meanwhile. */
	if (f && f->kind != FAIL_NOT_FOUND) {
		end(g, f);
		return;
	}
	g->deleted++;
	delete_next(g);
}

static void delete_next(struct gc_exports *g)
{
	if (g->deleted == g->ids.n) {
		end(g, /* f= */ NULL);
		return;
	}
	struct delete_export_request request = { .id = g->ids.v[g->deleted], .on_done = on_deleted, .ctx = g };
	if (!manager_delete_export(g->manager, &request, &g->fail))
		end(g, /* f= */ NULL);
}

/* --- what the person says ---------------------------------------------------------------------------------------- */

static bool agreed(const struct gc_exports *g)
{
	char line[16] = "";
	if (g->options->yes)
		return true;
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return false;
	printf("Delete them? [y/N] ");
	fflush(stdout);
	return fgets(line, sizeof(line), stdin) && (*line == 'y' || *line == 'Y');
}

static void print_found(const struct gc_exports *g)
{
	if (!g->options->json)
		printf("%zu export%s older than %llu days, %.1f MB\n", g->ids.n, g->ids.n == 1 ? "" : "s",
		       (unsigned long long)g->options->older_days, (double)g->bytes / 1e6);
}

static int print_end(const struct gc_exports *g)
{
	if (g->options->json) {
		json_auto_t *o = json_pack("{s:I, s:I, s:I}", "exports", (json_int_t)g->ids.n, "bytes",
					   (json_int_t)g->bytes, "deleted", (json_int_t)g->deleted);
		json_dumpf(o, stdout, JSON_INDENT(2));
		putchar('\n');
	} else if (g->deleted) {
		printf("%zu deleted\n", g->deleted);
	} else if (g->ids.n && !g->fail.kind) {
		puts("nothing deleted; --yes deletes them");
	}
	return g->fail.kind ? report_fail(&g->fail) : EXIT_DONE;
}

static int run(struct gc_exports *g)
{
	g->loop = loop_new();
	g->manager = manager_new(g->loop, &g->config);
	g->until_ms = ((uint64_t)time(NULL) - g->options->older_days * 86400) * 1000;
	ask_page(g, 0, NULL);
	loop_run(g->loop);
	print_found(g);
	if (!g->fail.kind && g->ids.n && agreed(g)) {
		delete_next(g);
		loop_run(g->loop);
	}
	int code = print_end(g);
	manager_free(g->manager);
	loop_free(g->loop);
	return code;
}

int gc_exports_run(const struct options *options)
{
	struct gc_exports g = { .options = options };
	int code = settings_load(&g.config, options->env_file, &g.fail) < 0 ? report_refusal(&g.fail, options->verb) :
									      run(&g);
	strv_release(&g.ids);
	fail_release(&g.fail);
	config_release(&g.config);
	return code;
}
