/* A client's request, kept until it is answered: its sender, its channel, and the header that all messages about it
 * carry. */
#ifndef HUSK_JUPYTER_FACE_REQUEST_H
#define HUSK_JUPYTER_FACE_REQUEST_H

#include "base/list.h"
#include "jupyter/face/channels.h"

struct request {
	struct list node;
	enum channel channel;
	json_t *header, *content;
	struct part idents[MESSAGE_IDENTS_MAX]; /* owned */
	size_t n_idents;
};

struct request *request_new(enum channel channel, const struct message *m);
/* Removes the request from its list and frees it. Accepts NULL, returns NULL. */
struct request *request_free(struct request *r);

/* Fields of the content. If a field is missing or has another type, the default is returned: "" or `otherwise`. */
const char *request_string(const struct request *r, const char *name);
bool request_flag(const struct request *r, const char *name, bool otherwise);

/* Sends the reply; takes the content. */
void request_reply(const struct request *r, struct channels *s, const char *type, json_t *content);

#endif
