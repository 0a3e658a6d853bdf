/* Routes that copy files into a session and out of it. */
#include "api/host.h"
#include "api/links.h"
#include "api/problem.h"
#include "api/route.h"
#include "api/stream.h"
#include "base/alloc.h"
#include "base/json.h"
#include "http/events.h"

#define FILES_MAX 1000
#define PATH_BYTES_MAX 4096

struct files_body {
	json_t *files;
};

struct import_entry {
	const char *content, *encoding, *source, *session, *path, *variable, *destination, *into;
	bool own, project;
};

struct export_entry {
	const char *path;
};

static const char *encoding_choice(size_t i)
{
	static const char *const names[] = { "text", "base64" };
	return i < ARRAY_LEN(names) ? names[i] : NULL;
}

static const struct arg import_entry_table[] = {
	{ "content", ARG_STRING, offsetof(struct import_entry, content), .description = "The content itself.",
	  .example = "\"a,b\\n1,2\\n\"" },
	{ "encoding", ARG_STRING, offsetof(struct import_entry, encoding), .max = 16,
	  .description = "Encoding of the content; default: text.", .example = "\"text\"", .choice = encoding_choice },
	{ "source", ARG_STRING, offsetof(struct import_entry, source), ARG_NONEMPTY, .max = PATH_BYTES_MAX,
	  .description = "File or directory of the host, below the allowed folders. Refused over TCP.",
	  .example = "\"/data/sales.csv\"" },
	{ "session", ARG_STRING, offsetof(struct import_entry, session), ARG_NONEMPTY, .max = 128,
	  .description = "With path: the session that exported it. With variable: the session that has it.",
	  .example = "\"kq3v…\"" },
	{ "path", ARG_STRING, offsetof(struct import_entry, path), ARG_NONEMPTY, .max = PATH_BYTES_MAX,
	  .description = "Path that the other session exported, or one below it.",
	  .example = "\"/workspace/out.csv\"" },
	{ "variable", ARG_STRING, offsetof(struct import_entry, variable), ARG_NONEMPTY, .max = 128,
	  .description = "Instead of a path: a variable of the other session, to copy into the variable `destination`. "
			 "Needs the scope `run`.",
	  .example = "\"df\"" },
	{ "destination", ARG_STRING, offsetof(struct import_entry, destination), .max = PATH_BYTES_MAX,
	  .description = "Where it goes; relative paths are below /workspace.", .example = "\"data/sales.csv\"" },
	/* Only for programs of the same user, such as `husk cp`. */
	{ "own", ARG_BOOL, offsetof(struct import_entry, own), ARG_HIDDEN, .example = "true" },
	{ "project", ARG_BOOL, offsetof(struct import_entry, project), ARG_HIDDEN, .example = "true" },
	{ "into", ARG_STRING, offsetof(struct import_entry, into), ARG_HIDDEN, .max = PATH_BYTES_MAX,
	  .example = "\"a.csv\"" },
	{ 0 },
};

static const struct arg export_entry_table[] = {
	{ "path", ARG_STRING, offsetof(struct export_entry, path), ARG_REQUIRED | ARG_NONEMPTY, .max = PATH_BYTES_MAX,
	  .description = "File or directory in the session; relative paths are below /workspace.",
	  .example = "\"report.pdf\"" },
	{ 0 },
};

static const struct arg import_table[] = {
	{ "files", ARG_LIST, offsetof(struct files_body, files), ARG_REQUIRED, .max = FILES_MAX,
	  .description = "Each has content, or source, or session and path, or session and variable.",
	  .example = "[{\"content\": \"a,b\\n1,2\\n\", \"destination\": \"data.csv\"}]", .item = import_entry_table,
	  .item_size = sizeof(struct import_entry) },
	{ 0 },
};

static const struct arg export_table[] = {
	{ "files", ARG_LIST, offsetof(struct files_body, files), ARG_REQUIRED, .max = FILES_MAX,
	  .description = "The files and directories to export.", .example = "[{\"path\": \"report.pdf\"}]",
	  .item = export_entry_table, .item_size = sizeof(struct export_entry) },
	{ 0 },
};

/* --- results ------------------------------------------------------------------------------------------------------- */

static json_t *result_json(const struct exchange *x, const struct copy_result *r)
{
	json_t *out = json_pack("{s:b}", "success", r->success);
	if (r->source)
		json_object_set_new(out, "source", json_name(r->source));
	if (r->path)
		json_object_set_new(out, "path", json_name(r->path));
	json_object_set_new(out, "size", json_integer((json_int_t)r->size));
	if (!r->success)
		json_object_set_new(out, "problem",
				    problem_body(problem_status(&r->failure), &r->failure, x->caller.remote));
	if (r->notices.n) {
		json_t *notices = json_array();
		for (size_t i = 0; i < r->notices.n; i++)
			json_array_append_new(notices, json_shown(r->notices.v[i]));
		json_object_set_new(out, "notices", notices);
	}
	if (r->export.id)
		json_object_set_new(out, "export", links_export_json(x, &r->export));
	return out;
}

/* Takes the event. */
static void send_event(struct exchange *x, const char *name, json_t *event)
{
	AUTO(buf_release) struct buf data = { 0 };
	AUTO(buf_release) struct buf text = { 0 };
	json_auto_t *json = event;
	json_print(&data, json);
	http_event_add(&text, /* id= */ NULL, name, data.data, data.len);
	(void)http_reply_write(x->request, text.data, text.len);
}

static void progress(void *ctx, const char *line)
{
	send_event(ctx, "copy.progress", json_pack("{s:o}", "line", json_shown(line)));
}

/* Takes the last event. */
static void end_stream(struct exchange *x, const char *name, json_t *event)
{
	send_event(x, name, event);
	struct http_request *r = take_ptr(x->request);
	exchange_end(x);
	http_reply_end(r);
}

static void copied(void *ctx, const struct copy_result *results, size_t n, const struct fail *f)
{
	struct exchange *x = ctx;
	bool all = true;
	if (f && x->streams) {
		x->op = NULL;
		end_stream(x, "problem", problem_body(problem_status(f), f, x->caller.remote));
		return;
	}
	if (!exchange_resume(x, f))
		return;
	json_t *files = json_array();
	for (size_t i = 0; i < n; i++) {
		all = all && results[i].success;
		json_array_append_new(files, result_json(x, &results[i]));
	}
	json_t *out = json_pack("{s:b, s:o}", "success", all, "files", files);
	if (x->streams)
		end_stream(x, "copy.ended", out);
	else
		exchange_reply(x, 200, out);
}

/* False if the exchange was answered. */
static bool begin_stream(struct exchange *x)
{
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	http_fields_add(&fields, "Content-Type", "text/event-stream");
	http_fields_add(&fields, "Cache-Control", "no-store");
	x->streams = true;
	return exchange_begin(x, 200, &fields, /* length= */ -1);
}

static void copy(struct exchange *x, struct copy_request *request)
{
	AUTO(fail_release) struct fail f = { 0 };
	request->session_id = x->session;
	request->on_done = copied;
	request->ctx = x;
	bool streams = exchange_accepts(x, "text/event-stream");
	if (streams && !stream_admit(x))
		return;
	request->on_progress = streams ? progress : NULL;
	struct op *op = manager_copy(x->conversation, request, &f);
	exchange_await(x, op, &f);
	if (op && streams)
		(void)begin_stream(x);
}

/* --- imports ------------------------------------------------------------------------------------------------------- */

/* The open files of the client that came with its request. */
struct own_files {
	int files[CHANNEL_FILES_MAX];
	size_t n, used;
};

static void own_files_release(struct own_files *own)
{
	for (size_t i = 0; i < own->n; i++)
		close(own->files[i]);
}

static int take_import(const struct exchange *x, json_t *value, size_t i, struct own_files *own,
		       struct import_item *ret, struct fail *f)
{
	struct import_entry e = { 0 };
	json_decref(args_decode(import_entry_table, value, &e));
	bool text = !e.encoding || streq(e.encoding, "text");
	if (!text && !streq(e.encoding, "base64"))
		return fail_set(f, FAIL_INVALID, "files[%zu]: encoding must be \"text\" or \"base64\"", i);
	bool other = e.path || e.variable;
	if (!!e.content + !!e.source + !!e.path + !!e.variable != 1 || !e.session != !other)
		return fail_set(f, FAIL_INVALID,
				"files[%zu]: give content, or source, or session and path, or session and variable", i);
	if (e.variable && !scopes_allow(x->caller.scopes, SCOPE_RUN))
		return fail_set(f, FAIL_INVALID, "files[%zu]: the key lacks the scope run, which a variable needs", i);
	if (e.source && x->caller.remote) {
		cause_set(f, FAIL_INVALID, CAUSE_PATH_DENIED, "files[%zu]: files of the server's host are refused here",
			  i);
		return fail_hint(f, "Send the content, or PUT the file to …/files/.");
	}
	/* A path alone gives a client no right to read: it sends its own files open. */
	if (e.own && e.source && own->used == own->n)
		return fail_set(f, FAIL_INVALID, "the file '%.200s' was not sent with the request", e.source);
	*ret = (struct import_item){ .content = e.content,
				     .content_len = e.content ? strlen(e.content) : 0,
				     .base64 = !text,
				     .source = e.source,
				     .own = e.own && e.source,
				     .fd = e.own && e.source ? own->files[own->used++] : 0,
				     .project = e.own && e.project,
				     .session_id = e.session,
				     .path = e.path,
				     .variable = e.variable,
				     .destination = e.destination,
				     .into = e.into };
	return 0;
}

static void post_imports(struct exchange *x)
{
	const struct files_body *body = x->args;
	size_t i, n = json_array_size(body->files);
	json_t *value;
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) struct import_item *items = xcalloc(n, sizeof(*items));
	AUTO(own_files_release) struct own_files own = { 0 };
	own.n = http_request_take_files(x->request, own.files);
	json_array_foreach(body->files, i, value)
		if (!f.kind)
			(void)take_import(x, value, i, &own, &items[i], &f);
	if (f.kind) {
		exchange_fail(x, &f);
		return;
	}
	copy(x, &(struct copy_request){ .imports = items, .n = n });
}

/* --- exports ------------------------------------------------------------------------------------------------------- */

static void start_exports(struct exchange *x)
{
	const struct files_body *body = x->args;
	size_t i, n = json_array_size(body->files);
	json_t *value;
	AUTO(freep) const char **paths = xcalloc(n, sizeof(*paths));
	json_array_foreach(body->files, i, value) {
		struct export_entry e = { 0 };
		json_decref(args_decode(export_entry_table, value, &e));
		paths[i] = e.path;
	}
	copy(x, &(struct copy_request){ .exports = paths, .n = n });
}

static void post_exports(struct exchange *x)
{
	links_prepare(x, start_exports);
}

/* --- the table ----------------------------------------------------------------------------------------------------- */

static const struct route_answer answers[] = {
	{ 200, "Copies", NULL, "Every entry was tried; each has its own `success`." }, { 0 }
};

const struct route routes_copies[] = {
	{ .method = HTTP_METHOD_POST,
	  .path = "/v1/sessions/{session}/imports",
	  .scope = SCOPE_FILES_WRITE,
	  .flags = ROUTE_SESSION,
	  .name = "importFiles",
	  .tag = "files",
	  .summary = "Copy files into a session",
	  .body = import_table,
	  .body_size = sizeof(struct files_body),
	  .answers = answers,
	  .example = "--json '{\"files\": [{\"content\": \"a,b\\n1,2\\n\", \"destination\": \"data.csv\"}]}'",
	  .handle = post_imports },
	{ .method = HTTP_METHOD_POST,
	  .path = "/v1/sessions/{session}/exports",
	  .scope = SCOPE_FILES_READ,
	  .flags = ROUTE_SESSION,
	  .name = "exportFiles",
	  .tag = "files",
	  .summary = "Copy files out of a session, so that they stay when it ends",
	  .body = export_table,
	  .body_size = sizeof(struct files_body),
	  .answers = answers,
	  .example = "--json '{\"files\": [{\"path\": \"data.csv\"}]}'",
	  .handle = post_exports },
	{ 0 },
};
