/* Remembers signed messages, so that a copy of one is rejected: a signature proves who wrote a message, but not that it
 * is new. At least the last REPLAYS_KEPT messages are remembered, in two tables of fixed size. When the younger table
 * is full, the older one is emptied and takes its place. */
#ifndef HUSK_JUPYTER_REPLAYS_H
#define HUSK_JUPYTER_REPLAYS_H

#include "jupyter/message.h"

#define REPLAYS_KEPT 8192u

struct replays;

struct replays *replays_new(void);
struct replays *replays_free(struct replays *r);
/* True if the message's signature was not seen before. The message must have passed message_decode(). */
bool replays_is_first(struct replays *r, const struct message *m);

#endif
