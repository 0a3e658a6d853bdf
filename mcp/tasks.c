#include "mcp/tasks.h"

#include <time.h>

#include "base/alloc.h"
#include "mcp/result.h"
#include "mcp/rpc.h"

/* Maximum number of tasks per subscription. */
#define LISTENED_MAX 64
/* Maximum bytes of results that wait for one subscription to begin. Earlier results that do not fit are not announced;
 * the client gets them with tasks/get. */
#define BEFORE_MAX (2 * RESULT_LINE_MAX)

/* --- on the wire ------------------------------------------------------------------------------------------------- */

static json_t *time_json(uint64_t ms)
{
	time_t seconds = (time_t)(ms / 1000);
	struct tm tm;
	char text[32] = "";
	if (gmtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	return json_sprintf("%s.%03uZ", text, (unsigned)(ms % 1000));
}

json_t *task_json(const struct task_view *view)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:i}", "taskId", view->id, "status", view->status, "createdAt",
			 time_json(view->created_ms), "lastUpdatedAt", time_json(view->changed_ms), "ttlMs",
			 view->ttl_ms == UINT64_MAX ? json_null() : json_integer((json_int_t)view->ttl_ms),
			 "pollIntervalMs", TASKS_POLL_MS);
}

static const char *status_of(enum task_state state)
{
	switch (state) {
	case TASK_ENDED:
		return "completed";
	case TASK_CANCELLED:
		return "cancelled";
	case TASK_WORKING:
	case TASK_CANCELLING:
		break;
	}
	return "working";
}

/* A cell that raised an error counts as "completed". Only a protocol error would be "failed", and runs do not cause
 * those. */
json_t *task_describe(const struct task_info *task)
{
	return task_json(&(struct task_view){ .id = task->id,
					      .status = status_of(task->state),
					      .created_ms = task->created_ms,
					      .changed_ms = task->changed_ms,
					      .ttl_ms = task->ttl_ms });
}

/* The result as JSON text, or NULL while there is none. word() made the text, here or in another server, and the store
 * returns only data that was sealed with its key. So the text is passed on unparsed; parsing 8 MiB would block the loop
 * for a third of a second. */
static const char *result_of(const struct task_info *task)
{
	if (task->state != TASK_ENDED)
		return NULL;
	return task->result && *task->result ? task->result : "{}";
}

/* --- capability -------------------------------------------------------------------------------------------------- */

bool tasks_declared(const json_t *params)
{
	const json_t *capabilities = json_object_get(json_object_get(params, "_meta"), META_CAPABILITIES);
	return json_is_object(json_object_get(json_object_get(capabilities, "extensions"), TASKS_EXTENSION));
}

bool tasks_required(struct call *call, const json_t *params)
{
	if (tasks_declared(params))
		return true;
	call_reply_error(call, RPC_MISSING_CAPABILITY, "Missing required client capability: " TASKS_EXTENSION,
			 json_pack("{s:{s:{s:{}}}}", "requiredCapabilities", "extensions", TASKS_EXTENSION));
	return false;
}

void tasks_reply_handle(struct call *call, json_t *task)
{
	json_object_set_new(task, "resultType", json_string("task"));
	call_reply(call, task);
}

/* --- methods ----------------------------------------------------------------------------------------------------- */

/* Answers a request whose task does not exist, or for which the store cannot be read. */
static void reply_fail(struct call *call, const struct fail *f)
{
	const struct connection *c = call->ctx;
	bool unknown = f->kind == FAIL_NOT_FOUND || f->kind == FAIL_FOREIGN || f->kind == FAIL_DIED;
	AUTO(fail_release) struct fail shown = { 0 };
	fail_for_client(&shown, f, c->env.remote);
	AUTO(freep) char *text = xasprintf("Task not available: %s", shown.message);
	call_reply_error(call, unknown ? RPC_INVALID_PARAMS : RPC_INTERNAL_ERROR, text, NULL);
}

static void on_got(void *ctx, const struct task_info *task, const struct fail *f)
{
	struct call *call = ctx;
	call->op = NULL;
	if (f)
		reply_fail(call, f);
	else
		call_reply_with(call, task_describe(task), result_of(task) ? "result" : NULL, result_of(task));
}

static void on_acknowledged(void *ctx, const struct task_info *task, const struct fail *f)
{
	struct call *call = ctx;
	call->op = NULL;
	if (f)
		reply_fail(call, f);
	else
		call_reply(call, json_object());
}

/* Returns the task's id. If it is missing, answers the request with an error and returns NULL. */
static const char *task_id(struct call *call, const json_t *params)
{
	const json_t *id = json_object_get(params, "taskId");
	if (!tasks_required(call, params))
		return NULL;
	if (json_is_string(id) && json_string_length(id) == strlen(json_string_value(id)))
		return json_string_value(id);
	call_reply_error(call, RPC_INVALID_PARAMS, "Invalid params: \"taskId\" must be a string", NULL);
	return NULL;
}

static void start(struct connection *c, struct call *call, struct task_request request)
{
	AUTO(fail_release) struct fail f = { 0 };
	request.ctx = call;
	call->op = manager_task(c->env.conversation, &request, &f);
	if (!call->op)
		reply_fail(call, &f);
}

void tasks_get(struct connection *c, struct call *call, json_t *params)
{
	const char *id = task_id(call, params);
	if (id)
		start(c, call, (struct task_request){ .id = id, .on_done = on_got });
}

/* Husk's tasks never ask for input (an interactive run is never a task), so input for them is ignored. */
void tasks_update(struct connection *c, struct call *call, json_t *params)
{
	const char *id = task_id(call, params);
	if (!id)
		return;
	if (!json_is_object(json_object_get(params, "inputResponses")))
		call_reply_error(call, RPC_INVALID_PARAMS, "Invalid params: \"inputResponses\" must be an object",
				 NULL);
	else
		start(c, call, (struct task_request){ .id = id, .on_done = on_acknowledged });
}

void tasks_cancel(struct connection *c, struct call *call, json_t *params)
{
	const char *id = task_id(call, params);
	if (id)
		start(c, call, (struct task_request){ .id = id, .cancel = true, .on_done = on_acknowledged });
}

/* --- subscriptions ----------------------------------------------------------------------------------------------- */

/* A change of a task. */
struct news {
	struct list node;
	json_t *task;
	char *result; /* JSON text; NULL = none */
};

static void news_free(struct news *n)
{
	list_remove(&n->node);
	json_decref(n->task);
	free(n->result);
	free(n);
}

/* The state of a request while the store is asked which of the tasks exist. */
struct listening {
	struct connection *connection;
	struct call *call;
	json_t *wanted; /* ids */
	size_t next;
	struct list before; /* list of struct news: changes before the acknowledgement */
	size_t before_bytes;
	void (*on_ready)(struct connection *c, struct call *call);
};

static void listening_free(void *data)
{
	struct listening *l = data;
	json_decref(l->wanted);
	list_for_each(news, &l->before, struct news, node)
		news_free(news);
	free(l);
}

static void tell_later(struct listening *l, const struct task_info *task)
{
	const char *result = result_of(task);
	size_t n = result ? strlen(result) : 0;
	if (n > BEFORE_MAX - l->before_bytes)
		return;
	struct news *news = new0(struct news);
	l->before_bytes += n;
	news->task = task_describe(task);
	news->result = result ? xstrdup(result) : NULL;
	list_append(&l->before, &news->node);
}

static void load_next(struct listening *l);

static void on_loaded(void *ctx, const struct task_info *task, const struct fail *f)
{
	struct listening *l = ctx;
	struct call *call = l->call;
	call->op = NULL;
	if (task) {
		json_array_append_new(call->task_ids, json_string(task->id));
		/* A client that subscribes after the end of the task would otherwise miss it. */
		if (task->state == TASK_ENDED || task->state == TASK_CANCELLED)
			tell_later(l, task);
	}
	load_next(l);
}

static void load_next(struct listening *l)
{
	AUTO(fail_release) struct fail f = { 0 };
	while (l->next < json_array_size(l->wanted)) {
		const char *id = json_string_value(json_array_get(l->wanted, l->next++));
		l->call->op = manager_task(l->connection->env.conversation,
					   &(struct task_request){ .id = id, .on_done = on_loaded, .ctx = l }, &f);
		if (l->call->op)
			return;
		fail_release(&f);
	}
	l->on_ready(l->connection, l->call);
}

static bool are_ids(const json_t *ids)
{
	if (!json_is_array(ids) || json_array_size(ids) > LISTENED_MAX)
		return false;
	for (size_t i = 0; i < json_array_size(ids); i++) {
		const json_t *id = json_array_get(ids, i);
		if (!json_is_string(id) || json_string_length(id) != strlen(json_string_value(id)))
			return false;
	}
	return true;
}

bool tasks_listen(struct connection *c, struct call *call, json_t *params,
		  void (*on_ready)(struct connection *c, struct call *call))
{
	json_t *ids = json_object_get(json_object_get(params, "notifications"), "taskIds");
	if (!ids || json_is_null(ids))
		return false;
	if (!tasks_required(call, params))
		return true;
	if (!are_ids(ids)) {
		call_reply_error(call, RPC_INVALID_PARAMS,
				 "Invalid params: \"taskIds\" must be a list of strings, 64 at most", NULL);
		return true;
	}
	struct listening *l = new0(struct listening);
	*l = (struct listening){ .connection = c, .call = call, .wanted = json_incref(ids), .on_ready = on_ready };
	list_init(&l->before);
	call->task_ids = json_array();
	call->data = l;
	call->data_free = listening_free;
	load_next(l);
	return true;
}

static void send(struct connection *c, const struct call *call, const json_t *task, const char *result)
{
	AUTO(buf_release) struct buf text = { 0 };
	json_auto_t *params = json_copy((json_t *)task);
	json_object_set_new(params, "_meta", json_pack("{s:O}", META_SUBSCRIPTION, call->id));
	rpc_print_notification_with(&text, "notifications/tasks", params, result ? "result" : NULL, result);
	connection_notify_text(c, call, &text);
}

void tasks_listen_begin(struct connection *c, struct call *call)
{
	struct listening *l = call->data;
	if (!l)
		return;
	list_for_each(news, &l->before, struct news, node) {
		send(c, call, news->task, news->result);
		news_free(news);
	}
	l->before_bytes = 0;
}

static bool listens_to(const struct call *call, const char *id)
{
	for (size_t i = 0; i < json_array_size(call->task_ids); i++)
		if (streq(json_string_value(json_array_get(call->task_ids, i)), id))
			return true;
	return false;
}

void tasks_changed(struct connection *c, const struct task_info *task)
{
	json_auto_t *o = task_describe(task);
	list_for_each(call, &c->calls, struct call, link) {
		struct listening *l = call->task_ids ? call->data : NULL;
		if (!l || !listens_to(call, task->id))
			continue;
		if (call->listening)
			send(c, call, o, result_of(task));
		else
			tell_later(l, task);
	}
}

/* --- called by the manager --------------------------------------------------------------------------------------- */

/* The result of a task as JSON text. A worker builds large results. */
static char *word_for(const struct config *config, bool remote, const struct task_info *task,
		      const struct run_result *result, const struct fail *f)
{
	const struct tool_env env = { .config = config, .remote = remote };
	json_auto_t *o = tools_word_task(&env, task, result, f);
	json_object_set_new(o, "resultType", json_string("complete"));
	return json_dumps(o, JSON_COMPACT);
}

static char *word(const struct config *config, const struct task_info *task, const struct run_result *result,
		  const struct fail *f)
{
	return word_for(config, /* remote= */ false, task, result, f);
}

static char *word_remote(const struct config *config, const struct task_info *task, const struct run_result *result,
			 const struct fail *f)
{
	return word_for(config, /* remote= */ true, task, result, f);
}

void tasks_take(struct conversation *conversation, const struct config *config, bool remote,
		void (*on_change)(void *ctx, const struct task_info *task), void *ctx)
{
	conversation_take_tasks(conversation, &(struct task_handler){ .word = remote ? word_remote : word,
								      .config = config,
								      .on_change = on_change,
								      .ctx = ctx });
}
