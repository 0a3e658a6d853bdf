#include "cli/repl/picture.h"

#include "base/base64.h"

/* Bytes of base64 in one sequence of kitty's protocol. */
#define CHUNK 4096

static void kitty(struct buf *out, const char *text, size_t n)
{
	for (size_t at = 0; at < n; at += CHUNK) {
		size_t length = MIN(n - at, CHUNK);
		buf_printf(out, "\033_G%sm=%d;", at ? "" : "a=T,f=100,q=2,", at + length < n);
		buf_add(out, text + at, length);
		buf_add_str(out, "\033\\");
	}
}

static void iterm(struct buf *out, const char *text, size_t n, size_t bytes)
{
	buf_printf(out, "\033]1337;File=inline=1;size=%zu;preserveAspectRatio=1:", bytes);
	buf_add(out, text, n);
	buf_add_str(out, "\007");
}

bool picture_inline(struct buf *out, enum pictures how, const char *type, const void *data, size_t n)
{
	AUTO(buf_release) struct buf text = { 0 };
	bool png = streq(type, "image/png");
	if (n == 0 || (how == PICTURES_KITTY ? !png : how != PICTURES_ITERM || streq(type, "image/svg+xml")))
		return false;
	base64_encode(data, n, &text);
	if (how == PICTURES_KITTY)
		kitty(out, (const char *)text.data, text.len);
	else
		iterm(out, (const char *)text.data, text.len, n);
	buf_add_str(out, "\n");
	return true;
}
