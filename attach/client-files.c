/* Files: imports, exports and reading exports. */
#include <errno.h>
#include <fcntl.h>

#include "attach/client-private.h"
#include "attach/codec.h"
#include "attach/fields.h"
#include "attach/wire.h"
#include "base/alloc.h"
#include "base/buf.h"

#define PAGE_MAX 1000

struct files_call {
	struct attach_call call;
	/* Exactly one is set. */
	struct copy_request copy;
	struct exports_request exports;
	struct read_request read;
	struct buf data;
	bool too_much;
};

static struct files_call *call_of(struct attach_call *call)
{
	return container_of(call, struct files_call, call);
}

static void free_call(struct attach_call *call)
{
	buf_release(&call_of(call)->data);
	free(call_of(call));
}

/* --- copies -------------------------------------------------------------------------------------------------------- */

static int on_copied(struct attach_call *call, const json_t *json, struct fail *f)
{
	const struct copy_request *request = &call_of(call)->copy;
	struct copy_result *v = NULL;
	size_t n = 0;
	int r = copy_results_decode(json, &v, &n, f);
	if (r == 0 && n != request->n)
		r = fail_set(f, FAIL_INVALID, "there are %zu results for %zu entries", n, request->n);
	if (r == 0)
		request->on_done(request->ctx, v, n, NULL);
	for (size_t i = 0; i < n; i++)
		copy_result_release(&v[i]);
	free(v);
	return r;
}

static void on_not_copied(struct attach_call *call, const struct fail *f)
{
	call_of(call)->copy.on_done(call_of(call)->copy.ctx, NULL, 0, f);
}

static void on_progress(struct attach_call *call, const json_t *note)
{
	const struct copy_request *request = &call_of(call)->copy;
	const char *line = json_string_value(json_object_get(note, "progress"));
	if (line && request->on_progress)
		request->on_progress(request->ctx, line);
}

/* Opens a file with the rights of this process. A descriptor that is already open is duplicated, so that the caller can
 * close every result. */
static int open_own(const struct import_item *item, struct fail *f)
{
	int fd = item->fd > 0 ? fcntl(item->fd, F_DUPFD_CLOEXEC, 3) :
				open(item->source, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? fail_set(f, FAIL_INVALID, "cannot open '%s': %s", item->source, strerror(errno)) : fd;
}

static int open_all(const struct copy_request *req, int files[ATTACH_FILES_MAX], size_t *n, struct fail *f)
{
	for (size_t i = 0; req->imports && i < req->n; i++) {
		if (!req->imports[i].own)
			continue;
		if (*n == ATTACH_FILES_MAX)
			return fail_set(f, FAIL_LIMIT, "at most %d files and folders can be sent with one request",
					ATTACH_FILES_MAX);
		files[*n] = open_own(&req->imports[i], f);
		if (files[*n] < 0)
			return -1;
		++*n;
	}
	return 0;
}

struct attach_call *attach_copy(struct attach *a, const struct copy_request *req, struct fail *f)
{
	static const struct attach_call_type type = { .op = "copy",
						      .on_answer = on_copied,
						      .on_fail = on_not_copied,
						      .on_note = on_progress,
						      .free = free_call };
	int files[ATTACH_FILES_MAX];
	size_t n_files = 0;
	struct attach_call *started = NULL;
	if (open_all(req, files, &n_files, f) == 0) {
		struct files_call *c = new0(struct files_call);
		c->copy = (struct copy_request){
			.n = req->n, .on_progress = req->on_progress, .on_done = req->on_done, .ctx = req->ctx
		};
		c->call.files = files;
		c->call.n_files = n_files;
		started = attach_call_start(a, &c->call, &type, copy_request_encode(req), f);
	}
	for (size_t i = 0; i < n_files; i++)
		close(files[i]);
	return started;
}

/* --- exports ------------------------------------------------------------------------------------------------------- */

static int on_exports(struct attach_call *call, const json_t *json, struct fail *f)
{
	const struct exports_request *request = &call_of(call)->exports;
	size_t size = json_array_size(json), n = 0;
	if (!json_is_array(json) || size > PAGE_MAX)
		return fail_set(f, FAIL_INVALID, "the list of exports is malformed");
	struct export_info *v = xcalloc(size + 1, sizeof(*v));
	int r = 0;
	while (r == 0 && n < size) {
		r = export_info_decode(json_array_get(json, n), &v[n], f);
		n++;
	}
	if (r == 0)
		request->on_done(request->ctx, v, n, NULL);
	for (size_t i = 0; i < n; i++)
		export_info_release(&v[i]);
	free(v);
	return r;
}

static void on_no_exports(struct attach_call *call, const struct fail *f)
{
	call_of(call)->exports.on_done(call_of(call)->exports.ctx, NULL, 0, f);
}

struct attach_call *attach_exports(struct attach *a, const struct exports_request *req, struct fail *f)
{
	static const struct attach_call_type type = {
		.op = "exports", .on_answer = on_exports, .on_fail = on_no_exports, .free = free_call
	};
	struct files_call *c = new0(struct files_call);
	json_t *request = json_object();
	c->exports = (struct exports_request){ .on_done = req->on_done, .ctx = req->ctx };
	fields_put_number(request, "before_ms", req->before_ms);
	fields_put_text(request, "before_id", req->before_id);
	fields_put_number(request, "limit", MIN(req->limit, (size_t)PAGE_MAX));
	return attach_call_start(a, &c->call, &type, request, f);
}

/* --- reading an export --------------------------------------------------------------------------------------------- */

static void on_data(struct attach_call *call, int stream UNUSED, const void *data, size_t n)
{
	struct files_call *c = call_of(call);
	c->too_much |= buf_add(&c->data, data, n) < 0;
}

static int on_read(struct attach_call *call, const json_t *json, struct fail *f)
{
	struct files_call *c = call_of(call);
	struct fields in = { .json = json };
	const json_t *export = fields_object(&in, "export");
	bool has_data = fields_bool(&in, "has_data");
	AUTO(export_info_release) struct export_info info = { 0 };
	if (fields_check(&in, f) < 0 || (export && export_info_decode(export, &info, f) < 0))
		return -1;
	if (c->too_much || c->data.len > c->read.max)
		return fail_set(f, FAIL_INVALID, "the answer has more bytes than were requested");
	const uint8_t *data = has_data ? (const uint8_t *)buf_str(&c->data) : NULL;
	c->read.on_done(c->read.ctx, export ? &info : NULL, data, has_data ? c->data.len : 0, NULL);
	return 0;
}

static void on_not_read(struct attach_call *call, const struct fail *f)
{
	call_of(call)->read.on_done(call_of(call)->read.ctx, NULL, NULL, 0, f);
}

struct attach_call *attach_read_export(struct attach *a, const struct read_request *req, struct fail *f)
{
	static const struct attach_call_type type = { .op = "read_export",
						      .on_answer = on_read,
						      .on_fail = on_not_read,
						      .on_bytes = on_data,
						      .free = free_call };
	struct files_call *c = new0(struct files_call);
	json_t *request = json_object();
	c->read = (struct read_request){ .max = req->max, .on_done = req->on_done, .ctx = req->ctx };
	c->data.max = req->max + 1; /* 0 would mean no limit */
	fields_put_text(request, "id", req->id);
	fields_put_number(request, "max", req->max);
	return attach_call_start(a, &c->call, &type, request, f);
}
