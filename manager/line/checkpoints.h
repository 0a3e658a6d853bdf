/* Checkpoints on the line: requests, and what PID 1 says about them. Its texts are cleaned and bounded. */
#ifndef HUSK_MANAGER_LINE_CHECKPOINTS_H
#define HUSK_MANAGER_LINE_CHECKPOINTS_H

#include "manager/line/queries.h"
#include "manager/model/checkpoint.h"

struct json_t;

struct checkpoint_wish {
	enum checkpoint_action action;
	const char *name; /* or several for CHECKPOINT_BRANCH; NULL = run is set instead */
	uint64_t run;
};

/* Sends the request. The owner has set a->on_json, which is called once with PID 1's answer for checkpoints_read(). 0, or -1
 * with f. */
int checkpoints_start(struct query_waiter *a, struct dispatch *d, const struct checkpoint_wish *wish, struct fail *f);
/* 0 and *ret, or -1 with f, whose hint lists the checkpoints that there are. */
int checkpoints_read(const struct json_t *said, struct checkpoint_answer *ret, struct fail *f);

/* Parts of an INFO and of an END. The list has *ret_n entries; NULL if there is no list. */
struct checkpoint_info *checkpoints_read_list(const struct json_t *list, size_t *ret_n);
struct restored *checkpoints_read_restored(const struct json_t *restored);

#endif
