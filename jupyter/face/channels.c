#include "jupyter/face/channels.h"

#include <errno.h>
#include <zmq.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/ready.h"
#include "jupyter/multipart.h"
#include "jupyter/replays.h"

#define LINGER_MS 500
/* Messages queued for one client. The publisher drops further ones. */
#define SEND_MAX 1000
/* Messages read from one socket before the others get their turn. */
#define TURN_MAX 100
#define COMPLAINTS_MAX 10

struct channels {
	void *context;
	struct socket {
		void *raw;
		struct ready *ready;
	} v[CHANNELS];
	struct sender_id id;
	struct multipart *received;
	struct replays *replays;
	struct timer *poll; /* reads all sockets, even if no descriptor is ready */
	unsigned complaints;
	bool listens;
	void (*on_message)(void *ctx, enum channel from, const struct message *m);
	void *ctx;
};

static const int kinds[CHANNELS] = {
	[CHANNEL_SHELL] = ZMQ_ROUTER,	[CHANNEL_IOPUB] = ZMQ_PUB,	  [CHANNEL_STDIN] = ZMQ_ROUTER,
	[CHANNEL_CONTROL] = ZMQ_ROUTER, [CHANNEL_HEARTBEAT] = ZMQ_ROUTER,
};

static const char *const names[CHANNELS] = {
	[CHANNEL_SHELL] = "shell",     [CHANNEL_IOPUB] = "iopub",	  [CHANNEL_STDIN] = "stdin",
	[CHANNEL_CONTROL] = "control", [CHANNEL_HEARTBEAT] = "heartbeat",
};

/* --- receiving --------------------------------------------------------------------------------------------------- */

static void complain(struct channels *s, enum channel from, const char *why)
{
	if (s->complaints++ < COMPLAINTS_MAX)
		log_warning("a message on the %s channel %s and was dropped", names[from], why);
}

static void take_message(struct channels *s, enum channel from)
{
	struct message m;
	const char *why;
	size_t n;
	const struct part *frames = multipart_parts(s->received, &n);
	if (from == CHANNEL_HEARTBEAT) {
		(void)multipart_send(s->v[from].raw, frames, n);
		return;
	}
	if (message_decode(&m, s->id.key, frames, n, &why) < 0) {
		complain(s, from, why);
		return;
	}
	if (replays_is_first(s->replays, &m))
		s->on_message(s->ctx, from, &m);
	else
		complain(s, from, "was sent before");
	message_release(&m);
}

static bool can_be_read(void *raw)
{
	int events = 0;
	size_t n = sizeof(events);
	return zmq_getsockopt(raw, ZMQ_EVENTS, &events, &n) == 0 && events & ZMQ_POLLIN;
}

/* True if there may be more messages. */
static bool take_turn(struct channels *s, enum channel from)
{
	for (int i = 0; i < TURN_MAX; i++) {
		int r = can_be_read(s->v[from].raw) ? multipart_receive(s->received, s->v[from].raw) : 0;
		if (r == 0)
			return false;
		if (r < 0)
			complain(s, from, "has too many frames");
		else
			take_message(s, from);
	}
	return true;
}

/* The most urgent channel first. */
static const enum channel order[] = { CHANNEL_HEARTBEAT, CHANNEL_CONTROL, CHANNEL_STDIN, CHANNEL_SHELL };

static void poll_all(void *ctx)
{
	struct channels *s = ctx;
	bool more = false;
	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		if (order[i] == CHANNEL_HEARTBEAT || s->listens)
			more |= take_turn(s, order[i]);
	/* ZMQ_EVENTS must be read for every socket, or its descriptor signals no further change. */
	for (int i = 0; i < CHANNELS; i++)
		(void)can_be_read(s->v[i].raw);
	if (more)
		timer_start(s->poll, 0, 0);
}

static void on_ready(void *ctx, int events UNUSED)
{
	poll_all(ctx);
}

void channels_listen(struct channels *s)
{
	s->listens = true;
	timer_start(s->poll, 0, 0);
}

/* --- sending ----------------------------------------------------------------------------------------------------- */

static void send_to(struct channels *s, enum channel to, const struct part *idents, size_t n_idents, const char *type,
		    const json_t *parent, const json_t *content)
{
	char id[MESSAGE_ID_LEN + 1];
	AUTO(envelope_release) struct envelope e;
	envelope_make(&e, &s->id, type, parent, content, id);
	int r = multipart_send_envelope(s->v[to].raw, idents, n_idents, &e);
	if (r < 0)
		log_debug("a %s could not be sent: %s", type, zmq_strerror(-r));
	/* A ZeroMQ descriptor signals changes only, and sending consumes the signal: a message that came meanwhile
	 * would stay unread. */
	if (!timer_active(s->poll))
		timer_start(s->poll, 0, 0);
}

void channels_send(struct channels *s, enum channel to, const struct part *idents, size_t n_idents, const char *type,
		   const json_t *parent, const json_t *content)
{
	send_to(s, to, idents, n_idents, type, parent, content);
}

void channels_publish(struct channels *s, const char *type, const json_t *parent, const json_t *content)
{
	struct part topic = { type, strlen(type) };
	send_to(s, CHANNEL_IOPUB, &topic, 1, type, parent, content);
}

/* --- life -------------------------------------------------------------------------------------------------------- */

static int set_options(void *raw, enum channel which)
{
	int64_t frame_max = CHANNELS_FRAME_MAX;
	int r = zmq_setsockopt(raw, ZMQ_LINGER, &(int){ LINGER_MS }, sizeof(int));
	r |= zmq_setsockopt(raw, ZMQ_MAXMSGSIZE, &frame_max, sizeof(frame_max));
	r |= zmq_setsockopt(raw, ZMQ_SNDHWM, &(int){ SEND_MAX }, sizeof(int));
	/* A client that reconnects with the same identity replaces its old connection. */
	if (which != CHANNEL_IOPUB)
		r |= zmq_setsockopt(raw, ZMQ_ROUTER_HANDOVER, &(int){ 1 }, sizeof(int));
	return r;
}

static int open_one(struct channels *s, enum channel which, const char *endpoint, struct loop *loop)
{
	struct socket *socket = &s->v[which];
	int fd;
	size_t n = sizeof(fd);
	socket->raw = zmq_socket(s->context, kinds[which]);
	if (!socket->raw || set_options(socket->raw, which) != 0 || zmq_bind(socket->raw, endpoint) != 0 ||
	    zmq_getsockopt(socket->raw, ZMQ_FD, &fd, &n) != 0)
		return -1;
	socket->ready = ready_new(loop, fd, on_ready, s);
	if (!socket->ready)
		return -1;
	ready_watch(socket->ready, READY_READ);
	return 0;
}

int channels_open(struct channels **ret, const struct channels_spec *spec, struct fail *f)
{
	struct channels *s = new0(struct channels);
	s->id = *spec->id;
	s->on_message = spec->on_message;
	s->ctx = spec->ctx;
	s->received = multipart_new();
	s->replays = replays_new();
	s->poll = timer_new(spec->loop, poll_all, s);
	s->context = zmq_ctx_new();
	for (int i = 0; i < CHANNELS; i++) {
		const char *endpoint = spec->connection->endpoints[i];
		if (s->context && open_one(s, (enum channel)i, endpoint, spec->loop) == 0)
			continue;
		fail_set(f, FAIL_INTERNAL, "cannot listen at '%s': %s", endpoint, zmq_strerror(zmq_errno()));
		channels_free(s);
		return -1;
	}
	/* Reads the messages that came before the descriptors were watched. */
	timer_start(s->poll, 0, 0);
	*ret = s;
	return 0;
}

struct channels *channels_free(struct channels *s)
{
	if (!s)
		return NULL;
	for (int i = 0; i < CHANNELS; i++) {
		ready_free(s->v[i].ready);
		if (s->v[i].raw)
			zmq_close(s->v[i].raw);
	}
	timer_free(s->poll);
	multipart_free(s->received);
	replays_free(s->replays);
	if (s->context)
		zmq_ctx_term(s->context);
	explicit_bzero(&s->id, sizeof(s->id));
	free(s);
	return NULL;
}
