/* The five ZeroMQ sockets of a Jupyter client. Only channels.c uses ZeroMQ. */
#ifndef HUSK_KERNELS_JUPYTER_CHANNELS_H
#define HUSK_KERNELS_JUPYTER_CHANNELS_H

#include "jupyter/connection.h"

#define CHANNEL_FRAME_MAX (64u << 20)

struct channels;

int channels_open(struct channels **ret, const struct connection *c, const struct sender_id *id, struct fail *f);
struct channels *channels_free(struct channels *c);

/* Sends a message of this type and writes its id. `parent` (a header) may be NULL. 0 or -errno. */
int channels_send(struct channels *c, enum channel to, const char *type, const json_t *parent, const json_t *content,
		  char ret_id[MESSAGE_ID_LEN + 1]);
/* Passes the next message of the channel to the callback. 1; 0 if there is none; -EPROTO and a constant phrase if
 * the message is invalid. */
int channels_receive(struct channels *c, enum channel from, void (*on_message)(void *ctx, const struct message *m),
		     void *ctx, const char **ret_why);

/* The heartbeat: sends a ping; reads pongs, and returns true if the last ping was answered. */
void channels_ping(struct channels *c);
bool channels_pong(struct channels *c);

/* Waits for any channel or any of the n descriptors (-1 = none), for at most this many milliseconds (-1 =
 * forever). Bits of *ret_ready show which descriptors are ready. */
int channels_wait(struct channels *c, const int *fds, size_t n, long timeout_ms, unsigned *ret_ready);

#endif
