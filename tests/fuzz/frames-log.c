#include "tests/fuzz/frames-log.h"

#include "manager/line/wire.h"

bool frames_log_is_valid(const struct buf *log, uint32_t run)
{
	AUTO(wire_release) struct wire wire = { 0 };
	struct wire_frame frame = { 0 };
	unsigned ends = 0;
	int r;
	wire_feed(&wire, log->data, log->len);
	while ((r = wire_next(&wire, &frame)) > 0) {
		if (frame.call != run || ends)
			return false;
		ends += frame.type == FRAME_END;
	}
	return r == 0 && wire.reader.used == log->len && ends == 1;
}
