#include "http/websocket.h"

#include <errno.h>
#include <openssl/sha.h>
#include <strings.h>
#include <sys/random.h>
#include <wslay/wslay.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/library.h"

#define PING_MS 30000
/* A peer that pings, but leaves this much unread, is disconnected: the answers would pile up. */
#define UNSENT_MAX (1u << 20)

#define WSLAY_FUNCTIONS(X)                                                                                             \
	X(wslay_event_config_set_max_recv_msg_length)                                                                  \
	X(wslay_event_context_client_init)                                                                             \
	X(wslay_event_context_free)                                                                                    \
	X(wslay_event_context_server_init)                                                                             \
	X(wslay_event_get_close_received)                                                                              \
	X(wslay_event_get_close_sent)                                                                                  \
	X(wslay_event_get_status_code_received)                                                                        \
	X(wslay_event_queue_close)                                                                                     \
	X(wslay_event_queue_msg)                                                                                       \
	X(wslay_event_recv)                                                                                            \
	X(wslay_event_send)                                                                                            \
	X(wslay_event_set_error)

static struct {
	WSLAY_FUNCTIONS(LIBRARY_POINTER)
} lib;

static struct library libwslay = LIBRARY(WSLAY_FUNCTIONS, "libhusk-wslay.so.1", "libwslay.so.1", "libwslay.1.dylib");

struct websocket {
	struct websocket_spec spec;
	struct websocket_ops ops;
	struct channel *channel;
	wslay_event_context_ptr wslay;
	const uint8_t *input; /* during receive() */
	size_t n_input;
	struct timer *ping;
	bool unanswered; /* the last ping was not answered yet */
	bool paused;	 /* by its owner */
	bool too_slow;	 /* it pings, but does not read */
	bool freed, closed;
	unsigned depth;
};

/* --- SHA-1, only for the handshake, where RFC 6455 demands it */

static int accept_value(const char *key, char out[32])
{
	static struct {
		LIBRARY_POINTER(SHA1)
	} crypto;
	static const struct library_function functions[] = { { "SHA1", (void **)&crypto.SHA1 } };
	static const char *const names[] = { "libhusk-crypto.so.3", "libcrypto.so.3", "libcrypto.3.dylib", NULL };
	static struct library libcrypto = { .names = names, .functions = functions, .n = ARRAY_LEN(functions) };
	if (!library_load(&libcrypto))
		return -ENOSYS;
	AUTO(buf_release) struct buf text = { 0 }, encoded = { 0 };
	unsigned char hash[SHA_DIGEST_LENGTH];
	buf_add_str(&text, key);
	buf_add_str(&text, "258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
	crypto.SHA1(text.data, text.len, hash);
	base64_encode(hash, sizeof(hash), &encoded);
	snprintf(out, 32, "%s", buf_str(&encoded));
	return 0;
}

/* --- life */

static void enter(struct websocket *w)
{
	w->depth++;
}

static void leave(struct websocket *w)
{
	if (--w->depth || !w->freed)
		return;
	lib.wslay_event_context_free(w->wslay);
	free(w);
}

struct websocket *websocket_free(struct websocket *w)
{
	if (!w || w->freed)
		return NULL;
	enter(w);
	w->freed = true;
	w->channel = channel_free(w->channel);
	w->ping = timer_free(w->ping);
	leave(w);
	return NULL;
}

static void report_closed(struct websocket *w, int code)
{
	if (w->freed || w->closed)
		return;
	w->closed = true;
	timer_stop(w->ping);
	w->ops.on_closed(w->spec.ctx, code);
}

/* --- wslay's callbacks */

static ssize_t take_input(wslay_event_context_ptr ctx, uint8_t *to, size_t n, int flags UNUSED, void *data)
{
	struct websocket *w = data;
	if (!w->n_input) {
		lib.wslay_event_set_error(ctx, WSLAY_ERR_WOULDBLOCK);
		return -1;
	}
	n = MIN(n, w->n_input);
	memcpy(to, w->input, n);
	w->input += n;
	w->n_input -= n;
	return (ssize_t)n;
}

static ssize_t send_output(wslay_event_context_ptr ctx, const uint8_t *from, size_t n, int flags UNUSED, void *data)
{
	struct websocket *w = data;
	if (w->channel && channel_write(w->channel, from, n) == 0)
		return (ssize_t)n;
	lib.wslay_event_set_error(ctx, WSLAY_ERR_CALLBACK_FAILURE);
	return -1;
}

static int make_mask(wslay_event_context_ptr ctx UNUSED, uint8_t *to, size_t n, void *data UNUSED)
{
	return getrandom(to, n, 0) == (ssize_t)n ? 0 : -1;
}

static void on_message(wslay_event_context_ptr ctx UNUSED, const struct wslay_event_on_msg_recv_arg *arg, void *data)
{
	struct websocket *w = data;
	if (w->freed || w->closed)
		return;
	if (arg->opcode == WSLAY_PONG)
		w->unanswered = false;
	else if (arg->opcode == WSLAY_PING)
		w->too_slow = channel_queued(w->channel) > UNSENT_MAX;
	else if (arg->opcode == WSLAY_TEXT_FRAME || arg->opcode == WSLAY_BINARY_FRAME)
		w->ops.on_message(w->spec.ctx, arg->opcode == WSLAY_TEXT_FRAME, arg->msg, arg->msg_length);
}

static const struct wslay_event_callbacks callbacks = {
	.recv_callback = take_input,
	.send_callback = send_output,
	.genmask_callback = make_mask,
	.on_msg_recv_callback = on_message,
};

/* --- the channel's events */

/* The code in the peer's close frame; 1005 if it has none. */
static int received_code(struct websocket *w)
{
	int code = lib.wslay_event_get_status_code_received(w->wslay);
	return code ? code : WSLAY_CODE_NO_STATUS_RCVD;
}

static void on_data(void *ctx, const void *data, size_t n)
{
	struct websocket *w = ctx;
	enter(w);
	w->input = data;
	w->n_input = n;
	int r = lib.wslay_event_recv(w->wslay);
	if (!w->freed)
		lib.wslay_event_send(w->wslay);
	bool closing = lib.wslay_event_get_close_received(w->wslay) || lib.wslay_event_get_close_sent(w->wslay);
	if (!w->freed && w->too_slow) {
		report_closed(w, WSLAY_CODE_ABNORMAL_CLOSURE);
	} else if (!w->freed && (r != 0 || closing)) {
		int code =
			lib.wslay_event_get_close_received(w->wslay) ? received_code(w) : WSLAY_CODE_ABNORMAL_CLOSURE;
		channel_finish(take_ptr(w->channel));
		report_closed(w, code);
	}
	leave(w);
}

static void on_eof(void *ctx, int error UNUSED)
{
	struct websocket *w = ctx;
	enter(w);
	report_closed(w, WSLAY_CODE_ABNORMAL_CLOSURE);
	leave(w);
}

static void on_drained(void *ctx)
{
	struct websocket *w = ctx;
	if (w->ops.on_drained)
		w->ops.on_drained(w->spec.ctx);
}

static const struct channel_ops channel_ops = { on_data, on_eof, on_drained, NULL };

static void on_ping(void *ctx)
{
	struct websocket *w = ctx;
	/* While the owner does not read, an answer cannot be seen. */
	if (w->unanswered && !w->paused) {
		report_closed(w, WSLAY_CODE_ABNORMAL_CLOSURE);
		return;
	}
	w->unanswered = true;
	lib.wslay_event_queue_msg(w->wslay, &(struct wslay_event_msg){ .opcode = WSLAY_PING });
	lib.wslay_event_send(w->wslay);
}

/* Takes ownership of the channel. */
static struct websocket *make(struct channel *channel, bool server, const struct websocket_spec *spec)
{
	struct websocket *w = new0(struct websocket);
	w->spec = *spec;
	w->ops = *spec->ops;
	w->channel = channel;
	int r = server ? lib.wslay_event_context_server_init(&w->wslay, &callbacks, w) :
			 lib.wslay_event_context_client_init(&w->wslay, &callbacks, w);
	if (r != 0)
		abort(); /* out of memory */
	lib.wslay_event_config_set_max_recv_msg_length(w->wslay, spec->message_max);
	w->ping = timer_new(spec->loop, on_ping, w);
	timer_start(w->ping, PING_MS, PING_MS);
	channel_set_ops(channel, &channel_ops, w);
	channel_pause(channel, false);
	return w;
}

/* --- handshakes */

bool websocket_requested(const struct http_head *head)
{
	return head->upgrade && http_fields_has(&head->fields, "upgrade", "websocket");
}

static bool key_is_valid(const char *key)
{
	AUTO(buf_release) struct buf raw = { 0 };
	return key && strlen(key) == 24 && base64_decode(key, 24, &raw) == 0 && raw.len == 16;
}

struct websocket *websocket_accept(struct http_request *r, const char *protocol, const struct websocket_spec *spec)
{
	const struct http_head *head = http_request_head(r);
	const char *key = http_fields_get(&head->fields, "sec-websocket-key");
	const char *version = http_fields_get(&head->fields, "sec-websocket-version");
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	char accepted[32];
	if (!version || !streq(version, "13")) {
		http_fields_add(&fields, "Sec-WebSocket-Version", "13");
		http_reply(r, 426, &fields, NULL, 0);
		return NULL;
	}
	if (!websocket_requested(head) || head->method != HTTP_METHOD_GET || !key_is_valid(key)) {
		http_reply_problem(r, 400, "The request is not a valid WebSocket handshake.");
		return NULL;
	}
	if (!library_load(&libwslay) || accept_value(key, accepted) < 0) {
		http_reply_problem(r, 501, "This server cannot load libwslay, which WebSockets need.");
		return NULL;
	}
	http_fields_add(&fields, "Upgrade", "websocket");
	http_fields_add(&fields, "Sec-WebSocket-Accept", accepted);
	if (protocol)
		http_fields_add(&fields, "Sec-WebSocket-Protocol", protocol);
	return make(http_reply_upgrade(r, &fields), true, spec);
}

int websocket_add_fields(struct http_fields *fields, char key[WEBSOCKET_KEY_SIZE])
{
	uint8_t raw[16];
	AUTO(buf_release) struct buf encoded = { 0 };
	if (getrandom(raw, sizeof(raw), 0) != (ssize_t)sizeof(raw))
		return -EIO;
	base64_encode(raw, sizeof(raw), &encoded);
	snprintf(key, WEBSOCKET_KEY_SIZE, "%s", buf_str(&encoded));
	http_fields_add(fields, "Connection", "Upgrade");
	http_fields_add(fields, "Upgrade", "websocket");
	http_fields_add(fields, "Sec-WebSocket-Version", "13");
	return http_fields_add(fields, "Sec-WebSocket-Key", key);
}

struct websocket *websocket_connected(struct channel *channel, const struct http_head *head, const char *key,
				      const struct websocket_spec *spec)
{
	char expected[32];
	const char *accepted = http_fields_get(&head->fields, "sec-websocket-accept");
	if (head->status != 101 || !http_fields_has(&head->fields, "upgrade", "websocket") || !accepted ||
	    !library_load(&libwslay) || accept_value(key, expected) < 0 || !streq(accepted, expected)) {
		channel_free(channel);
		return NULL;
	}
	return make(channel, false, spec);
}

/* --- the owner's calls */

void websocket_close(struct websocket *w, int code, const char *reason)
{
	enter(w);
	if (w->channel && !w->closed) {
		lib.wslay_event_queue_close(w->wslay, (uint16_t)code, (const uint8_t *)reason,
					    MIN(strlen(reason), (size_t)123));
		lib.wslay_event_send(w->wslay);
		channel_finish(take_ptr(w->channel));
	}
	websocket_free(w);
	leave(w);
}

int websocket_send(struct websocket *w, bool text, const void *data, size_t n)
{
	if (!w->channel || w->closed)
		return -EPIPE;
	struct wslay_event_msg message = { text ? WSLAY_TEXT_FRAME : WSLAY_BINARY_FRAME, data, n };
	if (lib.wslay_event_queue_msg(w->wslay, &message) != 0)
		return -EPIPE;
	return lib.wslay_event_send(w->wslay) == 0 ? 0 : -EPIPE;
}

size_t websocket_queued(const struct websocket *w)
{
	return w->channel ? channel_queued(w->channel) : 0;
}

void websocket_pause(struct websocket *w, bool paused)
{
	w->paused = paused;
	w->unanswered = w->unanswered && paused;
	if (w->channel)
		channel_pause(w->channel, paused);
}
