/* How sessions join the registry, and what happens when one is ready, dies or is stopped. */
#ifndef HUSK_MANAGER_REGISTRY_SESSION_ENTRY_H
#define HUSK_MANAGER_REGISTRY_SESSION_ENTRY_H

#include "manager/registry/registry.h"

struct session_entry_spec {
	const struct runtime *runtime;
	const char *image;
	const char *conversation;
	const char *host; /* where its container goes; NULL = the engine has no hosts */
	bool network;
	struct limits limits;
};
/* Does not start anything yet. */
struct session_entry *session_entry_new(struct registry *r, const struct session_entry_spec *spec);
/* Starts the container after its slot was claimed. ops_ready() or ops_dead() follows. */
void session_entry_start(struct session_entry *entry, const struct session_terms *terms);
/* The same for a warm container whose row exists. entry->on_warm follows. */
void session_entry_start_warm(struct session_entry *entry);
/* Turns a warm container into a session of this conversation, after its slot was claimed. ops_ready() or ops_dead()
 * follows. */
void session_entry_claim(struct session_entry *entry, const char *conversation, const struct session_terms *terms);
/* Before its slot is claimed: the names of its secrets, separated by blanks; NULL = none. */
void session_entry_add_secrets(struct session_entry *entry, const char *conversation, const char *names);
/* True if the warm container can become this session: its runtime, image, network and limits are those of the spec. */
bool session_entry_fits(const struct session_entry *entry, const struct session_entry_spec *spec);
/* Adds a session of a dead server, whose row in the store already names this server as the owner. */
struct session_entry *session_entry_adopt(struct registry *r, const struct session_record *row);
/* 0 if the session accepts requests; else -1 with f. */
int session_entry_check(const struct session_entry *entry, struct fail *f);

#endif
