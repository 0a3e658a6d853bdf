#include "manager/line/emulator-draw.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "manager/line/emulator-protocol.h"

static void add_text(struct buf *out, uint8_t type, uint32_t call, const char *text, size_t max)
{
	size_t n = strlen(text);
	if (n > max)
		n = max - utf8_partial_end(text, max);
	frame_append(out, type, call, text, n);
}

void emulator_draw(struct vt *t, const struct frame *feed, struct buf *out)
{
	vt_leave_out(t, feed->header.call);
	vt_feed(t, feed->payload, feed->header.length);
	AUTO(freep) char *text = vt_take(t), *prompt = vt_prompt(t);
	add_text(out, EMULATOR_TEXT, 0, text, EMULATOR_TEXT_MAX);
	add_text(out, EMULATOR_STATE, vt_application_keys(t) ? EMULATOR_APPLICATION_KEYS : EMULATOR_CURSOR_KEYS, prompt,
		 EMULATOR_PROMPT_MAX);
}
