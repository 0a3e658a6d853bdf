#include "manager/deps/upstream.h"

#include <ctype.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "base/percent.h"

#define BLANKS " \t\r\n"

/* A parsed URL; everything is borrowed from its text. */
struct url {
	const char *scheme, *login, *host, *rest; /* login NULL = none */
	size_t scheme_len, login_len, host_len;	  /* host: with its port */
	size_t rest_len;
};

static bool url_split(const char *text, size_t n, struct url *ret)
{
	const char *slashes = memmem(text, n, "://", 3), *end = text + n;
	if (!slashes)
		return false;
	const char *authority = slashes + 3, *stop = authority, *at = NULL;
	for (; stop < end && !strchr("/?#", *stop); stop++)
		if (*stop == '@')
			at = stop;
	*ret = (struct url){
		.scheme = text,
		.scheme_len = (size_t)(slashes - text),
		.login = at ? authority : NULL,
		.login_len = at ? (size_t)(at - authority) : 0,
		.host = at ? at + 1 : authority,
		.rest = stop,
		.rest_len = (size_t)(end - stop),
	};
	ret->host_len = (size_t)(stop - ret->host);
	return true;
}

static bool is_http(const struct url *u)
{
	return (u->scheme_len == 4 && strncasecmp(u->scheme, "http", 4) == 0) ||
	       (u->scheme_len == 5 && strncasecmp(u->scheme, "https", 5) == 0);
}

/* NULL if the URL's host is not valid. */
static char *origin_of(const struct url *u)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789.-_:[]";
	AUTO(freep) char *host = xstrndup(u->host, u->host_len);
	const char *standard = u->scheme_len == 5 ? ":443" : ":80";
	for (char *c = host; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	size_t len = strlen(host), tail = strlen(standard);
	if (!len || len != u->host_len || strspn(host, allowed) != len || *host == ':')
		return NULL;
	if (len > tail && streq(host + len - tail, standard))
		host[len - tail] = '\0';
	return xasprintf("%s://%s", u->scheme_len == 5 ? "https" : "http", host);
}

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
static size_t given_length(const struct upstream *u, const char *path, size_t n)
{
	for (size_t i = 0; u && i < u->raw.n; i++) {
		size_t len = strlen(u->raw.v[i]);
		if (len <= n && memcmp(path, u->raw.v[i], len) == 0)
			return len;
	}
	return 0;
}

char *upstream_path(const struct upstream *u, const char *target)
{
	size_t n = strcspn(target, "?#"), given = given_length(u, target, n);
	if (*target != '/' || !is_plain(target + given, n - given))
		return NULL;
	AUTO(freep) char *path = percent_decode(target, n);
	return has_dot_segment(path) ? NULL : take_ptr(path);
}

bool upstream_covers(const struct upstream *u, const char *path)
{
	for (size_t i = 0; i < u->paths.n; i++) {
		size_t n = strlen(u->paths.v[i]);
		if (strncmp(path, u->paths.v[i], n) == 0 ||
		    (strlen(path) == n - 1 && strncmp(path, u->paths.v[i], n - 1) == 0))
			return true;
	}
	return false;
}

/* --- upstreams --------------------------------------------------------------------------------------------------- */

static void wipe(char **secret)
{
	if (*secret)
		explicit_bzero(*secret, strlen(*secret));
	free(*secret);
	*secret = NULL;
}

void upstreams_release(struct upstreams *u)
{
	for (size_t i = 0; i < u->n; i++) {
		free(u->v[i].origin);
		wipe(&u->v[i].user);
		wipe(&u->v[i].password);
		strv_release(&u->v[i].paths);
		strv_release(&u->v[i].raw);
	}
	u->n = 0;
}

const struct upstream *upstreams_find(const struct upstreams *u, uint16_t port)
{
	for (size_t i = 0; i < u->n; i++)
		if (u->v[i].port == port)
			return &u->v[i];
	return NULL;
}

char *upstream_local(const struct upstream *u)
{
	return xasprintf("http://127.0.0.1:%u", u->port);
}

const char *upstream_rest(const struct upstream *u, const char *url)
{
	struct url parts;
	if (!url_split(url, strlen(url), &parts) || !is_http(&parts))
		return NULL;
	AUTO(freep) char *origin = origin_of(&parts);
	return origin && streq(origin, u->origin) ? parts.rest : NULL;
}

/* The upstream of that origin and login, created if there is none; NULL if there are too many. */
static struct upstream *find_or_add(struct upstreams *all, char **origin, char **user, char **password)
{
	for (size_t i = 0; i < all->n; i++) {
		struct upstream *u = &all->v[i];
		if (streq(u->origin, *origin) && streq(u->user, *user) && streq(u->password, *password))
			return u;
	}
	if (all->n == ARRAY_LEN(all->v))
		return NULL;
	struct upstream *u = &all->v[all->n];
	*u = (struct upstream){ .origin = take_ptr(*origin),
				.user = take_ptr(*user),
				.password = take_ptr(*password),
				.port = (uint16_t)(UPSTREAM_PORT_FIRST + all->n) };
	all->n++;
	return u;
}

/* The settings may encode characters that a request must not encode: "group%2fproject" is one name to some servers. */
static int add_path(struct upstream *u, const struct url *url)
{
	AUTO(freep) char *rest = xstrndup(url->rest, url->rest_len);
	rest[strcspn(rest, "?#")] = '\0';
	const char *first = *rest == '/' ? "" : "/", *last = !*rest || rest[strlen(rest) - 1] != '/' ? "/" : "";
	AUTO(freep) char *raw = *rest ? xasprintf("%s%s%s", first, rest, last) : xstrdup("/");
	AUTO(freep) char *path = percent_decode(raw, strlen(raw));
	if (has_dot_segment(path) || strpbrk(path, "\\;\x7f") || strcasestr(raw, "%00"))
		return -1;
	for (const char *c = path; *c; c++)
		if ((unsigned char)*c < 0x20)
			return -1;
	strv_add(&u->raw, raw);
	strv_add(&u->paths, path);
	return 0;
}

static int take_url(struct upstreams *all, struct buf *value, const char *name, const struct url *url, struct fail *f)
{
	const char *colon = memchr(url->login, ':', url->login_len);
	size_t user_len = colon ? (size_t)(colon - url->login) : url->login_len;
	AUTO(wipe) char *user = percent_decode(url->login, user_len);
	AUTO(wipe) char *password = percent_decode(colon ? colon + 1 : "", colon ? url->login_len - user_len - 1 : 0);
	AUTO(freep) char *origin = origin_of(url);
	if (!origin)
		return fail_set(f, FAIL_INVALID, "setting %s: one of its URLs has no host", name);
	struct upstream *u = find_or_add(all, &origin, &user, &password);
	if (!u)
		return fail_set(f, FAIL_INVALID, "setting %s: at most %u package indexes may have a login", name,
				RELAY_PORTS_MAX);
	if (add_path(u, url) < 0)
		return fail_set(f, FAIL_INVALID, "setting %s: the path of one of its URLs is not valid", name);
	AUTO(freep) char *local = upstream_local(u);
	buf_add_str(value, local);
	buf_add(value, url->rest, url->rest_len);
	return 0;
}

int upstreams_take(struct upstreams *ret, struct strv *env, const struct strv *sources, struct fail *f)
{
	for (size_t i = 0; i < sources->n; i++) {
		const char *source = sources->v[i], *text = strchr(source, '=') + 1;
		AUTO(freep) char *name = xstrndup(source, (size_t)(text - 1 - source));
		AUTO(buf_release) struct buf value = { 0 };
		while (*text) {
			size_t blank = strspn(text, BLANKS), n = strcspn(text + blank, BLANKS);
			struct url url;
			buf_add(&value, text, blank);
			text += blank;
			if (!url_split(text, n, &url) || !is_http(&url) || !url.login)
				buf_add(&value, text, n);
			else if (take_url(ret, &value, name, &url, f) < 0)
				return -1;
			text += n;
		}
		strv_addf(env, "%s=%s", name, buf_str(&value));
	}
	return 0;
}

void upstreams_show(const struct upstreams *u, struct buf *out, const char *text, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t hit = 0;
		for (size_t k = 0; k < u->n && !hit; k++) {
			AUTO(freep) char *local = upstream_local(&u->v[k]);
			size_t len = strlen(local);
			/* Some programs print the address without its scheme. */
			if (text[i] == '1')
				memmove(local, local + 7, (len -= 7) + 1);
			if (len > n - i || memcmp(text + i, local, len) != 0 ||
			    (i + len < n && isdigit((unsigned char)text[i + len])))
				continue;
			buf_add_str(out, text[i] == '1' ? strchr(u->v[k].origin, '/') + 2 : u->v[k].origin);
			hit = len;
		}
		if (!hit)
			buf_add(out, text + i, 1);
		i += hit ? hit : 1;
	}
}
