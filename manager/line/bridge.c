#include "manager/line/bridge.h"

#include <errno.h>

#include "manager/model/cause.h"

static struct bridge *bridge_of(struct line_stream *s)
{
	return container_of(s, struct bridge, stream);
}

/* --- from the session -------------------------------------------------------------------------------------------- */

static void on_open(struct line_stream *s)
{
	struct bridge *b = bridge_of(s);
	b->on_open(b);
}

static void on_bytes(struct line_stream *s, const void *data, size_t n)
{
	struct bridge *b = bridge_of(s);
	b->unsent += n;
	if (b->duplex)
		duplex_write(b->duplex, data, n);
}

static void on_finish(struct line_stream *s)
{
	struct bridge *b = bridge_of(s);
	if (b->duplex)
		duplex_end(b->duplex);
}

/* The socket is only read while the stream has room for a whole read. */
static void watch_room(struct bridge *b)
{
	if (b->duplex)
		duplex_pause(b->duplex, line_stream_room(&b->stream) < DUPLEX_READ_MAX);
}

static void on_room(struct line_stream *s)
{
	watch_room(bridge_of(s));
}

/* Frees the socket once it has accepted what the session has sent. */
static void end_if_sent(struct bridge *b)
{
	if (!b->over || b->unsent)
		return;
	b->duplex = duplex_free(b->duplex);
	b->on_end(b, NULL);
}

static void on_end(struct line_stream *s, const struct fail *f)
{
	struct bridge *b = bridge_of(s);
	if (!f) {
		b->over = true;
		end_if_sent(b);
		return;
	}
	b->duplex = duplex_reset(b->duplex);
	b->on_end(b, f);
}

/* --- from the socket --------------------------------------------------------------------------------------------- */

static void on_socket_data(void *ctx, const void *data, size_t n)
{
	struct bridge *b = ctx;
	line_stream_write(&b->stream, data, n);
	watch_room(b);
}

static void on_socket_sent(void *ctx, size_t n)
{
	struct bridge *b = ctx;
	b->unsent -= n;
	line_stream_taken(&b->stream, n);
	end_if_sent(b);
}

static void on_socket_finish(void *ctx)
{
	struct bridge *b = ctx;
	line_stream_finish(&b->stream);
}

static void on_socket_error(void *ctx, int error)
{
	struct bridge *b = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	cause_set(&f, FAIL_ENGINE, CAUSE_STREAM_BROKE, "the connection was reset (%s)", strerror(-error));
	line_stream_close(&b->stream);
	b->duplex = duplex_free(b->duplex);
	b->on_end(b, &f);
}

/* --- life -------------------------------------------------------------------------------------------------------- */

int bridge_open(struct bridge *b, struct dispatch *d, uint16_t port, struct fail *f)
{
	b->duplex = NULL;
	b->unsent = 0;
	b->over = false;
	b->stream = (struct line_stream){
		.on_open = on_open, .on_bytes = on_bytes, .on_room = on_room, .on_finish = on_finish, .on_end = on_end
	};
	return line_stream_open(&b->stream, d, port, f);
}

int bridge_join(struct bridge *b, struct loop *loop, int fd)
{
	static const struct duplex_ops ops = { .on_data = on_socket_data,
					       .on_sent = on_socket_sent,
					       .on_finish = on_socket_finish,
					       .on_error = on_socket_error };
	b->duplex = duplex_new(loop, fd, /* connecting= */ false, /* paused= */ false, &ops, b);
	if (b->duplex)
		return 0;
	int error = -errno;
	line_stream_close(&b->stream);
	return error;
}

void bridge_close(struct bridge *b)
{
	line_stream_close(&b->stream);
	b->duplex = duplex_reset(b->duplex);
}
