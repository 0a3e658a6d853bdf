#include "kernels/frames.h"

#include <errno.h>

#include "kernels/entry.h"

#define SMALL_PAYLOAD_MAX 4096
/* A path, each of its bytes escaped. */
#define FILE_CALL_PAYLOAD_MAX 32768
/* An environment, each of its bytes escaped, and the rest. */
#define CLAIM_PAYLOAD_MAX (6 * CLAIM_ENV_MAX + SMALL_PAYLOAD_MAX)

int64_t frame_payload_max(uint8_t type)
{
	switch (type) {
	case FRAME_HELLO:
		return SMALL_PAYLOAD_MAX;
	case FRAME_PING:
		return PING_PAYLOAD_MAX;
	case FRAME_EXECUTE:
	case FRAME_TERMINAL:
	case FRAME_INSTALL:
		return FRAME_PAYLOAD_MAX;
	case FRAME_INTERRUPT:
	case FRAME_ACK:
	case FRAME_STOP:
	case FRAME_DONE:
		return SMALL_PAYLOAD_MAX;
	case FRAME_CLAIM:
		return CLAIM_PAYLOAD_MAX;
	case FRAME_IMPORT:
	case FRAME_EXPORT:
		return FILE_CALL_PAYLOAD_MAX;
	case FRAME_ENTRY:
		return ENTRY_FIXED + 2 * ENTRY_PATH_MAX;
	case FRAME_DATA:
		return 8 + FILE_DATA_MAX;
	case FRAME_CREDIT:
		return 4;
	default:
		return -1;
	}
}

void frame_reader_release(struct frame_reader *r)
{
	buf_release(&r->buf);
	r->used = 0;
}

void frame_reader_feed(struct frame_reader *r, const void *data, size_t n)
{
	buf_consume(&r->buf, r->used);
	r->used = 0;
	/* A buffer that held a long command is not kept for the short ones that follow. */
	if (r->buf.len == 0 && r->buf.cap > 256 * 1024)
		buf_release(&r->buf);
	(void)buf_add(&r->buf, data, n);
}

int frame_reader_next(struct frame_reader *r, struct frame *ret)
{
	size_t left = r->buf.len - r->used;
	if (left < FRAME_HEADER_SIZE)
		return 0;

	const uint8_t *at = r->buf.data + r->used;
	struct frame_header h = frame_header_read(at);
	int64_t max = frame_payload_max(h.type);
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

static int append_chunk(const char *data, size_t n, void *ctx)
{
	return buf_add(ctx, data, n);
}

int json_append(struct buf *out, const json_t *value)
{
	return json_dump_callback(value, append_chunk, out, JSON_COMPACT) < 0 ? -ENOBUFS : 0;
}

int frame_append_json(struct buf *out, uint8_t type, uint32_t call, const json_t *payload)
{
	AUTO(buf_release) struct buf text = { .max = FRAME_PAYLOAD_MAX };
	if (json_append(&text, payload) < 0)
		return -EMSGSIZE;
	return frame_append(out, type, call, text.data, text.len);
}
