/* Which signed messages have been received: a signature proves who wrote a message, not that it is the first copy of it. The last
 * REPLAYS_KEPT of them, at least, are remembered, in two tables of fixed size: when the younger one is full, the older one is
 * emptied and takes its place. */
#ifndef HUSK_JUPYTER_REPLAYS_H
#define HUSK_JUPYTER_REPLAYS_H

#include "jupyter/message.h"

#define REPLAYS_KEPT 8192u

struct replays;

struct replays *replays_new(void);
struct replays *replays_free(struct replays *r);
/* True the first time that it sees the signature of a message that message_decode() has accepted. */
bool replays_is_first(struct replays *r, const struct message *m);

#endif
