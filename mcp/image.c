#include "mcp/image.h"

#include "base/alloc.h"
#include "base/base64.h"

/* Model APIs refuse larger ones. */
#define SIDE_MAX 8000
/* Enough of it to tell what it is, and how large. */
#define HEAD_DIGITS 64u

int image_rank(const char *type)
{
	static const char *const types[] = { "image/gif", "image/webp", "image/jpeg", "image/png" };
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (streq(type, types[i]))
			return (int)i + 1;
	return 0;
}

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static const char *sniff(const uint8_t *b, size_t n)
{
	if (n >= 24 && memcmp(b, "\x89PNG\r\n\x1a\n", 8) == 0)
		return be32(b + 16) <= SIDE_MAX && be32(b + 20) <= SIDE_MAX ? "image/png" : NULL;
	if (n >= 3 && memcmp(b, "\xff\xd8\xff", 3) == 0)
		return "image/jpeg";
	if (n >= 10 && (memcmp(b, "GIF87a", 6) == 0 || memcmp(b, "GIF89a", 6) == 0))
		return (b[6] | b[7] << 8) <= SIDE_MAX && (b[8] | b[9] << 8) <= SIDE_MAX ? "image/gif" : NULL;
	if (n >= 12 && memcmp(b, "RIFF", 4) == 0 && memcmp(b + 8, "WEBP", 4) == 0)
		return "image/webp";
	return NULL;
}

char *image_take(const char *data, size_t n, const char **ret_type, size_t *ret_bytes)
{
	AUTO(buf_release) struct buf bytes = { 0 };
	AUTO(buf_release) struct buf text = { 0 };
	/* As most come, so they go: only their beginning is looked at. */
	if (n > HEAD_DIGITS && base64_is_strict(data, n) && base64_decode(data, HEAD_DIGITS, &bytes) == 0) {
		*ret_type = sniff(bytes.data, bytes.len);
		*ret_bytes = n / 4 * 3 - (data[n - 1] == '=') - (data[n - 2] == '=');
		return *ret_type ? xstrndup(data, n) : NULL;
	}
	buf_reset(&bytes);
	if (base64_decode(data, n, &bytes) < 0)
		return NULL;
	const char *type = sniff(bytes.data, bytes.len);
	if (!type)
		return NULL;
	base64_encode(bytes.data, bytes.len, &text);
	*ret_type = type;
	*ret_bytes = bytes.len;
	return buf_steal_str(&text);
}
