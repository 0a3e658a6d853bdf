#include "base/parse.h"

#include <errno.h>
#include <strings.h>

static int parse_digits(const char **s, uint64_t *ret)
{
	uint64_t value = 0;
	const char *p = *s;
	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			return -ERANGE;
	*s = p;
	*ret = value;
	return 0;
}

int parse_u64(const char *s, uint64_t *ret)
{
	uint64_t value;
	int r = parse_digits(&s, &value);
	if (r < 0)
		return r;
	if (*s)
		return -EINVAL;
	*ret = value;
	return 0;
}

int parse_size(const char *s, uint64_t *ret)
{
	static const char units[] = "bkmg";
	uint64_t value;
	int r = parse_digits(&s, &value);
	if (r < 0)
		return r;
	if (*s) {
		const char *unit = strchr(units, *s | 0x20);
		if (!unit || s[1])
			return -EINVAL;
		unsigned shift = 10u * (unsigned)(unit - units);
		if (value > UINT64_MAX >> shift)
			return -ERANGE;
		value <<= shift;
	}
	*ret = value;
	return 0;
}

int parse_decimal(const char *s, double *ret)
{
	uint64_t whole, digits = 0;
	double scale = 1;
	int r = parse_digits(&s, &whole);
	if (r < 0)
		return r;
	if (*s == '.') {
		const char *start = ++s;
		r = parse_digits(&s, &digits);
		if (r < 0)
			return r;
		for (; start < s; start++)
			scale *= 10;
	}
	if (*s)
		return -EINVAL;
	*ret = (double)whole + (double)digits / scale;
	return 0;
}

int parse_bool(const char *s, bool *ret)
{
	static const char *const yes[] = { "true", "yes", "on", "1" };
	static const char *const no[] = { "false", "no", "off", "0" };
	for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
		if (strcasecmp(s, yes[i]) == 0 || strcasecmp(s, no[i]) == 0) {
			*ret = strcasecmp(s, yes[i]) == 0;
			return 0;
		}
	}
	return -EINVAL;
}
