/* A connection reads one message at a time. Bytes that arrive while a request is being answered wait in `input`. The
 * socket is then paused, so `input` holds at most the bytes of one read. Most clients send nothing meanwhile, and pausing
 * costs system calls.
 *
 * Handlers are called from process(), never from inside the parser's on_head or from inside a function that a handler
 * has called. The effects of such a function (more input, the next request) follow in the next turn of the loop. */
#include "http/connection-private.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/json.h"
#include "http/problem.h"

/* Unsent answers above which no further request of the connection is handled. */
#define UNSENT_MAX (1u << 20)
/* The type of a record with a handshake. No request begins with it. */
#define TLS_FIRST_BYTE 22

const struct http_limits http_limits_default = {
	.connections = 256,
	.head_ms = 10000,
	.idle_ms = 60000,
	.stall_ms = 60000,
};

/* --- life */

static void close_files(struct http_connection *c)
{
	for (size_t i = 0; i < c->n_files; i++)
		close(c->files[i]);
	c->n_files = 0;
}

static void release(struct http_connection *c)
{
	close_files(c);
	list_remove(&c->node);
	c->host->n--;
	http_parser_free(c->parser);
	buf_release(&c->input);
	buf_release(&c->out);
	buf_release(&c->request.collected);
	timer_free(c->timer);
	free(c->owner);
	free(c);
}

/* Frees the connection except its channel, which was closed or taken. */
static void retire(struct http_connection *c)
{
	c->freed = true;
	timer_stop(c->timer);
	if (!c->feeding)
		release(c);
}

void http_connection_close(struct http_connection *c)
{
	c->channel = channel_free(c->channel);
	retire(c);
}

static void finish(struct http_connection *c)
{
	channel_finish(take_ptr(c->channel));
	retire(c);
}

struct channel *http_connection_detach(struct http_connection *c)
{
	struct channel *channel = take_ptr(c->channel);
	channel_pause(channel, true);
	channel_unread(channel, c->input.data, c->input.len);
	c->request.active = false;
	retire(c);
	return channel;
}

/* Tells the handler that the client has disconnected. */
static void report_closed(struct http_connection *c)
{
	struct http_request *r = &c->request;
	if (!r->active)
		return;
	r->active = false;
	if (r->on_closed)
		r->on_closed(r->closed_ctx);
}

/* --- deadlines */

static enum http_wait current_wait(const struct http_connection *c)
{
	const struct http_request *r = &c->request;
	if (channel_queued(c->channel))
		return HTTP_WAIT_SEND;
	if (!r->active)
		return http_parser_idle(c->parser) ? HTTP_WAIT_IDLE : r->body_ended ? HTTP_WAIT_HEAD : HTTP_WAIT_BODY;
	return r->reading && !r->body_ended && !r->paused ? HTTP_WAIT_BODY : HTTP_WAIT_NONE;
}

static unsigned wait_ms(const struct http_limits *limits, enum http_wait wait)
{
	switch (wait) {
	case HTTP_WAIT_IDLE:
		return limits->idle_ms;
	case HTTP_WAIT_HEAD:
		return limits->head_ms;
	default:
		return limits->stall_ms;
	}
}

static void run_timer(struct http_connection *c, uint64_t due, uint64_t now)
{
	if (c->timer_due && c->timer_due <= due)
		return;
	c->timer_due = due;
	timer_start(c->timer, due > now ? due - now : 0, 0);
}

/* A running deadline stays as it is while the connection waits for the same thing, unless there was progress. The timer
 * is moved only if it would fire too late. If it fires too early, it is started again. */
static void renew_deadline(struct http_connection *c, bool progress)
{
	enum http_wait wait = current_wait(c);
	bool same = wait == c->wait && !(progress && wait != HTTP_WAIT_HEAD);
	c->wait = wait;
	if (wait == HTTP_WAIT_NONE || (same && c->timer_due))
		return;
	uint64_t now = loop_now_ms();
	if (!same) {
		c->last_queued = channel_queued(c->channel);
		c->deadline = now + wait_ms(&c->host->spec.limits, wait);
	}
	run_timer(c, c->deadline, now);
}

void http_connection_wrote(struct http_connection *c)
{
	if (!c->feeding)
		renew_deadline(c, false);
}

void http_connection_kick(struct http_connection *c)
{
	if (c->feeding || c->freed)
		return;
	c->timer_due = 1;
	timer_start(c->timer, 0, 0);
}

/* --- messages */

static void on_head(void *ctx, const struct http_head *head)
{
	struct http_connection *c = ctx;
	c->head = head;
	c->head_ready = true;
	http_parser_pause(c->parser);
}

static void on_body(void *ctx, const void *data, size_t n)
{
	struct http_connection *c = ctx;
	struct http_request *r = &c->request;
	if (r->active && r->reading && !r->too_large)
		r->body.on_data(r->body_ctx, data, n);
}

static void on_end(void *ctx)
{
	struct http_connection *c = ctx;
	if (!c->head_ready)
		c->request.body_ended = true;
}

static const struct http_parser_ops parser_ops = { on_head, on_body, on_end };

static bool has_body(const struct http_head *head)
{
	return head->chunked || head->length > 0;
}

/* A new request begins. */
static void handle_head(struct http_connection *c)
{
	struct http_request *r = &c->request;
	struct buf collected = r->collected;
	buf_reset(&collected);
	c->head_ready = false;
	*r = (struct http_request){ .c = c, .active = true, .collected = collected };
	r->body_ended = !has_body(c->head);
	r->close = !c->head->keep_alive || c->host->draining;
	const char *expect = http_fields_get(&c->head->fields, "expect");
	r->continues = expect && c->head->minor == 1 && has_body(c->head);
	if (expect && !http_fields_has(&c->head->fields, "expect", "100-continue"))
		http_reply_problem(r, 417, "The only supported expectation is 100-continue.");
	else
		c->host->spec.on_request(c->host->spec.ctx, r);
}

static void deliver_body_end(struct http_connection *c)
{
	struct http_request *r = &c->request;
	if (r->active && r->too_large) {
		struct http_request answered = *r;
		AUTO(freep) char *detail =
			xasprintf("The body is longer than %zu bytes, the limit of this resource.", r->collected.max);
		http_reply_problem(r, 413, detail);
		if (answered.on_closed)
			answered.on_closed(answered.closed_ctx);
		return;
	}
	if (!r->active || !r->reading || !r->body_ended || r->end_reported)
		return;
	r->end_reported = true;
	r->body.on_end(r->body_ctx);
}

static bool may_feed(const struct http_connection *c)
{
	const struct http_request *r = &c->request;
	/* A client that sends requests but does not read the answers is not read from. */
	if (!r->active)
		return channel_queued(c->channel) < UNSENT_MAX;
	return !r->body_ended && r->reading && !r->paused && !r->too_large;
}

/* Rejects an invalid message. The bytes that follow it cannot be understood either. */
static void refuse_message(struct http_connection *c)
{
	struct http_wrong wrong = http_parser_wrong(c->parser);
	bool begun = c->request.active && c->request.begun;
	report_closed(c);
	if (begun) {
		http_connection_close(c);
		return;
	}
	static const struct http_head none = { 0 };
	c->head = &none;
	c->request = (struct http_request){ .c = c, .active = true, .close = true, .collected = c->request.collected };
	AUTO(buf_release) struct buf sentence = { 0 };
	buf_printf(&sentence, "The request was not understood: %s.", wrong.sentence);
	http_reply_problem(&c->request, wrong.status, buf_str(&sentence));
}

/* Feeds the parser while may_feed() allows it, and returns how many bytes were used. */
static size_t feed(struct http_connection *c, const uint8_t *data, size_t n)
{
	size_t at = 0;
	while (deliver_body_end(c), !c->freed && at < n && may_feed(c)) {
		ssize_t used = http_parser_feed(c->parser, data + at, n - at);
		if (used < 0 && !c->freed) {
			refuse_message(c);
			return n;
		}
		at += used < 0 ? n - at : (size_t)used;
		/* The bytes that follow belong to the new protocol, or to the next request if the handler declines. */
		if (c->head_ready && http_parser_upgraded(c->parser)) {
			buf_add(&c->input, data + at, n - at);
			at = n;
		}
		if (c->head_ready && !c->freed)
			handle_head(c);
	}
	return at;
}

static void process(struct http_connection *c, const void *data, size_t n)
{
	c->feeding = true;
	size_t used = feed(c, data, n);
	c->feeding = false;
	if (c->freed) {
		release(c);
		return;
	}
	buf_add(&c->input, (const uint8_t *)data + used, n - used);
	channel_pause(c->channel, c->input.len && !may_feed(c));
	if (c->input.len && may_feed(c))
		http_connection_kick(c);
	renew_deadline(c, true);
}

static void process_input(struct http_connection *c)
{
	AUTO(buf_release) struct buf input = c->input;
	c->input = (struct buf){ 0 };
	process(c, input.data, input.len);
}

void http_connection_answered(struct http_connection *c)
{
	struct http_request *r = &c->request;
	r->active = false;
	close_files(c);
	/* The list is in the order of use, for http_connections_evict(). */
	list_remove(&c->node);
	list_append(&c->host->connections, &c->node);
	if (r->close) {
		finish(c);
		return;
	}
	if (http_parser_upgraded(c->parser))
		http_parser_decline_upgrade(c->parser);
	if (c->feeding)
		return;
	if (c->input.len || !r->body_ended)
		http_connection_kick(c);
	channel_pause(c->channel, !may_feed(c));
	renew_deadline(c, true);
}

/* --- the channel's events */

/* Peers use TLS on plain listeners too. Another client, or a peer before its time, must not wait for an answer. */
static void begin_tls(struct http_connection *c, const void *data, size_t n)
{
	static const struct http_head none = { 0 };
	if (c->host->peers) {
		channel_start_tls(c->channel, tls_new(c->host->peers, /* host= */ NULL), data, n);
		return;
	}
	c->head = &none;
	c->request = (struct http_request){ .c = c, .active = true, .close = true, .collected = c->request.collected };
	http_reply_problem(&c->request, 400, "The request was not understood: this address does not use TLS.");
}

static void on_data(void *ctx, const void *data, size_t n)
{
	struct http_connection *c = ctx;
	bool tls = !c->known && *(const uint8_t *)data == TLS_FIRST_BYTE;
	c->known = true;
	if (tls) {
		begin_tls(c, data, n);
		return;
	}
	if (c->input.len) {
		buf_add(&c->input, data, n);
		process_input(c);
	} else {
		process(c, data, n);
	}
}

static void on_eof(void *ctx, int error UNUSED)
{
	struct http_connection *c = ctx;
	report_closed(c);
	/* Earlier answers may not have been sent yet. */
	finish(c);
}

static void on_drained(void *ctx)
{
	struct http_connection *c = ctx;
	struct http_request *r = &c->request;
	renew_deadline(c, true);
	if (r->active && r->on_drained)
		r->on_drained(r->drained_ctx);
	else if (!r->active && may_feed(c)) {
		channel_pause(c->channel, false);
		if (c->input.len)
			http_connection_kick(c);
	}
}

static void on_descriptor(void *ctx, int fd)
{
	struct http_connection *c = ctx;
	if (c->n_files < ARRAY_LEN(c->files))
		c->files[c->n_files++] = fd;
	else
		close(fd);
}

static const struct channel_ops channel_ops = { on_data, on_eof, on_drained, on_descriptor };

static void time_out(struct http_connection *c)
{
	/* A client that connects before it has a request would take the status as the answer to its first one. */
	bool silent = c->wait == HTTP_WAIT_HEAD && http_parser_idle(c->parser);
	bool can_say = !silent && (c->wait == HTTP_WAIT_HEAD || (c->wait == HTTP_WAIT_BODY && !c->request.begun));
	report_closed(c);
	if (!can_say) {
		http_connection_close(c);
		return;
	}
	static const struct http_head none = { 0 };
	c->head = &none;
	c->request = (struct http_request){ .c = c, .active = true, .close = true, .collected = c->request.collected };
	http_reply_problem(&c->request, 408, "The request did not arrive in time.");
}

static void on_timer(void *ctx)
{
	struct http_connection *c = ctx;
	bool kicked = c->timer_due == 1;
	c->timer_due = 0;
	if (kicked) {
		process_input(c);
		return;
	}
	if (c->wait == HTTP_WAIT_SEND && channel_queued(c->channel) < c->last_queued)
		renew_deadline(c, true);
	if (c->wait == HTTP_WAIT_NONE)
		return;
	uint64_t now = loop_now_ms();
	if (now < c->deadline)
		run_timer(c, c->deadline, now);
	else
		time_out(c);
}

/* --- making and ending them */

static struct http_connection *make(struct http_host *host, int fd, struct tls_context *tls, void *tag)
{
	struct http_connection *c = new0(struct http_connection);
	c->host = host;
	c->tag = tag;
	c->request.c = c;
	c->request.body_ended = true;
	c->known = tls;
	list_append(&host->connections, &c->node);
	host->n++;
	c->timer = timer_new(host->loop, on_timer, c);
	c->parser = http_parser_new(HTTP_SERVER, &parser_ops, c);
	c->channel = channel_new(host->loop, fd, tls ? tls_new(tls, NULL) : NULL, &channel_ops, c);
	if (c->channel)
		return c;
	release(c);
	return NULL;
}

void http_connection_new(struct http_host *host, int fd, struct tls_context *tls, void *tag)
{
	struct http_connection *c = make(host, fd, tls, tag);
	if (!c)
		return;
	/* A client that sends nothing after connecting gets no more time than one that stops in the middle of a
	 * head. */
	c->wait = HTTP_WAIT_HEAD;
	uint64_t now = loop_now_ms();
	c->deadline = now + host->spec.limits.head_ms;
	run_timer(c, c->deadline, now);
}

void http_connection_refuse(struct http_host *host, int fd, struct tls_context *tls)
{
	struct http_connection *c = make(host, fd, tls, NULL);
	if (!c)
		return;
	static const struct http_head none = { 0 };
	c->head = &none;
	c->request = (struct http_request){ .c = c, .active = true, .close = true };
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	http_fields_add(&fields, "Retry-After", "1");
	http_fields_add(&fields, "Content-Type", "application/problem+json");
	AUTO(buf_release) struct buf body = { 0 };
	AUTO(freep) char *detail = xasprintf("All %u connections are in use. Close one, or try again later.",
					     host->spec.limits.connections);
	json_auto_t *problem = http_problem(503, "connections_in_use", detail, /* hint= */ NULL);
	json_print(&body, problem);
	http_reply(&c->request, 503, &fields, body.data, body.len);
}

bool http_connections_evict(struct http_host *host, const char *owner)
{
	list_for_each(c, &host->connections, struct http_connection, node) {
		bool fits = !owner || (c->owner && streq(c->owner, owner));
		if (!fits || c->request.active || c->feeding)
			continue;
		if (channel_queued(c->channel))
			finish(c);
		else
			http_connection_close(c);
		return true;
	}
	return false;
}

bool http_request_claim(struct http_request *r, const char *owner, unsigned most)
{
	struct http_connection *own = r->c;
	unsigned n = 0;
	list_for_each(c, &own->host->connections, struct http_connection, node)
		n += c != own && c->owner && streq(c->owner, owner);
	if (n >= most && !http_connections_evict(own->host, owner))
		return false;
	if (!own->owner || !streq(own->owner, owner)) {
		free(own->owner);
		own->owner = xstrdup(owner);
	}
	return true;
}

void http_connections_close(struct http_host *host)
{
	list_for_each(c, &host->connections, struct http_connection, node) {
		report_closed(c);
		http_connection_close(c);
	}
}

void http_connections_drain(struct http_host *host)
{
	host->draining = true;
	list_for_each(c, &host->connections, struct http_connection, node) {
		if (!c->request.active && http_parser_idle(c->parser))
			finish(c);
		else if (c->request.active && !c->request.begun)
			c->request.close = true;
	}
}

size_t http_connections_queued(const struct http_host *host)
{
	size_t n = 0;
	list_for_each(c, &host->connections, struct http_connection, node)
		n += c->channel ? channel_queued(c->channel) : 0;
	return n;
}
