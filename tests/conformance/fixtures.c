#include "tests/conformance/fixtures.h"

#include "base/log.h"
#include "mcp/rpc.h"
#include "tests/conformance/fixture-inputs.h"
#include "tests/conformance/fixture-tasks.h"

#define PROGRESS_STEP 50
#define PROGRESS_STEP_MS 50
#define PROGRESS_TOTAL 100

/* A red pixel, and a WAV file without samples. */
#define PNG "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
#define WAV "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="

struct fixture {
	const char *name;
	const char *description;
	const char *schema; /* JSON; NULL = no arguments */
	/* Either the content of the tool's result, as JSON, or a function. */
	const char *content;
	bool is_error;
	void (*answer)(struct call *call, struct loop *loop, json_t *params);
};

static void reply_text(struct call *call, const char *text)
{
	call_reply(call, json_pack("{s:[{s:s, s:s}]}", "content", "type", "text", "text", text));
}

static void on_progress_step(void *ctx)
{
	struct call *call = ctx;
	if (call->progress > PROGRESS_TOTAL) {
		reply_text(call, "The work is done.");
		return;
	}
	if (call->token)
		call->ops->progress(call->ctx, call,
				    rpc_notification("notifications/progress",
						     json_pack("{s:O, s:I, s:i}", "progressToken", call->token,
							       "progress", (json_int_t)call->progress, "total",
							       PROGRESS_TOTAL)));
	call->progress += PROGRESS_STEP;
	timer_start(call->timer, PROGRESS_STEP_MS, 0);
}

/* Uses the call's own timer with another function. The timer is freed with the call, whether that is answered or
 * cancelled. */
static void answer_with_progress(struct call *call, struct loop *loop, json_t *params)
{
	json_t *token = json_object_get(json_object_get(params, "_meta"), "progressToken");
	call->token = rpc_id_valid(token) ? json_incref(token) : NULL;
	call->timer = timer_new(loop, on_progress_step, call);
	timer_start(call->timer, PROGRESS_STEP_MS, 0);
}

static void on_log_step(void *ctx)
{
	static const char *const events[] = { "Tool execution started", "Tool processing data",
					      "Tool execution completed" };
	struct call *call = ctx;
	if (call->progress == ARRAY_LEN(events)) {
		reply_text(call, "The work is done.");
		return;
	}
	log_info("%s", events[call->progress++]);
	timer_start(call->timer, PROGRESS_STEP_MS, 0);
}

static void answer_with_logs(struct call *call, struct loop *loop, json_t *params)
{
	call->timer = timer_new(loop, on_log_step, call);
	timer_start(call->timer, PROGRESS_STEP_MS, 0);
}

static void on_reconnection_step(void *ctx)
{
	struct call *call = ctx;
	struct connection *c = call->ctx;
	if (call->progress++ == 1) {
		reply_text(call, "The client has reconnected.");
		return;
	}
	if (c->ops->hang_up)
		c->ops->hang_up(c, call);
	timer_start(call->timer, PROGRESS_STEP_MS, 0);
}

/* Closes the stream of the request, then answers: the client resumes the stream. */
static void answer_after_reconnection(struct call *call, struct loop *loop, json_t *params)
{
	call->timer = timer_new(loop, on_reconnection_step, call);
	timer_start(call->timer, PROGRESS_STEP_MS, 0);
}

static void answer_if_sampling(struct call *call, struct loop *loop, json_t *params)
{
	const json_t *capabilities = json_object_get(json_object_get(params, "_meta"), META_CAPABILITIES);
	if (json_object_get(capabilities, "sampling"))
		reply_text(call, "The client can sample.");
	else
		call_reply_error(call, RPC_MISSING_CAPABILITY, "Missing required client capability: sampling",
				 json_pack("{s:{s:{}}}", "requiredCapabilities", "sampling"));
}

static const struct fixture fixtures[] = {
	{ "test_simple_text", "Returns text.",
	  .content = "[{\"type\":\"text\",\"text\":\"This is a simple text response for testing.\"}]" },
	{ "test_image_content", "Returns an image.",
	  .content = "[{\"type\":\"image\",\"data\":\"" PNG "\",\"mimeType\":\"image/png\"}]" },
	{ "test_audio_content", "Returns a sound.",
	  .content = "[{\"type\":\"audio\",\"data\":\"" WAV "\",\"mimeType\":\"audio/wav\"}]" },
	{ "test_embedded_resource", "Returns an embedded resource.",
	  .content =
		  "[{\"type\":\"resource\",\"resource\":{\"uri\":\"test://embedded-resource\",\"mimeType\":\"text/plain\",\"text\":\"This is an embedded resource content.\"}}]" },
	{ "test_multiple_content_types", "Returns text, an image and a resource.",
	  .content =
		  "[{\"type\":\"text\",\"text\":\"Multiple content types test:\"},{\"type\":\"image\",\"data\":\"" PNG
		  "\",\"mimeType\":\"image/png\"},"
		  "{\"type\":\"resource\",\"resource\":{\"uri\":\"test://mixed-content-resource\","
		  "\"mimeType\":\"application/json\",\"text\":\"{\\\"test\\\":\\\"data\\\",\\\"value\\\":123}\"}}]" },
	{ "test_error_handling", "Fails.", .is_error = true,
	  .content = "[{\"type\":\"text\",\"text\":\"This tool intentionally returns an error for testing\"}]" },
	{ "test_tool_with_progress", "Reports progress.", .answer = answer_with_progress },
	{ "test_reconnection", "Closes its stream before it answers.", .answer = answer_after_reconnection },
	{ "test_missing_capability", "Needs a client that can sample.", .answer = answer_if_sampling },
	{ "test_logging_tool", "Logs three events.", .answer = answer_with_logs },
	{ "test_tool_with_logging", "Logs three events.", .answer = answer_with_logs },
	{ "test_streaming_elicitation", "Answers at once.",
	  .content = "[{\"type\":\"text\",\"text\":\"Nothing was asked.\"}]" },
	{ "json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features",
	  .schema =
		  "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\",\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\","
		  "\"properties\":{\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}},"
		  "\"properties\":{\"name\":{\"type\":\"string\"},\"address\":{\"$ref\":\"#/$defs/address\"},\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},"
		  "\"phone\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],"
		  "\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},\"required\":[\"contactMethod\"]},"
		  "\"then\":{\"required\":[\"phone\"]},\"else\":{\"required\":[\"email\"]},\"additionalProperties\":false}",
	  .content = "[{\"type\":\"text\",\"text\":\"ok\"}]" },
};

static void describe_tools(json_t *tools)
{
	for (size_t i = 0; i < ARRAY_LEN(fixtures); i++) {
		const struct fixture *f = &fixtures[i];
		const char *schema = f->schema ? f->schema : "{\"type\":\"object\",\"additionalProperties\":false}";
		json_array_append_new(tools, json_pack("{s:s, s:s, s:o}", "name", f->name, "description",
						       f->description, "inputSchema", json_loads(schema, 0, NULL)));
	}
}

static json_t *resources(void)
{
	return json_pack("[{s:s, s:s, s:s}, {s:s, s:s, s:s}]", "uri", "test://static-text", "name", "static-text",
			 "mimeType", "text/plain", "uri", "test://static-binary", "name", "static-binary", "mimeType",
			 "image/png");
}

static json_t *template(void)
{
	return json_pack("{s:s, s:s, s:s}", "uriTemplate", "test://template/{id}/data", "name", "template", "mimeType",
			 "application/json");
}

static json_t *read_resource(const char *uri)
{
	static const char before[] = "test://template/", after[] = "/data";
	size_t n = strlen(uri), fixed = strlen(before) + strlen(after);
	if (streq(uri, "test://static-text"))
		return json_pack("{s:[{s:s, s:s, s:s}]}", "contents", "uri", uri, "mimeType", "text/plain", "text",
				 "This is the content of the static text resource.");
	if (streq(uri, "test://static-binary"))
		return json_pack("{s:[{s:s, s:s, s:s}]}", "contents", "uri", uri, "mimeType", "image/png", "blob", PNG);
	if (n <= fixed || strncmp(uri, before, strlen(before)) != 0 || !streq(uri + n - strlen(after), after))
		return NULL;
	return json_pack("{s:[{s:s, s:s, s:o}]}", "contents", "uri", uri, "mimeType", "application/json", "text",
			 json_sprintf("{\"id\":\"%.*s\",\"templateTest\":true,\"data\":\"Data for ID: %.*s\"}",
				      (int)(n - fixed), uri + strlen(before), (int)(n - fixed), uri + strlen(before)));
}

static bool has_resource(void *ctx UNUSED, const char *uri)
{
	return strncmp(uri, "test://", strlen("test://")) == 0;
}

/* --- prompts ------------------------------------------------------------------------------------------------------- */

static const struct {
	const char *name, *arguments; /* JSON */
} fixture_prompts[] = {
	{ "test_simple_prompt", "[]" },
	{ "test_prompt_with_arguments",
	  "[{\"name\":\"arg1\",\"required\":true},{\"name\":\"arg2\",\"required\":true}]" },
	{ "test_prompt_with_embedded_resource", "[{\"name\":\"resourceUri\",\"required\":true}]" },
	{ "test_prompt_with_image", "[]" },
};

static void describe_prompts(json_t *prompts)
{
	for (size_t i = 0; i < ARRAY_LEN(fixture_prompts); i++)
		json_array_append_new(prompts,
				      json_pack("{s:s, s:s, s:o}", "name", fixture_prompts[i].name, "description",
						"A prompt of the conformance suite.", "arguments",
						json_loads(fixture_prompts[i].arguments, 0, NULL)));
}

static bool has_ref(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(fixture_prompts); i++)
		if (streq(fixture_prompts[i].name, name))
			return true;
	return streq(name, "test://template/{id}/data");
}

static json_t *user_says(json_t *content)
{
	return json_pack("{s:s, s:o}", "role", "user", "content", content);
}

static json_t *says_text(const char *text)
{
	return user_says(json_pack("{s:s, s:s}", "type", "text", "text", text));
}

static const char *argument(const json_t *args, const char *name)
{
	const char *value = json_string_value(json_object_get(args, name));
	return value ? value : "";
}

static json_t *get_prompt(const char *name, const json_t *args)
{
	json_t *messages = json_array();
	if (streq(name, "test_simple_prompt")) {
		json_array_append_new(messages, says_text("This is a simple prompt for testing."));
	} else if (streq(name, "test_prompt_with_arguments")) {
		json_auto_t *text = json_sprintf("Prompt with arguments: arg1='%s', arg2='%s'", argument(args, "arg1"),
						 argument(args, "arg2"));
		json_array_append_new(messages, says_text(json_string_value(text)));
	} else if (streq(name, "test_prompt_with_embedded_resource")) {
		json_array_append_new(messages, user_says(json_pack("{s:s, s:{s:s, s:s, s:s}}", "type", "resource",
								    "resource", "uri", argument(args, "resourceUri"),
								    "mimeType", "text/plain", "text",
								    "Embedded resource content for testing.")));
		json_array_append_new(messages, says_text("Please process the embedded resource above."));
	} else if (streq(name, "test_prompt_with_image")) {
		json_array_append_new(messages, user_says(json_pack("{s:s, s:s, s:s}", "type", "image", "data", PNG,
								    "mimeType", "image/png")));
		json_array_append_new(messages, says_text("Please analyze the image above."));
	} else {
		json_decref(messages);
		return NULL;
	}
	return json_pack("{s:o}", "messages", messages);
}

/* --- tools --------------------------------------------------------------------------------------------------------- */

static bool call_tool(struct call *call, struct loop *loop, json_t *params)
{
	const char *name = json_string_value(json_object_get(params, "name"));
	for (size_t i = 0; name && i < ARRAY_LEN(fixtures); i++) {
		const struct fixture *f = &fixtures[i];
		if (!streq(name, f->name))
			continue;
		if (f->answer)
			f->answer(call, loop, params);
		else
			call_reply(call, json_pack("{s:o, s:b}", "content", json_loads(f->content, 0, NULL), "isError",
						   f->is_error));
		return true;
	}
	return false;
}

/* --- the extension ------------------------------------------------------------------------------------------------- */

static struct fixture_tasks *tasks; /* of the only server */

static const char *text_of(const json_t *params, const char *name)
{
	const char *value = json_string_value(json_object_get(params, name));
	return value ? value : "";
}

static bool reply_if(struct call *call, json_t *result)
{
	if (result)
		call_reply(call, result);
	return result != NULL;
}

static bool do_call(struct connection *c, struct call *call, json_t *params)
{
	return call_tool(call, c->loop, params) || fixture_tasks_call(tasks, call, params) ||
	       fixture_inputs_call(c, call, params);
}

static bool do_read(struct connection *c, struct call *call, json_t *params)
{
	json_t *result = read_resource(text_of(params, "uri"));
	if (result)
		call_set_cache_hints(call->revision, result, 0, "private");
	return reply_if(call, result);
}

static bool do_get(struct connection *c, struct call *call, json_t *params)
{
	return fixture_inputs_call(c, call, params) ||
	       reply_if(call, get_prompt(text_of(params, "name"), json_object_get(params, "arguments")));
}

static bool do_complete(struct connection *c, struct call *call, json_t *params)
{
	const json_t *ref = json_object_get(params, "ref");
	if (!has_ref(text_of(ref, "name")) && !has_ref(text_of(ref, "uri")))
		return false;
	call_reply(call, json_pack("{s:{s:[], s:i, s:b}}", "completion", "values", "total", 0, "hasMore", 0));
	return true;
}

static bool do_task_get(struct connection *c, struct call *call, json_t *params)
{
	return fixture_task_get(tasks, call, params);
}

static bool do_task_update(struct connection *c, struct call *call, json_t *params)
{
	return fixture_task_update(tasks, call, params);
}

static bool do_task_cancel(struct connection *c, struct call *call, json_t *params)
{
	return fixture_task_cancel(tasks, call, params);
}

static bool on_request(void *ctx UNUSED, struct connection *c, struct call *call, json_t *params)
{
	static const struct {
		const char *method;
		bool (*handle)(struct connection *c, struct call *call, json_t *params);
	} handlers[] = {
		{ "tools/call", do_call },	    { "resources/read", do_read },
		{ "prompts/get", do_get },	    { "completion/complete", do_complete },
		{ "tasks/get", do_task_get },	    { "tasks/update", do_task_update },
		{ "tasks/cancel", do_task_cancel },
	};
	if (!tasks)
		tasks = fixture_tasks_new(c->loop);
	for (size_t i = 0; i < ARRAY_LEN(handlers); i++)
		if (streq(handlers[i].method, call->method))
			return handlers[i].handle(c, call, params);
	return false;
}

static void on_list(void *ctx UNUSED, const char *method, json_t *result)
{
	json_t *list = json_object_get(result, "tools");
	if (streq(method, "tools/list")) {
		describe_tools(list);
		fixture_tasks_describe(list);
		fixture_inputs_describe(list);
	} else if (streq(method, "prompts/list")) {
		describe_prompts(json_object_get(result, "prompts"));
		fixture_inputs_describe_prompts(json_object_get(result, "prompts"));
	} else if (streq(method, "resources/list")) {
		json_auto_t *more = resources();
		json_array_extend(json_object_get(result, "resources"), more);
	} else if (streq(method, "resources/templates/list")) {
		json_array_append_new(json_object_get(result, "resourceTemplates"), template());
	}
}

static void on_close(void *ctx UNUSED)
{
	tasks = fixture_tasks_free(tasks);
}

const struct extension *fixtures_extension(void)
{
	static const struct extension extension = {
		.request = on_request, .list = on_list, .has_resource = has_resource, .close = on_close
	};
	return &extension;
}
