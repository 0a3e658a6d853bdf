#include "base/percent.h"

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int percent_byte(const char *s, size_t n)
{
	if (n < 3 || s[0] != '%' || hex_value(s[1]) < 0 || hex_value(s[2]) < 0)
		return -1;
	return hex_value(s[1]) << 4 | hex_value(s[2]);
}

char *percent_decode(const char *s, size_t n)
{
	struct buf out = { 0 };
	for (size_t i = 0; i < n; i++) {
		int byte = percent_byte(s + i, n - i);
		char c = byte >= 0 ? (char)byte : s[i];
		if (byte >= 0)
			i += 2;
		if (c)
			buf_add(&out, &c, 1);
	}
	return buf_steal_str(&out);
}

void percent_encode(struct buf *to, const char *s, bool keep_slash)
{
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			     strchr("-._~", c) || (keep_slash && c == '/');
		if (plain)
			buf_add(to, s, 1);
		else
			buf_printf(to, "%%%02X", c);
	}
}
