/* The tasks extension of 2026-07-28: the server may answer a long run with a handle, if the request says that its
 * client supports tasks. This file has the methods and the wire format; the manager implements tasks. */
#ifndef HUSK_MCP_TASKS_H
#define HUSK_MCP_TASKS_H

#include "mcp/connection.h"

#define TASKS_EXTENSION "io.modelcontextprotocol/tasks"
/* How often a client should poll. */
#define TASKS_POLL_MS 1000

/* A task with the common fields, as task_json() prints it. Times are wall-clock ms; ttl_ms UINT64_MAX = unlimited. New
 * reference. */
struct task_view {
	const char *id;
	const char *status;
	uint64_t created_ms, changed_ms, ttl_ms;
};
json_t *task_json(const struct task_view *view);
/* A task of the manager, without its result. New reference. */
json_t *task_describe(const struct task_info *task);

/* True if the request says that its client supports tasks; params may be NULL. */
bool tasks_declared(const json_t *params);
/* Like tasks_declared(), but if tasks are not supported, answers the request with an error that says so. */
bool tasks_required(struct call *call, const json_t *params);
/* Answers a tools/call with a handle; takes `task`. */
void tasks_reply_handle(struct call *call, json_t *task);

void tasks_get(struct connection *c, struct call *call, json_t *params);
void tasks_update(struct connection *c, struct call *call, json_t *params);
void tasks_cancel(struct connection *c, struct call *call, json_t *params);

/* Reads the tasks of a subscription. Returns false, having done nothing, if it names no tasks. Otherwise the request is
 * answered with an error, or on_ready is called once it is known which of the tasks exist (call->task_ids). */
bool tasks_listen(struct connection *c, struct call *call, json_t *params,
		  void (*on_ready)(struct connection *c, struct call *call));
/* Sends the changes that happened before the subscription was acknowledged. */
void tasks_listen_begin(struct connection *c, struct call *call);
/* Notifies the client of a change of a task, if it listens to the task. */
void tasks_changed(struct connection *c, const struct task_info *task);
/* From now on, on_change is called for changes of the conversation's tasks, and MCP words their results. remote: they do
 * not name files of the host. */
void tasks_take(struct conversation *conversation, const struct config *config, bool remote,
		void (*on_change)(void *ctx, const struct task_info *task), void *ctx);

#endif
