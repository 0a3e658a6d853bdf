#include "mcp/version.h"

#include "mcp/rpc.h"

/* The length of a version is limited, because it is echoed. */
#define VERSION_BYTES_MAX 256

/* Newest first. */
static const struct revision revisions[] = {
	{ "2026-07-28", .modern = true, .annotations = true, .progress_message = true, .titles = true,
	  .structured = true, .error_without_id = true },
	{ "2025-11-25", .annotations = true, .progress_message = true, .titles = true, .structured = true,
	  .error_without_id = true, .primes_streams = true },
	{ "2025-06-18", .annotations = true, .progress_message = true, .titles = true, .structured = true },
	{ "2025-03-26", .batches = true, .annotations = true, .progress_message = true },
	{ "2024-11-05" },
};

const struct revision *revision_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(revisions); i++)
		if (streq(revisions[i].name, name))
			return &revisions[i];
	return NULL;
}

const struct revision *revision_negotiate(const char *requested)
{
	const struct revision *r = requested ? revision_find(requested) : NULL;
	if (r && !r->modern)
		return r;
	for (size_t i = 0; i < ARRAY_LEN(revisions); i++)
		if (!revisions[i].modern)
			return &revisions[i];
	abort();
}

json_t *revision_supported(void)
{
	json_t *names = json_array();
	for (size_t i = 0; i < ARRAY_LEN(revisions); i++)
		if (revisions[i].modern)
			json_array_append_new(names, json_string(revisions[i].name));
	return names;
}

static struct meta_verdict refuse(const char *message)
{
	return (struct meta_verdict){ .code = RPC_INVALID_PARAMS, .message = message };
}

static bool log_level_known(const json_t *level)
{
	static const char *const levels[] = { "debug", "info",	   "notice", "warning",
					      "error", "critical", "alert",  "emergency" };
	for (size_t i = 0; json_is_string(level) && i < ARRAY_LEN(levels); i++)
		if (streq(json_string_value(level), levels[i]))
			return true;
	return false;
}

struct meta_verdict revision_of_request(const json_t *params)
{
	const json_t *meta = json_object_get(params, "_meta");
	if (meta && !json_is_null(meta) && !json_is_object(meta))
		return refuse("Invalid params: \"_meta\" must be an object");
	json_t *version = json_object_get(meta, META_VERSION);
	if (!version)
		return (struct meta_verdict){ .legacy = true };
	const char *name = json_string_value(version);
	if (!name || json_string_length(version) != strlen(name) || strlen(name) > VERSION_BYTES_MAX)
		return refuse("Invalid params: _meta[\"" META_VERSION "\"] must be a short string");
	const struct revision *r = revision_find(name);
	if (!r || !r->modern) {
		json_t *data = json_pack("{s:o, s:O}", "supported", revision_supported(), "requested", version);
		return (struct meta_verdict){ .code = RPC_UNSUPPORTED_VERSION,
					      .message = "Unsupported protocol version",
					      .data = data };
	}
	if (!json_is_object(json_object_get(meta, META_CAPABILITIES)))
		return refuse("Invalid params: _meta[\"" META_CAPABILITIES "\"] is required and must be an object");
	const json_t *level = json_object_get(meta, META_LOG_LEVEL);
	if (level && !log_level_known(level))
		return refuse("Invalid params: _meta[\"" META_LOG_LEVEL "\"] is not a known level");
	return (struct meta_verdict){ .revision = r };
}
