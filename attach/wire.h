/* The frames between an attaching program and the server: docs/protocol.md section 3. Both ends use this, and data
 * from the other end is bounded and checked here.
 *
 * A message is one JSON object that belongs to a request, in pieces if it is long. Raw bytes belong to a request
 * too. */
#ifndef HUSK_ATTACH_WIRE_H
#define HUSK_ATTACH_WIRE_H

#include <jansson.h>

#include "base/buf.h"
#include "base/frames.h"
#include "base/list.h"
#include "base/stream.h"

#define ATTACH_VERSION 1

enum attach_frame {
	ATTACH_HELLO = 1,  /* both; the first frame */
	ATTACH_CALL = 2,   /* client: starts the request of this number; {op, …} */
	ATTACH_MORE = 3,   /* both: a piece of a message; the request's next frame of another type ends the message */
	ATTACH_CANCEL = 4, /* client: cancels; no answer follows */
	ATTACH_INTERRUPT = 5, /* client: ends the request's work; the answer has the ending */
	ATTACH_NOTE = 6,      /* both: a note about a running request */
	ATTACH_BYTES = 7,     /* both, raw: typed input; output (stdout, a file) */
	ATTACH_ERR_BYTES = 8, /* server, raw: stderr */
	ATTACH_ANSWER = 9,    /* server: the last frame of a request; {result} or {fail} */
};

/* Bytes of one frame. */
#define ATTACH_PIECE_MAX (256u << 10)
/* Bytes of one message, and of all incomplete messages together: from a client, and from a server. */
#define ATTACH_REQUEST_MAX (16u << 20)
#define ATTACH_ANSWER_MAX (96u << 20)
/* Requests at the same time on one connection. */
#define ATTACH_CALLS_MAX 64
/* Open files of the client that are sent with the first byte of a CALL. */
#define ATTACH_FILES_MAX STREAM_DESCRIPTORS_MAX

enum attach_side { ATTACH_CLIENT, ATTACH_SERVER };

/* A received message. */
struct attach_message {
	enum attach_frame type;
	uint32_t call;
	json_t *json;	      /* HELLO, CALL, NOTE, ANSWER: an object, owned by the receiver; NULL otherwise */
	const uint8_t *bytes; /* BYTES, ERR_BYTES: valid until the next feed */
	size_t n;
};
void attach_message_release(struct attach_message *m);

/* Made by attach_reader_init(). */
struct attach_reader {
	enum attach_side from; /* the sending side */
	struct frame_reader frames;
	struct list pieces; /* incomplete messages */
	size_t held;	    /* their bytes */
	bool begun;
};
void attach_reader_init(struct attach_reader *r, enum attach_side from);
void attach_reader_release(struct attach_reader *r);
void attach_reader_feed(struct attach_reader *r, const void *data, size_t n);
/* 1 with *ret; 0 if more bytes are needed; -1 with *ret_why, a sentence: the other end violated the protocol, so
 * disconnect. */
int attach_reader_next(struct attach_reader *r, struct attach_message *ret, const char **ret_why);

/* Appends a message. -1 if it is longer than this side may send; then nothing was appended. */
int attach_put(struct buf *out, enum attach_side from, enum attach_frame type, uint32_t call, const json_t *json);
/* Appends raw bytes in as many frames as needed, or one empty frame if there are none (CANCEL, INTERRUPT). */
void attach_put_bytes(struct buf *out, enum attach_frame type, uint32_t call, const void *data, size_t n);

#endif
