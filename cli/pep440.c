#include "cli/pep440.h"

#include <ctype.h>

#include "base/alloc.h"

#define PARTS_MAX 16
#define DIGITS_MAX 18
#define LATE_PATCH 99
#define BLANKS " \t\r\n"

struct version {
	uint64_t epoch, release[PARTS_MAX];
	size_t n;	   /* parts of the release */
	int pre;	   /* 'a', 'b' or 'r'; 0 = none */
	uint64_t pre_n;	   /* number of the pre-release */
	int64_t post, dev; /* -1 = none */
	const char *local; /* in the text; NULL = none */
	size_t local_n;
	bool wildcard; /* ends in ".*" */
};

/* --- reading ------------------------------------------------------------------------------------------------------- */

static bool take_number(const char **p, uint64_t *ret)
{
	size_t n = strspn(*p, "0123456789");
	*ret = 0;
	if (!n || n > DIGITS_MAX)
		return false;
	for (size_t i = 0; i < n; i++)
		*ret = *ret * 10 + (uint64_t)((*p)[i] - '0');
	*p += n;
	return true;
}

/* Takes one of the words, with an optional separator before and after it, then a number, which is 0 if it is missing.
 * Returns the word's index; -1 without moving *p if there is no such word, -2 if the number is too large. */
static int take_suffix(const char **p, const char *const *words, uint64_t *ret)
{
	const char *at = *p + (**p && strchr(".-_", **p));
	for (int i = 0; words[i]; i++) {
		size_t n = strlen(words[i]);
		if (strncasecmp(at, words[i], n) != 0)
			continue;
		at += n;
		at += *at && strchr(".-_", *at);
		*ret = 0;
		if (isdigit((unsigned char)*at) && !take_number(&at, ret))
			return -2;
		*p = at;
		return i;
	}
	return -1;
}

static bool take_release(const char **p, struct version *v)
{
	for (;;) {
		if (v->n == PARTS_MAX || !take_number(p, &v->release[v->n++]))
			return false;
		if (**p != '.' || !isdigit((unsigned char)(*p)[1]))
			return true;
		++*p;
	}
}

static bool take_suffixes(const char **p, struct version *v)
{
	static const char *const pre[] = { "alpha", "a", "beta", "b", "preview", "pre", "c", "rc", NULL };
	static const char kinds[] = "aabbrrrr";
	static const char *const post[] = { "post", "rev", "r", NULL }, *const dev[] = { "dev", NULL };
	uint64_t number;
	int kind = take_suffix(p, pre, &v->pre_n);
	v->pre = kind >= 0 ? kinds[kind] : 0;
	int later;
	if (**p == '-' && isdigit((unsigned char)(*p)[1])) {
		++*p;
		later = take_number(p, &number) ? 0 : -2;
	} else {
		later = take_suffix(p, post, &number);
	}
	v->post = later >= 0 ? (int64_t)number : -1;
	int early = take_suffix(p, dev, &number);
	v->dev = early >= 0 ? (int64_t)number : -1;
	return kind != -2 && later != -2 && early != -2;
}

static bool take_local(const char **p, struct version *v)
{
	v->local = ++*p;
	for (;;) {
		size_t n = 0;
		while (isalnum((unsigned char)(*p)[n]))
			n++;
		if (!n)
			return false;
		*p += n;
		if (!**p || !strchr(".-_", **p))
			break;
		++*p;
	}
	v->local_n = (size_t)(*p - v->local);
	return true;
}

static bool read_version(const char *text, struct version *ret)
{
	struct version v = { .post = -1, .dev = -1 };
	const char *p = text + strspn(text, BLANKS);
	p += *p == 'v' || *p == 'V';
	const char *bang = p + strspn(p, "0123456789");
	if (*bang == '!' && (!take_number(&p, &v.epoch) || *p++ != '!'))
		return false;
	if (!take_release(&p, &v))
		return false;
	v.wildcard = strncmp(p, ".*", 2) == 0;
	if (v.wildcard)
		p += 2;
	else if (!take_suffixes(&p, &v) || (*p == '+' && !take_local(&p, &v)))
		return false;
	if (p[strspn(p, BLANKS)])
		return false;
	*ret = v;
	return true;
}

/* --- comparing ----------------------------------------------------------------------------------------------------- */

static int order(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

/* Compares the epochs and the first n parts; a missing part counts as 0. */
static int order_releases(const struct version *a, const struct version *b, size_t n)
{
	int r = order((int64_t)a->epoch, (int64_t)b->epoch);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = order(i < a->n ? (int64_t)a->release[i] : 0, i < b->n ? (int64_t)b->release[i] : 0);
	return r;
}

static int order_bases(const struct version *a, const struct version *b)
{
	return order_releases(a, b, PARTS_MAX);
}

/* 1.0.dev1 is before 1.0a1, which is before 1.0. */
static int pre_rank(const struct version *v)
{
	if (v->pre)
		return v->pre;
	return v->post < 0 && v->dev >= 0 ? 0 : 'z';
}

/* Ignores local versions: no operator orders by them. */
static int order_versions(const struct version *a, const struct version *b)
{
	int r = order_bases(a, b);
	r = r ? r : order(pre_rank(a), pre_rank(b));
	r = r ? r : order((int64_t)a->pre_n, (int64_t)b->pre_n);
	r = r ? r : order(a->post, b->post);
	return r ? r : order(a->dev < 0 ? INT64_MAX : a->dev, b->dev < 0 ? INT64_MAX : b->dev);
}

/* Ignores the case of letters, and treats all separators alike. */
static bool same_local(const struct version *a, const struct version *b)
{
	if (a->local_n != b->local_n)
		return false;
	for (size_t i = 0; i < a->local_n; i++) {
		bool mark = !isalnum((unsigned char)a->local[i]) && !isalnum((unsigned char)b->local[i]);
		if (!mark && tolower((unsigned char)a->local[i]) != tolower((unsigned char)b->local[i]))
			return false;
	}
	return true;
}

static bool equal(const struct version *have, const struct version *want)
{
	if (want->wildcard)
		return order_releases(have, want, want->n) == 0;
	return order_versions(have, want) == 0 && (!want->local || same_local(have, want));
}

static bool before(const struct version *have, const struct version *want)
{
	bool early = have->pre || have->dev >= 0, want_early = want->pre || want->dev >= 0;
	return order_versions(have, want) < 0 && (want_early || !early || order_bases(have, want) != 0);
}

static bool after(const struct version *have, const struct version *want)
{
	bool later = (have->post >= 0 && want->post < 0) || have->local;
	return order_versions(have, want) > 0 && (!later || order_bases(have, want) != 0);
}

static bool compatible(const struct version *have, const struct version *want)
{
	return order_versions(have, want) >= 0 && order_releases(have, want, want->n - 1) == 0;
}

/* "===": the same text apart from upper and lower case; -1 if the limit is more than one word. */
static int same_text(const char *version, const char *limit)
{
	const char *start = limit + strspn(limit, BLANKS);
	size_t n = strcspn(start, BLANKS ";)");
	if (start[n + strspn(start + n, BLANKS)])
		return -1;
	return strlen(version) == n && strncasecmp(version, start, n) == 0;
}

int pep440_meets(const char *version, const char *op, const char *limit)
{
	struct version have, want;
	bool equality = streq(op, "==") || streq(op, "!="), known = read_version(version, &have) && !have.wildcard;
	if (streq(op, "==="))
		return same_text(version, limit);
	if (!read_version(limit, &want) || (!equality && (want.wildcard || want.local)))
		return -1;
	if (streq(op, "=="))
		return known && equal(&have, &want);
	if (streq(op, "!="))
		return known && !equal(&have, &want);
	if (streq(op, "<"))
		return known && before(&have, &want);
	if (streq(op, ">"))
		return known && after(&have, &want);
	if (streq(op, "<="))
		return known && order_versions(&have, &want) <= 0;
	if (streq(op, ">="))
		return known && order_versions(&have, &want) >= 0;
	if (streq(op, "~=") && want.n >= 2)
		return known && compatible(&have, &want);
	return -1;
}

void pep440_patches(const char *minor, const char *limit, char ret[PEP440_PATCHES][PEP440_PATCH_MAX])
{
	struct version v;
	uint64_t patch = read_version(limit, &v) && v.n > 2 ? v.release[2] : 0;
	snprintf(ret[0], PEP440_PATCH_MAX, "%.16s.0", minor);
	snprintf(ret[1], PEP440_PATCH_MAX, "%.16s.%d", minor, LATE_PATCH);
	snprintf(ret[2], PEP440_PATCH_MAX, "%.16s.%llu", minor, (unsigned long long)patch);
}
