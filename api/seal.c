#include "api/seal.h"

#include "base/alloc.h"

/* ADDRESS.TEXT.SIGNATURE, the first two in hexadecimal digits. */
#define PARTS 3
#define SEALED_MAX 4096

static void add_hex(struct buf *out, const char *text)
{
	for (const uint8_t *at = (const uint8_t *)text; *at; at++)
		buf_printf(out, "%02x", *at);
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The text of n hexadecimal digits; NULL if they are not valid. The caller owns it. */
static char *read_hex(const char *at, size_t n)
{
	AUTO(freep) char *text = xcalloc(n / 2 + 1, 1);
	for (size_t i = 0; i + 1 < n; i += 2) {
		int high = digit(at[i]), low = digit(at[i + 1]);
		if (high < 0 || low < 0 || (high == 0 && low == 0))
			return NULL;
		text[i / 2] = (char)(high * 16 + low);
	}
	return n % 2 ? NULL : take_ptr(text);
}

/* Finds the dots. False if the text has another form. */
static bool split(const char *sealed, const char *dots[PARTS - 1])
{
	dots[0] = strnlen(sealed, SEALED_MAX) < SEALED_MAX ? strchr(sealed, '.') : NULL;
	dots[1] = dots[0] ? strchr(dots[0] + 1, '.') : NULL;
	return dots[1];
}

static char *signed_text(const char *begin, size_t n, const char *context)
{
	return xasprintf("sealed\n%.*s\n%s", (int)n, begin, context);
}

char *seal_make(const struct api *api, const char *text, const char *context)
{
	char signature[MANAGER_SIGNATURE_SIZE];
	const char *address = api->spec.config->advertise;
	AUTO(buf_release) struct buf out = { 0 };
	if (!manager_can_sign(api->spec.manager))
		return NULL;
	add_hex(&out, address ? address : "");
	buf_add(&out, ".", 1);
	add_hex(&out, text);
	AUTO(freep) char *whole = signed_text(buf_str(&out), out.len, context);
	manager_sign(api->spec.manager, whole, signature);
	buf_printf(&out, ".%s", signature);
	return xstrdup(buf_str(&out));
}

char *seal_open(const struct api *api, const char *sealed, const char *context)
{
	const char *dots[PARTS - 1];
	if (!split(sealed, dots) || !manager_can_sign(api->spec.manager))
		return NULL;
	AUTO(freep) char *whole = signed_text(sealed, (size_t)(dots[1] - sealed), context);
	if (!manager_is_signed(api->spec.manager, whole, dots[1] + 1))
		return NULL;
	return read_hex(dots[0] + 1, (size_t)(dots[1] - dots[0] - 1));
}

char *seal_address(const char *sealed)
{
	const char *dots[PARTS - 1];
	AUTO(freep) char *address = split(sealed, dots) ? read_hex(sealed, (size_t)(dots[0] - sealed)) : NULL;
	return address && *address ? take_ptr(address) : NULL;
}

char *seal_context(const struct conversation *c, const char *key)
{
	const char *id = conversation_id(c);
	return xasprintf("%s\n%s", id ? id : "", key);
}
