/* Frames of streams: connections to ports of a session. */
#include <jansson.h>

#include "kernels/item.h"
#include "manager/line/wire-private.h"
#include "manager/line/wire.h"

void wire_put_stream_open(struct buf *out, uint32_t number, uint16_t port)
{
	json_auto_t *open = json_pack("{s:i}", "port", port);
	(void)wire_put_json(out, FRAME_STREAM_OPEN, number, open);
}

void wire_put_stream_credit(struct buf *out, uint32_t number, uint32_t n)
{
	uint8_t payload[4];
	entry_put_number(payload, 4, n);
	wire_put(out, FRAME_STREAM_CREDIT, number, payload, sizeof(payload));
}

void wire_put_stream_refuse(struct buf *out, uint32_t number, const char *cause)
{
	json_auto_t *refuse = json_pack("{s:s}", "cause", cause);
	(void)wire_put_json(out, FRAME_STREAM_REFUSE, number, refuse);
}

enum wire_refusal wire_read_stream_refuse(const struct wire_frame *frame)
{
	json_auto_t *refuse = wire_json(frame);
	const char *cause = json_string_value(json_object_get(refuse, "cause"));
	if (cause && streq(cause, "limit"))
		return WIRE_REFUSAL_LIMIT;
	return cause && streq(cause, "timeout") ? WIRE_REFUSAL_TIMEOUT : WIRE_REFUSAL_REFUSED;
}
