/* Pictures for tests: small ones of each kind, and a PNG of any size. */
#ifndef HUSK_TESTS_UNIT_PICTURES_H
#define HUSK_TESTS_UNIT_PICTURES_H

#include "base/base64.h"
#include "base/buf.h"
#include "mcp/image.h"

/* 3 x 2 pixels. */
#define PNG_32                                                                                                         \
	"iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAIAAAASFvFNAAAAFUlEQVR4nGM8wcXFwMDAwMDAxAADABByAOAp6i43AAAAAElFTkSuQmCC"
#define GIF_32 "R0lGODdhAwACAIEAAMgKCgAAAAAAAAAAACwAAAAAAwACAAAIBgABCBwYEAA7"
#define WEBP_32 "UklGRjwAAABXRUJQVlA4IDAAAADQAQCdASoDAAIAAUAmJaACdLoB+AADsAD+9hNf/izkYjs83/4E78Cd+BO/8AAAAAA="
#define WEBP_LOSSLESS_32 "UklGRh4AAABXRUJQVlA4TBEAAAAvAkAAAAdQhSJXof+BiOh/AAA="
#define JPEG_32                                                                                                                    \
	"/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAKBueIx4ZKCMgoy0qqC+8P//8Nzc8P//////////////////////////////////////////////////////////" \
	"2wBDAaq0tPDS8P//////////////////////////////////////////////////////////////////////////////wAARCAACAAMDASIAAhEBAxEB/"    \
	"8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2Jy"  \
	"ggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5us"   \
	"LDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/8QAHwEAAwEBAQEBAQEBAQAAAAAAAAECAwQFBgcICQoL/8QAtREAAgECBAQDBAcFBA"     \
	"QAAQJ3AAECAxEEBSExBhJBUQdhcRMiMoEIFEKRobHBCSMzUvAVYnLRChYkNOEl8RcYGRomJygpKjU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpan"     \
	"N0dXZ3eHl6goOEhYaHiImKkpOUlZaXmJmaoqOkpaanqKmqsrO0tba3uLm6wsPExcbHyMnK0tPU1dbX2Nna4uPk5ebn6Onq8vP09fb3+Pn6/9oADAMBAAI"    \
	"RAxEAPwBlFFFSaH//2Q=="

/* A PNG of about this many bytes, as base64. A chunk that viewers ignore fills it up. The caller owns it. */
static inline char *png_of_size(size_t bytes)
{
	struct buf png = { 0 }, text = { 0 };
	base64_decode(PNG_32, strlen(PNG_32), &png);
	size_t fill = bytes > png.len + 12 ? bytes - png.len - 12 : 1, end = png.len - 12;
	uint8_t *chunk = calloc(1, fill + 12);
	chunk[0] = (uint8_t)(fill >> 24), chunk[1] = (uint8_t)(fill >> 16), chunk[2] = (uint8_t)(fill >> 8);
	chunk[3] = (uint8_t)fill;
	memcpy(chunk + 4, "huSk", 4);
	uint32_t crc = image_crc(chunk + 4, fill + 4);
	for (int i = 0; i < 4; i++)
		chunk[8 + fill + (size_t)i] = (uint8_t)(crc >> (24 - 8 * i));
	struct buf whole = { 0 };
	buf_add(&whole, png.data, end);
	buf_add(&whole, chunk, fill + 12);
	buf_add(&whole, png.data + end, 12);
	base64_encode(whole.data, whole.len, &text);
	free(chunk);
	buf_release(&png);
	buf_release(&whole);
	return buf_steal_str(&text);
}

#endif
