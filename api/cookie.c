#include "api/cookie.h"

#include <strings.h>

#include "api/links.h"
#include "api/route.h"
#include "base/alloc.h"

/* Browsers send cookies to all ports of a host, so each server has a name of its own. */
#define NAME "husk_"
#define MAX_AGE_SECONDS (90 * 24 * 3600)

static char *name_of(const struct exchange *x)
{
	const char *host = exchange_field(x, "host");
	const char *port = host ? strrchr(host, ':') : NULL;
	return xasprintf(NAME "%s", port && !strchr(port, ']') ? port + 1 : "443");
}

char *cookie_value(const struct exchange *x, const char *name)
{
	const char *at = exchange_field(x, "cookie");
	size_t n_name = strlen(name);
	while (at && *at) {
		at += strspn(at, "; ");
		size_t n = strcspn(at, ";");
		if (n > n_name && strncmp(at, name, n_name) == 0 && at[n_name] == '=')
			return xstrndup(at + n_name + 1, n - n_name - 1);
		at += n;
	}
	return NULL;
}

char *cookie_key(const struct exchange *x)
{
	AUTO(freep) char *name = name_of(x);
	return cookie_value(x, name);
}

static bool refuse(struct exchange *x, const char *detail)
{
	exchange_problem(x, 403, detail, "Programs send the header Authorization: Bearer KEY.");
	return false;
}

/* Sec-Fetch-Site cannot be set by scripts. Browsers leave it out over plain HTTP to other machines, where only Origin is
 * left; it is checked already (auth.c), and a browser sends it with every write and every WebSocket. */
bool cookie_check(struct exchange *x)
{
	const struct http_head *head = http_request_head(x->request);
	const char *site = exchange_field(x, "sec-fetch-site"), *mode = exchange_field(x, "sec-fetch-mode");
	bool reads = (head->method == HTTP_METHOD_GET || head->method == HTTP_METHOD_HEAD) && !head->upgrade;
	if (x->route->flags & ROUTE_NO_COOKIE)
		return refuse(x, "This route does not accept the cookie of the page.");
	/* A person has typed the address, or opened a download in a new window. */
	bool typed = site && streq(site, "none") && mode && streq(mode, "navigate") && reads;
	if (site && !typed && strcasecmp(site, "same-origin") != 0)
		return refuse(x, "The cookie of the page is only accepted from the page itself.");
	if (!reads && !exchange_field(x, "origin"))
		return refuse(x, "A request with the cookie of the page needs the field Origin.");
	return true;
}

void cookie_set(const struct exchange *x, struct http_fields *fields, const char *key)
{
	AUTO(freep) char *name = name_of(x);
	AUTO(freep) char *base = links_base(x);
	http_fields_addf(fields, "Set-Cookie", "%s=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%d%s", name,
			 key ? key : "", key ? MAX_AGE_SECONDS : 0, strncmp(base, "https:", 6) == 0 ? "; Secure" : "");
}
