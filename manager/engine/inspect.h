/* Pure readers of what the docker CLI prints. Its text is hostile input: bounded, cleaned, never trusted to be there. */
#ifndef HUSK_MANAGER_ENGINE_INSPECT_H
#define HUSK_MANAGER_ENGINE_INSPECT_H

#include "base/fail.h"
#include "manager/engine/engine.h"

/* Turns the error output of a failed docker command into a failure with the next step. `doing` completes "cannot …". */
int inspect_error(struct fail *f, const char *doing, const char *text, size_t n);
/* True if it was so because there is no engine to ask. */
bool inspect_no_engine(const struct fail *f);
/* True if the text says that removal of a container is under way already. */
bool inspect_removal_in_progress(const char *text);

struct event_text {
	char container[128];
};
/* One line of `docker events --format '{{json .}}'`. False if it is not an event that concerns us. The event's strings
 * live in *storage. */
bool inspect_event(const char *line, size_t n, struct event_text *storage, struct engine_event *ret);

/* The smallest id (they are 64 hex digits, one a line) of `docker network ls`; every server picks the same one of two that
 * were made in a race. -1 if there is none. */
int inspect_network_id(const char *text, char ret[65]);

/* The reason of a death in the reference's words. The string is the caller's. */
char *inspect_death_reason(bool oom, int exit_code);

#endif
