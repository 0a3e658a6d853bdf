#include "base/frames.h"

#include <errno.h>

/* A buffer that held a long frame is not kept for the short ones that follow. */
#define BUFFER_KEPT_MAX (256u << 10)

void frame_header_write(uint8_t out[FRAME_HEADER_SIZE], const struct frame_header *h)
{
	for (int i = 0; i < 4; i++) {
		out[i] = (uint8_t)(h->length >> (24 - 8 * i));
		out[5 + i] = (uint8_t)(h->call >> (24 - 8 * i));
	}
	out[4] = h->type;
}

struct frame_header frame_header_read(const uint8_t in[FRAME_HEADER_SIZE])
{
	struct frame_header h = { .type = in[4] };
	for (int i = 0; i < 4; i++) {
		h.length = h.length << 8 | in[i];
		h.call = h.call << 8 | in[5 + i];
	}
	return h;
}

size_t frame_size(const uint8_t *data)
{
	return FRAME_HEADER_SIZE + (size_t)frame_header_read(data).length;
}

void frame_reader_release(struct frame_reader *r)
{
	buf_release(&r->buf);
	r->used = 0;
}

uint8_t *frame_reader_room(struct frame_reader *r, size_t n)
{
	buf_consume(&r->buf, r->used);
	r->used = 0;
	if (r->buf.len == 0 && r->buf.cap > BUFFER_KEPT_MAX)
		buf_release(&r->buf);
	return buf_reserve(&r->buf, n);
}

void frame_reader_fed(struct frame_reader *r, size_t n)
{
	r->buf.len += n;
}

void frame_reader_feed(struct frame_reader *r, const void *data, size_t n)
{
	uint8_t *room = frame_reader_room(r, n);
	if (n)
		memcpy(room, data, n);
	frame_reader_fed(r, n);
}

int frame_reader_next(struct frame_reader *r, int64_t (*payload_max)(uint8_t type), struct frame *ret)
{
	size_t left = r->buf.len - r->used;
	if (left < FRAME_HEADER_SIZE)
		return 0;

	const uint8_t *at = r->buf.data + r->used;
	struct frame_header h = frame_header_read(at);
	int64_t max = payload_max(h.type);
	if (max < 0)
		return -EPROTO;
	if (h.length > max)
		return -EMSGSIZE;
	if (left - FRAME_HEADER_SIZE < h.length)
		return 0;
	*ret = (struct frame){ .header = h, .payload = at + FRAME_HEADER_SIZE };
	r->used += FRAME_HEADER_SIZE + h.length;
	return 1;
}

int frame_append(struct buf *out, uint8_t type, uint32_t call, const void *payload, size_t n)
{
	if (n > FRAME_PAYLOAD_MAX)
		return -EMSGSIZE;
	uint8_t *at = buf_reserve(out, FRAME_HEADER_SIZE + n);
	if (!at)
		return -EMSGSIZE;
	frame_header_write(at, &(struct frame_header){ .length = (uint32_t)n, .type = type, .call = call });
	if (n)
		memcpy(at + FRAME_HEADER_SIZE, payload, n);
	out->len += FRAME_HEADER_SIZE + n;
	return 0;
}
