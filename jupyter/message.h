/* One message of the Jupyter protocol (5.4) and its frames: identities, a delimiter, an HMAC-SHA256 signature, four
 * JSON objects, and any number of binary buffers, which are not signed. This module knows frames but not ZeroMQ. */
#ifndef HUSK_JUPYTER_MESSAGE_H
#define HUSK_JUPYTER_MESSAGE_H

#include <jansson.h>

#include "base/buf.h"

#define MESSAGE_VERSION "5.4"
#define MESSAGE_KEY_HEX 64  /* hex digits of a key that we make; the text itself is the key */
#define MESSAGE_KEY_MAX 256 /* characters of a key that others made */
#define MESSAGE_ID_LEN 32   /* hex digits */
#define MESSAGE_SIGNATURE_SIZE 32
#define MESSAGE_IDENTS_MAX 16 /* frames before the delimiter */
#define MESSAGE_FRAMES_MAX 256
/* Parts after the signature: header, parent_header, metadata and content. The signature consists of hex digits. */
#define MESSAGE_PARTS 4

struct part {
	const void *data;
	size_t n;
};

struct message {
	json_t *header;
	json_t *parent; /* an object; empty if the message does not answer another one */
	json_t *metadata;
	json_t *content;
	/* Borrowed from the objects above; never NULL. */
	const char *type;
	const char *id;
	const char *parent_id; /* "" without a parent */
	uint8_t signature[MESSAGE_SIGNATURE_SIZE];
	/* Borrowed from the frames. */
	const struct part *idents; /* identities of the sender; a ROUTER sends its reply to them */
	size_t n_idents;
	const struct part *buffers;
	size_t n_buffers;
};

/* Reads the n frames of one message. Returns 0 and *ret (message_release() it; its buffers live as long as the frames),
 * or -EPROTO and in *ret_why a constant phrase such as "has a wrong signature". The signature is checked before
 * anything else is parsed. */
int message_decode(struct message *ret, const char *key, const struct part *frames, size_t n, const char **ret_why);
void message_release(struct message *m);

/* A message of our own as its frames, from the delimiter to the content. */
struct envelope {
	struct buf frames[2 + MESSAGE_PARTS];
};

struct sender_id {
	char session[MESSAGE_ID_LEN + 1];
	char key[MESSAGE_KEY_MAX + 1];
};

/* Makes a new session id and, unless there is one, a new key. -EIO if there is no source of random numbers. */
int sender_id_make(struct sender_id *ret);
/* Builds a message of this type and writes its new id. `content` and `parent` (a header, NULL = none) are borrowed.
 * envelope_release() it. */
void envelope_make(struct envelope *ret, const struct sender_id *from, const char *type, const json_t *parent,
		   const json_t *content, char ret_id[MESSAGE_ID_LEN + 1]);
void envelope_release(struct envelope *e);

#endif
