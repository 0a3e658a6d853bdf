#include "api/local.h"

#include <errno.h>
#include <sys/socket.h>

#include "api/server.h"
#include "api/sockets.h"
#include "base/alloc.h"
#include "base/listener.h"
#include "base/log.h"

struct local_server {
	struct api_spec spec;
	struct api *api; /* NULL = nobody has connected yet */
	bool own;	 /* the API was made here */
	struct listener *listener;
	char *path; /* path of the socket; NULL = none */
	bool tried; /* has tried to listen */
};

static struct api *api_of(struct local_server *s)
{
	if (!s->api) {
		s->api = api_new(&s->spec);
		s->api->socket = s->path;
	}
	return s->api;
}

static void on_connection(void *ctx, int fd)
{
	struct local_server *s = ctx;
	if (sockets_is_own(fd))
		api_serve(api_of(s), fd);
	else
		close(fd);
}

static void listen_once(void *ctx)
{
	struct local_server *s = ctx;
	const struct config *config = s->spec.config;
	if (s->tried || !config->attach)
		return;
	s->tried = true;
	int fd = sockets_listen(config, &s->path);
	if (s->api)
		s->api->socket = s->path;
	s->listener = fd < 0 ? NULL : listener_new(s->spec.loop, fd, on_connection, s);
	if (!s->listener)
		log_warning(
			"other programs cannot use this server's sessions: cannot create a socket in '%s/attach': %s",
			config->state_dir, strerror(fd < 0 ? -fd : errno));
}

struct local_server *local_server_new(const struct api_spec *spec, struct api *api)
{
	struct local_server *s = new0(struct local_server);
	s->spec = *spec;
	s->api = api;
	s->own = !api;
	if (api)
		listen_once(s);
	else
		conversation_watch(spec->conversation, listen_once, s);
	return s;
}

int local_server_connect(struct local_server *s)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return -errno;
	api_serve(api_of(s), pair[0]);
	return pair[1];
}

struct local_server *local_server_free(struct local_server *s, bool manager_gone)
{
	if (!s)
		return NULL;
	listener_free(s->listener);
	if (s->path)
		(void)unlink(s->path);
	if (s->own && !manager_gone)
		conversation_unwatch(s->spec.conversation, listen_once, s);
	if (s->own && s->api && !manager_gone)
		api_cancel(s->api);
	if (s->own)
		api_free(s->api);
	else
		s->api->socket = NULL;
	free(s->path);
	free(s);
	return NULL;
}
