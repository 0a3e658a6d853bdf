/* base/args with the tables of the real tools: accepted values are within the schema, and a rejection is explained
 * in a bounded text. The first byte picks the tool. */
#include "base/alloc.h"
#include "mcp/result.h"
#include "mcp/tools.h"
#include "tests/fuzz/fuzz.h"

/* Twenty problems, each of which echoes at most a few hundred bytes. */
#define PROBLEMS_TEXT_MAX 32768

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

static void check_accepted(const struct arg *a, const void *at)
{
	const char *s = a->type == ARG_STRING ? *(const char *const *)at : NULL;
	int64_t i = a->type == ARG_INT ? *(const int64_t *)at : 0;
	json_t *o = a->type == ARG_OBJECT ? *(json_t *const *)at : NULL;
	CHECK(!(a->flags & ARG_REQUIRED) || a->type != ARG_STRING || s);
	if (s) {
		CHECK(utf8_valid(s, strlen(s)));
		CHECK(a->max <= 0 || strlen(s) <= (size_t)a->max);
		CHECK(!(a->flags & ARG_NONEMPTY) || a->flags & ARG_BLANK || s[strspn(s, " \t\r\n")]);
	}
	CHECK(a->type != ARG_INT || a->flags & ARG_ABSENT || a->max <= a->min || (i >= a->min && i <= a->max));
	CHECK(!o || json_is_object(o));
}

static void check_refused(const json_t *problems)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *text = args_problems_text(problems);
	CHECK(json_array_size(problems) > 0 && *text && strlen(text) < PROBLEMS_TEXT_MAX &&
	      utf8_valid(text, strlen(text)));
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
	for (const struct arg *a = table; !problems && a->name; a++)
		check_accepted(a, decoded + a->offset);
	return 0;
}
