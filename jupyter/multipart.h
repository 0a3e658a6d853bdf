/* Messages of several frames on a ZeroMQ socket. Only this module and the ones that open sockets use ZeroMQ. */
#ifndef HUSK_JUPYTER_MULTIPART_H
#define HUSK_JUPYTER_MULTIPART_H

#include "jupyter/message.h"

struct multipart;

/* Holds one received message. */
struct multipart *multipart_new(void);
/* Accepts NULL, returns NULL. */
struct multipart *multipart_free(struct multipart *m);

/* Takes the next message of the socket. Returns 1, 0 if there is none, or -E2BIG if it had too many frames and was
 * dropped. */
int multipart_receive(struct multipart *m, void *socket);
/* The frames of that message, *ret_n of them; valid until the next one is received. */
const struct part *multipart_parts(const struct multipart *m, size_t *ret_n);

/* Sends all frames as one message, or none: -EAGAIN if no client can take it now, or another -errno. */
int multipart_send(void *socket, const struct part *parts, size_t n);
/* Sends a message of ours, with the receiver's identities in front. */
int multipart_send_envelope(void *socket, const struct part *idents, size_t n_idents, const struct envelope *e);

#endif
