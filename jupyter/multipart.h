/* Messages of several frames over a socket of ZeroMQ. The only files that know ZeroMQ are this one's and those that open sockets. */
#ifndef HUSK_JUPYTER_MULTIPART_H
#define HUSK_JUPYTER_MULTIPART_H

#include "jupyter/message.h"

struct multipart;

/* Holds one received message. */
struct multipart *multipart_new(void);
/* Accepts NULL, returns NULL. */
struct multipart *multipart_free(struct multipart *m);

/* Takes the next message that the socket has. 1; 0 if there is none; -E2BIG if it had too many frames, and was dropped. */
int multipart_receive(struct multipart *m, void *socket);
/* Its frames, *ret_n; valid until the next one is received. */
const struct part *multipart_parts(const struct multipart *m, size_t *ret_n);

/* Sends all of them as one message, or none: -EAGAIN if nobody takes it now, or another -errno. */
int multipart_send(void *socket, const struct part *parts, size_t n);
/* A message of ours behind the frames that say who it is for. */
int multipart_send_envelope(void *socket, const struct part *idents, size_t n_idents, const struct envelope *e);

#endif
