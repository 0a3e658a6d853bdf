/* The frames between a program that attaches and the server that lets it in: docs/protocol.md section 3. Both ends use this; what comes
 * from the other one is bounded and checked here.
 *
 * A message is one JSON object, in pieces if it is long, and belongs to a call; raw bytes belong to a call too. */
#ifndef HUSK_ATTACH_WIRE_H
#define HUSK_ATTACH_WIRE_H

#include <jansson.h>

#include "base/buf.h"
#include "base/frames.h"
#include "base/list.h"
#include "base/stream.h"

#define ATTACH_VERSION 1

enum attach_frame {
	ATTACH_HELLO = 1,  /* both, first */
	ATTACH_CALL = 2,   /* client: begins the call of this number; {op, …} */
	ATTACH_MORE = 3,   /* both: a piece of the message that ends with the next frame of another type of this call */
	ATTACH_CANCEL = 4, /* client: nobody waits any more; no answer follows */
	ATTACH_INTERRUPT = 5, /* client: what the call has begun is to end; its answer says how */
	ATTACH_NOTE = 6,      /* both: something about a call that goes on */
	ATTACH_BYTES = 7,     /* both, raw: what is typed; what is written (stdout, a file) */
	ATTACH_ERR_BYTES = 8, /* server, raw: stderr */
	ATTACH_ANSWER = 9,    /* server: the last frame of a call; {result} or {fail} */
};

/* Of one frame. */
#define ATTACH_PIECE_MAX (256u << 10)
/* Of one message, and of all that are not complete: what a client may send, what a server may. */
#define ATTACH_REQUEST_MAX (16u << 20)
#define ATTACH_ANSWER_MAX (96u << 20)
/* Calls at a time on one connection. */
#define ATTACH_CALLS_MAX 64
/* Open files of the client that go along with a CALL, on its first byte. */
#define ATTACH_FILES_MAX STREAM_DESCRIPTORS_MAX

enum attach_side { ATTACH_CLIENT, ATTACH_SERVER };

/* What was received. */
struct attach_message {
	enum attach_frame type;
	uint32_t call;
	json_t *json;	      /* of HELLO, CALL, NOTE, ANSWER: an object; the receiver's. NULL otherwise */
	const uint8_t *bytes; /* of BYTES, ERR_BYTES: valid until the next feed */
	size_t n;
};
void attach_message_release(struct attach_message *m);

/* `{ .from = … }` is a valid empty reader. */
struct attach_reader {
	enum attach_side from; /* who sends */
	struct frame_reader frames;
	struct list pieces; /* of messages that are not complete */
	size_t held;
	bool begun;
};
void attach_reader_init(struct attach_reader *r, enum attach_side from);
void attach_reader_release(struct attach_reader *r);
void attach_reader_feed(struct attach_reader *r, const void *data, size_t n);
/* 1 and *ret; 0 if more bytes are needed; -1 and *ret_why, a sentence: the other end broke the protocol, and there is no going on. */
int attach_reader_next(struct attach_reader *r, struct attach_message *ret, const char **ret_why);

/* Appends a message. -1 if it is longer than this side may send; nothing was appended then. */
int attach_put(struct buf *out, enum attach_side from, enum attach_frame type, uint32_t call, const json_t *json);
/* Raw bytes, in as many frames as they need; without any (CANCEL, INTERRUPT) one empty frame. */
void attach_put_bytes(struct buf *out, enum attach_frame type, uint32_t call, const void *data, size_t n);

#endif
