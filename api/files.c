/* Routes of a session's files in place: read, list, write, make and delete. …/files/workspace/a.csv is /workspace/a.csv; a
 * path that ends with a slash is a directory. */
#include <fcntl.h>

#include "api/file-body.h"
#include "api/host.h"
#include "api/route.h"
#include "base/alloc.h"
#include "base/json.h"
#include "base/percent.h"
#include "http/range.h"
#include "manager/json/codec.h"

#define PAGE_DEFAULT 1000
/* A client that accepts it gets a directory as an archive. */
#define TAR "application/x-tar"

struct files_query {
	const char *after;
	int64_t limit;
	bool recursive;
};

static const struct arg list_table[] = {
	{ "after", ARG_STRING, offsetof(struct files_query, after), .max = 255,
	  .description = "Only names after this one, in the order of their bytes.", .example = "\"m.csv\"" },
	{ "limit", ARG_INT, offsetof(struct files_query, limit), .min = 1, .max = FILES_PAGE_MAX,
	  .description = "At most this many names; default: 1000.", .example = "100" },
	{ 0 },
};

static const struct arg delete_table[] = {
	{ "recursive", ARG_BOOL, offsetof(struct files_query, recursive),
	  .description = "Also delete a directory that is not empty.", .example = "true" },
	{ 0 },
};

/* The path in the session. The caller owns it. */
static char *path_of(const struct exchange *x)
{
	struct buf path = { 0 };
	for (size_t i = x->rest; i < x->target.n_segments; i++)
		buf_printf(&path, "/%s", http_target_segment(&x->target, i));
	if (!path.len)
		buf_add_str(&path, "/");
	return buf_steal_str(&path);
}

/* The entity tag of If-Match without its quotes, "*" = any version, NULL = no condition. The caller owns *ret. False: the
 * condition is not one that a file can be checked against, and the exchange is answered. */
static bool take_condition(struct exchange *x, char **ret)
{
	const struct http_fields *fields = &http_request_head(x->request)->fields;
	const char *field = exchange_field(x, "if-match");
	size_t n = field ? strlen(field) : 0;
	bool whole = n > 2 && field[0] == '"' && strchr(field + 1, '"') == field + n - 1;
	*ret = NULL;
	if (field && (!(whole || streq(field, "*")) || http_fields_count(fields, "if-match") > 1)) {
		exchange_problem(x, 400, "If-Match is not the entity tag of one version.",
				 "Send the ETag of an earlier answer with its quotes, or *.");
		return false;
	}
	if (field)
		*ret = whole ? xstrndup(field + 1, n - 2) : xstrdup(field);
	return true;
}

/* --- read ---------------------------------------------------------------------------------------------------------- */

static void reply_info(struct exchange *x, int status, const struct file_info *info)
{
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	if (info->etag)
		http_fields_addf(&fields, "ETag", "\"%s\"", info->etag);
	exchange_reply_fields(x, status, &fields, file_info_encode(info));
}

static void listed(void *ctx, const struct file_page *page, const struct fail *f)
{
	struct exchange *x = ctx;
	if (exchange_resume(x, f))
		exchange_reply(x, 200, file_page_encode(page));
}

/* The directories that can be used. They are in different places of the session's tree. */
static void reply_roots(struct exchange *x)
{
	static const char *const roots[] = { "home/sandbox", "tmp", "workspace" };
	json_t *entries = json_array();
	for (size_t i = 0; i < ARRAY_LEN(roots); i++)
		json_array_append_new(entries, json_pack("{s:s, s:s}", "name", roots[i], "type", "directory"));
	exchange_reply(x, 200,
		       json_pack("{s:s, s:o, s:i}", "type", "directory", "entries", entries, "total",
				 (int)ARRAY_LEN(roots)));
}

/* The directory as a tar archive. */
static void archived(void *ctx, const struct copy_result *results, size_t n, const struct fail *f)
{
	struct exchange *x = ctx;
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	x->op = NULL;
	if (f || !n || !results[0].success) {
		exchange_fail(x, f ? f : &results[0].failure);
		return;
	}
	const struct export_info *info = &results[0].export;
	int fd = fcntl(results[0].content, F_DUPFD_CLOEXEC, 3);
	if (fd < 0 || !info->directory) {
		closep(&fd);
		exchange_problem(x, 409, "The path is not a directory any more.", NULL);
		return;
	}
	AUTO(freep) char *etag = xasprintf("\"%s\"", info->hash);
	AUTO(buf_release) struct buf name = { 0 };
	percent_encode(&name, info->name, /* keep_slash= */ false);
	http_fields_add(&fields, "Content-Type", TAR);
	http_fields_addf(&fields, "Content-Disposition", "attachment; filename*=UTF-8''%s.tar", buf_str(&name));
	http_fields_add(&fields, "Cache-Control", "no-cache");
	file_body_reply(x, &fields, fd, info->stored, etag);
}

static void described(void *ctx, const struct file_info *info, const struct fail *f)
{
	struct exchange *x = ctx;
	AUTO(fail_release) struct fail why = { 0 };
	AUTO(freep) char *path = path_of(x);
	const char *exports[] = { path };
	struct copy_request request = {
		.session_id = x->session, .exports = exports, .n = 1, .temporary = true, .on_done = archived, .ctx = x
	};
	if (!exchange_resume(x, f))
		return;
	if (info->type == FILE_DIRECTORY) {
		exchange_await(x, manager_copy(x->conversation, &request, &why), &why);
		return;
	}
	cause_set(&why, FAIL_INVALID, CAUSE_NOT_DIRECTORY, "'%s' is not a directory.", path);
	exchange_fail(x, &why);
}

/* The failures of a copy are worded for a list of files, so whether there is a directory is asked first. */
static void archive(struct exchange *x, const char *path)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct stat_file_request request = { .session_id = x->session, .path = path, .on_done = described, .ctx = x };
	exchange_await(x, manager_stat_file(x->conversation, &request, &f), &f);
}

static void list(struct exchange *x)
{
	const struct files_query *query = x->query;
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *path = path_of(x);
	if (streq(path, "/")) {
		reply_roots(x);
		return;
	}
	if (exchange_accepts(x, TAR)) {
		archive(x, path);
		return;
	}
	struct list_files_request request = { .session_id = x->session,
					      .path = path,
					      .after = query->after,
					      .limit = (size_t)query->limit,
					      .on_done = listed,
					      .ctx = x };
	exchange_await(x, manager_list_files(x->conversation, &request, &f), &f);
}

/* A file whose content comes through the manager, as the client reads it. */
struct reading {
	uint64_t first, length;
	bool begun;
};

#define UNSENT_MAX (1u << 20)

static void add_file_fields(struct http_fields *fields, const char *etag)
{
	http_fields_add(fields, "Content-Type", "application/octet-stream");
	http_fields_add(fields, "ETag", etag);
	http_fields_add(fields, "Accept-Ranges", "bytes");
	http_fields_add(fields, "Cache-Control", "no-cache");
	http_fields_add(fields, "Content-Security-Policy", "sandbox; default-src 'none'");
}

static void on_drained(void *ctx)
{
	struct exchange *x = ctx;
	if (x->op)
		file_pause(x->op, /* paused= */ false);
}

static void on_data(void *ctx, const void *data, size_t n)
{
	struct exchange *x = ctx;
	(void)http_reply_write(x->request, data, n);
	if (http_reply_queued(x->request) > UNSENT_MAX)
		file_pause(x->op, /* paused= */ true);
}

static void reading_free(struct exchange *x)
{
	free(take_ptr(x->data));
}

/* Sends the head of the answer and asks for the part. */
static void begin_reading(struct exchange *x, const struct file_info *info, const char *etag)
{
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	struct http_range range = { .length = info->size };
	struct reading *reading = x->data;
	enum http_range_result r = http_range_parse(&http_request_head(x->request)->fields, info->size, etag, &range);
	if (r == HTTP_RANGE_IMPOSSIBLE) {
		uint64_t size = info->size; /* it is the operation's */
		op_cancel(take_ptr(x->op));
		file_body_refuse_range(x, size);
		return;
	}
	add_file_fields(&fields, etag);
	if (r == HTTP_RANGE_WHOLE)
		range = (struct http_range){ .length = info->size };
	else
		http_fields_addf(&fields, "Content-Range", "bytes %llu-%llu/%llu", (unsigned long long)range.first,
				 (unsigned long long)(range.first + range.length - 1), (unsigned long long)info->size);
	reading->begun = true;
	http_reply_on_drained(x->request, on_drained, x);
	if (!exchange_begin(x, r == HTTP_RANGE_PART ? 206 : 200, &fields, (int64_t)range.length)) {
		struct http_request *request = take_ptr(x->request);
		op_cancel(take_ptr(x->op));
		exchange_end(x);
		http_reply_end(request);
		return;
	}
	file_read(x->op, range.first, range.length);
}

static void on_open(void *ctx, const struct file_info *info, int fd)
{
	struct exchange *x = ctx;
	AUTO(freep) char *etag = xasprintf("\"%s\"", info->etag);
	if (fd >= 0) {
		AUTO(http_fields_release) struct http_fields fields = { 0 };
		x->op = NULL;
		reading_free(x);
		x->closed = NULL;
		http_fields_add(&fields, "Content-Type", "application/octet-stream");
		http_fields_add(&fields, "Cache-Control", "no-cache");
		http_fields_add(&fields, "Content-Security-Policy", "sandbox; default-src 'none'");
		file_body_reply(x, &fields, fd, info->size, etag);
		return;
	}
	if (http_etag_listed(&http_request_head(x->request)->fields, "if-none-match", etag, /* weak= */ true)) {
		AUTO(http_fields_release) struct http_fields fields = { 0 };
		op_cancel(take_ptr(x->op));
		http_fields_add(&fields, "ETag", etag);
		exchange_reply_text(x, 304, &fields, NULL, NULL, 0);
		return;
	}
	begin_reading(x, info, etag);
}

static void on_end(void *ctx, const struct fail *f)
{
	struct exchange *x = ctx;
	struct reading *reading = x->data;
	x->op = NULL;
	if (!reading->begun && f && cause_of(f) == CAUSE_IS_DIRECTORY) {
		reading_free(x);
		x->closed = NULL;
		list(x);
		return;
	}
	if (!reading->begun) {
		exchange_fail(x, f);
		return;
	}
	struct http_request *request = take_ptr(x->request);
	exchange_end(x);
	/* The length was announced, so a client notices that the rest is missing. */
	if (f)
		http_reply_abort(request);
	else
		http_reply_end(request);
}

static void get_file(struct exchange *x)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *path = path_of(x);
	if (x->target.folder) {
		list(x);
		return;
	}
	struct open_file_request request = { .session_id = x->session,
					     .path = path,
					     .on_open = on_open,
					     .on_data = on_data,
					     .on_end = on_end,
					     .ctx = x };
	x->data = new0(struct reading);
	x->closed = reading_free;
	exchange_await(x, manager_open_file(x->conversation, &request, &f), &f);
}

/* --- write --------------------------------------------------------------------------------------------------------- */

static void made(void *ctx, const struct file_info *info, bool created, const struct fail *f)
{
	struct exchange *x = ctx;
	/* If the request has a condition, an existing file means that the condition failed. */
	if (f && cause_of(f) == CAUSE_FILE_EXISTS && exchange_field(x, "if-none-match")) {
		x->op = NULL;
		exchange_problem(x, 412, "The file exists already.", NULL);
		return;
	}
	if (exchange_resume(x, f))
		reply_info(x, created ? 201 : 200, info);
}

static void make_directory(struct exchange *x, const char *path)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct make_directory_request request = { .session_id = x->session, .path = path, .on_done = made, .ctx = x };
	exchange_await(x, manager_make_directory(x->conversation, &request, &f), &f);
}

/* The rest of the body is read once the session has taken the bytes that wait. */
static void on_written(void *ctx)
{
	struct exchange *x = ctx;
	if (x->request)
		http_request_pause(x->request, /* paused= */ false);
}

static void on_body_data(void *ctx, const void *data, size_t n)
{
	struct exchange *x = ctx;
	if (x->op && file_write(x->op, data, n) != 0)
		http_request_pause(x->request, /* paused= */ true);
}

static void on_body_end(void *ctx)
{
	struct exchange *x = ctx;
	if (x->op)
		file_write_end(x->op);
}

static void put_file(struct exchange *x)
{
	static const struct http_body_ops ops = { on_body_data, on_body_end };
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *path = path_of(x);
	AUTO(freep) char *etag = NULL;
	const struct http_head *head = http_request_head(x->request);
	const char *none = exchange_field(x, "if-none-match");
	if (!take_condition(x, &etag))
		return;
	if (x->target.folder) {
		make_directory(x, path);
		return;
	}
	struct write_file_request request = { .session_id = x->session,
					      .path = path,
					      .etag = etag,
					      .create_only = none && streq(none, "*"),
					      .has_size = head->length >= 0,
					      .size = head->length >= 0 ? (uint64_t)head->length : 0,
					      .on_drained = on_written,
					      .on_done = made,
					      .ctx = x };
	x->op = manager_write_file(x->conversation, &request, &f);
	if (x->op)
		http_request_read(x->request, &ops, x);
	else
		exchange_fail(x, &f);
}

static void delete_file(struct exchange *x)
{
	const struct files_query *query = x->query;
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *path = path_of(x);
	AUTO(freep) char *etag = NULL;
	if (!take_condition(x, &etag))
		return;
	struct delete_file_request request = { .session_id = x->session,
					       .path = path,
					       .recursive = query->recursive,
					       .etag = etag,
					       .on_done = exchange_on_done,
					       .ctx = x };
	exchange_await(x, manager_delete_file(x->conversation, &request, &f), &f);
}

/* --- the table ----------------------------------------------------------------------------------------------------- */

static void list_defaults(const struct exchange *x UNUSED, void *query, void *args UNUSED)
{
	struct files_query *q = query;
	q->limit = PAGE_DEFAULT;
}

static const struct route_answer get_answers[] = {
	{ 200, "File", NULL, "A directory: its entries." },
	{ 200, NULL, TAR, "A directory as a tar archive, for a client that accepts that type." },
	{ 200, NULL, "application/octet-stream", "A file: its content." },
	{ 206, NULL, "application/octet-stream", "A part of a file." },
	{ 304, NULL, NULL, "The client has this version." },
	{ 416, NULL, NULL, "The file is shorter than the range." },
	{ 0 },
};
static const struct route_answer put_answers[] = {
	{ 200, "File", NULL, "The file was replaced, or the directory existed." },
	{ 201, "File", NULL, "The file or directory is new." },
	{ 0 },
};
static const struct route_answer delete_answers[] = { { 204, NULL, NULL, "The file is gone." }, { 0 } };

#define FILES_PATH "/v1/sessions/{session}/files/{path...}"

const struct route routes_files[] = {
	{ .method = HTTP_METHOD_GET,
	  .path = FILES_PATH,
	  .scope = SCOPE_FILES_READ,
	  .flags = ROUTE_SESSION,
	  .name = "readFile",
	  .tag = "files",
	  .summary = "Read a file of the session, or list a directory",
	  .text = "Supports Range, If-Range and If-None-Match. The entity tag changes whenever the file does. "
		  "With `Accept: application/x-tar`, a directory is a tar archive of everything in it.",
	  .query = list_table,
	  .query_size = sizeof(struct files_query),
	  .defaults = list_defaults,
	  .answers = get_answers,
	  .example = "-O",
	  .handle = get_file },
	{ .method = HTTP_METHOD_PUT,
	  .path = FILES_PATH,
	  .scope = SCOPE_FILES_WRITE,
	  .flags = ROUTE_SESSION | ROUTE_RAW_BODY,
	  .name = "writeFile",
	  .tag = "files",
	  .summary = "Write a file of the session, or make a directory",
	  .text = "The body replaces the file when it is complete. If-Match replaces only that version (`*` = any), "
		  "`If-None-Match: *` only makes a new file. A path with a final slash is a directory; missing parents are made.",
	  .answers = put_answers,
	  .example = "-T data.csv",
	  .handle = put_file },
	{ .method = HTTP_METHOD_DELETE,
	  .path = FILES_PATH,
	  .scope = SCOPE_FILES_WRITE,
	  .flags = ROUTE_SESSION,
	  .name = "deleteFile",
	  .tag = "files",
	  .summary = "Delete a file or a directory of the session",
	  .query = delete_table,
	  .query_size = sizeof(struct files_query),
	  .answers = delete_answers,
	  .example = "-X DELETE",
	  .handle = delete_file },
	{ 0 },
};
