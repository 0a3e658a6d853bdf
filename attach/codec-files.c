/* Imports and exports. */
#include "attach/codec.h"

#include "attach/fields.h"
#include "base/alloc.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/utf8.h"

#define COPIES_MAX 1000
#define NOTICES_MAX 1000

/* --- the request --------------------------------------------------------------------------------------------------- */

/* Content that is not valid text is sent as base64. */
static void put_content(json_t *out, const struct import_item *item)
{
	AUTO(buf_release) struct buf text = { 0 };
	bool plain = item->base64 ||
		     (!memchr(item->content, '\0', item->content_len) && utf8_valid(item->content, item->content_len));
	if (!plain)
		base64_encode(item->content, item->content_len, &text);
	fields_put_text_n(out, "content", plain ? item->content : buf_str(&text), plain ? item->content_len : text.len);
	fields_put_bool(out, "base64", item->base64 || !plain);
}

json_t *copy_request_encode(const struct copy_request *req)
{
	json_t *out = json_object(), *list = json_array();
	fields_put_text(out, "session", req->session_id);
	for (size_t i = 0; i < req->n; i++) {
		if (!req->imports) {
			json_array_append_new(list, json_text(req->exports[i]));
			continue;
		}
		const struct import_item *item = &req->imports[i];
		json_t *entry = json_object();
		if (item->content)
			put_content(entry, item);
		fields_put_text(entry, "source", item->source);
		fields_put_bool(entry, "own", item->own);
		fields_put_bool(entry, "project", item->own && item->project);
		fields_put_text(entry, "session", item->session_id);
		fields_put_text(entry, "path", item->path);
		fields_put_text(entry, "destination", item->destination);
		fields_put_text(entry, "into", item->into);
		json_array_append_new(list, entry);
	}
	json_object_set_new(out, req->imports ? "imports" : "exports", list);
	fields_put_bool(out, "live", req->on_progress != NULL);
	return out;
}

void copy_parts_release(struct copy_parts *parts)
{
	free(parts->imports);
	free((void *)parts->exports);
	*parts = (struct copy_parts){ 0 };
}

static int imports_decode(const json_t *json, struct copy_parts *parts, struct fail *f)
{
	parts->imports = xcalloc(json_array_size(json), sizeof(*parts->imports));
	for (size_t i = 0; i < json_array_size(json); i++) {
		struct fields in = { .json = json_array_get(json, i) };
		struct import_item *item = &parts->imports[i];
		item->content = fields_text_n(&in, "content", &item->content_len);
		item->base64 = fields_bool(&in, "base64");
		item->source = fields_text(&in, "source");
		item->own = item->source && fields_bool(&in, "own");
		item->project = item->own && fields_bool(&in, "project");
		item->session_id = fields_text(&in, "session");
		item->path = fields_text(&in, "path");
		item->destination = fields_text(&in, "destination");
		item->into = fields_text(&in, "into");
		if (fields_check(&in, f) < 0)
			return -1;
		bool other = item->session_id && item->path;
		if (!!item->content + !!item->source + other != 1 || (!other && (item->session_id || item->path)))
			return fail_set(
				f, FAIL_INVALID,
				"an import has one source: content, a path of the host, or another session's export");
	}
	return 0;
}

static int exports_decode(const json_t *json, struct copy_parts *parts, struct fail *f)
{
	parts->exports = xcalloc(json_array_size(json), sizeof(*parts->exports));
	for (size_t i = 0; i < json_array_size(json); i++) {
		parts->exports[i] = json_string_value(json_array_get(json, i));
		if (!parts->exports[i])
			return fail_set(f, FAIL_INVALID, "an export must be a path");
	}
	return 0;
}

int copy_request_decode(const json_t *json, struct copy_request *ret, struct copy_parts *ret_parts, struct fail *f)
{
	struct fields in = { .json = json };
	struct copy_request r = { .session_id = fields_text(&in, "session") };
	const json_t *imports = fields_list(&in, "imports", COPIES_MAX),
		     *exports = fields_list(&in, "exports", COPIES_MAX);
	if (fields_check(&in, f) < 0)
		return -1;
	r.n = json_array_size(imports ? imports : exports);
	if (!r.session_id || !imports == !exports || !r.n)
		return fail_set(f, FAIL_INVALID, "a copy needs a session, and either imports or exports");
	if ((imports ? imports_decode(imports, ret_parts, f) : exports_decode(exports, ret_parts, f)) < 0)
		return -1;
	r.imports = ret_parts->imports;
	r.exports = ret_parts->exports;
	*ret = r;
	return 0;
}

/* --- exports ------------------------------------------------------------------------------------------------------- */

json_t *export_info_encode(const struct export_info *info)
{
	json_t *out = json_object();
	fields_put_text(out, "id", info->id);
	fields_put_text(out, "thread", info->conversation);
	fields_put_text(out, "session", info->session_id);
	fields_put_text(out, "path", info->path);
	fields_put_text(out, "name", info->name);
	fields_put_text(out, "hash", info->hash);
	fields_put_text(out, "hash_kind", info->hash_kind);
	fields_put_text(out, "mime", info->mime);
	fields_put_text(out, "host_path", info->host_path);
	fields_put_text(out, "uri", info->uri);
	fields_put_bool(out, "directory", info->directory);
	fields_put_number(out, "size", info->size);
	fields_put_number(out, "stored", info->stored);
	fields_put_number(out, "created_ms", info->created_ms);
	fields_put_number(out, "mode", info->mode);
	fields_put_number(out, "mtime_ms", info->mtime_ms);
	return out;
}

int export_info_decode(const json_t *json, struct export_info *ret, struct fail *f)
{
	struct fields in = { .json = json };
	*ret = (struct export_info){ .id = fields_copy_or_empty(&in, "id"),
				     .conversation = fields_copy_or_empty(&in, "thread"),
				     .session_id = fields_copy_or_empty(&in, "session"),
				     .path = fields_copy_or_empty(&in, "path"),
				     .name = fields_copy_or_empty(&in, "name"),
				     .hash = fields_copy_or_empty(&in, "hash"),
				     .hash_kind = fields_copy(&in, "hash_kind"),
				     .mime = fields_copy(&in, "mime"),
				     .host_path = fields_copy_or_empty(&in, "host_path"),
				     .uri = fields_copy_or_empty(&in, "uri"),
				     .directory = fields_bool(&in, "directory"),
				     .size = fields_number(&in, "size", UINT64_MAX),
				     .stored = fields_number(&in, "stored", UINT64_MAX),
				     .created_ms = fields_number(&in, "created_ms", UINT64_MAX),
				     .mode = fields_number(&in, "mode", 07777),
				     .mtime_ms = fields_number(&in, "mtime_ms", INT64_MAX) };
	return fields_check(&in, f);
}

/* --- results ------------------------------------------------------------------------------------------------------- */

json_t *copy_results_encode(const struct copy_result *v, size_t n)
{
	json_t *list = json_array();
	for (size_t i = 0; i < n; i++) {
		json_t *out = json_object(), *notices = json_array();
		fields_put_text(out, "source", v[i].source);
		fields_put_text(out, "path", v[i].path);
		fields_put_number(out, "size", v[i].size);
		if (!v[i].success)
			json_object_set_new(out, "fail", fail_encode(&v[i].failure));
		for (size_t k = 0; k < v[i].notices.n; k++)
			json_array_append_new(notices, json_text(v[i].notices.v[k]));
		json_object_set_new(out, "notices", notices);
		if (v[i].export.id)
			json_object_set_new(out, "export", export_info_encode(&v[i].export));
		json_array_append_new(list, out);
	}
	return list;
}

static int copy_result_decode(const json_t *json, struct copy_result *ret, struct fail *f)
{
	struct fields in = { .json = json };
	const json_t *fail = fields_object(&in, "fail"), *notices = fields_list(&in, "notices", NOTICES_MAX),
		     *export = fields_object(&in, "export");
	ret->source = fields_copy(&in, "source");
	ret->path = fields_copy(&in, "path");
	ret->size = fields_number(&in, "size", UINT64_MAX);
	ret->success = !fail;
	if (fail)
		fail_decode(fail, &ret->failure);
	for (size_t i = 0; i < json_array_size(notices); i++)
		if (json_is_string(json_array_get(notices, i)))
			strv_add(&ret->notices, json_string_value(json_array_get(notices, i)));
	if (fields_check(&in, f) < 0)
		return -1;
	return export ? export_info_decode(export, &ret->export, f) : 0;
}

int copy_results_decode(const json_t *json, struct copy_result **ret, size_t *ret_n, struct fail *f)
{
	size_t n = json_array_size(json);
	*ret = NULL;
	*ret_n = 0;
	if (!json_is_array(json) || n > COPIES_MAX)
		return fail_set(f, FAIL_INVALID, "the list of copies is malformed");
	*ret = xcalloc(n + 1, sizeof(**ret));
	for (size_t i = 0; i < n; i++) {
		(*ret_n)++;
		if (copy_result_decode(json_array_get(json, i), &(*ret)[i], f) < 0)
			return -1;
	}
	return 0;
}
