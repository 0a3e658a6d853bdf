#include "api/port-fields.h"

#include <strings.h>

#include "base/alloc.h"

/* Cookies and keys of ours begin like this. */
#define OURS "husk_"

static bool is_in(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (streq(name, list[i]))
			return true;
	return strncmp(name, "husk-", 5) == 0;
}

/* --- programs ------------------------------------------------------------------------------------------------------ */

void port_fields_for_program(void *ctx UNUSED, struct http_fields *to, const char *name, const char *value,
			     bool of_answer UNUSED)
{
	/* Fields of one connection, fields that concern our own server, and fields by which an answer could change how a
	 * browser treats our origin. */
	static const char *const stay[] = { "alt-svc",
					    "authorization",
					    "clear-site-data",
					    "connection",
					    "content-length",
					    "content-security-policy",
					    "content-security-policy-report-only",
					    "cookie",
					    "date",
					    "expect",
					    "host",
					    "keep-alive",
					    "origin",
					    "proxy-authorization",
					    "referer",
					    "service-worker-allowed",
					    "set-cookie",
					    "set-cookie2",
					    "strict-transport-security",
					    "te",
					    "trailer",
					    "transfer-encoding",
					    "upgrade",
					    "www-authenticate" };
	if (!is_in(name, stay, ARRAY_LEN(stay)) && strncmp(name, "access-control-", 15) != 0)
		http_fields_add(to, name, value);
}

/* --- browsers ------------------------------------------------------------------------------------------------------ */

static bool stays(const char *name)
{
	static const char *const stay[] = { "alt-svc",
					    "clear-site-data",
					    "connection",
					    "content-length",
					    "date",
					    "expect",
					    "host",
					    "keep-alive",
					    "proxy-authorization",
					    "proxy-connection",
					    "set-cookie2",
					    "strict-transport-security",
					    "te",
					    "trailer",
					    "transfer-encoding",
					    "upgrade" };
	return is_in(name, stay, ARRAY_LEN(stay));
}

/* The cookies of the request without ours. */
static void add_cookies(struct http_fields *to, const char *value)
{
	AUTO(buf_release) struct buf kept = { 0 };
	for (const char *at = value; *at;) {
		at += strspn(at, "; ");
		size_t n = strcspn(at, ";");
		if (n && strncmp(at, OURS, sizeof(OURS) - 1) != 0)
			buf_printf(&kept, "%s%.*s", kept.len ? "; " : "", (int)n, at);
		at += n;
	}
	if (kept.len)
		http_fields_add(to, "cookie", buf_str(&kept));
}

/* A cookie for this host alone, whatever Domain it asks for: it must not reach the page of Husk or another session. */
static void add_set_cookie(struct http_fields *to, const char *value)
{
	AUTO(buf_release) struct buf kept = { 0 };
	if (strncmp(value + strspn(value, " \t"), OURS, sizeof(OURS) - 1) == 0)
		return;
	for (const char *at = value; *at; at += *at == ';') {
		size_t n = strcspn(at, ";"), space = strspn(at, " \t");
		bool domain = at > value && n >= space + 6 && strncasecmp(at + space, "domain", 6) == 0 &&
			      strchr("= \t;", at[space + 6]);
		if (!domain)
			buf_printf(&kept, "%s%.*s", kept.len ? ";" : "", (int)n, at);
		at += n;
	}
	http_fields_add(to, "set-cookie", buf_str(&kept));
}

/* Replaces the origin `from` at the beginning. False if the value has another one. */
static bool add_moved(struct http_fields *to, const char *name, const char *value, const char *from, const char *with)
{
	size_t n = strlen(from);
	if (strncasecmp(value, from, n) != 0 || !strchr("/?#", value[n]))
		return false;
	return http_fields_addf(to, name, "%s%s", with, value + n) == 0;
}

static bool is_our_key(const char *authorization)
{
	if (strncasecmp(authorization, "bearer", 6) != 0)
		return false;
	const char *key = authorization + 6 + strspn(authorization + 6, " \t");
	return strncmp(key, OURS, sizeof(OURS) - 1) == 0;
}

void port_fields_forward(struct http_fields *to, const char *name, const char *value)
{
	if (streq(name, "cookie"))
		add_cookies(to, value);
	else if (!stays(name) && !(streq(name, "authorization") && is_our_key(value)))
		http_fields_add(to, name, value);
}

void port_fields_for_browser(void *ctx, struct http_fields *to, const char *name, const char *value, bool of_answer)
{
	const struct port_names *names = ctx;
	if (of_answer && streq(name, "set-cookie"))
		add_set_cookie(to, value);
	else if (of_answer && streq(name, "location") && add_moved(to, name, value, names->server, names->origin))
		return;
	else if (!of_answer && (streq(name, "origin") || streq(name, "referer")))
		(void)add_moved(to, name, value, names->origin, names->server);
	else if (of_answer)
		stays(name) ? (void)0 : (void)http_fields_add(to, name, value);
	else
		port_fields_forward(to, name, value);
}
