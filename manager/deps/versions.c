#include "manager/deps/versions.h"

#include <ctype.h>

#include "base/defs.h"

#define LIST "(from versions: "
#define KEPT 5

/* Compares by numbers: 1.10 follows 1.9. Returns -1, 0 or 1. */
static int compare(const char *a, size_t na, const char *b, size_t nb)
{
	size_t i = 0, j = 0;
	while (i < na || j < nb) {
		uint64_t x = 0, y = 0;
		for (; i < na && isdigit((unsigned char)a[i]) && x < UINT32_MAX; i++)
			x = x * 10 + (uint64_t)(a[i] - '0');
		for (; j < nb && isdigit((unsigned char)b[j]) && y < UINT32_MAX; j++)
			y = y * 10 + (uint64_t)(b[j] - '0');
		if (x != y)
			return x < y ? -1 : 1;
		/* A letter ends the numbers; only the part before it is compared. */
		if ((i < na && a[i] != '.') || (j < nb && b[j] != '.'))
			return 0;
		i += i < na;
		j += j < nb;
	}
	return 0;
}

/* The requested version before the list: the text after the last operator. */
static const char *wanted_before(const char *text, const char *list, size_t *ret_n)
{
	const char *end = list;
	while (end > text && end[-1] == ' ')
		end--;
	const char *start = end;
	while (start > text && !strchr("=<>~! \n", start[-1]))
		start--;
	*ret_n = (size_t)(end - start);
	return start;
}

/* The next of the sorted versions; its length is 0 after the last. */
static const char *next_version(const char *p, const char *end, size_t *ret_n)
{
	while (p < end && (*p == ',' || *p == ' '))
		p++;
	const char *stop = p;
	while (stop < end && *stop != ',')
		stop++;
	*ret_n = (size_t)(stop - p);
	return p;
}

static void add_nearest(struct buf *out, const char *p, const char *end, const char *wanted, size_t wanted_n)
{
	size_t n, count = 0, below = 0;
	for (const char *v = next_version(p, end, &n); n; v = next_version(v + n, end, &n), count++)
		below += compare(v, n, wanted, wanted_n) < 0;
	size_t first = below > KEPT / 2 ? below - KEPT / 2 : 0;
	if (first + KEPT > count)
		first = count > KEPT ? count - KEPT : 0;
	size_t at = 0;
	buf_add_str(out, count > KEPT ? "(nearest versions: " : LIST);
	for (const char *v = next_version(p, end, &n); n; v = next_version(v + n, end, &n), at++) {
		if (at < first || at >= first + KEPT)
			continue;
		if (at > first)
			buf_add_str(out, ", ");
		buf_add(out, v, n);
	}
}

void versions_shorten(struct buf *out, const char *text, size_t n)
{
	const char *end = text + n;
	while (text < end) {
		const char *list = memmem(text, (size_t)(end - text), LIST, strlen(LIST));
		const char *close = list ? memchr(list, ')', (size_t)(end - list)) : NULL;
		if (!close)
			break;
		size_t wanted_n;
		const char *wanted = wanted_before(text, list, &wanted_n);
		buf_add(out, text, (size_t)(list - text));
		add_nearest(out, list + strlen(LIST), close, wanted, wanted_n);
		text = close;
	}
	buf_add(out, text, (size_t)(end - text));
}
