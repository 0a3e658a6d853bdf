/* The conversations that requests use: one object for each id, opened when it is first named and closed when it has not
 * been used for a while. */
#ifndef HUSK_API_CONVERSATIONS_H
#define HUSK_API_CONVERSATIONS_H

#include "manager/manager.h"

struct conversations;

/* own: the conversation of requests that name none; borrowed. on_close is called before one is closed; NULL = none. */
struct conversations *conversations_new(struct manager *m, struct conversation *own,
					void (*on_close)(void *ctx, struct conversation *c), void *ctx);
/* Drops the objects without closing the conversations: the manager closes them. Accepts NULL, returns NULL. */
struct conversations *conversations_free(struct conversations *c);

/* id NULL = the own one. The result is valid until conversations_put(). FAIL_LIMIT if too many are in use. */
struct conversation *conversations_get(struct conversations *c, const char *id, struct fail *f);
void conversations_put(struct conversations *c, struct conversation *conversation);

#endif
