#include "kernels/packages/relay.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/json.h"
#include "kernels/entry.h"
#include "kernels/packages/http.h"

#define BACKLOG 64
/* Time for a request to arrive. */
#define HEAD_MS 10000
/* How long a client may leave its answer unread. */
#define UNREAD_MS 120000
#define STATUS_MIN 200
#define STATUS_MAX 599

enum relay_state {
	READS,	   /* the request arrives */
	WAITS,	   /* the request is complete and must be sent */
	REQUESTED, /* the request was sent */
	ANSWERS,   /* the head of the answer has arrived */
	LEAVES,	   /* the rest of the answer is in `out` */
};

struct relay_request {
	struct relay *relay;
	size_t place;
	uint16_t port;
	uint32_t number;
	int fd;
	enum relay_state state;
	bool head, chunked;
	bool refused; /* its further input is read, since a reset of the connection would discard the answer */
	struct buf in, out;
	size_t sent;
	uint32_t uncredited; /* bytes of data in out */
	struct watch watch;
	struct timeout patience;
};

static void admit(struct relay *r);

void relay_init(struct relay *r, struct poller *p, struct sender *sender)
{
	*r = (struct relay){ .poller = p, .sender = sender, .last_number = RELAY_NUMBER_FIRST - 1 };
}

static void request_free(struct relay_request *q)
{
	q->relay->requests[q->place] = NULL;
	watch_stop(&q->watch);
	timeout_stop(&q->patience);
	closep(&q->fd);
	buf_release(&q->in);
	buf_release(&q->out);
	free(q);
}

/* A broken answer must not look complete: the connection is reset. */
static void break_off(struct relay_request *q)
{
	struct relay *r = q->relay;
	if (q->state == REQUESTED || q->state == ANSWERS)
		(void)sender_raw(r->sender, FRAME_RELAY_CANCEL, q->number, NULL, 0);
	setsockopt(q->fd, SOL_SOCKET, SO_LINGER, &(struct linger){ .l_onoff = 1 }, sizeof(struct linger));
	request_free(q);
	admit(r);
}

static void on_patience(struct timeout *t)
{
	break_off(container_of(t, struct relay_request, patience));
}

/* ---- to the client */

static void give_credit(struct relay_request *q)
{
	uint8_t payload[4];
	if (!q->uncredited || q->state != ANSWERS)
		return;
	entry_put_number(payload, 4, q->uncredited);
	q->uncredited = 0;
	(void)sender_raw(q->relay->sender, FRAME_RELAY_CREDIT, q->number, payload, sizeof(payload));
}

static void leave(struct relay_request *q)
{
	struct relay *r = q->relay;
	request_free(q);
	admit(r);
}

static void flush(struct relay_request *q)
{
	while (q->sent < q->out.len) {
		ssize_t n = send(q->fd, q->out.data + q->sent, q->out.len - q->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			q->watch.events = POLLIN | POLLOUT;
			return;
		}
		if (n < 0) {
			break_off(q);
			return;
		}
		q->sent += (size_t)n;
		timeout_start(q->relay->poller, &q->patience, UNREAD_MS, on_patience);
	}
	buf_reset(&q->out);
	q->sent = 0;
	q->watch.events = POLLIN;
	if (q->state == LEAVES) {
		shutdown(q->fd, SHUT_WR);
		if (!q->refused)
			leave(q);
		return;
	}
	/* Everything so far was sent to the client, so it is no longer timed. */
	timeout_stop(&q->patience);
	give_credit(q);
}

static void refuse(struct relay_request *q, int status, const char *text)
{
	http_put_error(&q->out, status, q->head ? "" : text);
	q->state = LEAVES;
	q->refused = true;
	flush(q);
}

/* ---- from the client */

static void take_request(struct relay_request *q)
{
	struct http_request request;
	AUTO(freep) char *copy = xmalloc(q->in.len + 1);
	memcpy(copy, q->in.data, q->in.len);
	int r = http_parse(copy, q->in.len, &request);
	if (r == 0)
		return;
	if (r < 0) {
		refuse(q, -r, "Husk's relay accepts GET and HEAD requests of HTTP/1.1.\n");
		return;
	}
	json_auto_t *headers = json_object();
	for (size_t i = 0; i < request.n_headers; i++)
		json_object_set_new(headers, request.headers[i].name, json_string(request.headers[i].value));
	json_auto_t *get = json_pack("{s:i, s:s, s:s, s:O}", "port", q->port, "method", request.head ? "HEAD" : "GET",
				     "target", request.target, "headers", headers);
	buf_reset(&q->in);
	q->number = ++q->relay->last_number;
	(void)frame_append_json(&q->in, FRAME_RELAY_GET, q->number, get);
	q->head = request.head;
	q->state = WAITS;
	timeout_stop(&q->patience);
}

static void on_client(struct watch *w, short revents)
{
	struct relay_request *q = container_of(w, struct relay_request, watch);
	char data[HTTP_HEAD_MAX];
	if (revents & POLLOUT) {
		flush(q);
		return; /* q may be freed */
	}
	ssize_t n = recv(q->fd, data, sizeof(data), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0 && q->refused && !q->out.len) {
		leave(q);
		return;
	}
	if (n <= 0) {
		break_off(q);
		return;
	}
	if (q->state != READS)
		return; /* input after the request is ignored */
	if (buf_add(&q->in, data, MIN((size_t)n, HTTP_HEAD_MAX - q->in.len)) == 0)
		take_request(q);
}

static struct relay_request *request_new(struct relay_port *p, size_t place, int fd)
{
	struct relay_request *q = new0(struct relay_request);
	q->relay = p->relay;
	q->place = place;
	q->port = p->port;
	q->fd = fd;
	watch_start(p->relay->poller, &q->watch, fd, POLLIN, on_client);
	timeout_start(p->relay->poller, &q->patience, HEAD_MS, on_patience);
	return q;
}

static size_t free_place(const struct relay *r)
{
	size_t i = 0;
	while (i < ARRAY_LEN(r->requests) && r->requests[i])
		i++;
	return i;
}

/* While all places are taken, further clients wait in the queues of the listening sockets. */
static void admit(struct relay *r)
{
	bool full = free_place(r) == ARRAY_LEN(r->requests);
	for (size_t i = 0; i < r->n_ports; i++)
		r->ports[i].watch.events = full ? 0 : POLLIN;
}

static void on_connect(struct watch *w, short revents UNUSED)
{
	struct relay_port *p = container_of(w, struct relay_port, watch);
	struct relay *r = p->relay;
	for (size_t place; (place = free_place(r)) < ARRAY_LEN(r->requests);) {
		int fd = accept4(p->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			return;
		r->requests[place] = request_new(p, place, fd);
	}
	admit(r);
}

/* ---- ports */

static int listen_on(struct relay *r, uint16_t port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	AUTO(closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	struct relay_port *p = &r->ports[r->n_ports++];
	*p = (struct relay_port){ .relay = r, .fd = take_fd(fd), .port = port };
	watch_start(r->poller, &p->watch, p->fd, POLLIN, on_connect);
	return 0;
}

int relay_open(struct relay *r, const uint16_t *ports, size_t n)
{
	int e = 0;
	relay_close(r);
	for (size_t i = 0; i < n && e == 0; i++)
		e = listen_on(r, ports[i]);
	if (e < 0)
		relay_close(r);
	return e;
}

void relay_close(struct relay *r)
{
	for (size_t i = 0; i < r->n_ports; i++) {
		watch_stop(&r->ports[i].watch);
		closep(&r->ports[i].fd);
	}
	r->n_ports = 0;
	for (size_t i = 0; i < ARRAY_LEN(r->requests); i++)
		if (r->requests[i])
			break_off(r->requests[i]);
}

void relay_spare_proxies(struct strv *env)
{
	static const char *const names[] = { "NO_PROXY", "no_proxy" };
	for (size_t k = 0; k < ARRAY_LEN(names); k++) {
		size_t len = strlen(names[k]);
		AUTO(freep) char *more = xasprintf("%s=127.0.0.1", names[k]);
		for (size_t i = 0; i < env->n; i++) {
			if (strncmp(env->v[i], names[k], len) != 0 || env->v[i][len] != '=' || !env->v[i][len + 1])
				continue;
			free(more);
			more = xasprintf("%s,127.0.0.1", env->v[i]);
		}
		strv_set_env(env, more);
	}
}

/* ---- the line */

void relay_step(struct relay *r)
{
	for (size_t i = 0; i < ARRAY_LEN(r->requests) && !sender_full(r->sender); i++) {
		struct relay_request *q = r->requests[i];
		if (!q || q->state != WAITS)
			continue;
		(void)buf_add(&r->sender->queue, q->in.data, q->in.len);
		buf_release(&q->in);
		q->state = REQUESTED;
	}
}

void relay_orphan(struct relay *r)
{
	for (size_t i = 0; i < ARRAY_LEN(r->requests); i++) {
		struct relay_request *q = r->requests[i];
		if (!q || (q->state != REQUESTED && q->state != ANSWERS))
			continue;
		/* There is no controller to receive a CANCEL. */
		q->state = READS;
		break_off(q);
	}
}

static void put_headers(struct buf *out, const json_t *headers)
{
	const char *name;
	json_t *value;
	json_object_foreach((json_t *)headers, name, value) {
		const char *text = json_string_value(value);
		if (text && http_is_value(name) && !strpbrk(name, ": \t") && http_is_value(text))
			(void)buf_printf(out, "%s: %s\r\n", name, text);
	}
}

static int on_answer(struct relay_request *q, const struct frame *f)
{
	json_auto_t *answer = json_parse(f->payload, f->header.length, JSON_REJECT_DUPLICATES);
	json_int_t status = json_integer_value(json_object_get(answer, "status"));
	const json_t *length = json_object_get(answer, "length");
	if (q->state != REQUESTED || status < STATUS_MIN || status > STATUS_MAX)
		return -EPROTO;
	bool has_body = !q->head && status != 204 && status != 304;
	http_put_status(&q->out, (int)status);
	put_headers(&q->out, json_object_get(answer, "headers"));
	if (json_is_integer(length) && json_integer_value(length) >= 0)
		(void)buf_printf(&q->out, "Content-Length: %lld\r\n", (long long)json_integer_value(length));
	else if (has_body)
		q->chunked = true, (void)buf_add_str(&q->out, "Transfer-Encoding: chunked\r\n");
	(void)buf_add_str(&q->out, "Connection: close\r\n\r\n");
	q->state = ANSWERS;
	flush(q);
	return 0;
}

static int on_data(struct relay_request *q, const struct frame *f)
{
	uint32_t n = f->header.length;
	if (q->state != ANSWERS || q->uncredited + n > RELAY_WINDOW)
		return -EPROTO;
	if (!n)
		return 0;
	if (q->chunked)
		(void)buf_printf(&q->out, "%x\r\n", n);
	(void)buf_add(&q->out, f->payload, n);
	if (q->chunked)
		(void)buf_add_str(&q->out, "\r\n");
	q->uncredited += n;
	flush(q);
	return 0;
}

static int on_end(struct relay_request *q, const struct frame *f)
{
	json_auto_t *end = json_parse(f->payload, f->header.length, JSON_REJECT_DUPLICATES);
	const char *error = json_string_value(json_object_get(end, "error"));
	json_int_t status = json_integer_value(json_object_get(end, "status"));
	if (q->state == REQUESTED) {
		refuse(q, status >= 400 && status <= STATUS_MAX ? (int)status : 502, error ? error : "no answer\n");
		return 0;
	}
	if (q->state != ANSWERS)
		return -EPROTO;
	q->state = LEAVES;
	if (error) {
		break_off(q);
		return 0;
	}
	if (q->chunked)
		(void)buf_add_str(&q->out, "0\r\n\r\n");
	flush(q);
	return 0;
}

static struct relay_request *find(struct relay *r, uint32_t number)
{
	for (size_t i = 0; i < ARRAY_LEN(r->requests); i++)
		if (r->requests[i] && r->requests[i]->number == number && r->requests[i]->state > WAITS)
			return r->requests[i];
	return NULL;
}

int relay_frame(struct relay *r, const struct frame *f)
{
	struct relay_request *q = find(r, f->header.call);
	if (!q)
		return 0; /* it was in transit when the client left */
	switch (f->header.type) {
	case FRAME_RELAY_ANSWER:
		return on_answer(q, f);
	case FRAME_RELAY_DATA:
		return on_data(q, f);
	case FRAME_RELAY_END:
		return on_end(q, f);
	default:
		return -EPROTO;
	}
}
