/* The tasks extension of 2026-07-28: a run that takes long is answered with a handle, by the server's own decision, if the request
 * says that its client knows tasks. Methods, and how tasks look on the wire; what they are is the manager's business. */
#ifndef HUSK_MCP_TASKS_H
#define HUSK_MCP_TASKS_H

#include "mcp/connection.h"

#define TASKS_EXTENSION "io.modelcontextprotocol/tasks"
/* How often a client should ask. */
#define TASKS_POLL_MS 1000

/* A task on the wire: what all of them have; times are wall-clock ms, ttl_ms UINT64_MAX = no end. New reference. */
struct task_view {
	const char *id;
	const char *status;
	uint64_t created_ms, changed_ms, ttl_ms;
};
json_t *task_json(const struct task_view *view);
/* A task of the manager's, without its result. New reference. */
json_t *task_describe(const struct task_info *task);

/* True if the request says that its client knows tasks; params may be NULL. */
bool tasks_declared(const json_t *params);
/* Likewise; if it does not, the call is answered with what is missing. */
bool tasks_required(struct call *call, const json_t *params);
/* Answers a tools/call with a handle: `task` is taken. */
void tasks_reply_handle(struct call *call, json_t *task);

void tasks_get(struct connection *c, struct call *call, json_t *params);
void tasks_update(struct connection *c, struct call *call, json_t *params);
void tasks_cancel(struct connection *c, struct call *call, json_t *params);

/* What a subscription asks for. False: there are no tasks in it, and nothing was done. Else the call is answered with what is wrong, or
 * on_ready follows once it is known which of them there are: call->task_ids. */
bool tasks_listen(struct connection *c, struct call *call, json_t *params,
		  void (*on_ready)(struct connection *c, struct call *call));
/* Sends what happened before the subscription was acknowledged. */
void tasks_listen_begin(struct connection *c, struct call *call);
/* From now on the connection hears of its conversation's tasks, and words their results. */
void tasks_bind(struct connection *c);

#endif
