/* The five ZeroMQ sockets of a Jupyter kernel, bound on this machine and served by our loop. Only messages signed with
 * the connection's key reach the callback. Heartbeats are echoed here. No other file of the face uses ZeroMQ. */
#ifndef HUSK_JUPYTER_FACE_CHANNELS_H
#define HUSK_JUPYTER_FACE_CHANNELS_H

#include "base/loop.h"
#include "jupyter/connection.h"

/* The largest frame that is accepted from a client. */
#define CHANNELS_FRAME_MAX (64u << 20)

struct channels;

struct channels_spec {
	struct loop *loop;
	const struct connection *connection; /* borrowed during the call, like id */
	const struct sender_id *id;
	/* A message of a client on shell, control or stdin; valid during the call. */
	void (*on_message)(void *ctx, enum channel from, const struct message *m);
	void *ctx;
};

/* Binds the sockets; -1 with f if one cannot be bound. Clients can connect from then on, and heartbeats are answered.
 * Requests are read after channels_listen(). This gives clients the time to connect to iopub: a client that has a reply
 * must not miss the messages that are published next. */
int channels_open(struct channels **ret, const struct channels_spec *spec, struct fail *f);
void channels_listen(struct channels *s);
/* Waits up to half a second until queued messages are sent. Accepts NULL, returns NULL. */
struct channels *channels_free(struct channels *s);

/* Sends to the client that sent a message with these idents. `parent` is the header of the message that is answered. */
void channels_send(struct channels *s, enum channel to, const struct part *idents, size_t n_idents, const char *type,
		   const json_t *parent, const json_t *content);
/* Publishes to all connected clients. */
void channels_publish(struct channels *s, const char *type, const json_t *parent, const json_t *content);

#endif
