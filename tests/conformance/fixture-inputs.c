#include "tests/conformance/fixture-inputs.h"

#include "base/alloc.h"
#include "mcp/inputs.h"
#include "mcp/rpc.h"

#define ROUNDS_MAX 2

#define FORM(message, properties, required)                                                                            \
	"{\"method\":\"elicitation/create\",\"params\":{\"message\":\"" message                                        \
	"\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{" properties "},\"required\":[" required "]}}}"
#define ENUM3(a, b, c) "[\"" a "\",\"" b "\",\"" c "\"]"
#define TITLED "[{\"const\":\"value1\",\"title\":\"First\"},{\"const\":\"value2\",\"title\":\"Second\"}]"

struct fixture_input {
	const char *name;
	struct {
		const char *key, *request; /* JSON */
	} rounds[ROUNDS_MAX];
	bool prompt; /* a prompt, not a tool */
};

static const struct fixture_input inputs[] = {
	{ "test_elicitation",
	  { { "user", FORM("Please provide your information",
			   "\"username\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}",
			   "\"username\",\"email\"") } } },
	{ "test_elicitation_sep1034_defaults",
	  { { "user",
	      FORM("Please check these values",
		   "\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},"
		   "\"age\":{\"type\":\"integer\",\"default\":30},"
		   "\"score\":{\"type\":\"number\",\"default\":95.5},"
		   "\"status\":{\"type\":\"string\",\"enum\":" ENUM3(
			   "active", "inactive", "pending") ",\"default\":\"active\"},"
							    "\"verified\":{\"type\":\"boolean\",\"default\":true}",
		   "") } } },
	{ "test_elicitation_sep1330_enums",
	  { { "user",
	      FORM("Please choose",
		   "\"untitledSingle\":{\"type\":\"string\",\"enum\":" ENUM3(
			   "option1", "option2",
			   "option3") "},"
				      "\"titledSingle\":{\"type\":\"string\",\"oneOf\":" TITLED "},"
				      "\"legacyEnum\":{\"type\":\"string\",\"enum\":" ENUM3("opt1", "opt2", "opt3") ",\"enumNames\":" ENUM3(
					      "Option One", "Option Two",
					      "Option Three") "},"
							      "\"untitledMulti\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":" ENUM3(
								      "option1", "option2",
								      "option3") "}},"
										 "\"titledMulti\":{\"type\":\"array\",\"items\":{\"anyOf\":" TITLED
										 "}}",
		   "") } } },
	{ "test_input_required_result_elicitation",
	  { { "user_name", FORM("What is your name?", "\"name\":{\"type\":\"string\"}", "\"name\"") } } },
	{ "test_input_required_result_list_roots",
	  { { "client_roots", "{\"method\":\"roots/list\",\"params\":{}}" } } },
	{ "test_input_required_result_request_state",
	  { { "confirm", FORM("Please confirm", "\"ok\":{\"type\":\"boolean\"}", "\"ok\"") } } },
	{ "test_input_required_result_tampered_state",
	  { { "confirm", FORM("Please confirm", "\"ok\":{\"type\":\"boolean\"}", "\"ok\"") } } },
	{ "test_input_required_result_multi_round",
	  { { "step1", FORM("Step 1: What is your name?", "\"name\":{\"type\":\"string\"}", "\"name\"") },
	    { "step2",
	      FORM("Step 2: What is your favorite color?", "\"color\":{\"type\":\"string\"}", "\"color\"") } } },
	{ "test_input_required_result_prompt",
	  { { "user_context",
	      FORM("What context should the prompt use?", "\"context\":{\"type\":\"string\"}", "\"context\"") } },
	  .prompt = true },
};

void fixture_inputs_describe(json_t *tools)
{
	for (size_t i = 0; i < ARRAY_LEN(inputs); i++)
		if (!inputs[i].prompt)
			json_array_append_new(tools,
					      json_pack("{s:s, s:s, s:{s:s}}", "name", inputs[i].name, "description",
							"Asks the client for input.", "inputSchema", "type", "object"));
}

void fixture_inputs_describe_prompts(json_t *prompts)
{
	for (size_t i = 0; i < ARRAY_LEN(inputs); i++)
		if (inputs[i].prompt)
			json_array_append_new(prompts, json_pack("{s:s, s:s}", "name", inputs[i].name, "description",
								 "Asks the client for input."));
}

static bool is_answered(const json_t *answers, const char *key, const json_t *request)
{
	const char *method = json_string_value(json_object_get(request, "method"));
	return streq(method, "elicitation/create") ? inputs_form(answers, key) != NULL :
						     json_is_object(json_object_get(answers, key));
}

static void finish(struct call *call, const struct fixture_input *f, const json_t *answers)
{
	AUTO(freep) char *dump = json_dumps(answers, JSON_COMPACT | JSON_SORT_KEYS);
	AUTO(freep) char *text = xasprintf("state-ok: %s", dump);
	json_t *content = json_pack("{s:s, s:s}", "type", "text", "text", text);
	call_reply(call, f->prompt ? json_pack("{s:[{s:s, s:o}]}", "messages", "role", "user", "content", content) :
				     json_pack("{s:[o]}", "content", content));
}

static void step(struct connection *c, struct call *call, const struct fixture_input *f, size_t round,
		 const json_t *answers);

static void on_answers(struct call *call, json_t *state, const json_t *answers)
{
	struct connection *c = (struct connection *)call->env;
	size_t which = (size_t)json_integer_value(json_object_get(state, "fixture"));
	step(c, call, &inputs[which], (size_t)json_integer_value(json_object_get(state, "round")), answers);
}

/* Requests the inputs that are missing, requests those of the next round, or ends. */
static void step(struct connection *c, struct call *call, const struct fixture_input *f, size_t round,
		 const json_t *answers)
{
	json_auto_t *request = json_loads(f->rounds[round].request, 0, NULL);
	if (is_answered(answers, f->rounds[round].key, request)) {
		if (++round == ROUNDS_MAX || !f->rounds[round].key) {
			finish(call, f, answers);
			return;
		}
		json_decref(request);
		request = json_loads(f->rounds[round].request, 0, NULL);
	}
	call->env = c;
	inputs_request(c, call, json_pack("{s:O}", f->rounds[round].key, request),
		       json_pack("{s:I, s:I}", "fixture", (json_int_t)(f - inputs), "round", (json_int_t)round),
		       on_answers);
}

bool fixture_inputs_call(struct connection *c, struct call *call, const json_t *params)
{
	const char *name = json_string_value(json_object_get(params, "name"));
	for (size_t i = 0; name && i < ARRAY_LEN(inputs); i++) {
		json_auto_t *state = NULL, *answers = NULL;
		if (!streq(name, inputs[i].name) || inputs[i].prompt != streq(call->method, "prompts/get"))
			continue;
		if (!call->revision->modern && !inputs_supported(call, "elicitation"))
			call_reply_error(call, RPC_INVALID_PARAMS, "The client does not support elicitation", NULL);
		else if (inputs_resume(c, call, params, &state, &answers))
			step(c, call, &inputs[i], (size_t)json_integer_value(json_object_get(state, "round")), answers);
		return true;
	}
	return false;
}
