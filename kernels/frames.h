/* Frames of the manager's stream, in and out. The reader is incremental and bounded: it takes bytes as they come and
 * refuses a frame by its header, before its payload is stored. There is no resynchronisation after an error. */
#ifndef HUSK_KERNELS_FRAMES_H
#define HUSK_KERNELS_FRAMES_H

#include <jansson.h>

#include "base/buf.h"
#include "kernels/protocol.h"

struct frame_reader {
	struct buf buf;
	size_t used; /* bytes of buf that were handed out already */
};

struct frame {
	struct frame_header header;
	const uint8_t *payload; /* header.length bytes, valid until the next call on the reader */
};

/* The longest payload that a controller may send in a frame of this type; -1 if it may not send this type. */
int64_t frame_payload_max(uint8_t type);

void frame_reader_release(struct frame_reader *r);
void frame_reader_feed(struct frame_reader *r, const void *data, size_t n);
/* 1 and *ret, 0 if more bytes are needed, -EPROTO on a type that a controller may not send, -EMSGSIZE on its size. */
int frame_reader_next(struct frame_reader *r, struct frame *ret);

/* Append one whole frame. -EMSGSIZE past FRAME_PAYLOAD_MAX (nothing was appended). */
int frame_append(struct buf *out, uint8_t type, uint32_t call, const void *payload, size_t n);
/* Does not take the reference. */
int frame_append_json(struct buf *out, uint8_t type, uint32_t call, const json_t *payload);
/* Appends compact JSON. -ENOBUFS past the buffer's maximum; the buffer may then hold a part of it. */
int json_append(struct buf *out, const json_t *value);

/* Length of the whole frame that starts at data. */
static inline size_t frame_size(const uint8_t *data)
{
	return FRAME_HEADER_SIZE + (size_t)frame_header_read(data).length;
}

#endif
