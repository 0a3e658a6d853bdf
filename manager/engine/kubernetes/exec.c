#include "manager/engine/kubernetes/exec.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/percent.h"
#include "base/utf8.h"
#include "http/websocket.h"
#include "kernels/protocol.h"
#include "manager/engine/kubernetes/pod.h"
#include "manager/engine/kubernetes/status.h"
#include "manager/model/cause.h"

#define SUBPROTOCOL "v4.channel.k8s.io"
#define OPEN_MS 15000
/* Kubelets send at most 32 KiB in a message. */
#define MESSAGE_MAX (1u << 20)
#define CHUNK 32768u
/* Bytes that arrive before the stream has an owner. */
#define EARLY_MAX (1u << 20)
/* Bytes that the manager writes before the stream is open. */
#define PENDING_MAX (4u << 20)

enum channel_number { CHANNEL_IN, CHANNEL_OUT, CHANNEL_ERR, CHANNEL_STATUS };

struct exec {
	struct exec_spec spec;
	char *namespace, *pod, *target;
	struct proxy_wait wait;
	struct http_call *call;
	struct websocket *socket;
	char key[WEBSOCKET_KEY_SIZE];
	int status;
	struct buf words; /* the answer if it is refused; later, what the command wrote to its standard error */
	struct buf early, pending;
	bool opened;
	struct timer *deadline, *later;
	struct fail failure; /* to report by `later`; kind 0 = none */
	bool closed;
};

static struct status_place place_of(const struct exec *x)
{
	return (struct status_place){ "reach the session", "create", "pods/exec", x->namespace };
}

/* --- the end ------------------------------------------------------------------------------------------------------- */

static void close_now(struct exec *x, const struct fail *f)
{
	if (x->closed)
		return;
	x->closed = true;
	timer_stop(x->deadline);
	x->spec.handler.on_closed(x->spec.handler.ctx, f);
}

static void on_later(void *ctx)
{
	struct exec *x = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(buf_release) struct buf early = x->early;
	x->early = (struct buf){ .max = EARLY_MAX };
	if (early.len && x->spec.handler.on_bytes) {
		if (x->failure.kind)
			timer_start(x->later, 0, 0);
		x->spec.handler.on_bytes(x->spec.handler.ctx, early.data, early.len);
		return;
	}
	x->early = early;
	early = (struct buf){ 0 };
	if (!x->failure.kind)
		return;
	fail_move(&f, &x->failure);
	close_now(x, &f);
}

static void fail_later(struct exec *x)
{
	timer_start(x->later, 0, 0);
}

/* --- messages ------------------------------------------------------------------------------------------------------ */

static void give_up(struct exec *x, const char *why)
{
	x->socket = websocket_free(x->socket);
	if (!x->failure.kind)
		fail_set(&x->failure, FAIL_ENGINE, "the stream to the session ended: %s", why);
	fail_later(x);
}

static void take_output(void *ctx, const void *data, size_t n)
{
	struct exec *x = ctx;
	if (x->spec.handler.on_bytes && !x->early.len)
		x->spec.handler.on_bytes(x->spec.handler.ctx, data, n);
	else if (buf_add(&x->early, data, n) < 0)
		give_up(x, "PID 1 sent too much before it was asked");
}

void exec_take_message(const void *data, size_t n, void (*on_output)(void *ctx, const void *data, size_t n), void *ctx,
		       struct buf *words)
{
	const uint8_t *p = data;
	if (n < 2)
		return;
	if (*p == CHANNEL_OUT)
		on_output(ctx, p + 1, n - 1);
	else if (*p == CHANNEL_ERR || *p == CHANNEL_STATUS)
		(void)buf_add(words, p + 1, MIN(n - 1, EXEC_WORDS_MAX - words->len));
}

int exec_explain_end(struct fail *f, const void *words, size_t n, int code)
{
	AUTO(buf_release) struct buf clean = { 0 };
	utf8_clean(&clean, words, n);
	while (clean.len && clean.data[clean.len - 1] == '\n')
		clean.len--;
	if (clean.len)
		return fail_set(f, FAIL_ENGINE, "the stream to the session ended: %s", buf_str(&clean));
	return fail_set(f, FAIL_ENGINE, "the stream to the session ended (code %d)", code);
}

static void on_message(void *ctx, bool text UNUSED, const void *data, size_t n)
{
	struct exec *x = ctx;
	exec_take_message(data, n, take_output, x, &x->words);
}

static void on_socket_closed(void *ctx, int code)
{
	struct exec *x = ctx;
	x->socket = websocket_free(x->socket);
	(void)exec_explain_end(&x->failure, x->words.data, x->words.len, code);
	fail_later(x);
}

static const struct websocket_ops socket_ops = { on_message, on_socket_closed, NULL };

/* --- opening ------------------------------------------------------------------------------------------------------- */

static void on_head(void *ctx, const struct http_head *head)
{
	struct exec *x = ctx;
	x->status = head->status;
	if (head->status != 101)
		return;
	const char *protocol = http_fields_get(&head->fields, "sec-websocket-protocol");
	bool known = protocol && streq(protocol, SUBPROTOCOL);
	x->socket = websocket_connected(
		http_call_take_channel(take_ptr(x->call)), head, x->key,
		&(struct websocket_spec){
			.loop = x->spec.loop, .message_max = MESSAGE_MAX, .ops = &socket_ops, .ctx = x });
	if (x->socket && !known)
		x->socket = websocket_free(x->socket);
	timer_stop(x->deadline);
	x->opened = true;
	if (x->socket) {
		AUTO(buf_release) struct buf pending = x->pending;
		x->pending = (struct buf){ 0 };
		(void)exec_write(x, pending.data, pending.len);
		if (x->spec.on_open)
			x->spec.on_open(x->spec.handler.ctx);
		return;
	}
	cause_set(&x->failure, FAIL_ENGINE, CAUSE_NOT_SUPPORTED,
		  "cannot reach the session: the API server does not speak " SUBPROTOCOL " over WebSocket");
	fail_later(x);
}

static void on_data(void *ctx, const void *data, size_t n)
{
	struct exec *x = ctx;
	(void)buf_add(&x->words, data, MIN(n, EXEC_WORDS_MAX - x->words.len));
}

static void on_end(void *ctx, const char *error)
{
	struct exec *x = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	struct status_place place = place_of(x);
	x->call = NULL;
	if (error && !x->status)
		(void)status_no_answer(&f, &place, error);
	else
		(void)status_fail(&f, &place, x->status, x->words.data, x->words.len);
	close_now(x, &f);
}

static void on_proxy(void *ctx, const struct fail *f)
{
	struct exec *x = ctx;
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	if (f) {
		close_now(x, f);
		return;
	}
	(void)websocket_add_fields(&fields, x->key);
	http_fields_add(&fields, "Sec-WebSocket-Protocol", SUBPROTOCOL);
	x->call = http_call_new(proxy_client(x->spec.proxy), &(struct http_call_spec){ .method = "GET",
										       .target = x->target,
										       .fields = &fields,
										       .on_head = on_head,
										       .on_data = on_data,
										       .on_end = on_end,
										       .ctx = x });
}

static void on_deadline(void *ctx)
{
	struct exec *x = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	struct status_place place = place_of(x);
	x->call = http_call_free(x->call);
	proxy_forget(&x->wait);
	(void)status_silence(&f, &place, OPEN_MS);
	close_now(x, &f);
}

static char *target_of(const struct exec_spec *spec)
{
	static const char *const attach[] = { CLIENT_PATH, "attach", "--beside", NULL };
	const char *const *command = spec->command ? spec->command : attach;
	struct buf target = { 0 };
	buf_printf(&target, "/api/v1/namespaces/%s/pods/%s/exec?container=%s", spec->namespace, spec->pod,
		   spec->command ? spec->container : POD_ATTACH);
	for (; *command; command++) {
		buf_add_str(&target, "&command=");
		percent_encode(&target, *command, /* keep_slash= */ true);
	}
	buf_printf(&target, "&stdin=%s&stdout=true&stderr=true", spec->command ? "false" : "true");
	return buf_steal_str(&target);
}

struct exec *exec_new(const struct exec_spec *spec)
{
	struct exec *x = new0(struct exec);
	x->spec = *spec;
	x->namespace = xstrdup(spec->namespace);
	x->pod = xstrdup(spec->pod);
	x->target = target_of(spec);
	x->spec.command = NULL;
	x->words.max = EXEC_WORDS_MAX;
	x->early.max = EARLY_MAX;
	x->pending.max = PENDING_MAX;
	x->deadline = timer_new(spec->loop, on_deadline, x);
	x->later = timer_new(spec->loop, on_later, x);
	timer_start(x->deadline, OPEN_MS, 0);
	x->wait = (struct proxy_wait){ .fn = on_proxy, .ctx = x };
	proxy_get(spec->proxy, &x->wait);
	return x;
}

void exec_set_handler(struct exec *x, const struct stream_handler *handler)
{
	x->spec.handler = *handler;
	x->spec.on_open = NULL;
	timer_start(x->later, 0, 0);
}

int exec_status(const struct exec *x)
{
	return x->status;
}

int exec_write(struct exec *x, const void *data, size_t n)
{
	uint8_t chunk[CHUNK + 1];
	chunk[0] = CHANNEL_IN;
	if (!x->opened && !x->closed && buf_add(&x->pending, data, n) == 0)
		return 0;
	for (size_t at = 0; at < n; at += CHUNK) {
		size_t some = MIN(n - at, (size_t)CHUNK);
		memcpy(chunk + 1, (const uint8_t *)data + at, some);
		if (x->socket && websocket_send(x->socket, /* text= */ false, chunk, some + 1) == 0)
			continue;
		give_up(x, "it does not accept data");
		return -EPIPE;
	}
	return 0;
}

void exec_pause(struct exec *x, bool paused)
{
	if (x->socket)
		websocket_pause(x->socket, paused);
}

struct exec *exec_free(struct exec *x)
{
	if (!x)
		return NULL;
	proxy_forget(&x->wait);
	http_call_free(x->call);
	websocket_free(x->socket);
	timer_free(x->deadline);
	timer_free(x->later);
	fail_release(&x->failure);
	buf_release(&x->words);
	buf_release(&x->early);
	buf_release(&x->pending);
	free(x->namespace);
	free(x->pod);
	free(x->target);
	free(x);
	return NULL;
}
