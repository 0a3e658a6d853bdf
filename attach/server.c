#include "attach/server.h"

#include <errno.h>
#include <fcntl.h>

#include "attach/served-client.h"
#include "attach/sockets.h"
#include "base/alloc.h"
#include "base/list.h"
#include "base/listener.h"
#include "base/log.h"

/* Clients at the same time. */
#define CLIENTS_MAX 32

struct attach_server {
	struct loop *loop;
	const struct config *config;
	struct conversation *conversation;
	struct listener *listener;
	char *path; /* path of the socket; NULL = none */
	struct list clients;
	uint64_t last_client;
	bool tried; /* has tried to listen */
};

static void on_client_end(void *ctx UNUSED, struct served_client *p)
{
	served_client_free(p);
}

int attach_serve(struct attach_server *s, int fd)
{
	struct served_client *p = served_client_new(&(struct served_client_spec){ .loop = s->loop,
										  .config = s->config,
										  .conversation = s->conversation,
										  .client = ++s->last_client,
										  .fd = fd,
										  .on_end = on_client_end,
										  .ctx = s });
	if (!p)
		return -1;
	list_append(&s->clients, served_client_node(p));
	return 0;
}

static void refuse_one_more(struct fail *f)
{
	fail_set(f, FAIL_BUSY, "%d programs are already attached to this server", CLIENTS_MAX);
	fail_hint(f, "Close one of them (a repl, a shell, a notebook), and try again.");
}

static void on_connection(void *ctx, int fd)
{
	struct attach_server *s = ctx;
	AUTO(fail_release) struct fail why = { 0 };
	if (!sockets_is_own(fd))
		fail_set(&why, FAIL_FOREIGN, "this server is for programs of its own user");
	else if (list_length(&s->clients) >= CLIENTS_MAX)
		refuse_one_more(&why);
	if (why.kind)
		served_client_refuse(fd, &why);
	else if (attach_serve(s, fd) < 0)
		log_debug("attach: a connection cannot be used: %s", strerror(errno));
}

static void on_session(void *ctx)
{
	struct attach_server *s = ctx;
	if (s->tried || !s->config->attach)
		return;
	s->tried = true;
	int fd = sockets_listen(s->config, &s->path);
	s->listener = fd < 0 ? NULL : listener_new(s->loop, fd, on_connection, s);
	if (!s->listener)
		log_warning(
			"other programs cannot use this server's sessions: cannot create a socket in '%s/attach': %s",
			s->config->state_dir, strerror(fd < 0 ? -fd : errno));
}

struct attach_server *attach_server_new(struct loop *loop, const struct config *config, struct conversation *c)
{
	struct attach_server *s = new0(struct attach_server);
	s->loop = loop;
	s->config = config;
	s->conversation = c;
	list_init(&s->clients);
	conversation_watch(c, on_session, s);
	return s;
}

struct attach_server *attach_server_free(struct attach_server *s)
{
	if (!s)
		return NULL;
	listener_free(s->listener);
	if (s->path)
		(void)unlink(s->path);
	for (struct list *node; (node = s->clients.next) != &s->clients;)
		served_client_drop(served_client_of(node));
	free(s->path);
	free(s);
	return NULL;
}
