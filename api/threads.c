/* Routes of the reference server, so that programs that were written for it keep working. A thread is a conversation.
 * Unlike there, a key is needed, and a directory is the tar archive that its name promises. */
#include "api/file-body.h"
#include "api/host.h"
#include "api/route.h"
#include "base/alloc.h"
#include "base/percent.h"

#define EXPORTS_AT_ONCE 100

/* The reference's words. */
#define NOT_EXPORTED "File not exported or access denied"
#define INVALID_PATH "Invalid path"

struct download_query {
	const char *session_id, *path;
};

static const struct arg download_table[] = {
	{ "session_id", ARG_STRING, offsetof(struct download_query, session_id), ARG_REQUIRED | ARG_NONEMPTY,
	  .max = 128, .description = "The session that exported the file.", .example = "\"kq3v…\"" },
	{ "path", ARG_STRING, offsetof(struct download_query, path), ARG_REQUIRED | ARG_NONEMPTY, .max = 4096,
	  .description = "The exported path, or one below an exported directory.",
	  .example = "\"/workspace/report.pdf\"" },
	{ 0 },
};

/* The full id of the conversation. NULL if no tenant can have it. The caller owns it. */
static char *thread_of(const struct exchange *x)
{
	return *x->captures[0] == '@' ? NULL : tenant_conversation(x->caller.tenant, x->captures[0]);
}

/* --- download ------------------------------------------------------------------------------------------------------ */

static void opened(void *ctx, const struct export_info *info, int fd, const struct fail *f)
{
	struct exchange *x = ctx;
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	AUTO(buf_release) struct buf name = { 0 };
	if (!exchange_resume(x, f))
		return;
	if (!info) {
		exchange_problem(x, 403, NOT_EXPORTED,
				 "Export the file first, and name the thread and the session that exported it.");
		return;
	}
	AUTO(freep) char *etag = xasprintf("\"%s\"", info->hash);
	percent_encode(&name, info->name, /* keep_slash= */ false);
	http_fields_add(&fields, "Content-Type", info->directory ? "application/x-tar" : "application/octet-stream");
	http_fields_addf(&fields, "Content-Disposition", "attachment; filename*=UTF-8''%s%s", buf_str(&name),
			 info->directory ? ".tar" : "");
	file_body_reply(x, &fields, fd, info->stored, etag);
}

static void get_download(struct exchange *x)
{
	const struct download_query *query = x->query;
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *thread = thread_of(x);
	struct open_export_request request = { .tenant = x->caller.tenant,
					       .conversation = thread ? thread : "",
					       .session = query->session_id,
					       .path = query->path,
					       .content = true,
					       .on_done = opened,
					       .ctx = x };
	x->op = manager_open_export(x->api->spec.manager, &request, &f);
	if (!x->op)
		exchange_problem(x, 400, INVALID_PATH, f.message);
}

/* --- delete -------------------------------------------------------------------------------------------------------- */

/* First stops the sessions of the conversation, on whichever server, then deletes its exports. */
struct deletion {
	char *thread;
	struct strv sessions, exports;
	size_t at;
};

static void deletion_free(struct exchange *x)
{
	struct deletion *d = take_ptr(x->data);
	free(d->thread);
	strv_release(&d->sessions);
	strv_release(&d->exports);
	free(d);
}

static void next_session(struct exchange *x);
static void next_export(struct exchange *x);

static void list_exports(struct exchange *x);

/* An object that is already gone need not be deleted. */
static const struct fail *unless_gone(const struct fail *f)
{
	return f && f->kind == FAIL_NOT_FOUND ? NULL : f;
}

static void on_deleted(void *ctx, const struct fail *f)
{
	struct exchange *x = ctx;
	if (exchange_resume(x, unless_gone(f)))
		next_export(x);
}

static void next_export(struct exchange *x)
{
	struct deletion *d = x->data;
	AUTO(fail_release) struct fail f = { 0 };
	if (d->at == d->exports.n) {
		list_exports(x);
		return;
	}
	struct delete_export_request request = {
		.tenant = x->caller.tenant, .id = d->exports.v[d->at++], .on_done = on_deleted, .ctx = x
	};
	exchange_await(x, manager_delete_export(x->api->spec.manager, &request, &f), &f);
}

static void on_exports(void *ctx, const struct export_info *v, size_t n, const struct fail *f)
{
	struct exchange *x = ctx;
	struct deletion *d = x->data;
	if (!exchange_resume(x, f))
		return;
	if (!n) {
		exchange_reply_empty(x, 204);
		return;
	}
	strv_release(&d->exports);
	d->exports = (struct strv){ 0 };
	d->at = 0;
	for (size_t i = 0; i < n; i++)
		strv_add(&d->exports, v[i].id);
	next_export(x);
}

static void list_exports(struct exchange *x)
{
	struct deletion *d = x->data;
	AUTO(fail_release) struct fail f = { 0 };
	struct exports_request request = { .limit = EXPORTS_AT_ONCE, .on_done = on_exports, .ctx = x };
	exchange_await(x, manager_all_exports(x->api->spec.manager, d->thread, &request, &f), &f);
}

static void on_stopped(void *ctx, size_t n UNUSED, const struct fail *f)
{
	struct exchange *x = ctx;
	if (exchange_resume(x, unless_gone(f)))
		next_session(x);
}

static void next_session(struct exchange *x)
{
	struct deletion *d = x->data;
	AUTO(fail_release) struct fail f = { 0 };
	if (d->at == d->sessions.n) {
		list_exports(x);
		return;
	}
	struct stop_all_request request = { .session_id = d->sessions.v[d->at++], .on_done = on_stopped, .ctx = x };
	exchange_await(x, manager_stop_all(x->api->spec.manager, &request, &f), &f);
}

static void on_sessions(void *ctx, const struct listed_session *v, size_t n, const struct fail *f,
			const struct fail *unsure UNUSED)
{
	struct exchange *x = ctx;
	struct deletion *d = x->data;
	if (!exchange_resume(x, f))
		return;
	for (size_t i = 0; i < n; i++)
		if (streq(v[i].conversation, d->thread))
			strv_add(&d->sessions, v[i].id);
	next_session(x);
}

static void delete_thread(struct exchange *x)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *thread = thread_of(x);
	if (!thread) {
		exchange_reply_empty(x, 204); /* nobody has such a thread */
		return;
	}
	struct deletion *d = new0(struct deletion);
	d->thread = take_ptr(thread);
	x->data = d;
	x->closed = deletion_free;
	exchange_await(x,
		       manager_list_all(x->api->spec.manager,
					&(struct list_request){ .brief = true, .on_done = on_sessions, .ctx = x }, &f),
		       &f);
}

/* --- the table ----------------------------------------------------------------------------------------------------- */

static const struct route_answer download_answers[] = {
	{ 200, NULL, "application/octet-stream", "The file, or a tar archive of the directory." },
	{ 206, NULL, "application/octet-stream", "The part that Range asks for." },
	{ 400, "Problem", "application/problem+json", INVALID_PATH "." },
	{ 403, "Problem", "application/problem+json", NOT_EXPORTED "." },
	{ 0 }
};
static const struct route_answer delete_answers[] = {
	{ 204, NULL, NULL, "Its sessions are stopped, and its exports are deleted." }, { 0 }
};

const struct route routes_threads[] = {
	{ .method = HTTP_METHOD_GET,
	  .path = "/threads/{thread}/files/download",
	  .scope = SCOPE_EXPORTS_READ,
	  .name = "downloadFromThread",
	  .tag = "threads",
	  .summary = "Download an exported file by its path in the session",
	  .query = download_table,
	  .query_size = sizeof(struct download_query),
	  .answers = download_answers,
	  .example = "?session_id=$SESSION&path=data.csv -o data.csv",
	  .handle = get_download },
	{ .method = HTTP_METHOD_DELETE,
	  .path = "/threads/{thread}",
	  .scope = SCOPE_SESSIONS_WRITE,
	  .name = "deleteThread",
	  .tag = "threads",
	  .summary = "Stop the sessions of a conversation and delete its exports",
	  .answers = delete_answers,
	  .example = "-X DELETE",
	  .handle = delete_thread },
	{ 0 },
};
