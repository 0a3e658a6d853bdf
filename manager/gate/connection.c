#include "manager/gate/connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/address.h"
#include "base/alloc.h"
#include "base/duplex.h"
#include "base/list.h"
#include "base/resolve.h"
#include "manager/gate/secret-set.h"
#include "manager/line/line-gate.h"
#include "manager/model/cause.h"

/* The host is not read while this much waits for the session. */
#define DOWN_HIGH (64u << 10)

enum step {
	STEP_DIAL,
	STEP_OPEN,
	STEP_LINGER, /* it failed: the last bytes are being delivered */
	STEP_OVER,   /* on_over() is due */
};

/* An attempt to connect to one address. */
struct attempt {
	struct connection *connection;
	struct duplex *duplex; /* NULL = failed, or not made */
};

struct connection {
	struct connection_spec spec; /* do not read its strings */
	char *name, *address;
	struct line_stream *stream; /* NULL = the session's side is gone */
	struct line_stream *spent;  /* the stream after its end, whose callback may still be running */
	struct duplex *host;	    /* NULL = not connected, or gone */
	struct resolve *resolve;
	struct sockaddr_storage v[CONNECTION_ADDRESSES];
	size_t n, tried;
	struct attempt attempts[CONNECTION_ADDRESSES];
	struct timer *deadline; /* of the dialling; then for silence; then for lingering */
	struct timer *next;	/* the next attempt */
	enum step step;
	struct buf down;    /* bytes for the session without credit */
	size_t queued;	    /* bytes that the host has not accepted */
	size_t untaken;	    /* bytes of the session that are not credited */
	bool session_ended; /* the session has sent everything */
	bool host_ended;    /* the host has sent everything */
	bool finished;	    /* our direction to the session has ended */
	bool paused;
	uint64_t began_ms, active_ms;
	uint64_t up, down_bytes;
	struct fail why; /* kind 0 = it has not failed */
};

/* --- the end ----------------------------------------------------------------------------------------------------- */

static void on_over(void *ctx)
{
	struct connection *c = ctx;
	struct connection_outcome outcome = connection_so_far(c);
	c->spec.on_over(c->spec.ctx, c, &outcome);
}

/* The caller may be a callback of the stream or of a socket, so on_over() comes in the next turn. */
static void over(struct connection *c)
{
	if (c->step == STEP_OVER)
		return;
	c->step = STEP_OVER;
	timer_free(c->deadline);
	c->deadline = timer_new(c->spec.loop, on_over, c);
	timer_start(c->deadline, 0, 0);
}

static void drop_attempts(struct connection *c)
{
	c->resolve = resolve_free(c->resolve);
	c->next = timer_free(c->next);
	for (size_t i = 0; i < c->tried; i++)
		c->attempts[i].duplex = duplex_free(c->attempts[i].duplex);
}

enum wire_refusal connection_refusal(enum cause cause)
{
	switch (cause) {
	case CAUSE_GATE_DENIED:
	case CAUSE_HOST_PRIVATE:
		return WIRE_REFUSAL_DENIED;
	case CAUSE_GATE_LIMIT:
		return WIRE_REFUSAL_LIMIT;
	case CAUSE_GATE_MISMATCH:
	case CAUSE_GATE_HTTP:
	case CAUSE_GATE_TLS:
	case CAUSE_GATE_UPSTREAM:
		return WIRE_REFUSAL_MISMATCH;
	case CAUSE_HOST_NOT_FOUND:
		return WIRE_REFUSAL_NOT_FOUND;
	case CAUSE_HOST_TIMEOUT:
		return WIRE_REFUSAL_TIMEOUT;
	case CAUSE_STREAM_BROKE:
		return WIRE_REFUSAL_RESET;
	default:
		return WIRE_REFUSAL_REFUSED;
	}
}

/* Ends both sides abruptly. The first reason counts. */
static void fail_now(struct connection *c, enum cause cause, const char *fmt, ...) PRINTF_LIKE(3, 4);

static void fail_now(struct connection *c, enum cause cause, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	AUTO(freep) char *text = xvasprintf(fmt, ap);
	va_end(ap);
	if (c->step == STEP_OVER)
		return;
	if (!c->why.kind)
		cause_set(&c->why, FAIL_INVALID, cause, "%s", text);
	drop_attempts(c);
	if (c->stream)
		line_stream_refuse(c->stream, connection_refusal(cause));
	c->host = duplex_reset(c->host);
	over(c);
}

static void on_silence(void *ctx)
{
	struct connection *c = ctx;
	uint64_t silent = loop_now_ms() - c->active_ms;
	if (silent + 1000 < CONNECTION_IDLE_MS)
		timer_start(c->deadline, CONNECTION_IDLE_MS - silent, 0);
	else
		fail_now(c, CAUSE_HOST_TIMEOUT, "the connection to %s was idle for %d minutes", c->name,
			 CONNECTION_IDLE_MS / 60000);
}

/* Ends the connection once everything was delivered. */
static void end_if_delivered(struct connection *c)
{
	if (c->step == STEP_OVER)
		return;
	bool session_done = !c->stream || (c->finished && c->session_ended);
	bool host_done = !c->host || (!c->queued && (c->step == STEP_LINGER || (c->host_ended && c->session_ended)));
	if (session_done && host_done)
		over(c);
}

static void on_linger(void *ctx)
{
	struct connection *c = ctx;
	if (c->stream)
		line_stream_close(c->stream);
	over(c);
}

/* --- bytes ------------------------------------------------------------------------------------------------------- */

static void send_up(struct connection *c, const void *data, size_t n)
{
	if (!n || !c->host)
		return;
	c->queued += n;
	duplex_write(c->host, data, n);
}

/* Sends as much as the session's side accepts. */
static void flush_down(struct connection *c)
{
	size_t n = c->stream ? MIN(line_stream_room(c->stream), c->down.len) : 0;
	if (n) {
		line_stream_write(c->stream, c->down.data, n);
		explicit_bzero(c->down.data, n);
		buf_consume(&c->down, n);
	}
	if (c->host && c->paused != (c->down.len >= DOWN_HIGH)) {
		c->paused = !c->paused;
		duplex_pause(c->host, c->paused);
	}
	if (c->down.len || c->finished || !c->stream || !(c->host_ended || c->step == STEP_LINGER))
		return;
	c->finished = true;
	line_stream_finish(c->stream);
}

/* A filter has refused: what it says to both sides is delivered, and then both sides end. */
static void linger(struct connection *c, struct fail *f)
{
	fail_move(&c->why, f);
	c->step = STEP_LINGER;
	timer_free(c->deadline);
	c->deadline = timer_new(c->spec.loop, on_linger, c);
	timer_start(c->deadline, CONNECTION_LINGER_MS, 0);
	if (c->host)
		duplex_end(c->host);
}

/* After a call of the filter. `r` is its result. */
static void pass_on(struct connection *c, int r, struct buf *up, struct buf *down, struct fail *f)
{
	send_up(c, up->data, up->len);
	if (c->down.len)
		buf_add(&c->down, down->data, down->len);
	else {
		buf_wipe(&c->down);
		c->down = *down;
		*down = (struct buf){ 0 };
	}
	if (r < 0)
		linger(c, f);
	flush_down(c);
	end_if_delivered(c);
}

typedef int (*feed_fn)(struct gate_filter *filter, const void *data, size_t n, struct buf *up, struct buf *down,
		       struct fail *f);
typedef int (*end_fn)(struct gate_filter *filter, struct buf *up, struct buf *down, struct fail *f);

static void feed(struct connection *c, feed_fn fn, const void *data, size_t n)
{
	AUTO(buf_wipe) struct buf up = { 0 }, down = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	pass_on(c, fn(c->spec.filter, data, n, &up, &down, &f), &up, &down, &f);
}

static void feed_end(struct connection *c, end_fn fn)
{
	AUTO(buf_wipe) struct buf up = { 0 }, down = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	pass_on(c, fn(c->spec.filter, &up, &down, &f), &up, &down, &f);
}

static bool filter_is_alone(const struct connection *c)
{
	const struct gate_filter *f = c->spec.filter;
	return c->step == STEP_OPEN && f && f->type->is_alone && f->type->is_alone(f);
}

/* Bytes of the session are credited when the host has accepted what was made of them, or when they are dropped. */
static void credit(struct connection *c)
{
	if ((c->step == STEP_OPEN && c->queued > STREAM_WINDOW / 2) || !c->untaken)
		return;
	size_t n = c->untaken;
	c->untaken = 0;
	if (c->stream)
		line_stream_taken(c->stream, n);
}

/* --- the session's side ------------------------------------------------------------------------------------------ */

static void on_bytes(struct line_stream *s, const void *data, size_t n)
{
	struct connection *c = s->owner;
	c->active_ms = loop_now_ms();
	c->untaken += n;
	if (c->step == STEP_OPEN && (c->host || filter_is_alone(c))) {
		c->up += n;
		if (c->spec.filter)
			feed(c, c->spec.filter->type->from_session, data, n);
		else
			send_up(c, data, n);
	}
	credit(c);
}

static void on_room(struct line_stream *s)
{
	struct connection *c = s->owner;
	flush_down(c);
	end_if_delivered(c);
}

static void on_session_ended(struct line_stream *s)
{
	struct connection *c = s->owner;
	c->session_ended = true;
	if (c->step == STEP_OPEN && c->spec.filter)
		feed_end(c, c->spec.filter->type->session_ended);
	if (filter_is_alone(c)) {
		c->host_ended = true;
		flush_down(c);
	}
	if (c->step == STEP_OPEN && c->host)
		duplex_end(c->host);
	end_if_delivered(c);
}

static void on_stream_end(struct line_stream *s, const struct fail *f)
{
	struct connection *c = s->owner;
	c->spent = take_ptr(c->stream);
	if (!f) {
		end_if_delivered(c);
		return;
	}
	if (!c->why.kind)
		fail_copy(&c->why, f);
	drop_attempts(c);
	c->host = duplex_reset(c->host);
	over(c);
}

/* --- the host's side --------------------------------------------------------------------------------------------- */

static void on_data(void *ctx, const void *data, size_t n)
{
	struct connection *c = ((struct attempt *)ctx)->connection;
	c->active_ms = loop_now_ms();
	if (c->step != STEP_OPEN)
		return;
	c->down_bytes += n;
	if (c->spec.filter) {
		feed(c, c->spec.filter->type->from_upstream, data, n);
		return;
	}
	buf_add(&c->down, data, n);
	flush_down(c);
}

static void on_sent(void *ctx, size_t n)
{
	struct connection *c = ((struct attempt *)ctx)->connection;
	c->queued -= MIN(n, c->queued);
	credit(c);
	end_if_delivered(c);
}

static void on_host_ended(void *ctx)
{
	struct connection *c = ((struct attempt *)ctx)->connection;
	if (c->step == STEP_OPEN && c->spec.filter && !filter_is_alone(c))
		feed_end(c, c->spec.filter->type->upstream_ended);
	if (filter_is_alone(c))
		return;
	c->host_ended = true;
	flush_down(c);
	end_if_delivered(c);
}

static void on_host_error(void *ctx, int error)
{
	struct connection *c = ((struct attempt *)ctx)->connection;
	c->host = duplex_free(c->host);
	c->queued = 0;
	if (c->step == STEP_LINGER || filter_is_alone(c))
		end_if_delivered(c);
	else
		fail_now(c, CAUSE_STREAM_BROKE, "the connection to %s broke: %s", c->name, strerror(-error));
}

/* --- dialling ---------------------------------------------------------------------------------------------------- */

static void next_attempt(void *ctx);

static void on_dialled(void *ctx, int error);

static const struct duplex_ops host_ops = { .on_connected = on_dialled,
					    .on_data = on_data,
					    .on_sent = on_sent,
					    .on_finish = on_host_ended,
					    .on_error = on_host_error };

static bool is_trying(const struct connection *c)
{
	for (size_t i = 0; i < c->tried; i++)
		if (c->attempts[i].duplex)
			return true;
	return false;
}

static void on_dialled(void *ctx, int error)
{
	struct attempt *a = ctx;
	struct connection *c = a->connection;
	if (error) {
		a->duplex = duplex_free(a->duplex);
		if (c->tried < c->n)
			next_attempt(c);
		else if (!is_trying(c))
			fail_now(c, error == -ETIMEDOUT ? CAUSE_HOST_TIMEOUT : CAUSE_HOST_REFUSED,
				 "%s does not accept connections on port %u: %s", c->name, c->spec.port,
				 strerror(-error));
		return;
	}
	c->host = take_ptr(a->duplex);
	drop_attempts(c);
	c->step = STEP_OPEN;
	timer_free(c->deadline);
	c->deadline = timer_new(c->spec.loop, on_silence, c);
	timer_start(c->deadline, CONNECTION_IDLE_MS, 0);
	duplex_pause(c->host, false);
	line_stream_accept(c->stream);
}

static int dial(struct connection *c, struct attempt *a, const struct sockaddr_storage *to)
{
	AUTO(closep) int fd = socket(to->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	if (connect(fd, (const struct sockaddr *)to, (socklen_t)address_size(to)) < 0 && errno != EINPROGRESS)
		return -errno;
	a->connection = c;
	a->duplex = duplex_new(c->spec.loop, take_fd(fd), /* connecting= */ true, /* paused= */ true, &host_ops, a);
	return a->duplex ? 0 : -errno;
}

/* Starts the next attempt, while earlier ones still wait for an answer. */
static void next_attempt(void *ctx)
{
	struct connection *c = ctx;
	int error = -EHOSTUNREACH;
	while (c->tried < c->n) {
		struct attempt *a = &c->attempts[c->tried];
		error = dial(c, a, &c->v[c->tried++]);
		if (error < 0)
			continue;
		if (c->tried < c->n)
			timer_start(c->next, CONNECTION_NEXT_MS, 0);
		return;
	}
	if (is_trying(c))
		return;
	if (error == -EMFILE || error == -ENFILE)
		fail_now(c, CAUSE_GATE_LIMIT, "the server has no free descriptors for a connection to %s", c->name);
	else
		fail_now(c, CAUSE_HOST_REFUSED, "%s cannot be reached: %s", c->name, strerror(-error));
}

static void on_resolved(void *ctx, const struct sockaddr_storage *v, size_t n, bool temporary)
{
	struct connection *c = ctx;
	c->resolve = NULL;
	for (size_t i = 0; i < n && c->n < CONNECTION_ADDRESSES; i++)
		if (c->spec.any_address || address_is_meant((const struct sockaddr *)&v[i], c->spec.private_networks))
			c->v[c->n++] = v[i];
	if (c->n)
		next_attempt(c);
	else if (n)
		fail_now(c, CAUSE_HOST_PRIVATE, "the name %s belongs to an address that is not public", c->name);
	else if (temporary)
		fail_now(c, CAUSE_HOST_TIMEOUT, "the resolver did not answer for %s", c->name);
	else
		fail_now(c, CAUSE_HOST_NOT_FOUND, "there is no host of the name %s", c->name);
}

static void on_dial_deadline(void *ctx)
{
	struct connection *c = ctx;
	fail_now(c, CAUSE_HOST_TIMEOUT, "%s did not accept the connection in %d s", c->name, CONNECTION_DIAL_MS / 1000);
}

static void dial_endpoint(void *ctx)
{
	struct connection *c = ctx;
	if (!address_read(&c->v[0], c->address, c->spec.port)) {
		fail_now(c, CAUSE_HOST_NOT_FOUND, "the endpoint %s has no address", c->name);
		return;
	}
	c->n = 1;
	next_attempt(c);
}

/* --- life -------------------------------------------------------------------------------------------------------- */

struct connection *connection_new(const struct connection_spec *spec)
{
	struct connection *c = new0(struct connection);
	c->spec = *spec;
	c->name = xstrdup(spec->name);
	c->address = spec->address ? xstrdup(spec->address) : NULL;
	c->began_ms = c->active_ms = loop_now_ms();
	c->stream = spec->stream;
	c->stream->owner = c;
	c->stream->on_bytes = on_bytes;
	c->stream->on_room = on_room;
	c->stream->on_finish = on_session_ended;
	c->stream->on_end = on_stream_end;
	c->deadline = timer_new(spec->loop, on_dial_deadline, c);
	timer_start(c->deadline, CONNECTION_DIAL_MS, 0);
	c->next = timer_new(spec->loop, c->address ? dial_endpoint : next_attempt, c);
	if (c->address) {
		timer_start(c->next, 0, 0);
		return c;
	}
	c->resolve = resolve_start(spec->loop, &(struct resolve_spec){ .name = c->name,
								       .port = spec->port,
								       .session = spec->session,
								       .on_done = on_resolved,
								       .ctx = c });
	return c;
}

struct connection *connection_free(struct connection *c)
{
	if (!c)
		return NULL;
	drop_attempts(c);
	c->host = c->step == STEP_OPEN ? duplex_reset(c->host) : duplex_free(c->host);
	line_gate_free(c->stream);
	line_gate_free(c->spent);
	timer_free(c->deadline);
	if (c->spec.filter)
		c->spec.filter->type->free(c->spec.filter);
	buf_wipe(&c->down);
	fail_release(&c->why);
	free(c->name);
	free(c->address);
	free(c);
	return NULL;
}

void connection_deny(struct connection *c)
{
	fail_now(c, CAUSE_GATE_DENIED, "the network of this session does not reach %s any more", c->name);
}

const char *connection_name(const struct connection *c)
{
	return c->name;
}

uint16_t connection_port(const struct connection *c)
{
	return c->spec.port;
}

struct connection_outcome connection_so_far(const struct connection *c)
{
	const struct gate_filter *filter = c->spec.filter;
	return (struct connection_outcome){
		.cause = c->why.kind ? cause_of(&c->why) : CAUSE_NONE,
		.sentence = c->why.message,
		.up = c->up,
		.down = c->down_bytes,
		.duration_ms = loop_now_ms() - c->began_ms,
		.secret = filter && filter->type->secret ? filter->type->secret(filter) : NULL,
	};
}
