#include "kernels/system/frames.h"

#include <errno.h>

#include "kernels/entry.h"

#define SMALL_PAYLOAD_MAX 4096
/* A path, each of its bytes escaped. */
#define FILE_CALL_PAYLOAD_MAX 32768
/* An environment, each of its bytes escaped, and the rest. */
#define CLAIM_PAYLOAD_MAX (6 * CLAIM_ENV_MAX + SMALL_PAYLOAD_MAX)
/* Likewise. */
#define INPUT_PAYLOAD_MAX (6 * INPUT_BYTES_MAX + SMALL_PAYLOAD_MAX)
#define QUERY_PAYLOAD_MAX (6 * QUERY_CODE_MAX + SMALL_PAYLOAD_MAX)

int64_t controller_payload_max(uint8_t type)
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
	case FRAME_TAKE:
	case FRAME_LOOK:
		return SMALL_PAYLOAD_MAX;
	case FRAME_CONSOLE:
		return CONSOLE_WANTED_MAX;
	case FRAME_CONSOLE_SIZE:
		return SMALL_PAYLOAD_MAX;
	case FRAME_CONSOLE_DATA:
		return CONSOLE_DATA_MAX;
	case FRAME_CONSOLE_SIGNAL:
		return 1;
	case FRAME_INPUT:
		return INPUT_PAYLOAD_MAX;
	case FRAME_QUERY:
		return QUERY_PAYLOAD_MAX;
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
	case FRAME_RELAY_ANSWER:
		return RELAY_HEAD_MAX;
	case FRAME_RELAY_DATA:
		return RELAY_DATA_MAX;
	case FRAME_RELAY_END:
		return SMALL_PAYLOAD_MAX;
	default:
		return -1;
	}
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
