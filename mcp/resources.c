#include "mcp/resources.h"

#include <time.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/parse.h"
#include "base/screen.h"
#include "base/utf8.h"
#include "mcp/apps.h"
#include "mcp/extension.h"
#include "mcp/result.h"
#include "mcp/rpc.h"
#include "mcp/tools.h"

#define PAGE 100
/* Content of this size fits into one line for every client, as base64 or with escapes. */
#define READ_MAX (4u << 20)
/* Content up to this size is encoded on the loop, larger content by a worker. */
#define LOOP_MAX (64u << 10)
#define URI_MAX 4096
#define RUN_PREFIX "husk://run/"
/* Maximum bytes of a run's text; smaller than READ_MAX, because escapes make the text longer. */
#define RUN_MAX (1u << 20)
#define NOT_FOUND_LEGACY (-32002)
/* New exports must be listed at once; their content never changes. */
#define LIST_TTL_MS 0
#define TEMPLATES_TTL_MS 3600000
#define READ_TTL_MS 3600000

#define DOWNLOAD_META "dev.husk/download_url"

char *resources_download_url(const struct call *call, const struct tool_env *env, const struct export_info *e)
{
	return env->link ? env->link(call, e->id) : NULL;
}

static json_t *describe(const struct export_info *e, const char *download_url)
{
	AUTO(freep) char *text =
		xasprintf("%s%s of session %s", e->path, e->directory ? " (a directory, as tar)" : "", e->session_id);
	AUTO(freep) char *name = e->directory ? xasprintf("%s.tar", e->name) : xstrdup(e->name);
	json_t *o = json_pack("{s:o, s:o, s:o, s:o, s:I}", "uri", json_text(e->uri), "name", json_name(name),
			      "description", json_name(text), "mimeType",
			      json_name(e->mime ? e->mime : "application/octet-stream"), "size", (json_int_t)e->stored);
	if (download_url)
		json_object_set_new(o, "_meta", json_pack("{s:o}", DOWNLOAD_META, json_text(download_url)));
	return o;
}

json_t *resources_link(const struct export_info *e, const char *download_url)
{
	json_t *link = describe(e, download_url);
	json_object_set_new(link, "type", json_string("resource_link"));
	return link;
}

static void set_time(json_t *o, uint64_t ms)
{
	time_t seconds = (time_t)(ms / 1000);
	struct tm tm;
	char text[32];
	if (gmtime_r(&seconds, &tm) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		json_object_set_new(o, "annotations", json_pack("{s:s}", "lastModified", text));
}

/* ---- lists */

void resources_fail(struct call *call, const struct fail *f)
{
	const struct connection *c = call->ctx;
	AUTO(fail_release) struct fail shown = { 0 };
	fail_for_client(&shown, f, c->env.remote);
	AUTO(freep) char *text = xasprintf("%s%s%s", shown.message ? shown.message : "failed", shown.hint ? " — " : "",
					   shown.hint ? shown.hint : "");
	json_auto_t *clean = json_shown(text);
	call_reply_error(call, RPC_INTERNAL_ERROR, json_string_value(clean), NULL);
}

static void list_done(void *ctx, const struct export_info *v, size_t n, const struct fail *f)
{
	struct call *call = ctx;
	call->op = NULL;
	if (f) {
		resources_fail(call, f);
		return;
	}
	const struct connection *c = call->ctx, *first_page = call->data;
	json_t *list = json_array();
	for (size_t i = 0; i < n; i++) {
		/* Older revisions have no _meta here. */
		AUTO(freep) char *url = call->revision->titles ? resources_download_url(call, &c->env, &v[i]) : NULL;
		json_t *o = describe(&v[i], url);
		if (call->revision->titles)
			set_time(o, v[i].created_ms);
		json_array_append_new(list, o);
	}
	json_t *result = json_pack("{s:o}", "resources", list);
	if (first_page)
		extension_list(first_page, call, result);
	if (first_page && apps_known(first_page->env.app, call))
		json_array_append_new(list, apps_describe());
	if (n == PAGE)
		json_object_set_new(result, "nextCursor",
				    json_sprintf("%llu.%s", (unsigned long long)v[n - 1].created_ms, v[n - 1].id));
	call_set_cache_hints(call->revision, result, LIST_TTL_MS, "private");
	call_reply(call, result);
}

/* Reads the cursor "MS.ID" that list_done() writes. */
static bool read_cursor(const json_t *cursor, uint64_t *ret_ms, char **ret_id)
{
	const char *text = json_string_value(cursor);
	const char *dot = text ? strchr(text, '.') : NULL;
	if (!dot || strlen(text) != json_string_length(cursor) || strlen(text) > 128 || !dot[1])
		return false;
	AUTO(freep) char *ms = xstrndup(text, (size_t)(dot - text));
	if (parse_u64(ms, ret_ms) < 0)
		return false;
	*ret_id = xstrdup(dot + 1);
	return true;
}

void resources_list(struct connection *c, struct call *call, json_t *params)
{
	const json_t *cursor = json_object_get(params, "cursor");
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *id = NULL;
	uint64_t before = 0;
	if (cursor && !json_is_null(cursor) && !read_cursor(cursor, &before, &id)) {
		call_reply_error(call, RPC_INVALID_PARAMS, "Invalid params: unknown cursor", NULL);
		return;
	}
	call->data = id ? NULL : c;
	call->op = manager_exports(
		c->env.conversation,
		&(struct exports_request){
			.before_ms = before, .before_id = id, .limit = PAGE, .on_done = list_done, .ctx = call },
		&f);
	if (!call->op)
		resources_fail(call, &f);
}

void resources_templates(struct connection *c, struct call *call, json_t *params)
{
	const json_t *cursor = json_object_get(params, "cursor");
	if (cursor && !json_is_null(cursor)) {
		call_reply_error(call, RPC_INVALID_PARAMS, "Invalid params: unknown cursor", NULL);
		return;
	}
	json_t *result = json_pack("{s:[{s:s, s:s, s:s}, {s:s, s:s, s:s}]}", "resourceTemplates", "uriTemplate",
				   RESOURCES_EXPORT_TEMPLATE, "name", "export", "description",
				   "A file that export_files copied out of a session, or a tar of a directory.",
				   "uriTemplate", RESOURCES_RUN_TEMPLATE, "name", "run", "description",
				   "The full text of a run whose answer was cut, while its session lives.");
	extension_list(c, call, result);
	call_set_cache_hints(call->revision, result, TEMPLATES_TTL_MS, "public");
	call_reply(call, result);
}

/* ---- read */

static const char *uri_of(const struct call *call)
{
	return json_string_value(json_object_get(call->args, "uri"));
}

void resources_not_found(struct call *call)
{
	const char *uri = uri_of(call);
	json_t *data = json_pack("{s:s}", "uri", uri);
	call_reply_error(call, call->revision->modern ? RPC_INVALID_PARAMS : NOT_FOUND_LEGACY, "Resource not found",
			 data);
}

static void too_large(struct call *call, const struct export_info *e)
{
	const struct connection *c = call->ctx;
	AUTO(freep) char *url = resources_download_url(call, &c->env, e);
	AUTO(freep) char *where = url		? xasprintf(" The user can download it from %s;", url) :
				  c->env.remote ? xstrdup("") :
						  xasprintf(" The file is at %s on the host;", e->host_path);
	AUTO(freep) char *text = xasprintf(
		"The resource has %llu bytes; at most %u can be read in one answer.%s import_files copies it into a session.",
		(unsigned long long)e->stored, READ_MAX, where);
	json_auto_t *clean = json_shown(text);
	call_reply_error(call, RPC_INVALID_PARAMS, json_string_value(clean),
			 json_pack("{s:s, s:I}", "uri", uri_of(call), "size", (json_int_t)e->stored));
}

/* True if the data is text that stays within the line limit when it is escaped. */
static bool is_text(const uint8_t *data, size_t n)
{
	size_t controls = 0;
	for (size_t i = 0; i < n; i++) {
		if (!data[i])
			return false;
		controls += data[i] < 0x20 && data[i] != '\n' && data[i] != '\t' && data[i] != '\r';
	}
	return controls <= n / 16 && utf8_valid(data, n);
}

/* Content that takes long to encode, or a run's text that takes long to clean; copied for a worker. */
struct content {
	struct buf data;
	char *uri, *mime;
	bool directory;
	const struct revision *revision;
	json_int_t ttl_ms;
};

static void content_release(void *ctx)
{
	struct content *c = ctx;
	buf_release(&c->data);
	free(c->uri);
	free(c->mime);
	free(c);
}

static struct content *content_new(const struct call *call, const void *data, size_t n)
{
	struct content *c = new0(struct content);
	buf_add(&c->data, data, n);
	c->uri = xstrdup(uri_of(call));
	c->revision = call->revision;
	return c;
}

static json_t *with_hints(const struct content *c, json_t *result)
{
	call_set_cache_hints(c->revision, result, c->ttl_ms, "private");
	return result;
}

static json_t *encode_export(void *ctx)
{
	const struct content *c = ctx;
	json_t *content = json_pack("{s:s, s:o}", "uri", c->uri, "mimeType", json_text(c->mime));
	if (!c->directory && is_text(c->data.data, c->data.len)) {
		json_object_set_new(content, "text", json_stringn((const char *)c->data.data, c->data.len));
	} else {
		AUTO(buf_release) struct buf blob = { 0 };
		base64_encode(c->data.data, c->data.len, &blob);
		json_object_set_new(content, "blob", json_stringn(buf_str(&blob), blob.len));
	}
	return with_hints(c, json_pack("{s:[o]}", "contents", content));
}

static json_t *encode_run(void *ctx)
{
	const struct content *c = ctx;
	AUTO(buf_release) struct buf shown = { 0 };
	screen_text(&shown, c->data.data, c->data.len);
	return with_hints(c, json_pack("{s:[{s:s, s:s, s:o}]}", "contents", "uri", c->uri, "mimeType", "text/plain",
				       "text", json_text(buf_str(&shown))));
}

static void reply_content(struct call *call, struct content *c, json_t *(*encode)(void *))
{
	struct loop *loop = call_env(call)->loop;
	if (loop && c->data.len > LOOP_MAX) {
		call_reply_later(call, loop,
				 &(struct call_work){ .make = encode, .release = content_release, .ctx = c });
		return;
	}
	json_t *result = encode(c);
	content_release(c);
	call_reply(call, result);
}

static void read_done(void *ctx, const struct export_info *info, const uint8_t *data, size_t n, const struct fail *f)
{
	struct call *call = ctx;
	call->op = NULL;
	if (f) {
		resources_fail(call, f);
		return;
	}
	if (!info || !data) {
		if (info)
			too_large(call, info);
		else
			resources_not_found(call);
		return;
	}
	struct content *c = content_new(call, data, n);
	c->mime = xstrdup(info->mime ? info->mime : "application/octet-stream");
	c->directory = info->directory;
	c->ttl_ms = READ_TTL_MS;
	reply_content(call, c, encode_export);
}

/* ---- the text of a run */

static void run_done(void *ctx, const char *text, size_t n, uint64_t size, const struct fail *f)
{
	struct call *call = ctx;
	call->op = NULL;
	if (f) {
		resources_fail(call, f);
	} else if (text) {
		reply_content(call, content_new(call, text, n), encode_run);
	} else if (size) {
		AUTO(freep) char *why = xasprintf(
			"The text has %llu bytes; at most %u can be read in one answer. Search it in its session, in ~/.husk/runs.",
			(unsigned long long)size, RUN_MAX);
		call_reply_error(call, RPC_INVALID_PARAMS, why,
				 json_pack("{s:s, s:I}", "uri", uri_of(call), "size", (json_int_t)size));
	} else {
		resources_not_found(call);
	}
}

/* husk://run/SESSION/NUMBER */
static bool read_run_uri(const char *uri, char **ret_session, uint32_t *ret_number)
{
	const char *session = uri + strlen(RUN_PREFIX), *slash = strchr(session, '/');
	uint64_t number;
	if (!slash || slash == session || slash - session > 64 || parse_u64(slash + 1, &number) < 0 || !number ||
	    number > UINT32_MAX)
		return false;
	*ret_session = xstrndup(session, (size_t)(slash - session));
	*ret_number = (uint32_t)number;
	return true;
}

static void read_run(struct connection *c, struct call *call)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *session = NULL;
	uint32_t number;
	if (!read_run_uri(uri_of(call), &session, &number)) {
		resources_not_found(call);
		return;
	}
	call->op = manager_run_text(
		c->env.conversation,
		&(struct run_text_request){
			.session_id = session, .number = number, .max = RUN_MAX, .on_done = run_done, .ctx = call },
		&f);
	if (!call->op)
		resources_not_found(call);
}

char *resources_export_id(const char *uri)
{
	size_t n = strlen(RESOURCES_EXPORTS);
	if (strncmp(uri, RESOURCES_EXPORTS, n) != 0)
		return NULL;
	size_t len = strcspn(uri + n, "/");
	return len && len <= 64 ? xstrndup(uri + n, len) : NULL;
}

void resources_read(struct connection *c, struct call *call, json_t *params)
{
	json_t *uri = json_object_get(params, "uri");
	AUTO(fail_release) struct fail f = { 0 };
	if (!json_is_string(uri) || json_string_length(uri) > URI_MAX ||
	    strlen(json_string_value(uri)) != json_string_length(uri)) {
		call_reply_error(call, RPC_INVALID_PARAMS,
				 "Invalid params: \"uri\" must be a string of at most 4096 bytes", NULL);
		return;
	}
	call->args = json_pack("{s:O}", "uri", uri);
	call->env = &c->env;
	if (streq(json_string_value(uri), APPS_URI) && apps_known(c->env.app, call)) {
		apps_read(call, c->env.app);
		return;
	}
	if (strncmp(json_string_value(uri), RUN_PREFIX, strlen(RUN_PREFIX)) == 0) {
		read_run(c, call);
		return;
	}
	AUTO(freep) char *id = resources_export_id(json_string_value(uri));
	if (!id) {
		resources_not_found(call);
		return;
	}
	call->op = manager_read_export(
		c->env.conversation,
		&(struct read_request){ .id = id, .max = READ_MAX, .on_done = read_done, .ctx = call }, &f);
	if (!call->op)
		resources_fail(call, &f);
}
