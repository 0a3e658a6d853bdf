#include "mcp/methods.h"

#include "base/alloc.h"
#include "base/watchdog.h"
#include "mcp/apps.h"
#include "mcp/completion.h"
#include "mcp/extension.h"
#include "mcp/inputs.h"
#include "mcp/logging.h"
#include "mcp/prompts.h"
#include "mcp/resources.h"
#include "mcp/result.h"
#include "mcp/roots.h"
#include "mcp/rpc.h"
#include "mcp/subscriptions.h"
#include "mcp/tasks.h"

/* The answer to server/discover does not change while the process runs. */
#define DISCOVER_TTL_MS 3600000
#define TOOLS_TTL_MS 300000
#define LISTENING_MAX 64

static json_t *identity(struct connection *c)
{
	AUTO(freep) char *instructions = tools_instructions(&c->env);
	return json_pack("{s:{s:{}, s:{s:b, s:b}, s:{}, s:{}}, s:s}", "capabilities", "tools", "resources", "subscribe",
			 1, "listChanged", 1, "prompts", "completions", "instructions", instructions);
}

static void do_discover(struct connection *c, struct call *call, json_t *params)
{
	json_t *result = identity(c);
	json_t *extensions = json_pack("{s:{}}", TASKS_EXTENSION);
	if (apps_known(c->env.app, call))
		json_object_update_new(extensions, apps_capability());
	json_object_set_new(json_object_get(result, "capabilities"), "extensions", extensions);
	json_object_set_new(result, "supportedVersions", revision_supported());
	call_set_cache_hints(call->revision, result, DISCOVER_TTL_MS,
			     apps_known(c->env.app, call) ? "private" : "public");
	call_reply(call, result);
}

static void do_initialize(struct connection *c, struct call *call, json_t *params)
{
	const char *wanted = json_string_value(json_object_get(params, "protocolVersion"));
	if (!wanted) {
		call_reply_error(call, RPC_INVALID_PARAMS, "Invalid params: \"protocolVersion\" must be a string",
				 NULL);
		return;
	}
	c->legacy = revision_negotiate(wanted);
	c->initialized = true;
	json_decref(c->capabilities);
	c->capabilities = json_incref(json_object_get(params, "capabilities"));
	roots_declare(c, c->capabilities);
	json_t *result = identity(c);
	json_object_set_new(json_object_get(result, "capabilities"), "logging", json_object());
	if (c->env.app && apps_declared(c->capabilities))
		json_object_set_new(json_object_get(result, "capabilities"), "extensions", apps_capability());
	json_object_set_new(result, "protocolVersion", json_string(c->legacy->name));
	json_object_set_new(result, "serverInfo", call_server_info(c->legacy));
	call_reply(call, result);
}

static void do_ping(struct connection *c, struct call *call, json_t *params)
{
	call_reply(call, json_object());
}

static void do_tools_list(struct connection *c, struct call *call, json_t *params)
{
	const json_t *cursor = json_object_get(params, "cursor");
	/* All tools fit on one page, so any cursor is invalid. */
	if (cursor && !json_is_null(cursor)) {
		call_reply_error(call, RPC_INVALID_PARAMS, "Invalid params: unknown cursor", NULL);
		return;
	}
	bool apps = apps_known(c->env.app, call);
	json_t *tools = tools_describe(&c->env, call->revision, apps);
	json_t *result = json_pack("{s:o}", "tools", tools);
	extension_list(c, call, result);
	call_set_cache_hints(call->revision, result, TOOLS_TTL_MS, apps ? "private" : "public");
	call_reply(call, result);
}

/* If the token is neither a string nor an integer, answers the request with an error and returns false. */
static bool take_progress_token(struct connection *c, struct call *call, json_t *params)
{
	json_t *token = json_object_get(json_object_get(params, "_meta"), "progressToken");
	if (!token || json_is_null(token))
		return true;
	if (!rpc_id_valid(token)) {
		call_reply_error(
			call, RPC_INVALID_PARAMS,
			"Invalid params: \"progressToken\" must be a string (at most 1024 bytes) or an integer", NULL);
		return false;
	}
	call_set_progress(call, c->loop, token);
	return true;
}

static void do_tools_call(struct connection *c, struct call *call, json_t *params)
{
	json_t *name = json_object_get(params, "name");
	json_t *args = json_object_get(params, "arguments");
	if (!json_is_string(name)) {
		call_reply_error(call, RPC_INVALID_PARAMS, "Invalid params: \"name\" must be a string", NULL);
		return;
	}
	if (args && !json_is_null(args) && !json_is_object(args)) {
		call_reply_error(call, RPC_INVALID_PARAMS, "Invalid params: \"arguments\" must be an object", NULL);
		return;
	}
	call->knows_tasks = call->revision->modern && tasks_declared(params);
	const struct tool *tool = tools_of_request(&c->env, call, json_string_value(name));
	if (!tool || json_string_length(name) != strlen(tool->name)) {
		AUTO(freep) char *shown = rpc_excerpt(json_string_value(name));
		AUTO(freep) char *text = xasprintf("Unknown tool: %s", shown);
		call_reply_error(call, RPC_INVALID_PARAMS, text, NULL);
		return;
	}
	call->tool_name = tool->name;
	watchdog_detail("a call of the tool", tool->name, 0);
	json_auto_t *state = NULL, *answers = NULL;
	if (!take_progress_token(c, call, params) || roots_hold(c, call, tool, args) ||
	    !inputs_resume(c, call, params, &state, &answers))
		return;
	tools_call(call, tool, json_is_object(args) ? args : NULL, &c->env, state, answers);
}

static void begin_listening(struct connection *c, struct call *call)
{
	json_t *honoured = json_object();
	if (json_array_size(call->task_ids))
		json_object_set(honoured, "taskIds", call->task_ids);
	subscriptions_acknowledge(c, call, honoured);
	if (c->n_listening >= LISTENING_MAX) {
		json_decref(honoured);
		call_reply_error(call, RPC_INTERNAL_ERROR, "Too many open subscriptions", NULL);
		return;
	}
	call->listening = true;
	c->n_listening++;
	connection_notify(c, call,
			  rpc_notification("notifications/subscriptions/acknowledged",
					   json_pack("{s:{s:O}, s:o}", "_meta", META_SUBSCRIPTION, call->id,
						     "notifications", honoured)));
	tasks_listen_begin(c, call);
}

static void listen_to_tasks(struct connection *c, struct call *call)
{
	if (!tasks_listen(c, call, call->args, begin_listening))
		begin_listening(c, call);
}

/* If a client requests unknown notifications, the subscription is opened, but the acknowledgement leaves them out. */
static void do_listen(struct connection *c, struct call *call, json_t *params)
{
	if (!json_is_object(json_object_get(params, "notifications"))) {
		call_reply_error(call, RPC_INVALID_PARAMS, "Invalid params: \"notifications\" must be an object", NULL);
		return;
	}
	subscriptions_listen(c, call, params, listen_to_tasks);
}

void method_end_listening(struct call *call)
{
	call_reply(call, json_pack("{s:{s:O}}", "_meta", META_SUBSCRIPTION, call->id));
}

static const struct method methods[] = {
	{ "server/discover", .modern = true, .handle = do_discover },
	{ "initialize", .legacy = true, .alone = true, .handle = do_initialize },
	{ "ping", .legacy = true, .handle = do_ping },
	{ "logging/setLevel", .legacy = true, .handle = logging_set_level },
	{ "tools/list", .legacy = true, .modern = true, .handle = do_tools_list },
	{ "tools/call", .legacy = true, .modern = true, .handle = do_tools_call },
	{ "resources/list", .legacy = true, .modern = true, .handle = resources_list },
	{ "resources/templates/list", .legacy = true, .modern = true, .handle = resources_templates },
	{ "resources/read", .legacy = true, .modern = true, .handle = resources_read },
	{ "resources/subscribe", .legacy = true, .handle = subscriptions_subscribe },
	{ "resources/unsubscribe", .legacy = true, .handle = subscriptions_unsubscribe },
	{ "prompts/list", .legacy = true, .modern = true, .handle = prompts_list },
	{ "prompts/get", .legacy = true, .modern = true, .handle = prompts_get },
	{ "completion/complete", .legacy = true, .modern = true, .handle = completion_complete },
	{ "subscriptions/listen", .modern = true, .alone = true, .handle = do_listen },
	{ "tasks/get", .modern = true, .handle = tasks_get },
	{ "tasks/update", .modern = true, .handle = tasks_update },
	{ "tasks/cancel", .modern = true, .handle = tasks_cancel },
};

const struct method *method_find(const char *name, bool modern)
{
	for (size_t i = 0; i < ARRAY_LEN(methods); i++)
		if (streq(methods[i].name, name))
			return (modern ? methods[i].modern : methods[i].legacy) ? &methods[i] : NULL;
	return NULL;
}
