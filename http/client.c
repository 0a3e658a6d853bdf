#include "http/client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/alloc.h"
#include "base/list.h"
#include "base/parse.h"
#include "base/ready.h"
#include "http/parser.h"

#define CONNECT_MS 10000
/* Servers close idle connections after a minute or so. A shorter time keeps requests off connections that are being
 * closed. */
#define IDLE_MS 10000
#define IDLE_MAX 4

struct http_client {
	struct http_client_spec spec;
	char *host;
	union {
		struct sockaddr any;
		struct sockaddr_un local;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} to;
	socklen_t to_size;
	struct list idle; /* of struct link */
	unsigned n_idle;
};

/* A connection: connecting, in use by a call, or idle. */
struct link {
	struct list node;
	struct http_client *client;
	struct http_call *call;
	int fd;		     /* while connecting */
	struct ready *ready; /* while connecting */
	struct timer *timer;
	struct channel *channel;
	struct http_parser *parser;
	bool used; /* has answered a call */
	bool parsing, freed, switched, keep_alive;
};

struct http_call {
	struct http_client *client;
	struct link *link;
	struct http_call_spec spec;   /* without its strings */
	struct buf request;	      /* bytes to send once connected */
	int files[CHANNEL_FILES_MAX]; /* to send with them */
	size_t n_files;
	bool no_body, sent_all, headed, paused, upgrades;
	struct timer *failing; /* reports a failure in the next turn */
	const char *error;
};

static void link_release(struct link *k)
{
	ready_free(k->ready);
	closep(&k->fd);
	channel_free(k->channel);
	timer_free(k->timer);
	http_parser_free(k->parser);
	free(k);
}

static void link_free(struct link *k)
{
	if (!k || k->freed)
		return;
	if (k->call)
		k->call->link = NULL;
	else if (k->used) {
		list_remove(&k->node);
		k->client->n_idle--;
	}
	k->freed = true;
	k->call = NULL;
	k->channel = channel_free(k->channel);
	if (!k->parsing)
		link_release(k);
}

/* --- calls */

static void close_files(struct http_call *call)
{
	for (size_t i = 0; i < call->n_files; i++)
		close(call->files[i]);
	call->n_files = 0;
}

struct http_call *http_call_free(struct http_call *call)
{
	if (!call)
		return NULL;
	link_free(call->link);
	timer_free(call->failing);
	buf_release(&call->request);
	close_files(call);
	free(call);
	return NULL;
}

/* Makes the last callback of a call. The connection has been freed or is idle. */
static void end_call(struct http_call *call, const char *error)
{
	void (*on_end)(void *, const char *) = call->spec.on_end;
	void *ctx = call->spec.ctx;
	http_call_free(call);
	on_end(ctx, error);
}

static void on_failing(void *ctx)
{
	struct http_call *call = ctx;
	end_call(call, call->error);
}

static void fail_later(struct http_call *call, const char *error)
{
	call->error = error;
	if (!call->failing)
		call->failing = timer_new(call->client->spec.loop, on_failing, call);
	timer_start(call->failing, 0, 0);
}

static void fail_link(struct link *k, const char *error)
{
	struct http_call *call = k->call;
	link_free(k);
	if (call)
		end_call(call, error);
}

/* --- answers */

static void on_head(void *ctx, const struct http_head *head)
{
	struct link *k = ctx;
	struct http_call *call = k->call;
	bool informational = head->status < 200 && head->status != 101;
	if (!call || informational)
		return;
	call->headed = true;
	/* Proxies close a connection after a refused upgrade, even if the answer does not say so. */
	k->keep_alive = head->keep_alive && head->status != 101 && !call->upgrades;
	/* The bytes that follow belong to the new protocol. They are handled after the parser has returned. */
	if (head->status == 101)
		k->switched = true;
	else
		call->spec.on_head(call->spec.ctx, head);
}

static void on_body(void *ctx, const void *data, size_t n)
{
	struct link *k = ctx;
	if (k->call && k->call->headed)
		k->call->spec.on_data(k->call->spec.ctx, data, n);
}

static void on_idle_timeout(void *ctx)
{
	link_free(ctx);
}

static void make_idle(struct link *k)
{
	struct http_client *c = k->client;
	k->call->link = NULL;
	k->call = NULL;
	k->used = true;
	list_append(&c->idle, &k->node);
	c->n_idle++;
	timer_free(k->timer);
	k->timer = timer_new(c->spec.loop, on_idle_timeout, k);
	timer_start(k->timer, IDLE_MS, 0);
	channel_pause(k->channel, false);
	if (c->n_idle > IDLE_MAX)
		link_free(list_first(&c->idle, struct link, node));
}

static void on_end(void *ctx)
{
	struct link *k = ctx;
	struct http_call *call = k->call;
	if (!call || !call->headed || k->switched)
		return;
	if (k->keep_alive && call->sent_all)
		make_idle(k);
	else
		link_free(k);
	end_call(call, NULL);
}

static const struct http_parser_ops parser_ops = { on_head, on_body, on_end };

/* --- the channel's events */

/* Hands the connection to the protocol that it was switched to. Input after the head goes back to the channel. */
static void switch_protocol(struct link *k, const uint8_t *rest, size_t n)
{
	struct http_call *call = k->call;
	channel_pause(k->channel, true);
	channel_unread(k->channel, rest, n);
	call->spec.on_head(call->spec.ctx, http_parser_head(k->parser));
	/* If the handler did not take the channel, it does not know the protocol. */
	if (!k->freed && k->call)
		fail_link(k, "the server switched to an unknown protocol");
}

static void parse(struct link *k, const uint8_t *data, size_t n)
{
	size_t at = 0;
	while (!k->freed && at < n && k->call && !k->switched) {
		ssize_t used = http_parser_feed(k->parser, data + at, n - at);
		if (used < 0) {
			fail_link(k, "the server's answer is not valid HTTP");
			return;
		}
		at += (size_t)used;
	}
	if (!k->freed && k->switched)
		switch_protocol(k, data + at, n - at);
	else if (!k->freed && !k->call && at < n)
		link_free(k); /* bytes without a request */
}

static void on_data(void *ctx, const void *data, size_t n)
{
	struct link *k = ctx;
	k->parsing = true;
	parse(k, data, n);
	k->parsing = false;
	if (k->freed)
		link_release(k);
}

static void on_eof(void *ctx, int error)
{
	struct link *k = ctx;
	if (!k->call) {
		link_free(k);
		return;
	}
	k->parsing = true;
	k->keep_alive = false;
	bool complete = error == 0 && k->call->headed && http_parser_finish(k->parser) == 0;
	if (!complete && !k->freed)
		fail_link(k, k->call->headed ? "the server closed the connection in the middle of its answer" :
					       "the server closed the connection without an answer");
	k->parsing = false;
	if (k->freed)
		link_release(k);
}

static void on_drained(void *ctx)
{
	struct link *k = ctx;
	if (k->call && k->call->spec.on_drained)
		k->call->spec.on_drained(k->call->spec.ctx);
}

static const struct channel_ops channel_ops = { on_data, on_eof, on_drained, NULL };

/* --- connecting */

static void send_request(struct link *k)
{
	struct http_call *call = k->call;
	channel_write_with(k->channel, call->request.data, call->request.len, call->files, call->n_files);
	buf_release(&call->request);
	close_files(call);
	if (call->no_body)
		http_parser_expect_no_body(k->parser);
	channel_pause(k->channel, call->paused);
}

static int open_channel(struct link *k)
{
	struct http_client *c = k->client;
	struct tls *tls = c->spec.tls ? tls_new(c->spec.tls, c->host) : NULL;
	k->channel = channel_new(c->spec.loop, take_fd(k->fd), tls, &channel_ops, k);
	return k->channel ? 0 : -errno;
}

static void on_connected(void *ctx, int events UNUSED)
{
	struct link *k = ctx;
	int error = 0;
	getsockopt(k->fd, SOL_SOCKET, SO_ERROR, &error, &(socklen_t){ sizeof(error) });
	k->ready = ready_free(k->ready);
	k->timer = timer_free(k->timer);
	if (error || open_channel(k) < 0)
		fail_link(k, "cannot connect to the server");
	else
		send_request(k);
}

static void on_connect_timeout(void *ctx)
{
	fail_link(ctx, "the server did not accept the connection in time");
}

/* A link on a socket that the caller has connected. */
static struct link *link_dialled(struct http_client *c)
{
	AUTO(closep) int fd = c->spec.dial(c->spec.dial_ctx);
	if (fd < 0)
		return NULL;
	struct link *k = new0(struct link);
	k->client = c;
	k->fd = take_fd(fd);
	k->parser = http_parser_new(HTTP_CLIENT, &parser_ops, k);
	if (open_channel(k) == 0)
		return k;
	link_release(k);
	return NULL;
}

/* NULL if the connection fails at once. */
static struct link *link_new(struct http_client *c)
{
	if (c->spec.dial)
		return link_dialled(c);
	AUTO(closep) int fd = socket(c->to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || (connect(fd, &c->to.any, c->to_size) < 0 && errno != EINPROGRESS && errno != EAGAIN))
		return NULL;
	struct link *k = new0(struct link);
	k->client = c;
	k->fd = take_fd(fd);
	k->parser = http_parser_new(HTTP_CLIENT, &parser_ops, k);
	k->ready = ready_new(c->spec.loop, k->fd, on_connected, k);
	if (!k->ready) {
		link_release(k);
		return NULL;
	}
	ready_watch(k->ready, READY_WRITE);
	k->timer = timer_new(c->spec.loop, on_connect_timeout, k);
	timer_start(k->timer, c->spec.connect_ms ? c->spec.connect_ms : CONNECT_MS, 0);
	return k;
}

static struct link *take_idle(struct http_client *c)
{
	struct link *k = list_first(&c->idle, struct link, node);
	if (!k)
		return NULL;
	list_remove(&k->node);
	c->n_idle--;
	timer_stop(k->timer);
	return k;
}

static void print_request(struct http_call *call, const struct http_call_spec *spec)
{
	struct buf *out = &call->request;
	buf_printf(out, "%s %s HTTP/1.1\r\nHost: %s\r\n", spec->method, spec->target, call->client->host);
	for (size_t i = 0; spec->fields && i < spec->fields->n; i++)
		buf_printf(out, "%s: %s\r\n", http_fields_name(spec->fields, i), http_fields_value(spec->fields, i));
	if (spec->stream && spec->length > 0)
		buf_printf(out, "Content-Length: %lld\r\n", (long long)spec->length);
	else if (spec->stream)
		buf_add_str(out, "Transfer-Encoding: chunked\r\n");
	else if (spec->n || streq(spec->method, "POST") || streq(spec->method, "PUT"))
		buf_printf(out, "Content-Length: %zu\r\n", spec->n);
	buf_add(out, "\r\n", 2);
	buf_add(out, spec->body, spec->n);
}

struct http_call *http_call_new(struct http_client *c, const struct http_call_spec *spec)
{
	struct http_call *call = new0(struct http_call);
	call->client = c;
	call->spec = *spec;
	call->no_body = streq(spec->method, "HEAD");
	call->sent_all = !spec->stream;
	call->upgrades = spec->fields && http_fields_get(spec->fields, "upgrade");
	print_request(call, spec);
	while (call->n_files < MIN(spec->n_files, (size_t)CHANNEL_FILES_MAX)) {
		int fd = fcntl(spec->files[call->n_files], F_DUPFD_CLOEXEC, 3);
		if (fd < 0)
			break;
		call->files[call->n_files++] = fd;
	}
	call->link = take_idle(c);
	if (!call->link)
		call->link = link_new(c);
	if (!call->link) {
		fail_later(call, "cannot connect to the server");
		return call;
	}
	call->link->call = call;
	if (call->link->channel)
		send_request(call->link);
	return call;
}

/* Now, or with the request once there is a connection. */
static int send_body(struct http_call *call, const void *data, size_t n)
{
	struct channel *ch = call->link->channel;
	return ch ? channel_write(ch, data, n) : buf_add(&call->request, data, n);
}

int http_call_write(struct http_call *call, const void *data, size_t n)
{
	if (!call->link)
		return -EPIPE;
	if (!n)
		return 0;
	if (call->spec.length > 0)
		return send_body(call, data, n);
	AUTO(buf_release) struct buf chunk = { 0 };
	buf_printf(&chunk, "%zx\r\n", n);
	buf_add(&chunk, data, n);
	buf_add(&chunk, "\r\n", 2);
	return send_body(call, chunk.data, chunk.len);
}

void http_call_end(struct http_call *call)
{
	static const char last[] = "0\r\n\r\n";
	call->sent_all = true;
	if (call->link && call->spec.length <= 0)
		(void)send_body(call, last, sizeof(last) - 1);
}

size_t http_call_queued(const struct http_call *call)
{
	return call->link && call->link->channel ? channel_queued(call->link->channel) : call->request.len;
}

void http_call_pause(struct http_call *call, bool paused)
{
	call->paused = paused;
	if (call->link && call->link->channel)
		channel_pause(call->link->channel, paused);
}

struct channel *http_call_take_channel(struct http_call *call)
{
	struct link *k = call->link;
	struct channel *channel = take_ptr(k->channel);
	http_call_free(call);
	return channel;
}

/* --- addresses */

static int parse_address(struct http_client *c, const char *address)
{
	const char *colon = strrchr(address, ':');
	uint64_t port;
	if (!colon || parse_u64(colon + 1, &port) < 0 || port > 65535)
		return -EINVAL;
	bool bracketed = *address == '[' && colon > address && colon[-1] == ']';
	AUTO(freep) char *host = bracketed ? xstrndup(address + 1, (size_t)(colon - address) - 2) :
					     xstrndup(address, (size_t)(colon - address));
	if (bracketed && inet_pton(AF_INET6, host, &c->to.v6.sin6_addr) == 1) {
		c->to.v6.sin6_family = AF_INET6;
		c->to.v6.sin6_port = htons((uint16_t)port);
		c->to_size = sizeof(c->to.v6);
		return 0;
	}
	c->to.v4.sin_family = AF_INET;
	c->to.v4.sin_port = htons((uint16_t)port);
	c->to_size = sizeof(c->to.v4);
	return inet_pton(AF_INET, host, &c->to.v4.sin_addr) == 1 ? 0 : -EINVAL;
}

static int set_path(struct http_client *c, const char *path)
{
	c->to.local.sun_family = AF_UNIX;
	c->to_size = sizeof(c->to.local);
	int n = snprintf(c->to.local.sun_path, sizeof(c->to.local.sun_path), "%s", path);
	return n >= (int)sizeof(c->to.local.sun_path) ? -ENAMETOOLONG : 0;
}

struct http_client *http_client_new(const struct http_client_spec *spec, struct fail *f)
{
	struct http_client *c = new0(struct http_client);
	c->spec = *spec;
	c->host = xstrdup(spec->host ? spec->host : "localhost");
	list_init(&c->idle);
	int r = spec->dial ? 0 : spec->path ? set_path(c, spec->path) : parse_address(c, spec->address);
	c->spec.path = c->spec.address = c->spec.host = NULL;
	if (r == 0)
		return c;
	fail_set(f, FAIL_INVALID, "'%s' is not an address of a server: %s", spec->path ? spec->path : spec->address,
		 strerror(-r));
	return http_client_free(c);
}

struct http_client *http_client_free(struct http_client *c)
{
	if (!c)
		return NULL;
	list_for_each(k, &c->idle, struct link, node)
		link_free(k);
	free(c->host);
	free(c);
	return NULL;
}
