/* The headers of 2026-07-28 repeat parts of the body, so that a proxy can route a request without parsing it. A request
 * whose headers differ from its body is refused, because a proxy and this server would understand it differently. */
#include "base/base64.h"
#include "mcp/http-private.h"

#define HEADER_VERSION "mcp-protocol-version"
#define ENCODED_START "=?base64?"
#define ENCODED_END "?="

static const json_t *version_in_body(const struct rpc_message *m)
{
	return json_object_get(json_object_get(m->params, "_meta"), META_VERSION);
}

bool mcp_headers_modern(const struct http_fields *f, const struct rpc_message *m)
{
	const char *version = http_fields_get(f, HEADER_VERSION);
	const struct revision *revision = version ? revision_find(version) : NULL;
	return version_in_body(m) || (version && (!revision || revision->modern));
}

/* Decodes the value of a header. -1 if it is not valid. */
static int decode(const char *value, struct buf *ret)
{
	size_t n = strlen(value), start = strlen(ENCODED_START), end = strlen(ENCODED_END);
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)value[i] > 0x7e || ((unsigned char)value[i] < 0x20 && value[i] != '\t'))
			return -1;
	if (n < start + end || strncmp(value, ENCODED_START, start) != 0 || !streq(value + n - end, ENCODED_END)) {
		buf_add_str(ret, value);
		return 0;
	}
	return base64_is_strict(value + start, n - start - end) &&
			       base64_decode(value + start, n - start - end, ret) == 0 ?
		       0 :
		       -1;
}

/* True if the header is there once and has this text. */
static bool repeats(const struct http_fields *f, const char *name, const json_t *text, bool may_be_encoded)
{
	AUTO(buf_release) struct buf value = { 0 };
	const char *sent = http_fields_get(f, name);
	if (!sent || http_fields_count(f, name) != 1)
		return false;
	if (!may_be_encoded)
		buf_add_str(&value, sent);
	else if (decode(sent, &value) < 0)
		return false;
	return value.len == json_string_length(text) &&
	       (value.len == 0 || memcmp(value.data, json_string_value(text), value.len) == 0);
}

const char *mcp_headers_wrong_version(const struct http_fields *f, const struct rpc_message *m)
{
	const json_t *version = version_in_body(m);
	if (http_fields_count(f, HEADER_VERSION) != 1)
		return "MCP-Protocol-Version";
	/* Without a version in the body the request is refused for that. */
	return !json_is_string(version) || repeats(f, HEADER_VERSION, version, false) ? NULL : "MCP-Protocol-Version";
}

const char *mcp_headers_wrong_name(const struct http_fields *f, const struct rpc_message *m)
{
	static const struct {
		const char *method, *member;
	} named[] = {
		{ "tools/call", "name" },  { "prompts/get", "name" },	 { "resources/read", "uri" },
		{ "tasks/get", "taskId" }, { "tasks/update", "taskId" }, { "tasks/cancel", "taskId" },
	};
	if (!repeats(f, "mcp-method", json_object_get(m->root, "method"), false))
		return "Mcp-Method";
	for (size_t i = 0; i < ARRAY_LEN(named); i++) {
		const json_t *name = json_object_get(m->params, named[i].member);
		/* Without a name in the body the method refuses the request. */
		if (streq(m->method, named[i].method) && json_is_string(name) && !repeats(f, "mcp-name", name, true))
			return "Mcp-Name";
	}
	return NULL;
}
