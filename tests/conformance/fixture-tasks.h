/* Tools of the conformance suite that become tasks. The tasks exist in memory only, and a timer takes the place of
 * work. They belong to fixtures.h. The manager implements real tasks. */
#ifndef HUSK_TESTS_CONFORMANCE_FIXTURE_TASKS_H
#define HUSK_TESTS_CONFORMANCE_FIXTURE_TASKS_H

#include "mcp/call.h"

struct fixture_tasks;

struct fixture_tasks *fixture_tasks_new(struct loop *loop);
/* Accepts NULL, returns NULL. */
struct fixture_tasks *fixture_tasks_free(struct fixture_tasks *f);

/* Appends their entries to those of tools/list. */
void fixture_tasks_describe(json_t *tools);
/* Returns false if tools/call does not name one of them. Otherwise the call is answered. */
bool fixture_tasks_call(struct fixture_tasks *f, struct call *call, json_t *params);

/* Each returns false if params do not name one of these tasks, or the client does not know tasks. Otherwise the
 * call is answered. */
bool fixture_task_get(struct fixture_tasks *f, struct call *call, const json_t *params);
bool fixture_task_update(struct fixture_tasks *f, struct call *call, const json_t *params);
bool fixture_task_cancel(struct fixture_tasks *f, struct call *call, const json_t *params);

#endif
