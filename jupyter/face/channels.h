/* The five ZeroMQ sockets of a Jupyter kernel, bound on this machine, on our loop. Only what is signed with the connection's key is
 * handed on; heartbeats are echoed here. The only file of the face that knows ZeroMQ is channels.c. */
#ifndef HUSK_JUPYTER_FACE_CHANNELS_H
#define HUSK_JUPYTER_FACE_CHANNELS_H

#include "base/loop.h"
#include "jupyter/connection.h"

/* Of what a client sends in one frame. */
#define CHANNELS_FRAME_MAX (64u << 20)

struct channels;

struct channels_spec {
	struct loop *loop;
	const struct connection *connection; /* borrowed for the call, as is */
	const struct sender_id *id;
	/* A message of a client on shell, control or stdin; valid during the call. */
	void (*on_message)(void *ctx, enum channel from, const struct message *m);
	void *ctx;
};

/* -1 with f if a socket cannot be bound. Clients can connect from now on and hearts beat; what is asked is received after
 * channels_listen(): who has had an answer must not miss what is published next, for which it has to be connected. */
int channels_open(struct channels **ret, const struct channels_spec *spec, struct fail *f);
void channels_listen(struct channels *s);
/* What was sent has half a second to go out. Accepts NULL, returns NULL. */
struct channels *channels_free(struct channels *s);

/* To whoever sent a message with these idents. The header of what is answered is `parent`. */
void channels_send(struct channels *s, enum channel to, const struct part *idents, size_t n_idents, const char *type,
		   const json_t *parent, const json_t *content);
/* To all who listen. */
void channels_publish(struct channels *s, const char *type, const json_t *parent, const json_t *content);

#endif
