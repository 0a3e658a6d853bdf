/* A command's bytes on a screen, and keys for it. An expensive feed stops early, and husk-emulator is killed if
 * even that takes too long. The screen here is small, so neither should happen. */
#include "base/alloc.h"
#include "base/utf8.h"
#include "manager/line/keys.h"
#include "manager/line/vt.h"
#include "tests/fuzz/fuzz.h"

static void check_text(char *text)
{
	CHECK(utf8_valid(text, strlen(text)) && !strchr(text, 0x1b) && !strchr(text, '\r'));
	free(text);
}

int fuzz_one(const uint8_t *data, size_t n)
{
	struct pieces pieces = pieces_of(data, n);
	struct vt *t = vt_new(6, 20);
	const uint8_t *piece;
	size_t size;
	while (pieces_next(&pieces, &piece, &size)) {
		AUTO(buf_release) struct buf typed = { 0 };
		vt_feed(t, piece, size);
		keys_type((const char *)piece, size, vt_application_keys(t) ? KEYS_APPLICATION : KEYS_TERMINAL, &typed);
		CHECK(typed.len <= 3 * size + 1);
		check_text(vt_prompt(t));
		check_text(vt_take(t));
	}
	vt_free(t);
	return 0;
}
