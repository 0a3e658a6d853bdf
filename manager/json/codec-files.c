/* Imports and exports. */
#include "manager/json/codec.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/percent.h"
#include "base/utf8.h"
#include "manager/json/fields.h"

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
	if (item->base64 || !plain)
		fields_put_text(out, "encoding", "base64");
}

json_t *copy_request_encode(const struct copy_request *req)
{
	json_t *list = json_array();
	for (size_t i = 0; i < req->n; i++) {
		if (!req->imports) {
			json_array_append_new(list, json_pack("{s:o}", "path", json_text(req->exports[i])));
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
		fields_put_text(entry, "variable", item->variable);
		fields_put_text(entry, "destination", item->destination);
		fields_put_text(entry, "into", item->into);
		json_array_append_new(list, entry);
	}
	return json_pack("{s:o}", "files", list);
}

/* --- files in place ------------------------------------------------------------------------------------------------ */

json_t *file_info_encode(const struct file_info *info)
{
	static const char *const types[FILE_TYPES] = { "file", "directory", "symlink", "other" };
	json_t *out = json_object();
	AUTO(buf_release) struct buf encoded = { 0 };
	fields_put_text(out, "name", *info->name ? info->name : NULL);
	if (!utf8_valid(info->name, strlen(info->name))) {
		percent_encode(&encoded, info->name, /* keep_slash= */ false);
		fields_put_text(out, "name_encoded", buf_str(&encoded));
	}
	fields_put_text(out, "type", types[info->type]);
	if (info->type == FILE_REGULAR)
		json_object_set_new(out, "size", json_integer((json_int_t)info->size));
	json_object_set_new(out, "mode", json_integer((json_int_t)info->mode));
	json_object_set_new(out, "mtime_ms", json_integer((json_int_t)info->mtime_ms));
	fields_put_text(out, "target", info->target);
	fields_put_text(out, "etag", info->etag);
	return out;
}

json_t *file_page_encode(const struct file_page *page)
{
	json_t *out = file_info_encode(&page->directory), *entries = json_array();
	for (size_t i = 0; i < page->n; i++)
		json_array_append_new(entries, file_info_encode(&page->v[i]));
	json_object_set_new(out, "entries", entries);
	json_object_set_new(out, "total", json_integer((json_int_t)page->total));
	fields_put_bool(out, "more", page->more);
	return out;
}

/* --- exports ------------------------------------------------------------------------------------------------------- */

json_t *export_info_encode(const struct export_info *info)
{
	json_t *out = json_object();
	fields_put_text(out, "id", info->id);
	fields_put_text(out, "conversation", info->conversation);
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

json_t *listed_export_encode(const struct export_info *info)
{
	json_t *out = export_info_encode(info);
	conversation_encode(out, info->conversation);
	return out;
}

int export_info_decode(const json_t *json, struct export_info *ret, struct fail *f)
{
	struct fields in = { .json = json };
	*ret = (struct export_info){ .id = fields_copy_or_empty(&in, "id"),
				     .conversation = fields_copy_or_empty(&in, "conversation"),
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

static int copy_result_decode(const json_t *json, struct copy_result *ret, struct fail *f)
{
	struct fields in = { .json = json };
	const json_t *fail = fields_object(&in, "problem"), *notices = fields_list(&in, "notices", NOTICES_MAX),
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
