#include "cli/gc-old.h"

#include <jansson.h>
#include <time.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/loop.h"
#include "cli/exit.h"
#include "cli/report.h"
#include "manager/json/codec.h"

#define PAGE 500

/* The old exports or the old images. `done`: how many deletions have ended, in the order of the names. */
struct found {
	struct strv names; /* ids of exports, names of images */
	uint64_t bytes;
	size_t done, deleted, in_use;
};

struct gc_old {
	const struct options *options;
	struct config config;
	struct loop *loop;
	struct manager *manager;
	uint64_t until; /* seconds; older exports and images are deleted */
	struct found exports, images;
	json_t *exports_listed, *images_listed; /* for --json */
	struct fail fail;
};

static void end(struct gc_old *g, const struct fail *f)
{
	if (f && !g->fail.kind)
		fail_copy(&g->fail, f);
	loop_stop(g->loop, 0);
}

/* --- exports ----------------------------------------------------------------------------------------------------- */

static void load_page(struct gc_old *g, uint64_t before_ms, const char *before_id);

static void on_page(void *ctx, const struct export_info *v, size_t n, const struct fail *f)
{
	struct gc_old *g = ctx;
	for (size_t i = 0; i < n; i++) {
		strv_add(&g->exports.names, v[i].id);
		g->exports.bytes += v[i].size;
		if (g->options->json)
			json_array_append_new(g->exports_listed, listed_export_encode(&v[i]));
	}
	if (n == PAGE)
		load_page(g, v[n - 1].created_ms, v[n - 1].id);
	else
		end(g, f);
}

static void load_page(struct gc_old *g, uint64_t before_ms, const char *before_id)
{
	struct exports_request request = {
		.before_ms = before_ms, .before_id = before_id, .limit = PAGE, .on_done = on_page, .ctx = g
	};
	if (!manager_all_exports(g->manager, /* conversation= */ NULL, &request, &g->fail))
		end(g, /* f= */ NULL);
}

static void delete_export(struct gc_old *g);

static void on_deleted(void *ctx, const struct fail *f)
{
	struct gc_old *g = ctx;
	/* Another process may have deleted the export in the meantime. */
	if (f && f->kind != FAIL_NOT_FOUND) {
		end(g, f);
		return;
	}
	g->exports.done++;
	g->exports.deleted++;
	delete_export(g);
}

static void delete_export(struct gc_old *g)
{
	if (g->exports.done == g->exports.names.n) {
		end(g, /* f= */ NULL);
		return;
	}
	struct delete_export_request request = { .id = g->exports.names.v[g->exports.done],
						 .on_done = on_deleted,
						 .ctx = g };
	if (!manager_delete_export(g->manager, &request, &g->fail))
		end(g, /* f= */ NULL);
}

/* --- images ------------------------------------------------------------------------------------------------------ */

static void on_images(void *ctx, const struct image_info *v, size_t n, const struct fail *f)
{
	struct gc_old *g = ctx;
	for (size_t i = 0; i < n; i++) {
		strv_add(&g->images.names, v[i].name);
		g->images.bytes += v[i].size;
		json_array_append_new(g->images_listed, image_info_encode(&v[i]));
	}
	end(g, f);
}

static void load_images(struct gc_old *g)
{
	struct images_request request = { .before = g->until, .on_done = on_images, .ctx = g };
	if (!manager_old_images(g->manager, &request, &g->fail))
		end(g, /* f= */ NULL);
}

static void remove_image(struct gc_old *g);

static void on_removed(void *ctx, const struct fail *f)
{
	struct gc_old *g = ctx;
	const char *name = g->images.names.v[g->images.done++];
	if (f && f->kind != FAIL_BUSY) {
		end(g, f);
		return;
	}
	if (f) {
		g->images.in_use++;
		fprintf(stderr, "husk: kept %s: %s\n", name, f->message);
	} else {
		g->images.deleted++;
	}
	remove_image(g);
}

static void remove_image(struct gc_old *g)
{
	if (g->images.done == g->images.names.n) {
		end(g, /* f= */ NULL);
		return;
	}
	struct remove_image_request request = { .name = g->images.names.v[g->images.done],
						.on_done = on_removed,
						.ctx = g };
	if (!manager_remove_image(g->manager, &request, &g->fail))
		end(g, /* f= */ NULL);
}

/* --- the terminal ------------------------------------------------------------------------------------------------ */

static bool agreed(const struct gc_old *g)
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

static void print_sum(const struct gc_old *g, const struct found *found, const char *noun, const char *note)
{
	printf("%zu %s%s older than %llu day%s, %.1f MB%s\n", found->names.n, noun, found->names.n == 1 ? "" : "s",
	       (unsigned long long)g->options->older_days, g->options->older_days == 1 ? "" : "s",
	       (double)found->bytes / 1e6, note);
}

static void print_found(const struct gc_old *g)
{
	if (g->options->json)
		return;
	if (g->options->old_exports)
		print_sum(g, &g->exports, "export", "");
	size_t i;
	const json_t *image;
	json_array_foreach(g->images_listed, i, image)
		printf("%10.1f MB  %s\n", (double)json_integer_value(json_object_get(image, "size")) / 1e6,
		       json_string_value(json_object_get(image, "name")));
	if (g->options->old_images)
		print_sum(g, &g->images, "image",
			  g->images.names.n > 1 ? " (shared layers are counted once per image)" : "");
	fflush(stdout);
}

static void print_json(const struct gc_old *g)
{
	json_auto_t *o = json_object();
	if (g->options->old_exports) {
		json_object_set(o, "exports", g->exports_listed);
		json_object_set_new(o, "exports_deleted", json_integer((json_int_t)g->exports.deleted));
	}
	if (g->options->old_images) {
		json_object_set(o, "images", g->images_listed);
		json_object_set_new(o, "images_deleted", json_integer((json_int_t)g->images.deleted));
		json_object_set_new(o, "images_in_use", json_integer((json_int_t)g->images.in_use));
	}
	json_dumpf(o, stdout, JSON_INDENT(2));
	putchar('\n');
}

static int print_end(const struct gc_old *g, bool deletes)
{
	size_t n = g->exports.names.n + g->images.names.n;
	if (g->options->json)
		print_json(g);
	else if (deletes)
		printf("%zu deleted\n", g->exports.deleted + g->images.deleted);
	else if (n && !g->fail.kind)
		puts("nothing deleted; --yes deletes them");
	return g->fail.kind ? report_fail(&g->fail) : EXIT_DONE;
}

/* --- life -------------------------------------------------------------------------------------------------------- */

static void find(struct gc_old *g)
{
	if (g->options->old_exports) {
		load_page(g, g->until * 1000, "");
		loop_run(g->loop);
	}
	if (g->options->old_images && !g->fail.kind) {
		load_images(g);
		loop_run(g->loop);
	}
}

static void delete_found(struct gc_old *g)
{
	delete_export(g);
	loop_run(g->loop);
	if (g->fail.kind)
		return;
	remove_image(g);
	loop_run(g->loop);
}

static int run(struct gc_old *g)
{
	g->loop = loop_new();
	g->manager = manager_new(g->loop, &g->config);
	g->until = (uint64_t)time(NULL) - g->options->older_days * 86400;
	find(g);
	print_found(g);
	bool deletes = !g->fail.kind && g->exports.names.n + g->images.names.n && agreed(g);
	if (deletes)
		delete_found(g);
	int code = print_end(g, deletes);
	manager_free(g->manager);
	loop_free(g->loop);
	return code;
}

int gc_old_run(const struct options *options)
{
	struct gc_old g = { .options = options, .exports_listed = json_array(), .images_listed = json_array() };
	int code = settings_load(&g.config, options->env_file, &g.fail) < 0 ? report_refusal(&g.fail, options->verb) :
									      run(&g);
	strv_release(&g.exports.names);
	strv_release(&g.images.names);
	json_decref(g.exports_listed);
	json_decref(g.images_listed);
	fail_release(&g.fail);
	config_release(&g.config);
	return code;
}
