/* The server and its machine: settings, keys, checks, and what was cleaned up. */
#include "base/json.h"
#include "manager/json/codec.h"
#include "manager/json/fields.h"

/* --- settings ------------------------------------------------------------------------------------------------------ */

json_t *setting_encode(const struct config *c, const char *name)
{
	const char *value = config_effective(c, name);
	bool secret = config_is_secret(name);
	json_t *out = json_pack("{s:s, s:b, s:s}", "name", name, "secret", secret, "from", config_origin(c, name));
	/* Nobody gets a secret back, only whether there is one. */
	if (secret)
		json_object_set_new(out, "set", json_boolean(value && *value));
	else
		json_object_set_new(out, "value", value ? json_text(value) : json_null());
	return out;
}

/* --- keys ---------------------------------------------------------------------------------------------------------- */

json_t *key_info_encode(const struct key_info *info)
{
	json_t *out = json_object(), *scopes = json_array();
	fields_put_text(out, "id", info->id);
	fields_put_text(out, "name", info->name);
	fields_put_text(out, "tenant", info->tenant);
	for (unsigned bit = 1; bit <= SCOPE_ADMIN; bit <<= 1)
		if (info->scopes & bit)
			json_array_append_new(scopes, json_string(scope_name((enum scope)bit)));
	json_object_set_new(out, "scopes", scopes);
	fields_put_number(out, "created_ms", info->created_ms);
	fields_put_number(out, "used_ms", info->used_ms);
	return out;
}

/* --- secrets ------------------------------------------------------------------------------------------------------- */

json_t *secret_info_encode(const struct secret_info *info)
{
	json_t *out = json_object(), *hosts = json_array();
	fields_put_text(out, "name", info->name);
	fields_put_text(out, "tenant", info->tenant);
	for (const char *at = info->hosts; *at; at += strspn(at, " ")) {
		size_t n = strcspn(at, " ");
		json_array_append_new(hosts, json_stringn(at, n));
		at += n;
	}
	json_object_set_new(out, "hosts", hosts);
	fields_put_text(out, "header", info->header);
	fields_put_text(out, "query", info->query);
	fields_put_text(out, "basic", info->basic);
	fields_put_number(out, "created_ms", info->created_ms);
	fields_put_number(out, "changed_ms", info->changed_ms);
	return out;
}

/* --- checks and cleaning ------------------------------------------------------------------------------------------- */

json_t *check_encode(const struct check *check)
{
	static const char *const names[] = { [CHECK_OK] = "ok", [CHECK_WARN] = "warn", [CHECK_FAIL] = "fail" };
	json_t *out = json_object();
	fields_put_text(out, "name", check->name);
	fields_put_text(out, "status", names[check->status]);
	fields_put_text(out, "detail", check->detail);
	fields_put_text(out, "fix", check->fix);
	return out;
}

json_t *checks_encode(json_t *checks, bool ok)
{
	return json_pack("{s:b, s:s, s:O}", "ok", ok, "version", HUSK_VERSION, "checks", checks);
}

json_t *collected_encode(const struct collected *c)
{
	json_t *list = json_array();
	for (size_t i = 0; i < c->n; i++)
		json_array_append_new(list, json_text(c->containers[i]));
	return json_pack("{s:o, s:I, s:I}", "containers", list, "sessions_ended", (json_int_t)c->sessions,
			 "exports_deleted", (json_int_t)c->exports);
}

json_t *image_info_encode(const struct image_info *info)
{
	json_t *out = json_object();
	fields_put_text(out, "name", info->name);
	fields_put_number(out, "size", info->size);
	fields_put_number(out, "created_ms", info->created * 1000);
	return out;
}
