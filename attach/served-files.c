/* Files: imports, exports and reading exports. */
#include "attach/codec.h"
#include "attach/fields.h"
#include "attach/served-private.h"
#include "base/alloc.h"
#include "base/json.h"

#define PAGE_MAX 1000
/* Limit of an export that is read over the wire; a larger one has a path on the host. */
#define READ_MAX (64u << 20)

/* --- copies -------------------------------------------------------------------------------------------------------- */

static void on_progress(void *ctx, const char *line)
{
	json_t *note = json_object();
	fields_put_text(note, "progress", line);
	served_note(ctx, note);
}

static void on_copied(void *ctx, const struct copy_result *results, size_t n, const struct fail *f)
{
	struct served *s = ctx;
	s->op = NULL;
	if (f)
		served_fail(s, f);
	else
		served_answer(s, copy_results_encode(results, n));
}

/* A client sends its own files as open descriptors: a path alone gives it no right to read. */
static int take_files(const struct served_host *host, const struct copy_parts *parts, size_t n, struct fail *f)
{
	size_t taken = 0;
	for (size_t i = 0; parts->imports && i < n; i++) {
		struct import_item *item = &parts->imports[i];
		if (item->own && taken == host->n_files)
			return fail_set(f, FAIL_INVALID, "the file '%.200s' was not sent with the request",
					item->source);
		if (item->own)
			item->fd = host->files[taken++];
	}
	return taken == host->n_files ? 0 : fail_set(f, FAIL_INVALID, "more files were sent than the request names");
}

static int start_copy(struct served *s, const json_t *request, struct fail *f)
{
	AUTO(copy_parts_release) struct copy_parts parts = { 0 };
	struct copy_request r;
	if (copy_request_decode(request, &r, &parts, f) < 0 || take_files(s->host, &parts, r.n, f) < 0)
		return -1;
	r.on_progress = json_is_true(json_object_get(request, "live")) ? on_progress : NULL;
	r.on_done = on_copied;
	r.ctx = s;
	s->op = manager_copy(s->host->conversation, &r, f);
	return s->op ? 0 : -1;
}

const struct served_type served_copy = { .name = "copy", .size = sizeof(struct served), .start = start_copy };

/* --- exports ------------------------------------------------------------------------------------------------------- */

static void on_exports(void *ctx, const struct export_info *v, size_t n, const struct fail *f)
{
	struct served *s = ctx;
	s->op = NULL;
	if (f) {
		served_fail(s, f);
		return;
	}
	json_t *list = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, export_info_encode(&v[i]));
	served_answer(s, list);
}

static int start_exports(struct served *s, const json_t *request, struct fail *f)
{
	struct fields in = { .json = request };
	struct exports_request r = { .before_ms = fields_number(&in, "before_ms", UINT64_MAX),
				     .before_id = fields_text(&in, "before_id"),
				     .limit = fields_number(&in, "limit", PAGE_MAX),
				     .on_done = on_exports,
				     .ctx = s };
	if (fields_check(&in, f) < 0)
		return -1;
	s->op = manager_exports(s->host->conversation, &r, f);
	return s->op ? 0 : -1;
}

const struct served_type served_exports = { .name = "exports", .size = sizeof(struct served), .start = start_exports };

/* --- reading an export --------------------------------------------------------------------------------------------- */

static void on_read(void *ctx, const struct export_info *info, const uint8_t *data, size_t n, const struct fail *f)
{
	struct served *s = ctx;
	s->op = NULL;
	if (f) {
		served_fail(s, f);
		return;
	}
	json_t *out = json_object();
	if (info)
		json_object_set_new(out, "export", export_info_encode(info));
	fields_put_bool(out, "has_data", data != NULL);
	served_answer_bytes(s, out, data, data ? n : 0);
}

static int start_read(struct served *s, const json_t *request, struct fail *f)
{
	struct fields in = { .json = request };
	struct read_request r = {
		.id = fields_text(&in, "id"), .max = fields_number(&in, "max", READ_MAX), .on_done = on_read, .ctx = s
	};
	if (fields_check(&in, f) < 0)
		return -1;
	if (!r.id)
		return fail_set(f, FAIL_INVALID, "the request names no export");
	s->op = manager_read_export(s->host->conversation, &r, f);
	return s->op ? 0 : -1;
}

const struct served_type served_read_export = { .name = "read_export",
						.size = sizeof(struct served),
						.start = start_read };
