/* Routes of exports: list, show, download, delete. */
#include "api/file-body.h"
#include "api/host.h"
#include "api/links.h"
#include "api/route.h"
#include "base/alloc.h"
#include "base/parse.h"
#include "base/percent.h"

#define PAGE_DEFAULT 100
#define PAGE_MAX 1000

struct list_query {
	int64_t limit;
	const char *after;
};

static const struct arg list_table[] = {
	{ "limit", ARG_INT, offsetof(struct list_query, limit), .min = 1, .max = PAGE_MAX,
	  .description = "Number of exports in one answer; default: 100.", .example = "100" },
	{ "after", ARG_STRING, offsetof(struct list_query, after), ARG_NONEMPTY, .max = 64,
	  .description = "The `next` of the previous answer.", .example = "\"1800000000000.kq3v…\"" },
	{ 0 },
};

static const struct arg content_table[] = { LINK_ARGS(struct link_query), { 0 } };

static void list_defaults(const struct exchange *x UNUSED, void *query, void *args UNUSED)
{
	((struct list_query *)query)->limit = PAGE_DEFAULT;
}

/* An export of another tenant gets the same answer. */
static void no_export(struct exchange *x)
{
	AUTO(fail_release) struct fail f = { 0 };
	fail_set(&f, FAIL_NOT_FOUND, "There is no export '%.64s'.", x->captures[0]);
	fail_hint(&f, "GET /v1/exports lists them.");
	exchange_fail(x, &f);
}

/* --- list ---------------------------------------------------------------------------------------------------------- */

static void listed(void *ctx, const struct export_info *v, size_t n, const struct fail *f)
{
	struct exchange *x = ctx;
	const struct list_query *query = x->query;
	if (!exchange_resume(x, f))
		return;
	json_t *list = json_array(), *out = json_pack("{s:o}", "exports", list);
	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, links_export_json(x, &v[i]));
	if (n && n == (size_t)query->limit)
		json_object_set_new(out, "next",
				    json_sprintf("%llu.%s", (unsigned long long)v[n - 1].created_ms, v[n - 1].id));
	exchange_reply(x, 200, out);
}

/* "MILLISECONDS.ID" of the last export of a page. */
static bool read_place(const char *after, struct exports_request *request)
{
	const char *dot = strchr(after, '.');
	AUTO(freep) char *ms = dot ? xstrndup(after, (size_t)(dot - after)) : NULL;
	if (!dot || !dot[1] || parse_u64(ms, &request->before_ms) < 0)
		return false;
	request->before_id = dot + 1;
	return true;
}

static void list_exports(struct exchange *x)
{
	const struct list_query *query = x->query;
	AUTO(fail_release) struct fail f = { 0 };
	struct exports_request request = { .limit = (size_t)query->limit, .on_done = listed, .ctx = x };
	if (query->after && !read_place(query->after, &request)) {
		exchange_problem(x, 400, "The query: after is not the `next` of an earlier answer.", NULL);
		return;
	}
	exchange_await(x, manager_exports(x->conversation, &request, &f), &f);
}

static void get_exports(struct exchange *x)
{
	links_prepare(x, list_exports);
}

/* --- show ---------------------------------------------------------------------------------------------------------- */

static void shown(void *ctx, const struct export_info *info, int fd UNUSED, const struct fail *f)
{
	struct exchange *x = ctx;
	if (!exchange_resume(x, f))
		return;
	if (info)
		exchange_reply(x, 200, links_export_json(x, info));
	else
		no_export(x);
}

static void find(struct exchange *x, bool content,
		 void (*fn)(void *ctx, const struct export_info *info, int fd, const struct fail *f))
{
	AUTO(fail_release) struct fail f = { 0 };
	struct open_export_request request = {
		.tenant = x->caller.tenant, .id = x->captures[0], .content = content, .on_done = fn, .ctx = x
	};
	exchange_await(x, manager_open_export(x->api->spec.manager, &request, &f), &f);
}

static void show_export(struct exchange *x)
{
	find(x, /* content= */ false, shown);
}

static void get_export(struct exchange *x)
{
	links_prepare(x, show_export);
}

/* --- download ------------------------------------------------------------------------------------------------------ */

static void add_fields(struct http_fields *fields, const struct export_info *info)
{
	AUTO(buf_release) struct buf name = { 0 };
	percent_encode(&name, info->name, /* keep_slash= */ false);
	http_fields_add(fields, "Content-Type", info->mime ? info->mime : "application/octet-stream");
	http_fields_addf(fields, "Content-Disposition", "attachment; filename*=UTF-8''%s%s", buf_str(&name),
			 info->directory ? ".tar" : "");
	/* The content of an id never changes. */
	http_fields_add(fields, "Cache-Control", "private, max-age=31536000, immutable");
	/* A browser that shows it nevertheless must not run it as a page of this server. */
	http_fields_add(fields, "Content-Security-Policy", "sandbox; default-src 'none'");
}

static void opened(void *ctx, const struct export_info *info, int fd, const struct fail *f)
{
	struct exchange *x = ctx;
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	if (!exchange_resume(x, f))
		return;
	if (!info) {
		no_export(x);
		return;
	}
	AUTO(freep) char *etag = xasprintf("\"%s\"", info->hash);
	add_fields(&fields, info);
	file_body_reply(x, &fields, fd, info->stored, etag);
}

static void get_content(struct exchange *x)
{
	find(x, /* content= */ true, opened);
}

/* --- delete -------------------------------------------------------------------------------------------------------- */

static void deleted(void *ctx, const struct fail *f)
{
	struct exchange *x = ctx;
	if (f && f->kind == FAIL_NOT_FOUND) {
		x->op = NULL;
		no_export(x);
		return;
	}
	exchange_on_done(x, f);
}

static void delete_export(struct exchange *x)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct delete_export_request request = {
		.tenant = x->caller.tenant, .id = x->captures[0], .on_done = deleted, .ctx = x
	};
	exchange_await(x, manager_delete_export(x->api->spec.manager, &request, &f), &f);
}

/* --- the table ----------------------------------------------------------------------------------------------------- */

static const struct route_answer list_answers[] = { { 200, "Exports", NULL, "The exports, newest first." }, { 0 } };
static const struct route_answer show_answers[] = { { 200, "Export", NULL, "The export." }, { 0 } };
static const struct route_answer content_answers[] = {
	{ 200, NULL, "application/octet-stream", "The file, or a tar archive of the directory." },
	{ 206, NULL, "application/octet-stream", "The part that Range asks for." },
	{ 304, NULL, NULL, "The client has this content (If-None-Match)." },
	{ 0 }
};
static const struct route_answer delete_answers[] = { { 204, NULL, NULL, "The export is deleted." }, { 0 } };

const struct route routes_exports[] = {
	{ .method = HTTP_METHOD_GET,
	  .path = "/v1/exports",
	  .scope = SCOPE_EXPORTS_READ,
	  .name = "listExports",
	  .tag = "exports",
	  .summary = "List the exports of the conversation",
	  .query = list_table,
	  .query_size = sizeof(struct list_query),
	  .defaults = list_defaults,
	  .answers = list_answers,
	  .example = "",
	  .handle = get_exports },
	{ .method = HTTP_METHOD_GET,
	  .path = "/v1/exports/{export}",
	  .scope = SCOPE_EXPORTS_READ,
	  .name = "getExport",
	  .tag = "exports",
	  .summary = "Show an export",
	  .text = "Over TCP, `download_url` is a signed link to the content, which works without a key for 24 hours.",
	  .answers = show_answers,
	  .example = "",
	  .handle = get_export },
	{ .method = HTTP_METHOD_GET,
	  .path = "/v1/exports/{export}/content",
	  .scope = SCOPE_EXPORTS_READ,
	  .flags = ROUTE_LINK,
	  .name = "getExportContent",
	  .tag = "exports",
	  .summary = "Download an export",
	  .text = "The content never changes: ETag is its hash. Range and If-None-Match are supported.",
	  .query = content_table,
	  .query_size = sizeof(struct link_query),
	  .answers = content_answers,
	  .example = "-o data.csv",
	  .handle = get_content },
	{ .method = HTTP_METHOD_DELETE,
	  .path = "/v1/exports/{export}",
	  .scope = SCOPE_FILES_WRITE,
	  .name = "deleteExport",
	  .tag = "exports",
	  .summary = "Delete an export",
	  .answers = delete_answers,
	  .example = "-X DELETE",
	  .handle = delete_export },
	{ 0 },
};
