/* Sessions that this manager does not have: whose they are, and the taking over of those whose server is dead.
 *
 * A take-over is one compare-and-swap in the store, which raises the epoch; only then is PID 1 spoken to, with that epoch. So
 * of several servers that try one wins, and a former owner that turns out to be alive is kept out by PID 1. */
#ifndef HUSK_MANAGER_REGISTRY_ADOPTION_H
#define HUSK_MANAGER_REGISTRY_ADOPTION_H

#include "manager/registry/conversation.h"

struct adoptions *adoptions_new(struct registry *r);
/* Accepts NULL, returns NULL. */
struct adoptions *adoptions_free(struct adoptions *a);
/* Finds the session in the store, and takes it over if it is the conversation's and its server is dead; ops_found() follows. */
void adopt_one(struct conversation *c, const char *id);
/* Likewise for what handle.h allows in place of an id: the store says which session of the conversation that is. */
void adopt_word(struct conversation *c, const char *word);
/* In the background: all sessions of the conversation whose server is dead. */
void adopt_all(struct conversation *c);
/* A search for sessions of this conversation is under way. ops_adopted() follows each one's end. */
bool adopt_is_busy(const struct conversation *c);
/* The conversation is closed: whatever concerns it is dropped. */
void adopt_forget(struct conversation *c);

#endif
