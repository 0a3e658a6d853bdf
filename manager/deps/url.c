#include "manager/deps/url.h"

#include <ctype.h>

#include "base/buf.h"

static int hex_value(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : isxdigit((unsigned char)c) ? (c | 0x20) - 'a' + 10 : -1;
}

char *url_decode(const char *text, size_t n)
{
	struct buf out = { 0 };
	for (size_t i = 0; i < n; i++) {
		int high = text[i] == '%' && i + 2 < n ? hex_value(text[i + 1]) : -1;
		int low = high >= 0 ? hex_value(text[i + 2]) : -1;
		char c = low >= 0 ? (char)(high << 4 | low) : text[i];
		if (low >= 0)
			i += 2;
		if (c)
			buf_add(&out, &c, 1);
	}
	return buf_steal_str(&out);
}
