#include "kernels/streams/streams.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/json.h"
#include "kernels/entry.h"

/* Time for a server of the session to accept a connection: its queue may be full. */
#define CONNECT_MS 10000
/* Credit is sent in pieces of at least this size. */
#define CREDIT_STEP (STREAM_WINDOW / 4)

struct stream {
	struct list node;
	struct streams *all;
	uint32_t number;
	uint16_t port;
	int fd;
	struct watch watch;
	bool watched;
	bool connecting, readable;
	char *name;   /* of a stream of the gate; else NULL */
	bool offered; /* the manager has not answered yet */
	bool tried_ipv6;
	bool in_ended;	 /* the program has sent everything, and the manager was informed */
	bool out_ended;	 /* the manager has sent everything */
	bool out_shut;	 /* the program was informed that the manager has sent everything */
	uint32_t credit; /* bytes that the manager still accepts */
	struct buf out;	 /* bytes for the program, which it has not accepted yet */
	uint32_t taken;	 /* bytes that it has accepted, and that are not credited yet */
	struct timeout patience;
};

void streams_init(struct streams *all, struct poller *p, struct sender *sender)
{
	*all = (struct streams){ .poller = p, .sender = sender };
	list_init(&all->list);
}

static struct stream *find(struct streams *all, uint32_t number)
{
	list_for_each(s, &all->list, struct stream, node)
		if (s->number == number)
			return s;
	return NULL;
}

static void refuse(struct streams *all, uint32_t number, const char *cause)
{
	json_auto_t *payload = json_pack("{s:s}", "cause", cause);
	(void)sender_json(all->sender, FRAME_STREAM_REFUSE, number, payload);
}

static void stream_free(struct stream *s)
{
	watch_stop(&s->watch);
	timeout_stop(&s->patience);
	closep(&s->fd);
	buf_release(&s->out);
	list_remove(&s->node);
	if (s->name)
		s->all->n_offered--;
	else
		s->all->n--;
	free(s->name);
	free(s);
}

/* The program sees a reset connection, so half of the bytes never look like all of them. */
static void reset(struct stream *s)
{
	setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &(struct linger){ .l_onoff = 1 }, sizeof(struct linger));
	stream_free(s);
}

static void break_off(struct stream *s, const char *cause)
{
	refuse(s->all, s->number, cause);
	reset(s);
}

void streams_orphan(struct streams *all)
{
	list_for_each(s, &all->list, struct stream, node)
		reset(s);
}

/* ---- bytes */

static void on_ready(struct watch *w, short revents);

/* A connection whose other end is closed is always ready, so it is not watched for an event that is already known. */
static void watch_for_more(struct stream *s)
{
	bool reads = !s->connecting && !s->offered && !s->readable && !s->in_ended;
	short events = (short)((reads ? POLLIN : 0) | (s->connecting || s->out.len ? POLLOUT : 0));
	if (events && !s->watched)
		watch_start(s->all->poller, &s->watch, s->fd, events, on_ready);
	else if (!events)
		watch_stop(&s->watch);
	s->watch.events = events;
	s->watched = events;
}

/* True if the stream was freed. */
static bool finish_if_over(struct stream *s)
{
	if (!s->in_ended || !s->out_shut)
		return false;
	stream_free(s);
	return true;
}

static void give_credit(struct stream *s)
{
	uint8_t payload[4];
	if (s->taken < CREDIT_STEP || s->out_ended)
		return;
	entry_put_number(payload, 4, s->taken);
	s->taken = 0;
	(void)sender_raw(s->all->sender, FRAME_STREAM_CREDIT, s->number, payload, sizeof(payload));
}

/* True if the stream was freed. */
static bool write_out(struct stream *s)
{
	size_t sent = 0;
	while (sent < s->out.len) {
		ssize_t n = send(s->fd, s->out.data + sent, s->out.len - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			break_off(s, "reset");
			return true;
		}
		sent += (size_t)n;
	}
	s->taken += (uint32_t)sent;
	buf_consume(&s->out, sent);
	give_credit(s);
	if (s->out.len)
		return false;
	buf_release(&s->out);
	if (!s->out_ended || s->out_shut)
		return false;
	shutdown(s->fd, SHUT_WR);
	s->out_shut = true;
	return finish_if_over(s);
}

/* Sends one piece. True if there may be more; *ret_freed if the stream is gone. */
static bool pass_on(struct stream *s, bool *ret_freed)
{
	static uint8_t data[STREAM_DATA_MAX];
	ssize_t n = recv(s->fd, data, MIN(sizeof(data), (size_t)s->credit), MSG_DONTWAIT);
	*ret_freed = false;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n < 0) {
		*ret_freed = true;
		break_off(s, "reset");
	} else if (n == 0) {
		s->in_ended = true;
		(void)sender_raw(s->all->sender, FRAME_STREAM_END, s->number, NULL, 0);
		*ret_freed = finish_if_over(s);
	} else {
		s->credit -= (uint32_t)n;
		(void)sender_raw(s->all->sender, FRAME_STREAM_DATA, s->number, data, (size_t)n);
	}
	return n > 0;
}

bool streams_step(struct streams *all)
{
	list_for_each(s, &all->list, struct stream, node) {
		bool freed;
		if (!s->readable || !s->credit)
			continue;
		/* One piece at a time, so that frames of runs can follow each piece. */
		if (all->sender->queue.len)
			return true;
		s->readable = pass_on(s, &freed);
		if (freed)
			return true;
		watch_for_more(s);
		/* Streams take turns. */
		list_remove(&s->node);
		list_append(&all->list, &s->node);
		return true;
	}
	return false;
}

/* ---- connections into the session */

static int dial(struct stream *s, int family)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET,
				  .sin_port = htons(s->port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
				   .sin6_port = htons(s->port),
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	s->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0)
		return -errno;
	setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	const struct sockaddr *to = family == AF_INET ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6;
	int r = connect(s->fd, to, family == AF_INET ? sizeof(v4) : sizeof(v6)) < 0 ? -errno : 0;
	return r == -EINPROGRESS ? 0 : r;
}

static void on_patience(struct timeout *t)
{
	break_off(container_of(t, struct stream, patience), "timeout");
}

static void dial_next(struct stream *s, int error);

static void on_connected(struct stream *s)
{
	int error = 0;
	socklen_t n = sizeof(error);
	if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &error, &n) < 0 || error) {
		dial_next(s, -error);
		return;
	}
	s->connecting = false;
	timeout_stop(&s->patience);
	(void)sender_raw(s->all->sender, FRAME_STREAM_ACCEPT, s->number, NULL, 0);
	if (!write_out(s))
		watch_for_more(s);
}

static void on_ready(struct watch *w, short revents)
{
	struct stream *s = container_of(w, struct stream, watch);
	if (s->connecting) {
		on_connected(s);
		return;
	}
	if (revents & ~POLLOUT)
		s->readable = true;
	if (!(revents & POLLOUT) || !write_out(s))
		watch_for_more(s);
}

/* Servers of a session listen on 127.0.0.1 or on every address; few only on ::1. */
static void dial_next(struct stream *s, int error)
{
	watch_stop(&s->watch);
	s->watched = false;
	closep(&s->fd);
	if (!s->tried_ipv6) {
		s->tried_ipv6 = true;
		error = dial(s, AF_INET6);
	}
	if (error < 0)
		break_off(s, error == -EMFILE || error == -ENFILE || error == -ENOBUFS ? "limit" : "refused");
	else
		watch_for_more(s);
}

static void open_stream(struct streams *all, uint32_t number, uint16_t port)
{
	struct stream *s = new0(struct stream);
	*s = (struct stream){ .all = all, .number = number, .port = port, .credit = STREAM_WINDOW, .connecting = true };
	s->out.max = STREAM_WINDOW;
	list_append(&all->list, &s->node);
	all->n++;
	int r = dial(s, AF_INET);
	timeout_start(all->poller, &s->patience, CONNECT_MS, on_patience);
	if (r < 0)
		dial_next(s, r);
	else
		watch_for_more(s);
}

/* ---- connections to the gate */

void streams_offer(struct streams *all, int fd, const char *name, uint16_t port)
{
	struct stream *s = new0(struct stream);
	/* Numbers of earlier streams are not used again while a frame for them may be in transit. */
	all->last_offered = MAX(all->last_offered + 1, STREAM_NUMBER_FIRST);
	*s = (struct stream){ .all = all,
			      .number = all->last_offered,
			      .port = port,
			      .fd = fd,
			      .name = xstrdup(name),
			      .offered = true,
			      .credit = STREAM_WINDOW };
	s->out.max = STREAM_WINDOW;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	list_append(&all->list, &s->node);
	all->n_offered++;
	json_auto_t *payload = json_pack("{s:s, s:i}", "name", name, "port", port);
	(void)sender_json(all->sender, FRAME_STREAM_OPEN, s->number, payload);
}

static int on_accept(struct stream *s)
{
	if (!s->offered)
		return -EPROTO;
	s->offered = false;
	watch_for_more(s);
	return 0;
}

static void on_refusal(struct stream *s, const struct frame *f)
{
	if (!s->offered) {
		reset(s);
		return;
	}
	json_auto_t *refusal = json_parse(f->payload, f->header.length, JSON_REJECT_DUPLICATES);
	const char *cause = json_string_value(json_object_get(refusal, "cause"));
	AUTO(freep) char *name = xstrdup(s->name);
	struct streams *all = s->all;
	uint16_t port = s->port;
	int fd = take_fd(s->fd);
	stream_free(s);
	all->on_refused(all, fd, name, port, cause ? cause : "refused");
}

/* ---- frames */

static int on_open(struct streams *all, const struct frame *f)
{
	json_auto_t *open = json_parse(f->payload, f->header.length, JSON_REJECT_DUPLICATES);
	json_int_t port = json_integer_value(json_object_get(open, "port"));
	if (port < 1 || port > UINT16_MAX)
		return -EPROTO;
	if (all->refuses || all->n >= STREAMS_MAX)
		refuse(all, f->header.call, all->refuses ? "refused" : "limit");
	else
		open_stream(all, f->header.call, (uint16_t)port);
	return 0;
}

static int on_data(struct stream *s, const struct frame *f)
{
	if (s->offered || s->out_ended || f->header.length > STREAM_WINDOW - s->out.len - s->taken)
		return -EPROTO;
	(void)buf_add(&s->out, f->payload, f->header.length);
	if (!s->connecting && !write_out(s))
		watch_for_more(s);
	return 0;
}

static int on_credit(struct stream *s, const struct frame *f)
{
	if (f->header.length != 4)
		return -EPROTO;
	uint64_t n = entry_get_number(f->payload, 4);
	if (n > STREAM_WINDOW - s->credit)
		return -EPROTO;
	s->credit += (uint32_t)n;
	return 0;
}

static int on_end(struct stream *s)
{
	if (s->offered || s->out_ended)
		return -EPROTO;
	s->out_ended = true;
	if (!s->connecting && !write_out(s))
		watch_for_more(s);
	return 0;
}

int streams_frame(struct streams *all, const struct frame *f)
{
	if (f->header.type == FRAME_STREAM_OPEN)
		return on_open(all, f);
	struct stream *s = find(all, f->header.call);
	if (!s)
		return 0; /* it was in transit when the stream ended */
	switch (f->header.type) {
	case FRAME_STREAM_DATA:
		return on_data(s, f);
	case FRAME_STREAM_CREDIT:
		return on_credit(s, f);
	case FRAME_STREAM_END:
		return on_end(s);
	case FRAME_STREAM_REFUSE:
		on_refusal(s, f);
		return 0;
	case FRAME_STREAM_ACCEPT:
		return on_accept(s);
	default:
		return -EPROTO;
	}
}
