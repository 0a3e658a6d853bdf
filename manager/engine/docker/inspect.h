/* Pure readers of what the docker CLI prints. Its text is hostile input: bounded, cleaned, never trusted to be there. */
#ifndef HUSK_MANAGER_ENGINE_DOCKER_INSPECT_H
#define HUSK_MANAGER_ENGINE_DOCKER_INSPECT_H

#include "base/fail.h"
#include "manager/engine/engine.h"

/* Turns the error output of a failed docker command into a failure with its cause and the next step. `doing` completes
 * "cannot …". */
int inspect_error(struct fail *f, const char *doing, const char *text, size_t n);
/* The failure of a command that the engine did not answer in time. */
int inspect_silence(struct fail *f, const char *doing);
/* What the error output of a command that removes something says: removal is under way already; it is not there. */
bool inspect_removal_in_progress(const char *text);
bool inspect_is_missing(const char *text);
/* Of a run: the network that it was to be put on is gone, or there are several of its name. */
bool inspect_lost_network(const char *text);
/* Of a run: the engine refuses a bind mount. */
bool inspect_refused_mount(const char *text);
/* Of a run: the engine's volume driver cannot mount a devpts, as in a user namespace. */
bool inspect_refused_devpts(const char *text);
/* A run failed because its volume was to have a size. */
bool inspect_refused_quota(const char *text);
/* The id that a run prints; "" if it printed something else. */
void inspect_container_id(const char *text, char ret[65]);
/* Of a container that was to be moved to another network: it is not there, or about to go. */
bool inspect_container_is_gone(const char *text);
/* Of the removal of a network. */
bool inspect_network_in_use(const char *text);

struct event_text {
	char container[128], id[65];
};
/* One line of the events, as the engine and `docker events --format '{{json .}}'` print them. False if it is not an event
 * that concerns us. The event's strings live in *storage. */
bool inspect_event(const char *line, size_t n, struct event_text *storage, struct engine_event *ret);

/* The ids (64 hex digits, one a line, perhaps with a bridge behind it) of `docker network ls`, the smallest first: of two that
 * were made in a race every server picks the same one. */
void inspect_network_ids(const char *text, struct strv *ret);
/* Does this list say that the network of this id has the bridge of this name? */
bool inspect_network_has_bridge(const char *text, const char *id, const char *bridge);

#endif
