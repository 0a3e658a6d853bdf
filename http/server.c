#include "http/server.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/list.h"
#include "base/listener.h"
#include "http/connection.h"

struct port {
	struct list node;
	struct http_server *server;
	struct listener *listener;
	struct tls_context *tls;
	void *tag;
};

struct http_server {
	struct http_host host;
	struct list ports;
};

struct http_server *http_server_new(struct loop *loop, const struct http_server_spec *spec)
{
	struct http_server *s = new0(struct http_server);
	s->host.loop = loop;
	s->host.spec = *spec;
	list_init(&s->host.connections);
	list_init(&s->ports);
	return s;
}

static void close_ports(struct http_server *s)
{
	list_for_each(p, &s->ports, struct port, node) {
		list_remove(&p->node);
		listener_free(p->listener);
		free(p);
	}
}

struct http_server *http_server_free(struct http_server *s)
{
	if (!s)
		return NULL;
	close_ports(s);
	http_connections_close(&s->host);
	free(s);
	return NULL;
}

void http_server_accept_peers(struct http_server *s, struct tls_context *peers)
{
	s->host.peers = peers;
}

void http_server_close(struct http_server *s)
{
	http_connections_close(&s->host);
}

void http_server_adopt(struct http_server *s, int fd, struct tls_context *tls, void *tag)
{
	if (s->host.n >= s->host.spec.limits.connections && !http_connections_evict(&s->host, /* owner= */ NULL))
		http_connection_refuse(&s->host, fd, tls);
	else
		http_connection_new(&s->host, fd, tls, tag);
}

static void on_connection(void *ctx, int fd)
{
	struct port *p = ctx;
	http_server_adopt(p->server, fd, p->tls, p->tag);
}

int http_server_listen(struct http_server *s, int fd, struct tls_context *tls, void *tag)
{
	struct port *p = new0(struct port);
	p->server = s;
	p->tls = tls;
	p->tag = tag;
	list_append(&s->ports, &p->node);
	p->listener = listener_new(s->host.loop, fd, on_connection, p);
	if (p->listener)
		return 0;
	int error = errno;
	list_remove(&p->node);
	free(p);
	return -error;
}

void http_server_drain(struct http_server *s)
{
	close_ports(s);
	http_connections_drain(&s->host);
}

unsigned http_server_connections(const struct http_server *s)
{
	return s->host.n;
}

size_t http_server_queued(const struct http_server *s)
{
	return http_connections_queued(&s->host);
}
