/* A server's connection with any bytes on it, first as HTTP, and after an upgrade as WebSocket frames: nothing breaks,
 * every request is answered or closed once, and the connection always ends. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "http/server.h"
#include "http/websocket.h"
#include "tests/fuzz/fuzz.h"

struct rig {
	struct loop *loop;
	struct websocket *socket;
	unsigned open; /* requests without an answer */
};

static void on_message(void *ctx, bool text, const void *data, size_t n)
{
	struct rig *rig = ctx;
	CHECK(n <= 1000);
	CHECK(!text || utf8_valid(data, n));
	websocket_send(rig->socket, text, data, n);
}

static void on_closed(void *ctx, int code)
{
	struct rig *rig = ctx;
	CHECK(code >= 1000);
	rig->socket = websocket_free(rig->socket);
}

static const struct websocket_ops ops = { on_message, on_closed, NULL };

struct pending {
	struct rig *rig;
	struct http_request *request;
};

static void request_closed(void *ctx)
{
	struct pending *p = ctx;
	p->rig->open--;
	free(p);
}

static void body_read(void *ctx, const void *data, size_t n)
{
	struct pending *p = ctx;
	p->rig->open--;
	http_reply(p->request, 200, NULL, data, n);
	free(p);
}

static void on_request(void *ctx, struct http_request *r)
{
	struct rig *rig = ctx;
	if (websocket_requested(http_request_head(r)) && !rig->socket) {
		rig->socket = websocket_accept(r, NULL, &(struct websocket_spec){ rig->loop, 1000, &ops, rig });
		return;
	}
	struct pending *p = new0(struct pending);
	*p = (struct pending){ rig, r };
	rig->open++;
	http_request_on_closed(r, request_closed, p);
	http_request_collect(r, 1000, body_read, p);
}

static void stop(void *ctx)
{
	loop_stop(ctx, 0);
}

static void turn(struct loop *loop)
{
	struct timer *t = timer_new(loop, stop, loop);
	timer_start(t, 0, 0);
	loop_run(loop);
	timer_free(t);
}

int fuzz_one(const uint8_t *data, size_t n)
{
	/* As in Husk's programs: the end of a connection is reported by the write. */
	signal(SIGPIPE, SIG_IGN);
	struct rig rig = { .loop = loop_new() };
	int fds[2];
	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0);
	struct http_server *server =
		http_server_new(rig.loop, &(struct http_server_spec){ http_limits_default, on_request, &rig });
	http_server_adopt(server, fds[0], NULL, NULL);
	struct pieces pieces = pieces_of(data, n);
	const uint8_t *piece;
	size_t size;
	while (pieces_next(&pieces, &piece, &size)) {
		char got[4096];
		if (send(fds[1], piece, size, MSG_NOSIGNAL) < 0 && errno == EPIPE)
			break;
		turn(rig.loop);
		while (read(fds[1], got, sizeof(got)) > 0)
			continue;
	}
	close(fds[1]);
	for (int i = 0; i < 4; i++)
		turn(rig.loop);
	CHECK(rig.open == 0 && http_server_connections(server) == 0);
	websocket_free(rig.socket);
	http_server_free(server);
	loop_free(rig.loop);
	return 0;
}
