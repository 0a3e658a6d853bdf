#include "api/origins.h"

#include <strings.h>

#include "api/cookie.h"
#include "api/host.h"
#include "api/links.h"
#include "api/route.h"
#include "base/alloc.h"
#include "base/parse.h"

/* Browsers and resolvers lead every name below it to the loopback address. */
#define DOMAIN "localhost"
#define SEPARATOR "--"
#define PORT_DIGITS 5
#define CODE_PATH "/.well-known/husk/"
#define COOKIE "husk_port"
#define GRANTS_MAX 256
#define GRANT_SECONDS (24 * 3600)

/* The right of a browser to use one origin. */
struct grant {
	struct list node;
	char *host;
	char *key;
	char code[MANAGER_SECRET_SIZE];	  /* "" once it was used */
	char cookie[MANAGER_SECRET_SIZE]; /* "" before */
	uint64_t until_ms;
};

static void grant_free(struct grant *g)
{
	list_remove(&g->node);
	explicit_bzero(g->key, strlen(g->key));
	explicit_bzero(g->code, sizeof(g->code));
	explicit_bzero(g->cookie, sizeof(g->cookie));
	free(g->key);
	free(g->host);
	free(g);
}

void origins_drop(struct api *api)
{
	list_for_each(g, &api->grants, struct grant, node)
		grant_free(g);
}

static void drop_old(struct api *api)
{
	size_t n = list_length(&api->grants);
	uint64_t now = loop_now_ms();
	list_for_each(g, &api->grants, struct grant, node)
		if (g->until_ms <= now || n-- > GRANTS_MAX - 1)
			grant_free(g);
}

/* The grant of this host with this code or cookie, at `offset` in it; NULL = none. */
static struct grant *find(struct exchange *x, size_t offset, const char *text)
{
	const char *host = exchange_field(x, "host");
	drop_old(x->api);
	list_for_each(g, &x->api->grants, struct grant, node) {
		const char *own = (const char *)g + offset;
		if (*own && strcasecmp(g->host, host) == 0 && manager_secrets_equal(own, text))
			return g;
	}
	return NULL;
}

/* --- names --------------------------------------------------------------------------------------------------------- */

bool origins_is_id(const char *text)
{
	return strlen(text) == SESSION_ID_CHARS && strspn(text, "abcdefghijklmnopqrstuvwxyz234567") == SESSION_ID_CHARS;
}

/* A full id and a port: "4f2k…--8080" of n bytes. */
static bool read_label(const char *label, size_t n, char id[SESSION_ID_CHARS + 1], uint64_t *port)
{
	size_t before = SESSION_ID_CHARS + sizeof(SEPARATOR) - 1;
	if (n <= before || n > before + PORT_DIGITS || memcmp(label + SESSION_ID_CHARS, SEPARATOR, 2) != 0)
		return false;
	AUTO(freep) char *digits = xstrndup(label + before, n - before);
	snprintf(id, SESSION_ID_CHARS + 1, "%s", label);
	return origins_is_id(id) && *digits != '0' && parse_u64(digits, port) == 0 && *port <= UINT16_MAX;
}

static bool is_https(const struct exchange *x)
{
	AUTO(freep) char *base = links_base(x);
	return strncmp(base, "https:", 6) == 0;
}

bool origins_match(struct exchange *x)
{
	char id[SESSION_ID_CHARS + 1];
	uint64_t port;
	const struct listener_tag *tag = http_request_tag(x->request);
	const char *host = exchange_field(x, "host");
	size_t n = host ? strcspn(host, ".") : 0, n_domain = sizeof(DOMAIN) - 1;
	if (!host || !host[n] || tag->local || http_request_is_peer(x->request))
		return false;
	const char *server = host + n + 1;
	if (strncasecmp(server, DOMAIN, n_domain) != 0 || !strchr(":", server[n_domain]) ||
	    !listener_accepts(tag, server) || !read_label(host, n, id, &port))
		return false;
	AUTO(freep) char *path = xasprintf("/v1/sessions/%s/ports/%u/", id, (unsigned)port);
	if (http_target_parse(&x->target, path) < 0)
		return false;
	x->route = &route_port_origin;
	x->path = x->route->path;
	x->captures[0] = http_target_segment(&x->target, 2);
	x->captures[1] = http_target_segment(&x->target, 4);
	x->rest = x->target.n_segments;
	x->origin = xasprintf("%s://%s", is_https(x) ? "https" : "http", host);
	return true;
}

char *origins_open(struct exchange *x, uint16_t port, char *key)
{
	AUTO(freep) char *own = key;
	const struct listener_tag *tag = http_request_tag(x->request);
	const char *host = exchange_field(x, "host"), *colon = host ? strrchr(host, ':') : NULL;
	AUTO(freep) char *server = xasprintf(DOMAIN "%s", colon && !strchr(colon, ']') ? colon : "");
	if (!listener_accepts(tag, server)) {
		explicit_bzero(own, strlen(own));
		return NULL;
	}
	struct grant *g = new0(struct grant);
	drop_old(x->api);
	g->host = xasprintf("%s" SEPARATOR "%u.%s", x->captures[0], port, server);
	g->key = take_ptr(own);
	g->until_ms = loop_now_ms() + ORIGIN_CODE_SECONDS * 1000;
	manager_make_secret(g->code);
	list_append(&x->api->grants, &g->node);
	return xasprintf("%s://%s" CODE_PATH "%s", is_https(x) ? "https" : "http", g->host, g->code);
}

/* --- cookies ------------------------------------------------------------------------------------------------------- */

/* Sets the cookie and leads to the server's first page. A redirect would not do: browsers do not send a strict cookie
 * along a way that began at another origin, here the page of Husk. */
static void set_cookie(struct exchange *x, struct grant *g)
{
	static const char document[] = "<!doctype html><meta http-equiv=refresh content=\"0;url=/\">";
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	explicit_bzero(g->code, sizeof(g->code));
	manager_make_secret(g->cookie);
	g->until_ms = loop_now_ms() + GRANT_SECONDS * 1000ull;
	http_fields_addf(&fields, "Set-Cookie", COOKIE "=%s; Path=/; HttpOnly; SameSite=Strict%s", g->cookie,
			 is_https(x) ? "; Secure" : "");
	http_fields_add(&fields, "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
	http_fields_add(&fields, "Referrer-Policy", "no-referrer");
	exchange_reply_text(x, 200, &fields, "text/html; charset=utf-8", document, sizeof(document) - 1);
}

/* True for pages of another origin or of none. Browsers send Origin with every write and WebSocket, and Sec-Fetch-Site, which
 * scripts cannot set, with every request. */
static bool is_foreign(const struct exchange *x)
{
	const char *site = exchange_field(x, "sec-fetch-site"), *origin = exchange_field(x, "origin");
	const char *own = origin ? strstr(origin, "://") : NULL;
	if (origin && (!own || strcasecmp(own + 3, exchange_field(x, "host")) != 0))
		return true;
	return site && strcasecmp(site, "same-origin") != 0 && strcasecmp(site, "none") != 0;
}

const char *origins_enter(struct exchange *x)
{
	const struct http_head *head = http_request_head(x->request);
	const char *path = exchange_target(x);
	bool is_code = strncmp(path, CODE_PATH, sizeof(CODE_PATH) - 1) == 0;
	if (is_code && head->method == HTTP_METHOD_GET) {
		struct grant *g = find(x, offsetof(struct grant, code), path + sizeof(CODE_PATH) - 1);
		if (g)
			set_cookie(x, g);
		else
			exchange_problem(x, 401, "This address was used already, or it has expired.",
					 "Open the port from the page of Husk again.");
		return NULL;
	}
	AUTO(freep) char *cookie = cookie_value(x, COOKIE);
	struct grant *g = cookie ? find(x, offsetof(struct grant, cookie), cookie) : NULL;
	if (g && !is_foreign(x))
		return g->key;
	if (g)
		exchange_problem(x, 403, "This server of a session is only for pages of its own origin.", NULL);
	else
		exchange_problem(x, 401, "This browser may not use this port, or no longer.",
				 "Open the port from the page of Husk, or with `husk open SESSION PORT`.");
	return NULL;
}
