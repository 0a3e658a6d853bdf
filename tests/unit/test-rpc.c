/* mcp/rpc: the table of malformed input, and envelopes. */
#include "tests/unit/unit.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "mcp/rpc.h"

/* "kind code id", e.g. "request 0 1". */
static void expect(const char *line, size_t n, const char *want)
{
	static const char *const kinds[] = { "invalid", "request", "notification", "response", "batch" };
	struct rpc_message m;
	rpc_parse(&m, line, n);
	AUTO(freep) char *id = m.id ? rpc_id_key(m.id) : xstrdup("-");
	AUTO(freep) char *got = xasprintf("%s %d %s", kinds[m.kind], m.code, id);
	if (strcmp(got, want) != 0)
		print_error("for %.*s\n", (int)MIN(n, (size_t)100), line);
	assert_string_equal(got, want);
	assert_true(m.kind != RPC_INVALID || m.error);
	assert_true((m.kind == RPC_REQUEST || m.kind == RPC_NOTIFICATION) == (m.method != NULL) || m.code);
	rpc_message_release(&m);
}

static void classifies(void **state)
{
	static const struct {
		const char *line, *want;
	} cases[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}", "request 0 0" },
		{ "{\"method\":\"ping\",\"id\":\"0\",\"jsonrpc\":\"2.0\",\"params\":{}}", "request 0 \"0\"" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":-9007199254740993,\"method\":\"p\"}", "request 0 -9007199254740993" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":\"a\\u0000b\",\"method\":\"p\"}", "request 0 \"a\\u0000b\"" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\",\"params\":null}", "request 0 1" },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}", "notification 0 -" },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":[1]}", "notification 0 -" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", "response 0 1" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{}}", "response 0 -" },
		{ "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\"}]", "batch 0 -" },
		{ "not json", "invalid -32700 -" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\"", "invalid -32700 -" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\"} x", "invalid -32700 -" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"p\"}", "invalid -32700 -" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\\ud800\"}", "invalid -32700 -" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", "invalid -32700 -" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xc0\xaf\"}", "invalid -32700 -" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":99999999999999999999,\"method\":\"p\"}", "invalid -32700 -" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1e999,\"method\":\"p\"}", "invalid -32700 -" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":NaN,\"method\":\"p\"}", "invalid -32700 -" },
		{ "[]", "invalid -32600 -" },
		{ "1", "invalid -32600 -" },
		{ "\"x\"", "invalid -32600 -" },
		{ "null", "invalid -32600 -" },
		{ "{}", "invalid -32600 -" },
		{ "{\"id\":1,\"method\":\"p\"}", "invalid -32600 1" },
		{ "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"p\"}", "invalid -32600 1" },
		{ "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"p\"}", "invalid -32600 1" },
		{ "{\"jsonrpc\":\"2.0\\u0000\",\"id\":1,\"method\":\"p\"}", "invalid -32600 1" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1}", "invalid -32600 1" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}", "invalid -32600 1" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\\u0000\"}", "invalid -32600 1" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"p\"}", "invalid -32600 -" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1.0,\"method\":\"p\"}", "invalid -32600 -" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"p\"}", "invalid -32600 -" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"p\"}", "invalid -32600 -" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\",\"params\":[]}", "invalid -32602 1" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\",\"params\":\"x\"}", "invalid -32602 1" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		expect(cases[i].line, strlen(cases[i].line), cases[i].want);
}

static void nested(size_t depth, const char *want)
{
	AUTO(buf_release) struct buf b = { 0 };
	buf_add_str(&b, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"p\",\"params\":{\"x\":");
	for (size_t i = 0; i < depth; i++)
		buf_add_str(&b, "[");
	for (size_t i = 0; i < depth; i++)
		buf_add_str(&b, "]");
	buf_add_str(&b, "}}");
	expect((const char *)b.data, b.len, want);
}

static void bounds_depth_size_and_ids(void **state)
{
	nested(126, "request 0 7");
	nested(127, "invalid -32600 7");
	nested(2000, "invalid -32600 7");
	nested(5000, "invalid -32700 -");
	AUTO(buf_release) struct buf b = { 0 };
	buf_add_str(&b, "[");
	for (size_t i = 0; i < RPC_VALUES_MAX; i++)
		buf_add_str(&b, "[],");
	buf_add_str(&b, "1]");
	expect((const char *)b.data, b.len, "invalid -32600 -");
	buf_reset(&b);
	buf_add_str(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"p\",\"id\":\"");
	for (size_t i = 0; i <= RPC_ID_BYTES_MAX; i++)
		buf_add_str(&b, "i");
	buf_add_str(&b, "\"}");
	expect((const char *)b.data, b.len, "invalid -32600 -");
	/* Brackets in strings do not count. */
	buf_reset(&b);
	buf_add_str(&b, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\",\"params\":{\"code\":\"\\\"");
	for (size_t i = 0; i < 1000; i++)
		buf_add_str(&b, "[{,");
	buf_add_str(&b, "\"}}");
	expect((const char *)b.data, b.len, "request 0 1");
}

static void survives_every_cut_and_flip(void **state)
{
	static const char line[] =
		"{\"jsonrpc\":\"2.0\",\"id\":\"\xc3\xa9\\u0041\",\"method\":\"tools/call\",\"params\":{\"name\":\"x\",\"arguments\":{\"code\":\"1\\n\",\"n\":[1,2.5e3,true,null]}}}";
	char copy[sizeof(line)];
	struct rpc_message m;
	for (size_t n = 0; n < sizeof(line); n++) {
		rpc_parse(&m, line, n);
		rpc_message_release(&m);
		for (int bit = 0; bit < 8; bit++) {
			memcpy(copy, line, sizeof(line));
			copy[n] = (char)(copy[n] ^ 1 << bit);
			rpc_parse(&m, copy, sizeof(line) - 1);
			rpc_message_release(&m);
		}
	}
}

static void builds_envelopes(void **state)
{
	json_auto_t *id = json_string("a");
	json_auto_t *result = rpc_result(id, json_object());
	json_auto_t *error = rpc_error(NULL, RPC_PARSE_ERROR, "Parse error", NULL);
	json_auto_t *full = rpc_error(id, RPC_INVALID_PARAMS, "no", json_integer(1));
	AUTO(freep) char *a = json_dumps(result, JSON_COMPACT);
	AUTO(freep) char *b = json_dumps(error, JSON_COMPACT);
	AUTO(freep) char *c = json_dumps(full, JSON_COMPACT);
	assert_string_equal(a, "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}}");
	assert_string_equal(b, "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"Parse error\"}}");
	assert_string_equal(
		c, "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"error\":{\"code\":-32602,\"message\":\"no\",\"data\":1}}");
}

static void excerpts_cut_between_characters(void **state)
{
	struct buf b = { 0 };
	for (int i = 0; i < 81; i++)
		buf_add_str(&b, "é");
	AUTO(freep) char *cut = rpc_excerpt(buf_str(&b));
	buf_release(&b);
	assert_int_equal(strlen(cut), 163);
	AUTO(freep) char *whole = rpc_excerpt("short");
	assert_string_equal(whole, "short");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classifies),
		cmocka_unit_test(bounds_depth_size_and_ids),
		cmocka_unit_test(survives_every_cut_and_flip),
		cmocka_unit_test(builds_envelopes),
		cmocka_unit_test(excerpts_cut_between_characters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
