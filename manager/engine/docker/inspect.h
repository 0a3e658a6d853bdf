/* Pure parsers of the docker CLI's output. The text is hostile input: it is bounded, cleaned, and may be missing. */
#ifndef HUSK_MANAGER_ENGINE_DOCKER_INSPECT_H
#define HUSK_MANAGER_ENGINE_DOCKER_INSPECT_H

#include "base/fail.h"
#include "manager/engine/engine.h"

/* Turns the error output of a failed docker command into a failure with its cause and the next step. `doing` completes
 * "cannot …". */
int inspect_error(struct fail *f, const char *doing, const char *text, size_t n);
/* Fills f for a command that the engine did not answer in time. */
int inspect_silence(struct fail *f, const char *doing);
/* Error output of a failed removal: the first is true if another removal is already under way, the second if the
 * object does not exist. */
bool inspect_removal_in_progress(const char *text);
bool inspect_is_missing(const char *text);
/* True if a run failed because its network is gone, or because several networks have that name. */
bool inspect_lost_network(const char *text);
/* True if a run failed because the engine rejects a bind mount. */
bool inspect_refused_mount(const char *text);
/* True if a run failed because the engine's volume driver cannot mount a devpts, as in a user namespace. */
bool inspect_refused_devpts(const char *text);
/* True if a run failed because the engine rejects the size of a volume. */
bool inspect_refused_quota(const char *text);
/* Copies the id that a run has printed; "" if it printed something else. */
void inspect_container_id(const char *text, char ret[65]);
/* True if a network change failed because the container does not exist, or is about to end. */
bool inspect_container_is_gone(const char *text);
/* True if a network could not be removed because containers use it. */
bool inspect_network_in_use(const char *text);

struct event_text {
	char container[128], id[65];
};
/* Parses one line of events, as the engine and `docker events --format '{{json .}}'` print them. False if the
 * event does not concern Husk. The event's strings live in *storage. */
bool inspect_event(const char *line, size_t n, struct event_text *storage, struct engine_event *ret);

/* The ids of `docker network ls` (64 hex digits, one per line, perhaps followed by a bridge), the smallest first, so
 * that every server picks the same one of two that were created in a race. */
void inspect_network_ids(const char *text, struct strv *ret);
/* True if the same list says that the network with this id has the bridge with this name. */
bool inspect_network_has_bridge(const char *text, const char *id, const char *bridge);

#endif
