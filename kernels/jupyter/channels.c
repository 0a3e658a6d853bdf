#include "kernels/jupyter/channels.h"

#include <errno.h>
#include <zmq.h>

#include "base/alloc.h"
#include "jupyter/multipart.h"
#include "jupyter/replays.h"

#define WAIT_FDS_MAX 4
#define RECONNECT_MS 5
#define RECONNECT_MAX_MS 50
#define RECEIVE_BYTES (4 << 20)

struct channels {
	void *context;
	void *sockets[CHANNELS];
	struct sender_id id;
	struct multipart *received;
	uint32_t ping;
	bool answered;
	struct replays *replays;
};

static const int kinds[CHANNELS] = {
	[CHANNEL_SHELL] = ZMQ_DEALER,	[CHANNEL_IOPUB] = ZMQ_SUB,	  [CHANNEL_STDIN] = ZMQ_DEALER,
	[CHANNEL_CONTROL] = ZMQ_DEALER, [CHANNEL_HEARTBEAT] = ZMQ_DEALER,
};

static int set_options(void *socket, enum channel which, const struct sender_id *id)
{
	int64_t frame_max = CHANNEL_FRAME_MAX;
	int r = zmq_setsockopt(socket, ZMQ_LINGER, &(int){ 0 }, sizeof(int));
	r |= zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &frame_max, sizeof(frame_max));
	/* The kernel is about to bind its sockets: each failed attempt delays the start by this long. */
	r |= zmq_setsockopt(socket, ZMQ_RECONNECT_IVL, &(int){ RECONNECT_MS }, sizeof(int));
	r |= zmq_setsockopt(socket, ZMQ_RECONNECT_IVL_MAX, &(int){ RECONNECT_MAX_MS }, sizeof(int));
	/* No limit on received messages: a publisher drops those that a slow subscriber does not read. */
	r |= zmq_setsockopt(socket, ZMQ_RCVHWM, &(int){ 0 }, sizeof(int));
	r |= zmq_setsockopt(socket, ZMQ_RCVBUF, &(int){ RECEIVE_BYTES }, sizeof(int));
	if (which == CHANNEL_IOPUB)
		r |= zmq_setsockopt(socket, ZMQ_SUBSCRIBE, "", 0);
	else if (which != CHANNEL_HEARTBEAT) /* stdin requests go to the identity of the shell channel */
		r |= zmq_setsockopt(socket, ZMQ_ROUTING_ID, id->session, strlen(id->session));
	return r;
}

int channels_open(struct channels **ret, const struct connection *c, const struct sender_id *id, struct fail *f)
{
	struct channels *channels = new0(struct channels);
	channels->id = *id;
	channels->answered = true;
	channels->received = multipart_new();
	channels->replays = replays_new();
	channels->context = zmq_ctx_new();
	for (int i = 0; channels->context && i < CHANNELS; i++) {
		channels->sockets[i] = zmq_socket(channels->context, kinds[i]);
		if (!channels->sockets[i] || set_options(channels->sockets[i], (enum channel)i, id) != 0 ||
		    zmq_connect(channels->sockets[i], c->endpoints[i]) != 0) {
			fail_set(f, FAIL_INVALID, "cannot connect to '%s': %s", c->endpoints[i],
				 zmq_strerror(zmq_errno()));
			channels_free(channels);
			return -1;
		}
	}
	*ret = channels;
	return 0;
}

struct channels *channels_free(struct channels *c)
{
	if (!c)
		return NULL;
	for (int i = 0; i < CHANNELS; i++)
		if (c->sockets[i])
			zmq_close(c->sockets[i]);
	multipart_free(c->received);
	replays_free(c->replays);
	if (c->context)
		zmq_ctx_term(c->context);
	explicit_bzero(&c->id, sizeof(c->id));
	free(c);
	return NULL;
}

int channels_send(struct channels *c, enum channel to, const char *type, const json_t *parent, const json_t *content,
		  char ret_id[MESSAGE_ID_LEN + 1])
{
	AUTO(envelope_release) struct envelope e;
	envelope_make(&e, &c->id, type, parent, content, ret_id);
	return multipart_send_envelope(c->sockets[to], NULL, 0, &e);
}

int channels_receive(struct channels *c, enum channel from, void (*on_message)(void *ctx, const struct message *m),
		     void *ctx, const char **ret_why)
{
	struct message m;
	size_t n;
	int r = multipart_receive(c->received, c->sockets[from]);
	if (r == 0)
		return 0;
	if (r < 0)
		return *ret_why = "has too many frames", -EPROTO;
	const struct part *frames = multipart_parts(c->received, &n);
	r = message_decode(&m, c->id.key, frames, n, ret_why);
	if (r < 0)
		return r;
	bool is_first = replays_is_first(c->replays, &m);
	if (is_first)
		on_message(ctx, &m);
	message_release(&m);
	if (!is_first)
		return *ret_why = "was sent before", -EPROTO;
	return 1;
}

/* Sends the same frames as a REQ socket, which would have to wait for an answer before it can send again. */
void channels_ping(struct channels *c)
{
	c->ping++;
	c->answered = false;
	if (zmq_send(c->sockets[CHANNEL_HEARTBEAT], "", 0, ZMQ_DONTWAIT | ZMQ_SNDMORE) == 0)
		(void)zmq_send(c->sockets[CHANNEL_HEARTBEAT], &c->ping, sizeof(c->ping), ZMQ_DONTWAIT);
}

bool channels_pong(struct channels *c)
{
	while (multipart_receive(c->received, c->sockets[CHANNEL_HEARTBEAT]) != 0) {
		size_t n;
		const struct part *frames = multipart_parts(c->received, &n);
		c->answered |= n && frames[n - 1].n == sizeof(c->ping) &&
			       memcmp(frames[n - 1].data, &c->ping, sizeof(c->ping)) == 0;
	}
	return c->answered;
}

int channels_wait(struct channels *c, const int *fds, size_t n, long timeout_ms, unsigned *ret_ready)
{
	zmq_pollitem_t items[CHANNELS + WAIT_FDS_MAX] = { 0 };
	unsigned bits[WAIT_FDS_MAX];
	int used = CHANNELS;
	for (int i = 0; i < CHANNELS; i++)
		items[i] = (zmq_pollitem_t){ .socket = c->sockets[i], .events = ZMQ_POLLIN };
	for (size_t i = 0; i < MIN(n, (size_t)WAIT_FDS_MAX); i++) {
		if (fds[i] < 0)
			continue;
		bits[used - CHANNELS] = 1u << i;
		items[used++] = (zmq_pollitem_t){ .fd = fds[i], .events = ZMQ_POLLIN };
	}
	*ret_ready = 0;
	if (zmq_poll(items, used, timeout_ms) < 0 && zmq_errno() != EINTR)
		return -zmq_errno();
	for (int i = CHANNELS; i < used; i++)
		if (items[i].revents)
			*ret_ready |= bits[i - CHANNELS];
	return 0;
}
