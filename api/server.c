#include "api/server.h"

#include <errno.h>
#include <strings.h>
#include <sys/socket.h>

#include "api/conversations.h"
#include "api/exchange.h"
#include "api/login.h"
#include "api/origins.h"
#include "api/peers.h"
#include "api/reroute.h"
#include "api/steps.h"
#include "base/address.h"
#include "base/alloc.h"
#include "http/server.h"

static void on_request(void *ctx, struct http_request *r)
{
	steps_begin(ctx, r);
}

struct api *api_new(const struct api_spec *spec)
{
	struct api *a = new0(struct api);
	a->spec = *spec;
	list_init(&a->listeners);
	list_init(&a->exchanges);
	list_init(&a->codes);
	list_init(&a->grants);
	list_init(&a->copies);
	a->conversations = conversations_new(spec->manager, spec->conversation, spec->on_close, spec->mcp_ctx);
	a->local.local = true;
	struct http_server_spec server = { .limits = http_limits_default, .on_request = on_request, .ctx = a };
	server.limits.connections = (unsigned)spec->config->serve_max_connections;
	a->server = http_server_new(spec->loop, &server);
	a->local_server = http_server_new(spec->loop, &server);
	a->peers = peers_new(a);
	return a;
}

static void listener_free_tag(struct listener_tag *tag)
{
	list_remove(&tag->node);
	free(tag->origin);
	strv_release(&tag->hosts);
	free(tag);
}

struct api *api_free(struct api *a)
{
	if (!a)
		return NULL;
	/* The exchanges are freed before their connections are closed, so the connections must not report to them. */
	list_for_each(x, &a->exchanges, struct exchange, node)
		if (x->request)
			http_request_on_closed(x->request, NULL, NULL);
	exchanges_drop(a);
	http_server_free(a->server);
	http_server_free(a->local_server);
	reroutes_drop(a);
	peers_free(a->peers);
	conversations_free(a->conversations);
	login_codes_drop(a);
	origins_drop(a);
	free(a->counts);
	list_for_each(tag, &a->listeners, struct listener_tag, node)
		listener_free_tag(tag);
	free(a);
	return NULL;
}

void api_cancel(struct api *a)
{
	http_server_close(a->server);
	http_server_close(a->local_server);
	peers_stop(a->peers);
	a->closing = true;
}

int api_listen_unix(struct api *a, int fd)
{
	return http_server_listen(a->local_server, fd, NULL, &a->local);
}

void api_serve(struct api *a, int fd)
{
	http_server_adopt(a->local_server, fd, NULL, &a->local);
}

/* `named` is in the list of accepted hosts. */
static bool is_host(const char *named, const char *host)
{
	size_t n = strlen(named);
	const char *colon = strrchr(named, ':');
	bool has_port = colon && !strchr(colon, ']');
	return strncasecmp(named, host, n) == 0 && (!host[n] || (host[n] == ':' && !has_port));
}

static bool is_address(const char *host)
{
	struct sockaddr_storage sa;
	size_t bracket = *host == '[', n = strcspn(host, bracket ? "]" : ":");
	const char *rest = host + n + (bracket && host[n]);
	AUTO(freep) char *text = xstrndup(host + bracket, n - bracket);
	return (!bracket || host[n]) && (!*rest || *rest == ':') && address_read(&sa, text, 0);
}

bool listener_accepts(const struct listener_tag *tag, const char *host)
{
	/* The page of another site has a name. */
	bool known = tag->any_address && is_address(host);
	for (size_t i = 0; i < tag->hosts.n; i++)
		known |= is_host(tag->hosts.v[i], host);
	return known;
}

static void add_hosts(struct listener_tag *tag, const char *origin, const struct strv *hosts)
{
	const char *host = strstr(origin, "://") + 3;
	const char *port = strrchr(host, ':');
	strv_add(&tag->hosts, host);
	tag->any_address = strncmp(host, "0.0.0.0:", 8) == 0 || strncmp(host, "[::]:", 5) == 0;
	/* Browsers and curl use this name for the loopback address. */
	if (port && (tag->any_address || strncmp(host, "127.", 4) == 0 || strncmp(host, "[::1]", 5) == 0)) {
		AUTO(freep) char *local = xasprintf("localhost%s", port);
		strv_add(&tag->hosts, local);
	}
	for (size_t i = 0; hosts && i < hosts->n; i++)
		strv_add(&tag->hosts, hosts->v[i]);
}

int api_listen_tcp(struct api *a, int fd, struct tls_context *tls, const char *origin, const struct strv *hosts)
{
	struct listener_tag *tag = new0(struct listener_tag);
	tag->origin = xstrdup(origin);
	add_hosts(tag, origin, hosts);
	list_append(&a->listeners, &tag->node);
	if (tls)
		peers_accept_on(a->peers, tls);
	return http_server_listen(a->server, fd, tls, tag);
}

void api_drain(struct api *a)
{
	http_server_drain(a->server);
	http_server_drain(a->local_server);
}
