/* The tools import_files and export_files. */
#include "base/alloc.h"
#include "base/json.h"
#include "base/utf8.h"
#include "mcp/next-step.h"
#include "mcp/resources.h"
#include "mcp/result.h"
#include "mcp/shown.h"
#include "mcp/tools.h"

#define FILES_MAX 1000
/* Maximum bytes of the list of folders in the description. */
#define FOLDERS_SHOWN_MAX 300
#define PATH_BYTES_MAX 4096

struct files_args {
	const char *session_id;
	json_t *files;
};

struct import_entry {
	const char *source, *session_id, *path, *variable, *content, *encoding, *destination;
};

struct export_entry {
	const char *source, *destination;
};

static const char *encoding_choice(size_t i)
{
	static const char *const names[] = { "text", "base64" };
	return i < ARRAY_LEN(names) ? names[i] : NULL;
}

/* Paths of the host mean nothing to a client that is elsewhere, so its schema does not show them. */
#define ENTRY_SOURCE(flags)                                                                                            \
	{                                                                                                              \
		"source", ARG_STRING, offsetof(struct import_entry, source), ARG_NONEMPTY | (flags),                   \
			.max = PATH_BYTES_MAX, .description = "File or directory on the host.",                        \
			.example = "\"/data/sales.csv\""                                                               \
	}
#define ENTRY_CONTENT                                                                                                  \
	{                                                                                                              \
		"file_content", ARG_STRING, offsetof(struct import_entry, content),                                    \
			.description = "The content itself, instead of a source.", .example = "\"a,b\\n1,2\\n\""       \
	}
#define ENTRY_ENCODING                                                                                                 \
	{                                                                                                              \
		"encoding", ARG_STRING, offsetof(struct import_entry, encoding),                                       \
			.max = 16, .description = "Of file_content; default: text.", .example = "\"text\"",            \
			.choice = encoding_choice                                                                      \
	}
#define ENTRY_SESSION                                                                                                  \
	{                                                                                                              \
		"session_id", ARG_STRING, offsetof(struct import_entry, session_id), ARG_NONEMPTY,                     \
			.max = 128, .description = "The other session.", .example = "\"kq3v…\""                      \
	}
#define ENTRY_PATH                                                                                                     \
	{                                                                                                              \
		"path", ARG_STRING, offsetof(struct import_entry, path), ARG_NONEMPTY,                                 \
			.max = PATH_BYTES_MAX,                                                                         \
			.description = "Path that the other session exported, or one below it.",                       \
			.example = "\"/workspace/out.csv\""                                                            \
	}
#define ENTRY_VARIABLE                                                                                                 \
	{                                                                                                              \
		"variable", ARG_STRING, offsetof(struct import_entry, variable), ARG_NONEMPTY,                         \
			.max = 128, .description = "Instead of path.", .example = "\"df\""                             \
	}
#define ENTRY_DESTINATION                                                                                              \
	{                                                                                                              \
		"destination", ARG_STRING, offsetof(struct import_entry, destination),                                 \
			.max = PATH_BYTES_MAX, .description = "Where it goes; relative paths are below /workspace.",   \
			.example = "\"data/sales.csv\""                                                                \
	}

static const struct arg import_entry_table[] = {
	ENTRY_SOURCE(0), ENTRY_CONTENT,	 ENTRY_ENCODING,    ENTRY_SESSION,
	ENTRY_PATH,	 ENTRY_VARIABLE, ENTRY_DESTINATION, { 0 },
};
static const struct arg remote_import_entry_table[] = {
	ENTRY_SOURCE(ARG_HIDDEN), ENTRY_CONTENT,     ENTRY_ENCODING, ENTRY_SESSION, ENTRY_PATH,
	ENTRY_VARIABLE,		  ENTRY_DESTINATION, { 0 },
};

static const struct arg export_entry_table[] = {
	{ "source", ARG_STRING, offsetof(struct export_entry, source), ARG_REQUIRED | ARG_NONEMPTY,
	  .max = PATH_BYTES_MAX,
	  .description = "File or directory in the session; relative paths are below /workspace.",
	  .example = "\"report.pdf\"" },
	/* Accepted and ignored, because clients of the reference send it; the reference ignores it too. */
	{ "destination", ARG_STRING, offsetof(struct export_entry, destination), ARG_HIDDEN, .example = "\"\"" },
	{ 0 },
};

#define ARG_SESSION(text)                                                                                              \
	{                                                                                                              \
		"session_id", ARG_STRING, offsetof(struct files_args, session_id), ARG_REQUIRED | ARG_NONEMPTY,        \
			.max = 128, .description = text,                                                               \
			.example = "\"kq3v…\" (the session_id that create_session returned)"                         \
	}

#define ARG_IMPORTS(items)                                                                                             \
	{                                                                                                              \
		"files", ARG_LIST, offsetof(struct files_args, files), ARG_REQUIRED,                                   \
			.max = FILES_MAX,                                                                              \
			.example = "[{\"file_content\": \"a,b\\n1,2\\n\", \"destination\": \"data.csv\"}]",            \
			.item = items, .item_size = sizeof(struct import_entry)                                        \
	}

static const struct arg import_table[] = {
	ARG_SESSION("The session that gets the files."),
	ARG_IMPORTS(import_entry_table),
	{ 0 },
};
static const struct arg remote_import_table[] = {
	ARG_SESSION("The session that gets the files."),
	ARG_IMPORTS(remote_import_entry_table),
	{ 0 },
};

static const struct arg *import_args_for(const struct tool_env *env)
{
	return env->remote ? remote_import_table : import_table;
}

static const struct arg export_table[] = {
	ARG_SESSION("The session that has the files."),
	{ "files", ARG_LIST, offsetof(struct files_args, files), ARG_REQUIRED, .max = FILES_MAX,
	  .description = "What to export.", .example = "[{\"source\": \"report.pdf\"}]", .item = export_entry_table,
	  .item_size = sizeof(struct export_entry) },
	{ 0 },
};

/* Lists the folders of the host from which files can be imported; a long list is cut. */
static char *allowed_folders(const struct tool_env *env)
{
	struct buf b = { 0 };
	const struct config *config = env->config;
	const struct strv *dirs = &config->import_allowed_dirs;
	buf_printf(&b, "%s", config->storage_dir);
	for (size_t i = 0; i < dirs->n; i++) {
		if (b.len + strlen(dirs->v[i]) > FOLDERS_SHOWN_MAX) {
			buf_printf(&b, " and %zu more", dirs->n - i);
			break;
		}
		buf_printf(&b, ", %s", dirs->v[i]);
	}
	if (env->has_roots)
		buf_add_str(&b, ", this client's roots");
	return buf_steal_str(&b);
}

static char *import_describe(const struct tool_env *env)
{
	AUTO(freep) char *folders = env->remote ? NULL : allowed_folders(env);
	AUTO(freep) char *source =
		env->remote ?
			xstrdup("") :
			xasprintf(
				"- {\"source\": \"/path/on/host\"}: a file or directory of the host, only below the folders "
				"that the user allows (%s). If it is denied, ask the user to allow the folder or to give "
				"you the content.\n",
				folders);
	return xasprintf(
		"Copy files or directories into a session. Entries:\n"
		"- {\"file_content\": \"…\", \"destination\": \"data.csv\"}: your own content.\n"
		"%s"
		"- {\"session_id\": \"A\", \"path\": \"/workspace/out.csv\"}: what session A exported, also after its end.\n"
		"- {\"session_id\": \"A\", \"variable\": \"df\", \"destination\": \"df2\"}: a live variable of A, also of another language.\n"
		"`destination` defaults to the source's name in /workspace; \"dir/\" puts a file into it; "
		"directories are merged, files replaced. Only /workspace, /tmp and ~ (/home/sandbox) can be written.\n"
		"Each entry has its own success and error.",
		source);
}

static char *export_describe(const struct tool_env *env)
{
	return xasprintf(
		"Copy files or directories out of a session, so that they stay when it ends. Use it for what cannot be shown "
		"(data, models, PDFs), for what the user wants as a file, and to "
		"pass files to another session.\n"
		"Each entry is {\"source\": \"report.pdf\"} or a directory {\"source\": \"results/\"} (kept as a tar "
		"archive); paths are below /workspace unless absolute (/workspace, /tmp, ~).\n"
		"Returned for each entry: success and error, name, path, size, hash,%s uri (a resource). Exports "
		"survive the session and a restart of the server.",
		env->remote ? " download_url (a link that needs no key and works for a day: give it to the user) and" :
			      " host_path (where the user finds the file on the host: tell them) and");
}

/* ---- results */

/* Uses the reference's words, which name the tool. */
static json_t *error_text(const struct fail *f)
{
	if (cause_of(f) != CAUSE_NOT_EXPORTED)
		return json_shown(f->message ? f->message : "");
	AUTO(freep) char *text = xasprintf("%s (use export_files first)", f->message);
	return json_shown(text);
}

static void add_common(json_t *o, const struct copy_result *r, bool remote)
{
	AUTO(fail_release) struct fail failure = { 0 };
	fail_for_client(&failure, &r->failure, remote);
	json_object_set_new(o, "success", json_boolean(r->success));
	json_object_set_new(o, "size", json_integer((json_int_t)r->size));
	if (failure.message)
		json_object_set_new(o, "error", error_text(&failure));
	AUTO(freep) char *hint = failure.kind ? next_step_after_fail(&failure, /* listed= */ false, remote) : NULL;
	if (hint)
		json_object_set_new(o, "hint", json_shown(hint));
	if (!r->notices.n)
		return;
	json_t *notices = json_array();
	for (size_t i = 0; i < r->notices.n; i++)
		json_array_append_new(notices, json_shown(r->notices.v[i]));
	json_object_set_new(o, "notices", notices);
}

static json_t *imported(const struct copy_result *r, bool remote)
{
	json_t *o = json_object();
	if (r->source)
		json_object_set_new(o, "source", json_name(r->source));
	if (r->path && *r->path)
		json_object_set_new(o, "destination", json_name(r->path));
	add_common(o, r, remote);
	return o;
}

static json_t *exported(const struct copy_result *r, const char *session_id, bool remote, const char *download_url)
{
	json_t *o = json_pack("{s:o, s:o}", "session_id", json_name(session_id), "path",
			      json_name(r->path ? r->path : r->source));
	add_common(o, r, remote);
	if (!r->success)
		return o;
	json_t *export = shown_export(&r->export, remote, download_url);
	json_object_update_missing(o, export);
	json_decref(export);
	return o;
}

static void copy_done(void *ctx, const struct copy_result *results, size_t n, const struct fail *f)
{
	struct call *call = ctx;
	const struct files_args *args = call->decoded;
	const struct tool_env *env = call_env(call);
	bool export = call->tool == &tool_export_files, all = true;
	call->op = NULL;
	if (f) {
		tools_fail(call, args->session_id, f);
		return;
	}
	json_t *files = json_array(), *links = json_array();
	for (size_t i = 0; i < n; i++) {
		const struct copy_result *r = &results[i];
		bool has_export = export && r->success;
		AUTO(freep) char *url = has_export ? resources_download_url(call, env, &r->export) : NULL;
		all = all && r->success;
		json_array_append_new(files, export ? exported(r, args->session_id, env->remote, url) :
						      imported(r, env->remote));
		/* Older revisions have no resource links. */
		if (has_export && call->revision->structured)
			json_array_append_new(links, resources_link(&r->export, url));
	}
	json_t *result =
		result_of_fields(json_pack("{s:b, s:o}", "success", all, "files", files), call->revision->structured);
	json_array_extend(json_object_get(result, "content"), links);
	json_decref(links);
	call_reply(call, result);
	if (export && env->on_exports)
		env->on_exports(env, results, n);
}

static void copy_progress(void *ctx, const char *line)
{
	AUTO(buf_release) struct buf shown = { 0 };
	utf8_clean(&shown, line, strlen(line));
	call_output(ctx, buf_str(&shown), shown.len);
}

/* ---- calls */

static struct op *start_copy(struct call *call, const struct files_args *args, const struct import_item *imports,
			     const char *const *exports, struct fail *f)
{
	return manager_copy(call_env(call)->conversation,
			    &(struct copy_request){
				    .session_id = args->session_id,
				    .imports = imports,
				    .exports = exports,
				    .n = json_array_size(args->files),
				    .allowed = &call_env(call)->roots,
				    .on_progress = copy_progress,
				    .on_done = copy_done,
				    .ctx = call,
			    },
			    f);
}

static int take_import(json_t *value, size_t i, bool remote, unsigned scopes, struct import_item *ret, struct fail *f)
{
	struct import_entry e = { 0 };
	json_decref(args_decode(import_entry_table, value, &e));
	bool text = !e.encoding || streq(e.encoding, "text");
	if (!text && !streq(e.encoding, "base64"))
		return fail_set(f, FAIL_INVALID, "files[%zu]: encoding must be \"text\" or \"base64\"; got \"%s\"", i,
				e.encoding);
	if (e.variable && (e.content || e.source || e.path || !e.session_id))
		return fail_set(f, FAIL_INVALID, "files[%zu]: variable needs session_id, and nothing but a destination",
				i);
	if (e.variable && !scopes_allow(scopes, SCOPE_RUN))
		return fail_set(f, FAIL_INVALID,
				"files[%zu]: the key of this client lacks the scope run, which a variable needs", i);
	if (e.content && (e.source || e.session_id || e.path))
		return fail_set(f, FAIL_INVALID,
				"files[%zu]: file_content cannot be combined with source, session_id or path", i);
	if (remote && !e.content && !(e.session_id && (e.path || e.variable))) {
		fail_set(f, FAIL_INVALID, "files[%zu]: paths of the host cannot be imported over HTTP", i);
		return fail_hint(f, "Send the content as file_content.");
	}
	*ret = (struct import_item){ .destination = e.destination };
	if (e.content) {
		ret->content = e.content;
		ret->content_len = strlen(e.content);
		ret->base64 = !text;
	} else if (e.session_id && (e.path || e.variable)) {
		ret->session_id = e.session_id;
		ret->path = e.path;
		ret->variable = e.variable;
	} else {
		ret->source = e.source;
	}
	return 0;
}

static struct op *import_start(struct call *call, const void *data, struct fail *f)
{
	const struct files_args *args = data;
	size_t i;
	json_t *value;
	AUTO(freep) struct import_item *items = xcalloc(json_array_size(args->files), sizeof(*items));
	json_array_foreach(args->files, i, value)
		if (take_import(value, i, call_env(call)->remote, call->scopes, &items[i], f) < 0)
			return NULL;
	return start_copy(call, args, items, NULL, f);
}

static struct op *export_start(struct call *call, const void *data, struct fail *f)
{
	const struct files_args *args = data;
	size_t i;
	json_t *value;
	AUTO(freep) const char **sources = xcalloc(json_array_size(args->files), sizeof(*sources));
	json_array_foreach(args->files, i, value) {
		struct export_entry e = { 0 };
		json_decref(args_decode(export_entry_table, value, &e));
		sources[i] = e.source;
	}
	return start_copy(call, args, NULL, sources, f);
}

const struct tool tool_import_files = {
	.name = "import_files",
	.scope = SCOPE_FILES_WRITE,
	.title = "Copy files into a session",
	.destructive = true,
	.idempotent = true,
	.describe = import_describe,
	.args_for = import_args_for,
	.args_size = sizeof(struct files_args),
	.start = import_start,
};

const struct tool tool_export_files = {
	.name = "export_files",
	.scope = SCOPE_FILES_READ,
	.title = "Copy files out of a session",
	.describe = export_describe,
	.args = export_table,
	.args_size = sizeof(struct files_args),
	.start = export_start,
};
