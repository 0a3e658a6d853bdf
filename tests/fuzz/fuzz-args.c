/* base/args with the tables of the real tools: accepted values are within the schema, and a rejection is explained
 * in a bounded text. The first byte picks the tool. */
#include "base/alloc.h"
#include "mcp/result.h"
#include "mcp/tools.h"
#include "tests/fuzz/decoded.h"
#include "tests/fuzz/fuzz.h"

static const struct config config = {
	.memory_limit = 1u << 30,
	.cpu_quota = 100000,
	.pids_limit = 128,
	.tmpfs_size = 64u << 20,
	.execution_timeout = 30,
	.max_sessions = 3,
	.max_sessions_per_thread = 3,
	.idle_ttl = 600,
	.max_lifetime = 3600,
};

static void check_refused(const json_t *problems)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *text = decoded_problems(problems);
	CHECK(text);
	fail_set(&f, FAIL_INVALID, "%s", text);
	check_sendable(result_of_fail(&f, &(struct fail_context){ .details = (json_t *)problems,
								  .structured = true,
								  .fields_in_meta = true }));
}

int fuzz_one(const uint8_t *data, size_t n)
{
	const struct tool_env env = { .config = &config };
	size_t count = 0;
	while (tools_nth(count))
		count++;
	if (!n)
		return 0;
	const struct tool *tool = tools_nth(data[0] % count);
	/* Parsed like in mcp/rpc. */
	json_auto_t *args = json_loadb((const char *)data + 1, n - 1, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	if (!json_is_object(args))
		return 0;
	AUTO(freep) char *decoded = xcalloc(1, tool->args_size);
	if (tool->args_init)
		tool->args_init(decoded, &env);
	const struct arg *table = tool->args_for ? tool->args_for(&env) : tool->args;
	json_auto_t *problems = args_decode(table, args, decoded);
	if (problems)
		check_refused(problems);
	else
		CHECK(decoded_fits(table, args, decoded, /* defaults= */ true));
	return 0;
}
