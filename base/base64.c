#include "base/base64.h"

#include <errno.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(const void *data, size_t n, struct buf *out)
{
	const uint8_t *in = data;
	uint8_t *at = buf_reserve(out, (n + 2) / 3 * 4);
	if (!at)
		return;
	for (size_t i = 0; i < n; i += 3) {
		size_t have = MIN(n - i, (size_t)3);
		uint32_t bits =
			(uint32_t)in[i] << 16 | (have > 1 ? (uint32_t)in[i + 1] << 8 : 0) | (have > 2 ? in[i + 2] : 0);
		*at++ = (uint8_t)alphabet[bits >> 18];
		*at++ = (uint8_t)alphabet[bits >> 12 & 63];
		*at++ = have > 1 ? (uint8_t)alphabet[bits >> 6 & 63] : '=';
		*at++ = have > 2 ? (uint8_t)alphabet[bits & 63] : '=';
	}
	out->len += (n + 2) / 3 * 4;
}

/* The value of a digit; -1 = white space, -2 = not a digit. */
/* clang-format off */
static const int16_t values[256] = {
	-2, -2, -2, -2, -2, -2, -2, -2, -2, -1, -1, -2, -2, -1, -2, -2,
	-2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2,
	-1, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, 62, -2, -2, -2, 63,
	52, 53, 54, 55, 56, 57, 58, 59, 60, 61, -2, -2, -2, -2, -2, -2,
	-2, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
	15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, -2, -2, -2, -2, -2,
	-2, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
	41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, -2, -2, -2, -2, -2,
	-2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2,
	-2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2,
	-2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2,
	-2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2,
	-2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2,
	-2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2,
	-2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2,
	-2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2,
};
/* clang-format on */

int base64_decode(const char *text, size_t n, struct buf *out)
{
	uint8_t *at = buf_reserve(out, n / 4 * 3 + 3);
	size_t digits = 0, padding = 0, len = 0;
	uint32_t bits = 0;
	if (!at)
		return -EINVAL;
	const uint8_t *in = (const uint8_t *)text;
	for (size_t i = 0; i < n; i++) {
		/* Decodes four digits at a time while nothing else is between them. */
		for (; !padding && digits % 4 == 0 && n - i >= 4; i += 4, digits += 4, len += 3) {
			int a = values[in[i]], b = values[in[i + 1]], c = values[in[i + 2]], d = values[in[i + 3]];
			if ((a | b | c | d) < 0)
				break;
			bits = (uint32_t)(a << 18 | b << 12 | c << 6 | d);
			at[len] = (uint8_t)(bits >> 16);
			at[len + 1] = (uint8_t)(bits >> 8);
			at[len + 2] = (uint8_t)bits;
		}
		if (i == n)
			break;
		int v = values[in[i]];
		if (v == -1)
			continue;
		if (text[i] == '=' && ++padding <= 2)
			continue;
		if (v < 0 || padding)
			return -EINVAL;
		bits = bits << 6 | (uint32_t)v;
		if (++digits % 4)
			continue;
		at[len++] = (uint8_t)(bits >> 16);
		at[len++] = (uint8_t)(bits >> 8);
		at[len++] = (uint8_t)bits;
	}
	size_t left = digits % 4;
	if (left == 1 || (padding && left + padding != 4))
		return -EINVAL;
	if (left >= 2)
		at[len++] = (uint8_t)(left == 2 ? bits >> 4 : bits >> 10);
	if (left == 3)
		at[len++] = (uint8_t)(bits >> 2);
	out->len += len;
	return 0;
}

static bool is_digits(const char *text, size_t n)
{
	int all = 0;
	for (size_t i = 0; i < n; i++)
		all |= values[(uint8_t)text[i]];
	return all >= 0;
}

bool base64_is_strict(const char *text, size_t n)
{
	AUTO(buf_release) struct buf bytes = { 0 }, again = { 0 };
	if (n % 4)
		return false;
	if (n == 0)
		return true;
	/* Only the last four digits have more than one encoding. */
	if (!is_digits(text, n - 4) || base64_decode(text + n - 4, 4, &bytes) < 0)
		return false;
	base64_encode(bytes.data, bytes.len, &again);
	return again.len == 4 && memcmp(again.data, text + n - 4, 4) == 0;
}
