/* Runs that a former server of an adopted session started, and whose end nobody has told yet. PID 1 replays them; they are kept here
 * until the next result of the session carries them, and only then acknowledged: nothing is lost and nothing told twice. */
#ifndef HUSK_MANAGER_LINE_EARLIER_H
#define HUSK_MANAGER_LINE_EARLIER_H

#include "base/list.h"
#include "manager/line/collect.h"

struct earlier {
	struct list runs;   /* by call number */
	uint32_t last_call; /* calls up to this one were the former server's */
	const struct config *config;
};

void earlier_init(struct earlier *e, const struct config *config);
void earlier_release(struct earlier *e);

/* A frame of a call that is none of ours. 1 if the call is over and nobody has to hear of it: acknowledge it. 0, or -EPROTO. */
int earlier_frame(struct earlier *e, const struct wire_frame *frame);
/* How many of a kind have not ended. */
size_t earlier_running(const struct earlier *e, bool terminal);
/* Adds all of them to a result and forgets those that have ended: the caller acknowledges these. */
void earlier_tell(struct earlier *e, struct run_result *result);

#endif
