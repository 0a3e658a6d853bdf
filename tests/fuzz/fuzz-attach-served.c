/* A server's whole side of attaching on one connection, with a manager that needs no engine: frames in pieces,
 * calls, notes, bytes, interrupts, cancellations and an early end. Clients accept every frame that is sent, and no
 * call is answered twice. */
#include <errno.h>
#include <sys/socket.h>

#include "attach/server.h"
#include "attach/wire.h"
#include "base/alloc.h"
#include "base/log.h"
#include "tests/fuzz/fuzz.h"

/* Turns of the loop after the last byte, so that calls can end; then the client hangs up. */
#define TURNS_AFTER 4
#define NUMBERS 64

struct client {
	struct loop *loop;
	struct pieces pieces;
	struct timer *timer;
	struct attach_reader reader;
	int fd;
	unsigned turns;
	bool answered[NUMBERS];
};

static void on_frame(struct client *c, const struct attach_message *m)
{
	if (m->type != ATTACH_ANSWER)
		return;
	CHECK(!json_object_get(m->json, "result") != !json_object_get(m->json, "fail"));
	if (m->call < NUMBERS) {
		CHECK(!c->answered[m->call]);
		c->answered[m->call] = true;
	}
}

/* Output of the server so far; false at its end. */
static bool listen_to(struct client *c)
{
	uint8_t chunk[65536];
	ssize_t n;
	while ((n = recv(c->fd, chunk, sizeof(chunk), MSG_DONTWAIT)) > 0) {
		const char *why = NULL;
		struct attach_message m = { 0 };
		int r;
		attach_reader_feed(&c->reader, chunk, (size_t)n);
		while ((r = attach_reader_next(&c->reader, &m, &why)) > 0) {
			on_frame(c, &m);
			attach_message_release(&m);
		}
		CHECK(r == 0);
	}
	return n < 0 && errno == EAGAIN;
}

static void on_turn(void *ctx)
{
	struct client *c = ctx;
	const uint8_t *piece;
	size_t n;
	if (!listen_to(c) || c->turns == TURNS_AFTER) {
		loop_stop(c->loop, 0);
		return;
	}
	if (pieces_next(&c->pieces, &piece, &n))
		(void)!send(c->fd, piece, n, MSG_NOSIGNAL | MSG_DONTWAIT);
	else
		c->turns++;
	timer_start(c->timer, 0, 0);
}

int fuzz_one(const uint8_t *data, size_t n)
{
	static const struct config config = { .execution_timeout = 30,
					      .max_sessions = 3,
					      .max_sessions_per_thread = 3 };
	int ends[2];
	/* The fake manager produces as much output as these request. */
	if (n > 16384 || memmem(data, n, "flood", 5) || memmem(data, n, "plot", 4))
		return 0;
	log_set_level(LOG_ERROR);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
	struct client c = { .loop = loop_new(), .pieces = pieces_of(data, n), .fd = ends[1] };
	attach_reader_init(&c.reader, ATTACH_SERVER);
	struct manager *manager = manager_new(c.loop, &config);
	struct attach_server *server = attach_server_new(c.loop, &config, conversation_open(manager, NULL));
	CHECK(attach_serve(server, ends[0]) == 0);
	c.timer = timer_new(c.loop, on_turn, &c);
	timer_start(c.timer, 0, 0);
	loop_run(c.loop);
	/* The client disconnects early, or the server ends first. */
	if (n && data[0] & 1) {
		closep(&c.fd);
		loop_skip(c.loop, 1);
	}
	manager_free(manager);
	attach_server_free(server);
	timer_free(c.timer);
	loop_free(c.loop);
	attach_reader_release(&c.reader);
	closep(&c.fd);
	return 0;
}
