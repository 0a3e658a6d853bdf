/* Searches the store for sessions that this manager does not have, and takes over those whose server is dead.
 *
 * A take-over is one compare-and-swap in the store, which raises the epoch. The server connects to PID 1 only
 * afterwards, with the new epoch. So one of several competing servers wins, and PID 1 rejects a former owner that
 * turns out to be alive. */
#ifndef HUSK_MANAGER_REGISTRY_ADOPTION_H
#define HUSK_MANAGER_REGISTRY_ADOPTION_H

#include "manager/registry/conversation.h"

struct adoptions *adoptions_new(struct registry *r);
/* Accepts NULL, returns NULL. */
struct adoptions *adoptions_free(struct adoptions *a);
/* Finds the session in the store. Takes it over if it belongs to the conversation and its server is dead.
 * ops_found() follows. */
void adopt_one(struct conversation *c, const char *id);
/* Likewise for a name or the beginning of an id (handle.h), which the store resolves. */
void adopt_word(struct conversation *c, const char *word);
/* Takes over all sessions of the conversation whose server is dead, in the background. ops_adopted() follows, and
 * conversation_is_adopting() (manager.h) is true until then. */
void adopt_all(struct conversation *c);
/* Drops the searches of a conversation that is being closed. */
void adopt_forget(struct conversation *c);

#endif
