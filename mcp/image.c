#include "mcp/image.h"

#include "base/alloc.h"

/* Enough for every signature, and the size in a PNG's first chunk. */
#define SNIFF_BYTES 24
/* Model APIs refuse larger ones. */
#define SIDE_MAX 8000

int image_rank(const char *type)
{
	static const char *const types[] = { "image/gif", "image/webp", "image/jpeg", "image/png" };
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (streq(type, types[i]))
			return (int)i + 1;
	return 0;
}

static int sextet(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Copies what counts; returns false unless it is well-formed, padded base64. */
static bool tidy_base64(const char *data, size_t n, char *out, size_t *ret_n, size_t *ret_bytes)
{
	size_t len = 0, padding = 0;
	for (size_t i = 0; i < n; i++) {
		char c = data[i];
		if (c == '\n' || c == '\r' || c == ' ' || c == '\t')
			continue;
		if (c == '=' ? ++padding > 2 : sextet(c) < 0 || padding > 0)
			return false;
		out[len++] = c;
	}
	out[len] = '\0';
	*ret_n = len;
	*ret_bytes = len / 4 * 3 - padding;
	return len > 0 && len % 4 == 0;
}

static size_t decode_start(const char *base64, size_t n, uint8_t out[SNIFF_BYTES])
{
	size_t len = 0;
	uint32_t bits = 0;
	for (size_t i = 0; i < n && base64[i] != '=' && len < SNIFF_BYTES; i++) {
		bits = bits << 6 | (uint32_t)sextet(base64[i]);
		if (i % 4 != 0)
			out[len++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
	}
	return len;
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
	AUTO(freep) char *base64 = xmalloc(n + 1);
	uint8_t start[SNIFF_BYTES];
	size_t len, bytes;
	if (!tidy_base64(data, n, base64, &len, &bytes))
		return NULL;
	const char *type = sniff(start, decode_start(base64, len, start));
	if (!type)
		return NULL;
	*ret_type = type;
	*ret_bytes = bytes;
	return take_ptr(base64);
}

void image_decode(struct buf *out, const char *base64)
{
	uint32_t bits = 0;
	unsigned have = 0;
	for (; *base64; base64++) {
		int value = sextet(*base64);
		if (value < 0)
			continue;
		bits = bits << 6 | (uint32_t)value;
		have += 6;
		if (have >= 8) {
			have -= 8;
			buf_add(out, &(uint8_t){ (uint8_t)(bits >> have) }, 1);
		}
	}
}
