/* What a model does next, in terms of the tools. The manager says what happened, and what to look at, in words for any face; this adds
 * the call to make. */
#ifndef HUSK_MCP_NEXT_STEP_H
#define HUSK_MCP_NEXT_STEP_H

#include "manager/manager.h"

/* After a call that ran nothing: the failure's hint, then the step for its cause. `listed`: the answer lists sessions that can be used.
 * NULL if there is nothing to say. The caller owns it. */
char *next_step_after_fail(const struct fail *f, bool listed);

struct run_terms {
	bool terminal;		  /* a command, not a cell */
	uint64_t timeout_seconds; /* 0 = not known */
	enum cause cause;	  /* of an ending that the manager decided on */
};

/* After a run: what is left, and the step for how it ended. NULL if there is nothing to say. The caller owns it. */
char *next_step_after_run(const struct run_result *run, const struct run_terms *terms);

#endif
