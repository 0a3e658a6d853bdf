/* Checkpoints of a session's interpreter, part of manager.h. */
#ifndef HUSK_MANAGER_CHECKPOINT_H
#define HUSK_MANAGER_CHECKPOINT_H

#include "base/fail.h"
#include "manager/model/checkpoint.h"

struct conversation;
struct op;

struct checkpoint_request {
	const char *session_id;
	enum checkpoint_action action;
	const char *
		name; /* for CHECKPOINT_BRANCH one or more, separated by commas or blanks; NULL = `run` says which one */
	uint64_t run;
	/* f is a failure that also prevents a run from starting, or one of these; its hint lists what there is:
	 * FAIL_NOT_FOUND: there is no such checkpoint or branch. FAIL_INVALID: the name is not valid, or there are 8.
	 * CAUSE_INTERPRETER_BUSY with FAIL_BUSY: a cell runs or waits.
	 * CAUSE_CANNOT_ANSWER, CAUSE_OLD_SESSION (FAIL_INVALID): this session cannot have checkpoints. */
	void (*on_done)(void *ctx, const struct checkpoint_answer *answer, const struct fail *f);
	void *ctx;
};
/* Makes a checkpoint, goes back to one, or drops one; makes branches, keeps one as the interpreter, or drops one. */
struct op *manager_checkpoint(struct conversation *c, const struct checkpoint_request *req, struct fail *f);

#endif
