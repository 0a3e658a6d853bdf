/* The next step for a model, in terms of the tools. The manager reports what happened and what to check, in words that
 * suit any face; the functions here add the tool call. */
#ifndef HUSK_MCP_NEXT_STEP_H
#define HUSK_MCP_NEXT_STEP_H

#include "manager/manager.h"

/* The step after a request that ran nothing: the failure's hint, then the step for its cause. `listed` means that the
 * answer lists usable sessions, `remote` that it must not name files of the host. NULL if there is no step. The caller
 * owns it. */
char *next_step_after_fail(const struct fail *f, bool listed, bool remote);

struct run_terms {
	bool terminal;		  /* a command, not a cell */
	uint64_t timeout_seconds; /* 0 = unknown */
	enum cause cause;	  /* cause of an ending that the manager decided */
	bool restarted;		  /* a later run restarted the kernel, and the same answer reports it */
};

/* The step after a run: what remains, then the step for its ending. NULL if there is no step. The caller owns it. */
char *next_step_after_run(const struct run_result *run, const struct run_terms *terms);

#endif
