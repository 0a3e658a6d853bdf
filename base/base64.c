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
static int value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+' || c == '/')
		return c == '+' ? 62 : 63;
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' ? -1 : -2;
}

int base64_decode(const char *text, size_t n, struct buf *out)
{
	uint8_t *at = buf_reserve(out, n / 4 * 3 + 3);
	size_t digits = 0, padding = 0, len = 0;
	uint32_t bits = 0;
	if (!at)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		int v = value_of(text[i]);
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
	static bool digits[256];
	if (!digits['A'])
		for (size_t i = 0; i < 64; i++)
			digits[(uint8_t)alphabet[i]] = true;
	bool all = true;
	for (size_t i = 0; i < n; i++)
		all &= digits[(uint8_t)text[i]];
	return all;
}

bool base64_is_strict(const char *text, size_t n)
{
	AUTO(buf_release) struct buf bytes = { 0 }, again = { 0 };
	if (n % 4)
		return false;
	if (n == 0)
		return true;
	/* Only the last four digits can be written in more ways than one. */
	if (!is_digits(text, n - 4) || base64_decode(text + n - 4, 4, &bytes) < 0)
		return false;
	base64_encode(bytes.data, bytes.len, &again);
	return again.len == 4 && memcmp(again.data, text + n - 4, 4) == 0;
}
