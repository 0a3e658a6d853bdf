#include "tests/conformance/fixture-tasks.h"

#include <time.h>

#include "base/alloc.h"
#include "mcp/rpc.h"
#include "mcp/tasks.h"

#define TTL_MS 300000
#define SHORT_MS 100
#define LONGEST_SECONDS 300

struct fixture_task {
	struct list node;
	char id[32];
	const char *status;
	uint64_t created_ms, changed_ms; /* wall clock */
	json_t *inputs;			 /* the inputs it requests, by key; empty = nothing */
	json_t *result, *error;		 /* its outcome: one of the two */
	struct timer *timer;
};

struct fixture_tasks {
	struct loop *loop;
	struct list tasks;
	unsigned made;
};

/* --- tasks ------------------------------------------------------------------------------------------------------- */

static uint64_t wall_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void become(struct fixture_task *t, const char *status)
{
	t->status = status;
	t->changed_ms = wall_ms();
	timer_stop(t->timer);
}

static void on_worked(void *ctx)
{
	struct fixture_task *t = ctx;
	become(t, t->error ? "failed" : "completed");
}

static void task_free(struct fixture_task *t)
{
	list_remove(&t->node);
	timer_free(t->timer);
	json_decref(t->inputs);
	json_decref(t->result);
	json_decref(t->error);
	free(t);
}

static json_t *describe(const struct fixture_task *t)
{
	json_t *o = task_json(&(struct task_view){ .id = t->id,
						   .status = t->status,
						   .created_ms = t->created_ms,
						   .changed_ms = t->changed_ms,
						   .ttl_ms = TTL_MS });
	if (streq(t->status, "completed"))
		json_object_set(o, "result", t->result);
	else if (streq(t->status, "failed"))
		json_object_set(o, "error", t->error);
	else if (streq(t->status, "input_required"))
		json_object_set(o, "inputRequests", t->inputs);
	return o;
}

static json_t *text_result(const char *text, bool is_error)
{
	return json_pack("{s:s, s:[{s:s, s:s}], s:b}", "resultType", "complete", "content", "type", "text", "text",
			 text, "isError", is_error);
}

/* Takes ownership of result or error. */
static struct fixture_task *task_new(struct fixture_tasks *f, json_t *result, json_t *error)
{
	struct fixture_task *t = new0(struct fixture_task);
	snprintf(t->id, sizeof(t->id), "fixture-task-%u", ++f->made);
	t->created_ms = wall_ms();
	t->result = result;
	t->error = error;
	t->inputs = json_object();
	t->timer = timer_new(f->loop, on_worked, t);
	become(t, "working");
	list_append(&f->tasks, &t->node);
	return t;
}

static struct fixture_task *find(struct fixture_tasks *f, const json_t *params)
{
	const char *id = json_string_value(json_object_get(params, "taskId"));
	if (!id || !tasks_declared(params))
		return NULL;
	list_for_each(t, &f->tasks, struct fixture_task, node)
		if (streq(t->id, id))
			return t;
	return NULL;
}

/* Returns the handle first. tasks/get then shows what the task waits for. */
static void start(struct call *call, struct fixture_task *t, uint64_t ms)
{
	tasks_reply_handle(call, describe(t));
	if (json_object_size(t->inputs))
		become(t, "input_required");
	else
		timer_start(t->timer, ms, 0);
}

/* --- tools ------------------------------------------------------------------------------------------------------- */

static json_t *question(const char *message, const char *field, const char *type)
{
	return json_pack("{s:s, s:{s:s, s:s, s:{s:s, s:{s:{s:s}}, s:[s]}}}", "method", "elicitation/create", "params",
			 "mode", "form", "message", message, "requestedSchema", "type", "object", "properties", field,
			 "type", type, "required", field);
}

static void greet(struct fixture_tasks *f UNUSED, struct call *call, json_t *params)
{
	const char *name = json_string_value(json_object_get(json_object_get(params, "arguments"), "name"));
	AUTO(freep) char *text = xasprintf("Hello, %s!", name ? name : "World");
	call_reply(call, text_result(text, /* is_error= */ false));
}

static void slow_compute(struct fixture_tasks *f, struct call *call, json_t *params)
{
	double seconds = json_number_value(json_object_get(json_object_get(params, "arguments"), "seconds"));
	json_t *result = text_result("computed", /* is_error= */ false);
	if (!(seconds > 0) || !tasks_declared(params))
		call_reply(call, result);
	else
		start(call, task_new(f, result, NULL), (uint64_t)(MIN(seconds, (double)LONGEST_SECONDS) * 1000));
}

static void failing_job(struct fixture_tasks *f, struct call *call, json_t *params)
{
	if (tasks_required(call, params))
		start(call, task_new(f, text_result("the job failed", /* is_error= */ true), NULL), SHORT_MS);
}

static void protocol_error_job(struct fixture_tasks *f, struct call *call, json_t *params)
{
	if (tasks_required(call, params))
		start(call,
		      task_new(f, NULL,
			       json_pack("{s:i, s:s}", "code", RPC_INTERNAL_ERROR, "message", "Internal error")),
		      SHORT_MS);
}

static void confirm_delete(struct fixture_tasks *f, struct call *call, json_t *params)
{
	if (!tasks_required(call, params))
		return;
	struct fixture_task *t = task_new(f, text_result("deleted", /* is_error= */ false), NULL);
	json_object_set_new(t->inputs, "confirm", question("Delete it?", "confirm", "boolean"));
	start(call, t, 0);
}

static void multi_input(struct fixture_tasks *f, struct call *call, json_t *params)
{
	if (!tasks_required(call, params))
		return;
	struct fixture_task *t = task_new(f, text_result("both are there", /* is_error= */ false), NULL);
	json_object_set_new(t->inputs, "first", question("The first name?", "name", "string"));
	json_object_set_new(t->inputs, "second", question("The second name?", "name", "string"));
	start(call, t, 0);
}

/* Requests input before there is a task, with an incomplete result. */
static void tool_with_task(struct fixture_tasks *f, struct call *call, json_t *params)
{
	const json_t *answer = json_object_get(json_object_get(params, "inputResponses"), "user_name");
	const char *name = json_string_value(json_object_get(json_object_get(answer, "content"), "name"));
	if (!tasks_required(call, params))
		return;
	if (!name) {
		call_reply(call, json_pack("{s:s, s:{s:o}}", "resultType", "input_required", "inputRequests",
					   "user_name", question("Your name?", "name", "string")));
		return;
	}
	AUTO(freep) char *text = xasprintf("Hello, %s!", name);
	start(call, task_new(f, text_result(text, /* is_error= */ false), NULL), SHORT_MS);
}

static const struct {
	const char *name;
	const char *description;
	void (*answer)(struct fixture_tasks *f, struct call *call, json_t *params);
} tools[] = {
	{ "greet", "Answers at once.", greet },
	{ "slow_compute", "Takes some seconds.", slow_compute },
	{ "failing_job", "Always a task; fails.", failing_job },
	{ "protocol_error_job", "Always a task; ends with an error of the protocol.", protocol_error_job },
	{ "confirm_delete", "Always a task; asks once.", confirm_delete },
	{ "multi_input", "Always a task; asks for two things.", multi_input },
	{ "test_tool_with_task", "Asks first, then is a task.", tool_with_task },
};

void fixture_tasks_describe(json_t *list)
{
	for (size_t i = 0; i < ARRAY_LEN(tools); i++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:{s:s}}", "name", tools[i].name, "description",
						      tools[i].description, "inputSchema", "type", "object"));
}

bool fixture_tasks_call(struct fixture_tasks *f, struct call *call, json_t *params)
{
	const char *name = json_string_value(json_object_get(params, "name"));
	for (size_t i = 0; name && i < ARRAY_LEN(tools); i++) {
		if (!streq(name, tools[i].name))
			continue;
		tools[i].answer(f, call, params);
		return true;
	}
	return false;
}

/* --- methods ----------------------------------------------------------------------------------------------------- */

bool fixture_task_get(struct fixture_tasks *f, struct call *call, const json_t *params)
{
	const struct fixture_task *t = find(f, params);
	if (t)
		call_reply(call, describe(t));
	return t != NULL;
}

bool fixture_task_update(struct fixture_tasks *f, struct call *call, const json_t *params)
{
	struct fixture_task *t = find(f, params);
	if (!t)
		return false;
	const char *key;
	json_t *response;
	json_object_foreach(json_object_get(params, "inputResponses"), key, response)
		json_object_del(t->inputs, key);
	if (streq(t->status, "input_required") && !json_object_size(t->inputs)) {
		become(t, "working");
		timer_start(t->timer, 0, 0);
	}
	call_reply(call, json_object());
	return true;
}

bool fixture_task_cancel(struct fixture_tasks *f, struct call *call, const json_t *params)
{
	struct fixture_task *t = find(f, params);
	if (!t)
		return false;
	if (streq(t->status, "working") || streq(t->status, "input_required"))
		become(t, "cancelled");
	call_reply(call, json_object());
	return true;
}

/* --- life -------------------------------------------------------------------------------------------------------- */

struct fixture_tasks *fixture_tasks_new(struct loop *loop)
{
	struct fixture_tasks *f = new0(struct fixture_tasks);
	f->loop = loop;
	list_init(&f->tasks);
	return f;
}

struct fixture_tasks *fixture_tasks_free(struct fixture_tasks *f)
{
	if (!f)
		return NULL;
	list_for_each(t, &f->tasks, struct fixture_task, node)
		task_free(t);
	free(f);
	return NULL;
}
