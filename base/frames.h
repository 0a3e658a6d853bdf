/* The frames of the manager's stream, for both ends: a header (length, type, call number; big endian) and a
 * payload. The reader is incremental and bounded. It rejects a frame by its header, before its payload is stored.
 * There is no resynchronisation after an error. */
#ifndef HUSK_BASE_FRAMES_H
#define HUSK_BASE_FRAMES_H

#include "base/buf.h"

#define FRAME_HEADER_SIZE 9
#define FRAME_PAYLOAD_MAX (16u << 20)

struct frame_header {
	uint32_t length; /* of the payload */
	uint8_t type;
	uint32_t call;
};

struct frame {
	struct frame_header header;
	const uint8_t *payload; /* header.length bytes, valid until the next feed */
};

struct frame_reader {
	struct buf buf;
	size_t used; /* bytes of buf that were already handed out */
};

void frame_header_write(uint8_t out[FRAME_HEADER_SIZE], const struct frame_header *h);
struct frame_header frame_header_read(const uint8_t in[FRAME_HEADER_SIZE]);
/* Length of the whole frame that starts at data. */
size_t frame_size(const uint8_t *data);

void frame_reader_release(struct frame_reader *r);
void frame_reader_feed(struct frame_reader *r, const void *data, size_t n);
/* Feeds without a copy: frame_reader_room() returns where up to n bytes may be written, and frame_reader_fed() reports
 * how many were. frame_reader_room() invalidates frames that were handed out. */
uint8_t *frame_reader_room(struct frame_reader *r, size_t n);
void frame_reader_fed(struct frame_reader *r, size_t n);
/* 1 and *ret; 0 if more bytes are needed; -EPROTO for a type that the other end must not send (payload_max() returns
 * -1); -EMSGSIZE for a payload longer than payload_max() returns. */
int frame_reader_next(struct frame_reader *r, int64_t (*payload_max)(uint8_t type), struct frame *ret);

/* Appends one whole frame. -EMSGSIZE past FRAME_PAYLOAD_MAX (nothing was appended). */
int frame_append(struct buf *out, uint8_t type, uint32_t call, const void *payload, size_t n);

#endif
