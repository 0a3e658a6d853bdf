/* Tools of the conformance suite that become tasks, and their tasks: in memory, with timers for work. They belong to fixtures.h; real
 * tasks are the manager's. */
#ifndef HUSK_TESTS_CONFORMANCE_FIXTURE_TASKS_H
#define HUSK_TESTS_CONFORMANCE_FIXTURE_TASKS_H

#include "mcp/call.h"

struct fixture_tasks;

struct fixture_tasks *fixture_tasks_new(struct loop *loop);
/* Accepts NULL, returns NULL. */
struct fixture_tasks *fixture_tasks_free(struct fixture_tasks *f);

/* Appends their entries to those of tools/list. */
void fixture_tasks_describe(json_t *tools);
/* False if tools/call names none of them; else the call is answered. */
bool fixture_tasks_call(struct fixture_tasks *f, struct call *call, json_t *params);

/* Each is false if params name no task of these, or no client that knows tasks; else the call is answered. */
bool fixture_task_get(struct fixture_tasks *f, struct call *call, const json_t *params);
bool fixture_task_update(struct fixture_tasks *f, struct call *call, const json_t *params);
bool fixture_task_cancel(struct fixture_tasks *f, struct call *call, const json_t *params);

#endif
