#include "manager/files/ignore.h"

#include "base/alloc.h"

#define RULES_MAX 2000
#define STARS_MAX 4

void ignore_cut(struct ignore *g, size_t n)
{
	while (g->n > n)
		free(g->rules[--g->n].pattern);
}

void ignore_release(struct ignore *g)
{
	ignore_cut(g, 0);
	free(g->rules);
	*g = (struct ignore){ 0 };
}

/* --- reading ------------------------------------------------------------------------------------------------------- */

static size_t count_double_stars(const char *pattern)
{
	size_t n = 0;
	for (const char *at = pattern; (at = strstr(at, "**")); at += 2)
		n++;
	return n;
}

/* Trailing spaces are ignored unless they are escaped. */
static size_t trimmed_length(const char *line, size_t n)
{
	while (n > 0 && (line[n - 1] == '\r' || (line[n - 1] == ' ' && (n < 2 || line[n - 2] != '\\'))))
		n--;
	return n;
}

static void add_line(struct ignore *g, const char *line, size_t n, size_t base)
{
	struct ignore_rule rule = { .base = base };
	n = trimmed_length(line, n);
	if (!n || *line == '#' || g->n >= RULES_MAX || memchr(line, '\0', n))
		return;
	rule.negated = *line == '!';
	line += rule.negated;
	n -= rule.negated;
	rule.folders_only = n && line[n - 1] == '/';
	n -= rule.folders_only;
	rule.anchored = memchr(line, '/', n);
	if (n && *line == '/') {
		line++;
		n--;
	}
	if (!n)
		return;
	rule.pattern = xstrndup(line, n);
	if (count_double_stars(rule.pattern) > STARS_MAX) {
		free(rule.pattern);
		return;
	}
	g->rules = xrealloc(g->rules, (g->n + 1) * sizeof(*g->rules));
	g->rules[g->n++] = rule;
}

void ignore_add(struct ignore *g, const char *text, size_t n, size_t base)
{
	for (size_t at = 0; at < n;) {
		const char *end = memchr(text + at, '\n', n - at);
		size_t length = end ? (size_t)(end - text) - at : n - at;
		add_line(g, text + at, length, base);
		at += length + 1;
	}
}

/* --- matching ------------------------------------------------------------------------------------------------------ */

/* Returns the position after the bracket, and whether the set contains c; NULL if the bracket is not closed. */
static const char *match_set(const char *p, char c, bool *ret)
{
	bool negated = *p == '!' || *p == '^', found = false;
	p += negated;
	for (bool first = true; *p && (first || *p != ']'); first = false) {
		p += *p == '\\' && p[1];
		char low = *p++, high = low;
		if (*p == '-' && p[1] && p[1] != ']') {
			p++;
			p += *p == '\\' && p[1];
			high = *p++;
		}
		found = found || (c >= low && c <= high);
	}
	*ret = found != negated;
	return *p ? p + 1 : NULL;
}

/* Matches one character of a name; NULL if it does not match. */
static const char *match_one(const char *p, char c)
{
	bool held;
	if (!c || c == '/')
		return *p == c && c ? p + 1 : NULL;
	if (*p == '?')
		return p + 1;
	if (*p == '[') {
		const char *end = match_set(p + 1, c, &held);
		return end && held ? end : NULL;
	}
	p += *p == '\\' && p[1];
	return *p == c ? p + 1 : NULL;
}

/* Only the last star backtracks, so the time is linear for most patterns. Without `**` it is at most proportional to
 * the product of both lengths. */
static bool match(const char *p, const char *text)
{
	const char *star = NULL, *back = NULL;
	for (;;) {
		if (p[0] == '*' && p[1] == '*') {
			while (*p == '*')
				p++;
			if (!*p)
				return true;
			p += *p == '/';
			for (const char *at = text;; at++) {
				if ((at == text || at[-1] == '/') && match(p, at))
					return true;
				if (!*at)
					break;
			}
			return false;
		}
		if (*p == '*') {
			star = ++p;
			back = text;
			continue;
		}
		if (!*text && !*p)
			return true;
		const char *next = *p ? match_one(p, *text) : NULL;
		if (next) {
			p = next;
			text++;
		} else if (star && *back && *back != '/') {
			p = star;
			text = ++back;
		} else {
			return false;
		}
	}
}

bool ignore_matches(const struct ignore *g, const char *path, bool is_folder)
{
	size_t length = strlen(path);
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	for (size_t i = g->n; i-- > 0;) {
		const struct ignore_rule *r = &g->rules[i];
		if ((r->folders_only && !is_folder) || r->base > length)
			continue;
		if (match(r->pattern, r->anchored ? path + r->base : name))
			return !r->negated;
	}
	return false;
}
