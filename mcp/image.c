#include "mcp/image.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/base64.h"

/* Model APIs refuse larger pictures. */
#define SIDE_MAX 8000

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

static uint32_t le16(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static uint32_t le24(const uint8_t *p)
{
	return le16(p) | (uint32_t)p[2] << 16;
}

static uint32_t le32(const uint8_t *p)
{
	return le24(p) | (uint32_t)p[3] << 24;
}

static bool fits(uint32_t width, uint32_t height)
{
	return width >= 1 && height >= 1 && width <= SIDE_MAX && height <= SIDE_MAX;
}

/* --- PNG: chunks with checksums, from IHDR to IEND --------------------------------------------------------------- */

#define PNG_CHUNK 12 /* length, type and checksum */

/* Checksum tables, one for each of the eight bytes that are processed at a time. */
static uint32_t tables[8][256];

static void make_tables(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
		tables[0][i] = crc;
	}
	for (size_t t = 1; t < 8; t++)
		for (size_t i = 0; i < 256; i++)
			tables[t][i] = tables[t - 1][i] >> 8 ^ tables[0][tables[t - 1][i] & 255];
}

/* Used on the loop and in workers. */
uint32_t image_crc(const uint8_t *data, size_t n)
{
	static pthread_once_t made = PTHREAD_ONCE_INIT;
	const uint32_t(*t)[256] = tables;
	(void)pthread_once(&made, make_tables);
	uint32_t crc = 0xffffffff;
	for (; n >= 8; data += 8, n -= 8) {
		crc ^= le32(data);
		crc = t[7][crc & 255] ^ t[6][crc >> 8 & 255] ^ t[5][crc >> 16 & 255] ^ t[4][crc >> 24] ^ t[3][data[4]] ^
		      t[2][data[5]] ^ t[1][data[6]] ^ t[0][data[7]];
	}
	for (; n; data++, n--)
		crc = crc >> 8 ^ t[0][(crc ^ *data) & 255];
	return ~crc;
}

static bool is_header(const uint8_t *d)
{
	static const char depths[][6] = {
		[0] = "\1\2\4\10\20", [2] = "\10\20", [3] = "\1\2\4\10", [4] = "\10\20", [6] = "\10\20"
	};
	uint8_t depth = d[8], color = d[9];
	return fits(be32(d), be32(d + 4)) && color <= 6 && depth && strchr(depths[color], depth) && !d[10] && !d[11] &&
	       d[12] <= 1;
}

static bool is_png(const uint8_t *b, size_t n)
{
	bool pixels = false, colors = false;
	for (size_t at = 8; n - at >= PNG_CHUNK;) {
		const uint8_t *chunk = b + at;
		size_t length = be32(chunk);
		if (length > n - at - PNG_CHUNK || image_crc(chunk + 4, length + 4) != be32(chunk + 8 + length))
			return false;
		const char *type = (const char *)chunk + 4;
		bool first = at == 8;
		if (first != (memcmp(type, "IHDR", 4) == 0) || (first && (length != 13 || !is_header(chunk + 8))))
			return false;
		colors |= memcmp(type, "PLTE", 4) == 0;
		pixels |= memcmp(type, "IDAT", 4) == 0 && length > 0;
		at += PNG_CHUNK + length;
		if (memcmp(type, "IEND", 4) == 0)
			return length == 0 && at == n && pixels && (colors || b[25] != 3);
	}
	return false;
}

/* --- JPEG: segments, and pixels between them, from SOI to EOI ----------------------------------------------------- */

static bool is_frame_header(uint8_t marker)
{
	return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

/* Skips the pixels that begin at `at`: finds the next marker that is neither a stuffed byte nor a restart. */
static size_t skip_scan(const uint8_t *b, size_t n, size_t at)
{
	while (at + 1 < n && !(b[at] == 0xff && b[at + 1] != 0 && (b[at + 1] < 0xd0 || b[at + 1] > 0xd7)))
		at++;
	return at;
}

static bool is_jpeg(const uint8_t *b, size_t n)
{
	bool frame = false, scan = false;
	for (size_t at = 2; at + 2 <= n;) {
		uint8_t marker = b[at + 1];
		if (b[at] != 0xff)
			return false;
		if (marker == 0xff) { /* fill byte */
			at++;
			continue;
		}
		if (marker == 0xd9)
			return frame && scan && at + 2 == n;
		size_t length = at + 4 <= n ? (size_t)b[at + 2] << 8 | b[at + 3] : 0;
		if (marker < 0xc0 || (marker >= 0xd0 && marker <= 0xd8) || length < 2 || length > n - at - 2)
			return false;
		if (is_frame_header(marker)) {
			const uint8_t *d = b + at + 4;
			if (frame || length < 8 || !fits((uint32_t)d[3] << 8 | d[4], (uint32_t)d[1] << 8 | d[2]))
				return false;
			frame = true;
		}
		at += 2 + length;
		if (marker == 0xda) {
			scan = true;
			at = skip_scan(b, n, at);
		}
	}
	return false;
}

/* --- GIF: blocks of sub-blocks, to the trailer -------------------------------------------------------------------- */

/* Skips the sub-blocks at `at`; 0 if they do not end. */
static size_t skip_blocks(const uint8_t *b, size_t n, size_t at)
{
	while (at < n && b[at])
		at += 1u + b[at];
	return at < n ? at + 1 : 0;
}

static size_t table_size(uint8_t flags)
{
	return flags & 0x80 ? 3u << ((flags & 7) + 1) : 0;
}

static bool is_gif(const uint8_t *b, size_t n)
{
	bool image = false;
	if (n < 14 || !fits(le16(b + 6), le16(b + 8)))
		return false;
	for (size_t at = 13 + table_size(b[10]); at && at < n;) {
		if (b[at] == 0x3b)
			return image && at + 1 == n;
		if (b[at] == 0x21) {
			at = skip_blocks(b, n, at + 2);
		} else if (b[at] == 0x2c && at + 10 < n) {
			if (!fits(le16(b + at + 5), le16(b + at + 7)))
				return false;
			size_t code = at + 10 + table_size(b[at + 9]);
			if (code + 1 >= n || b[code] < 1 || b[code] > 11 || !b[code + 1])
				return false;
			at = skip_blocks(b, n, code + 1);
			image = true;
		} else {
			return false;
		}
	}
	return false;
}

/* --- WebP: chunks of a RIFF file ---------------------------------------------------------------------------------- */

/* 1 if the chunk has pixels, 0 if not, -1 if it is malformed. */
static int check_webp_chunk(const uint8_t *type, const uint8_t *d, size_t length)
{
	if (memcmp(type, "VP8X", 4) == 0)
		return length >= 10 && fits(le24(d + 4) + 1, le24(d + 7) + 1) ? 0 : -1;
	if (memcmp(type, "VP8L", 4) == 0) {
		if (length < 6 || d[0] != 0x2f)
			return -1;
		uint32_t bits = le32(d + 1);
		return fits((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1) ? 1 : -1;
	}
	if (memcmp(type, "VP8 ", 4) == 0)
		return length > 10 && !(d[0] & 1) && memcmp(d + 3, "\x9d\x01\x2a", 3) == 0 &&
				       fits(le16(d + 6) & 0x3fff, le16(d + 8) & 0x3fff) ?
			       1 :
			       -1;
	if (memcmp(type, "ANMF", 4) == 0)
		return length > 24 && fits(le24(d + 6) + 1, le24(d + 9) + 1) ? 1 : -1;
	return 0;
}

static bool is_webp(const uint8_t *b, size_t n)
{
	bool pixels = false;
	size_t at = 12;
	if (n < 20 || le32(b + 4) != n - 8)
		return false;
	while (n - at >= 8) {
		size_t length = le32(b + at + 4);
		if (length > n - at - 8)
			return false;
		int r = check_webp_chunk(b + at, b + at + 8, length);
		if (r < 0)
			return false;
		pixels |= r > 0;
		at += 8 + length;
		at += length & 1 && at < n;
	}
	return at == n && pixels;
}

/* Returns the type of the picture if the bytes are exactly one complete picture, otherwise NULL. */
static const char *check(const uint8_t *b, size_t n)
{
	if (n > 8 && memcmp(b, "\x89PNG\r\n\x1a\n", 8) == 0)
		return is_png(b, n) ? "image/png" : NULL;
	if (n > 3 && memcmp(b, "\xff\xd8\xff", 3) == 0)
		return is_jpeg(b, n) ? "image/jpeg" : NULL;
	if (n > 6 && (memcmp(b, "GIF87a", 6) == 0 || memcmp(b, "GIF89a", 6) == 0))
		return is_gif(b, n) ? "image/gif" : NULL;
	if (n > 12 && memcmp(b, "RIFF", 4) == 0 && memcmp(b + 8, "WEBP", 4) == 0)
		return is_webp(b, n) ? "image/webp" : NULL;
	return NULL;
}

char *image_take(const char *data, size_t n, const char **ret_type, size_t *ret_bytes)
{
	AUTO(buf_release) struct buf bytes = { 0 };
	AUTO(buf_release) struct buf text = { 0 };
	if (base64_decode(data, n, &bytes) < 0)
		return NULL;
	const char *type = check(bytes.data, bytes.len);
	if (!type)
		return NULL;
	*ret_type = type;
	*ret_bytes = bytes.len;
	/* Most pictures already have the right form of base64. */
	if (base64_is_strict(data, n))
		return xstrndup(data, n);
	base64_encode(bytes.data, bytes.len, &text);
	return buf_steal_str(&text);
}
