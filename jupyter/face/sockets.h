/* The five ZeroMQ sockets of a Jupyter kernel, bound on this machine, on our loop. Only what is signed with the connection's key is
 * handed on; heartbeats are echoed here. The only file of the face that knows ZeroMQ is sockets.c. */
#ifndef HUSK_JUPYTER_FACE_SOCKETS_H
#define HUSK_JUPYTER_FACE_SOCKETS_H

#include "base/loop.h"
#include "jupyter/connection.h"

/* Of what a client sends in one frame. */
#define SOCKETS_FRAME_MAX (64u << 20)

struct sockets;

struct sockets_spec {
	struct loop *loop;
	const struct connection *connection; /* borrowed for the call, as is */
	const struct sender_id *id;
	/* A message of a client on shell, control or stdin; valid during the call. */
	void (*on_message)(void *ctx, enum channel from, const struct message *m);
	void *ctx;
};

/* -1 with f if a socket cannot be bound. Nothing is received before the loop runs. */
int sockets_open(struct sockets **ret, const struct sockets_spec *spec, struct fail *f);
/* What was sent has half a second to go out. Accepts NULL, returns NULL. */
struct sockets *sockets_free(struct sockets *s);

/* To whoever sent a message with these idents. The header of what is answered is `parent`. */
void sockets_send(struct sockets *s, enum channel to, const struct part *idents, size_t n_idents, const char *type,
		  const json_t *parent, const json_t *content);
/* To all who listen. */
void sockets_publish(struct sockets *s, const char *type, const json_t *parent, const json_t *content);

#endif
