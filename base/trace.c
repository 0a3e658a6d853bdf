#include "base/trace.h"

#define HEX "0123456789abcdef"

static bool is_hex(const char *text, size_t n)
{
	return strspn(text, HEX) >= n;
}

static bool is_zero(const char *text, size_t n)
{
	return strspn(text, "0") >= n;
}

bool trace_is_valid(const char *t)
{
	if (strlen(t) != TRACE_CHARS || memcmp(t, "00-", 3) != 0 || t[35] != '-' || t[52] != '-')
		return false;
	return is_hex(t + 3, 32) && !is_zero(t + 3, 32) && is_hex(t + 36, 16) && !is_zero(t + 36, 16) &&
	       is_hex(t + 53, 2);
}
