#include "mcp/shown.h"

#include "base/json.h"
#include "manager/json/codec.h"

/* Names of packages, variables and files come from the session, so they must not look like Husk's own labels. */
static void clean_texts(json_t *json)
{
	const char *key;
	size_t i;
	json_t *value;
	void *next;
	json_object_foreach_safe(json, next, key, value)
	{
		if (json_is_string(value))
			json_object_set_new(json, key, json_name(json_string_value(value)));
		else
			clean_texts(value);
	}
	json_array_foreach(json, i, value) {
		if (json_is_string(value))
			json_array_set_new(json, i, json_name(json_string_value(value)));
		else
			clean_texts(value);
	}
}

/* Takes the fields. The names come first, because a model needs them most. */
static json_t *with_old_names(json_t *fields)
{
	json_t *out = json_pack("{s:O, s:O}", "session_id", json_object_get(fields, "id"), "runtime",
				json_object_get(fields, "language"));
	json_object_del(fields, "id");
	json_object_del(fields, "language");
	json_object_update(out, fields);
	json_decref(fields);
	clean_texts(out);
	return out;
}

json_t *shown_session(const struct session_info *info)
{
	return with_old_names(session_info_encode(info));
}

json_t *shown_listed_session(const struct session_info *info)
{
	json_t *fields = session_info_encode(info);
	json_object_del(fields, "limits");
	json_object_del(fields, "dependencies");
	json_object_del(fields, "transport");
	return with_old_names(fields);
}

json_t *shown_details(const struct session_details *d)
{
	return with_old_names(session_details_encode(d));
}

json_t *shown_export(const struct export_info *info, bool remote, const char *download_url)
{
	json_t *fields = export_info_encode(info);
	/* A model has no use for them. */
	json_object_del(fields, "conversation");
	json_object_del(fields, "stored");
	json_object_set(fields, "session_id", json_object_get(fields, "session"));
	json_object_del(fields, "session");
	if (remote)
		json_object_del(fields, "host_path");
	if (download_url)
		json_object_set_new(fields, "download_url", json_text(download_url));
	clean_texts(fields);
	return fields;
}
