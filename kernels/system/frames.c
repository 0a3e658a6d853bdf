#include "kernels/system/frames.h"

#include <errno.h>

#include "base/json.h"
#include "kernels/entry.h"

#define SMALL_PAYLOAD_MAX 4096
/* A path with every byte escaped. */
#define FILE_CALL_PAYLOAD_MAX 32768
/* An environment and certificates with every byte escaped, and the rest. */
#define CLAIM_PAYLOAD_MAX (6 * (CLAIM_ENV_MAX + CLAIM_AUTHORITY_MAX) + SMALL_PAYLOAD_MAX)
/* Text with every byte escaped, and the rest. */
#define INPUT_PAYLOAD_MAX (6 * INPUT_BYTES_MAX + SMALL_PAYLOAD_MAX)
#define QUERY_PAYLOAD_MAX (6 * QUERY_CODE_MAX + SMALL_PAYLOAD_MAX)

/* Types that a controller may send, all with a maximum above 0. A type that is missing here has 0 and is rejected. */
static const uint32_t payload_max[] = {
	[FRAME_HELLO] = SMALL_PAYLOAD_MAX,
	[FRAME_PING] = PING_PAYLOAD_MAX,
	[FRAME_CLAIM] = CLAIM_PAYLOAD_MAX,
	[FRAME_STOP] = SMALL_PAYLOAD_MAX,

	[FRAME_EXECUTE] = FRAME_PAYLOAD_MAX,
	[FRAME_TERMINAL] = FRAME_PAYLOAD_MAX,
	[FRAME_INSTALL] = FRAME_PAYLOAD_MAX,
	[FRAME_INTERRUPT] = SMALL_PAYLOAD_MAX,
	[FRAME_ACK] = SMALL_PAYLOAD_MAX,
	[FRAME_TAKE] = SMALL_PAYLOAD_MAX,
	[FRAME_INPUT] = INPUT_PAYLOAD_MAX,
	[FRAME_STATUS] = SMALL_PAYLOAD_MAX,
	[FRAME_QUERY] = QUERY_PAYLOAD_MAX,
	[FRAME_CHECKPOINT] = CHECKPOINT_BYTES_MAX,

	[FRAME_IMPORT] = FILE_CALL_PAYLOAD_MAX,
	[FRAME_EXPORT] = FILE_CALL_PAYLOAD_MAX,
	[FRAME_ENTRY] = ENTRY_FIXED + 2 * ENTRY_PATH_MAX,
	[FRAME_DATA] = 8 + FILE_DATA_MAX,
	[FRAME_DONE] = SMALL_PAYLOAD_MAX,
	[FRAME_CREDIT] = 4,

	[FRAME_FILES_LIST] = FILE_REQUEST_BYTES_MAX,
	[FRAME_FILES_STAT] = FILE_REQUEST_BYTES_MAX,
	[FRAME_FILES_DELETE] = FILE_REQUEST_BYTES_MAX,
	[FRAME_FILES_MAKE] = FILE_REQUEST_BYTES_MAX,
	[FRAME_FILES_READ] = FILE_REQUEST_BYTES_MAX,
	[FRAME_FILES_FETCH] = 16,
	[FRAME_FILES_WRITE] = FILE_REQUEST_BYTES_MAX,

	[FRAME_CONSOLE] = CONSOLE_WANTED_MAX,
	[FRAME_CONSOLE_SIZE] = SMALL_PAYLOAD_MAX,
	[FRAME_CONSOLE_DATA] = CONSOLE_DATA_MAX,
	[FRAME_CONSOLE_SIGNAL] = 1,

	[FRAME_STREAM_OPEN] = STREAM_OPEN_MAX,
	[FRAME_STREAM_ACCEPT] = SMALL_PAYLOAD_MAX,
	[FRAME_STREAM_REFUSE] = SMALL_PAYLOAD_MAX,
	[FRAME_STREAM_DATA] = STREAM_DATA_MAX,
	[FRAME_STREAM_CREDIT] = 4,
	[FRAME_STREAM_END] = SMALL_PAYLOAD_MAX,

	[FRAME_GATE] = GATE_RULES_BYTES_MAX,
};

int64_t controller_payload_max(uint8_t type)
{
	return type < ARRAY_LEN(payload_max) && payload_max[type] ? (int64_t)payload_max[type] : -1;
}

int frame_append_json(struct buf *out, uint8_t type, uint32_t call, const json_t *payload)
{
	AUTO(buf_release) struct buf text = { 0 };
	if (!payload)
		return -EMSGSIZE;
	json_print(&text, payload);
	if (text.len > FRAME_PAYLOAD_MAX)
		return -EMSGSIZE;
	return frame_append(out, type, call, text.data, text.len);
}
