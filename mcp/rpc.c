#include "mcp/rpc.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/shape.h"
#include "base/utf8.h"

#define EXCERPT_CHARS 80

static void set_invalid(struct rpc_message *m, int code, const char *error)
{
	m->kind = RPC_INVALID;
	m->code = code;
	m->error = error;
}

bool rpc_id_valid(const json_t *id)
{
	return json_is_integer(id) || (json_is_string(id) && json_string_length(id) <= RPC_ID_BYTES_MAX);
}

static bool is_text(const json_t *v, const char *text)
{
	return json_is_string(v) && json_string_length(v) == strlen(text) && streq(json_string_value(v), text);
}

static void classify_object(struct rpc_message *m, json_t *o)
{
	json_t *id = json_object_get(o, "id");
	json_t *method = json_object_get(o, "method");
	json_t *params = json_object_get(o, "params");
	m->id = rpc_id_valid(id) ? id : NULL;
	bool answer = json_object_get(o, "result") || json_object_get(o, "error");
	if (!method && answer) {
		m->kind = RPC_RESPONSE;
		return;
	}
	if (!is_text(json_object_get(o, "jsonrpc"), "2.0")) {
		set_invalid(m, RPC_INVALID_REQUEST, "Invalid Request: \"jsonrpc\" must be \"2.0\"");
		return;
	}
	/* A method name with a NUL would compare equal to the part before it. */
	if (!json_is_string(method) || json_string_length(method) != strlen(json_string_value(method))) {
		set_invalid(m, RPC_INVALID_REQUEST, "Invalid Request: \"method\" must be a string");
		return;
	}
	if (id && !m->id) {
		set_invalid(m, RPC_INVALID_REQUEST,
			    "Invalid Request: \"id\" must be a string (at most 1024 bytes) or an integer");
		return;
	}
	m->method = json_string_value(method);
	m->kind = id ? RPC_REQUEST : RPC_NOTIFICATION;
	if (json_is_object(params))
		m->params = params;
	else if (params && !json_is_null(params) && id)
		set_invalid(m, RPC_INVALID_PARAMS, "Invalid params: \"params\" must be an object");
}

void rpc_classify(struct rpc_message *m, json_t *value)
{
	*m = (struct rpc_message){ .root = json_incref(value) };
	if (json_is_object(value))
		classify_object(m, value);
	else if (json_is_array(value) && json_array_size(value) > 0)
		m->kind = RPC_BATCH;
	else
		set_invalid(m, RPC_INVALID_REQUEST, "Invalid Request: not a JSON-RPC message");
}

void rpc_parse(struct rpc_message *m, const char *line, size_t n)
{
	*m = (struct rpc_message){ 0 };
	struct shape shape = shape_of(line, n);
	if (shape.values + shape.containers > RPC_VALUES_MAX) {
		set_invalid(m, RPC_INVALID_REQUEST, "Invalid Request: too many values in one message");
		return;
	}
	json_t *root = json_parse(line, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL);
	if (!root) {
		set_invalid(m, RPC_PARSE_ERROR, "Parse error");
		return;
	}
	rpc_classify(m, root);
	json_decref(root);
	if (shape.depth > RPC_DEPTH_MAX && m->kind != RPC_NOTIFICATION && m->kind != RPC_RESPONSE)
		set_invalid(m, RPC_INVALID_REQUEST, "Invalid Request: nested too deeply");
}

void rpc_message_release(struct rpc_message *m)
{
	json_decref(m->root);
	*m = (struct rpc_message){ 0 };
}

json_t *rpc_result(json_t *id, json_t *result)
{
	return json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result);
}

static void begin_result(struct buf *out, const json_t *id)
{
	buf_add_str(out, "{\"jsonrpc\":\"2.0\",\"id\":");
	json_print(out, id);
	buf_add_str(out, ",\"result\":");
}

void rpc_print_result(struct buf *out, const json_t *id, const struct buf *result)
{
	begin_result(out, id);
	buf_add(out, result->data, result->len);
	buf_add_str(out, "}");
}

void rpc_print_result_with(struct buf *out, const json_t *id, const json_t *result, const char *name, const char *json)
{
	begin_result(out, id);
	json_print_with(out, result, name, json);
	buf_add_str(out, "}");
}

void rpc_print_notification_with(struct buf *out, const char *method, const json_t *params, const char *name,
				 const char *json)
{
	buf_printf(out, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":", method);
	json_print_with(out, params, name, json);
	buf_add_str(out, "}");
}

json_t *rpc_error(json_t *id, int code, const char *message, json_t *data)
{
	json_t *error = json_pack("{s:i, s:s}", "code", code, "message", message);
	if (data)
		json_object_set_new(error, "data", data);
	json_t *m = json_pack("{s:s}", "jsonrpc", "2.0");
	if (id)
		json_object_set(m, "id", id);
	json_object_set_new(m, "error", error);
	return m;
}

json_t *rpc_notification(const char *method, json_t *params)
{
	return json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", method, "params", params);
}

char *rpc_id_key(const json_t *id)
{
	char *key = json_dumps(id, JSON_ENCODE_ANY | JSON_COMPACT);
	if (!key)
		abort();
	return key;
}

char *rpc_excerpt(const char *text)
{
	size_t n = strlen(text);
	size_t head = utf8_head(text, n, EXCERPT_CHARS);
	return xasprintf("%.*s%s", (int)head, text, head < n ? "…" : "");
}
