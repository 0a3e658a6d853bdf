#include "manager/gate/login.h"

#include <errno.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/percent.h"

/* --- paths ------------------------------------------------------------------------------------------------------- */

static bool has_dot_segment(const char *path)
{
	for (const char *s = path; *s;) {
		size_t n = strcspn(s, "/");
		if ((n == 1 && s[0] == '.') || (n == 2 && s[0] == '.' && s[1] == '.'))
			return true;
		s += n + (s[n] == '/');
	}
	return false;
}

/* False for separators, and for characters with a special meaning if a server decodes twice. */
static bool may_be_encoded(char c)
{
	return (unsigned char)c >= 0x20 && c != 0x7f && !strchr("./\\;%?#", c);
}

/* "@scope%2fname", as npm writes it: the only slash that may be encoded. */
static size_t scope_length(const char *s, size_t n)
{
	static const char name[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_~";
	size_t scope = *s == '@' ? 1 + strspn(s + 1, name) : 0;
	return scope > 1 && scope + 3 < n && strncasecmp(s + scope, "%2f", 3) == 0 && strchr(name, s[scope + 3]) ?
		       scope + 3 :
		       0;
}

static bool is_plain(const char *path, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (i && path[i - 1] == '/')
			i += scope_length(path + i, n - i);
		if (path[i] == '%') {
			int c = percent_byte(path + i, n - i);
			if (c <= 0 || !may_be_encoded((char)c))
				return false;
			i += 2;
		} else if ((unsigned char)path[i] <= 0x20 || strchr("\\;\x7f", path[i])) {
			return false;
		}
	}
	return true;
}

/* Length of the part of the path that comes from the settings. */
static size_t given_length(const struct gate_secret *s, const char *path, size_t n)
{
	for (size_t i = 0; i < s->raw.n; i++) {
		size_t len = strlen(s->raw.v[i]);
		if (len <= n && memcmp(path, s->raw.v[i], len) == 0)
			return len;
	}
	return 0;
}

char *login_path(const struct gate_secret *s, const char *target)
{
	size_t n = strcspn(target, "?#"), given = given_length(s, target, n);
	if (*target != '/' || !is_plain(target + given, n - given))
		return NULL;
	AUTO(freep) char *path = percent_decode(target, n);
	return has_dot_segment(path) ? NULL : take_ptr(path);
}

bool login_covers(const struct gate_secret *s, const char *path)
{
	for (size_t i = 0; i < s->paths.n; i++) {
		size_t n = strlen(s->paths.v[i]);
		if (strncmp(path, s->paths.v[i], n) == 0 ||
		    (strlen(path) == n - 1 && strncmp(path, s->paths.v[i], n - 1) == 0))
			return true;
	}
	return false;
}

/* The settings may encode characters that a request must not encode: "group%2fproject" is one name to some servers. */
static int add_one(struct gate_secret *s, const char *raw)
{
	AUTO(freep) char *path = percent_decode(raw, strlen(raw));
	if (has_dot_segment(path) || strpbrk(path, "\\;\x7f") || strcasestr(raw, "%00"))
		return -EINVAL;
	for (const char *c = path; *c; c++)
		if ((unsigned char)*c < 0x20)
			return -EINVAL;
	strv_add(&s->raw, raw);
	strv_add(&s->paths, path);
	return 0;
}

/* Length of the last folder's name in "/a/b/", with its slash. */
static size_t last_length(const char *path)
{
	size_t n = strlen(path), at = n - 1;
	while (at > 0 && path[at - 1] != '/')
		at--;
	return n - at;
}

int login_add_path(struct gate_secret *s, const char *rest, size_t n)
{
	AUTO(freep) char *given = xstrndup(rest, n);
	given[strcspn(given, "?#")] = '\0';
	const char *first = *given == '/' ? "" : "/", *last = !*given || given[strlen(given) - 1] != '/' ? "/" : "";
	AUTO(freep) char *raw = *given ? xasprintf("%s%s%s", first, given, last) : xstrdup("/");
	size_t tail = last_length(raw);
	const char *name = raw + strlen(raw) - tail;
	int r = add_one(s, raw);
	if (r < 0 || (!streq(name, "simple/") && !streq(name, "+simple/")))
		return r;
	AUTO(freep) char *above = xstrndup(raw, strlen(raw) - tail);
	if (!streq(above, "/"))
		return add_one(s, above);
	(void)add_one(s, "/packages/");
	return add_one(s, "/files/");
}

/* --- requests ---------------------------------------------------------------------------------------------------- */

bool login_guards(const struct secret_set *set, const char *host, uint16_t port)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->v[i].paths.n && gate_secret_is_for(&set->v[i], host, port))
			return true;
	return false;
}

struct gate_secret *login_for(const struct secret_set *set, const char *host, uint16_t port, const char *target)
{
	for (size_t i = 0; i < set->n; i++) {
		struct gate_secret *s = &set->v[i];
		if (!s->paths.n || !gate_secret_is_for(s, host, port))
			continue;
		AUTO(freep) char *path = login_path(s, target);
		if (path && login_covers(s, path))
			return s;
	}
	return NULL;
}

static bool is_in(const char *field, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (streq(field, list[i]))
			return true;
	return false;
}

bool login_passes_up(const char *field)
{
	static const char *const passed[] = { "accept",	       "accept-encoding",   "host",	 "range",
					      "if-none-match", "if-modified-since", "user-agent" };
	return is_in(field, passed, ARRAY_LEN(passed));
}

bool login_passes_down(const char *field)
{
	static const char *const passed[] = { "accept-ranges",
					      "cache-control",
					      "connection",
					      "content-encoding",
					      "content-length",
					      "content-range",
					      "content-type",
					      "date",
					      "etag",
					      "last-modified",
					      "location",
					      "retry-after",
					      "transfer-encoding",
					      "vary" };
	return is_in(field, passed, ARRAY_LEN(passed));
}
