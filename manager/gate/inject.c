#include "manager/gate/inject.h"

#include <errno.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/percent.h"
#include "http/parser.h"
#include "manager/gate/login.h"
#include "manager/model/cause.h"

/* A request that was sent and not answered yet. */
struct sent {
	bool head;    /* the answer has no body */
	bool upgrade; /* the answer may switch to WebSocket */
	bool login;   /* it had the login of an index */
};

struct inject {
	char *host;
	uint16_t port;
	struct secret_set *secrets;
	struct inject_ops ops;
	void *ctx;
	struct http_parser *requests, *responses;
	struct sent sent[INJECT_REQUESTS_MAX]; /* a ring */
	size_t first, n_sent;
	struct buf head;	   /* the head that is being written; wiped after each use */
	struct buf basic;	   /* the last credentials that were made, in Base64; wiped */
	struct buf early;	   /* from the session, after a request for an upgrade */
	char *used;		   /* the name of the last secret that was used */
	bool guarded;		   /* only requests that get a login pass */
	struct gate_secret *login; /* that the current request gets; valid while its head is written */
	bool chunked;		   /* the request whose body is being passed on */
	bool chunked_down;	   /* the answer */
	bool answering;		   /* the head of an answer was sent, and its body not completely */
	bool upgraded;		   /* all bytes pass */
	bool ending;		   /* no further request is taken */
	int status;		   /* of the answer to a request that was refused */
	struct fail why;
	bool refusing;
	struct fail refusal;
};

/* --- refusals ---------------------------------------------------------------------------------------------------- */

/* The first reason counts. Called from inside the parser, which then takes no more bytes. */
static int refuse(struct inject *i, int status, const char *fmt, ...) PRINTF_LIKE(3, 4);

static int refuse(struct inject *i, int status, const char *fmt, ...)
{
	va_list ap;
	if (i->status)
		return -1;
	i->status = status;
	va_start(ap, fmt);
	AUTO(freep) char *text = xvasprintf(fmt, ap);
	va_end(ap);
	cause_set(&i->why, FAIL_INVALID, CAUSE_GATE_HTTP, "%s", text);
	return -1;
}

/* The answer of the gate itself, in place of the server's. */
static int answer(struct inject *i, struct fail *f)
{
	AUTO(buf_release) struct buf out = { 0 };
	AUTO(freep) char *text = xasprintf("The gate of this session refused the request to %s: %s.%s%s\n", i->host,
					   i->why.message, i->why.hint ? " " : "", i->why.hint ? i->why.hint : "");
	buf_printf(&out,
		   "HTTP/1.1 %d %s\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: %zu\r\n"
		   "connection: close\r\n\r\n%s",
		   i->status, http_status_phrase(i->status), strlen(text), text);
	if (!i->answering)
		i->ops.down(i->ctx, out.data, out.len);
	fail_copy(f, &i->why);
	return -EPROTO;
}

/* --- values of fields ---------------------------------------------------------------------------------------------- */

struct place {
	const struct inject *inject;
	const char *field;
	const char *parameter;
	const char *user;
};

static bool any_header(const struct gate_secret *s)
{
	return !s->header && !s->query && !s->basic;
}

static bool allowed_in_field(void *ctx, const struct gate_secret *s)
{
	const struct place *p = ctx;
	return gate_secret_is_for(s, p->inject->host, p->inject->port) &&
	       (any_header(s) || (s->header && streq(s->header, p->field)));
}

static bool allowed_in_query(void *ctx, const struct gate_secret *s)
{
	const struct place *p = ctx;
	return gate_secret_is_for(s, p->inject->host, p->inject->port) && s->query && streq(s->query, p->parameter);
}

static bool allowed_in_basic(void *ctx, const struct gate_secret *s)
{
	const struct place *p = ctx;
	return gate_secret_is_for(s, p->inject->host, p->inject->port) &&
	       (any_header(s) || (s->basic && p->user && streq(s->basic, p->user)));
}

static void note_used(struct inject *i, const char *name)
{
	if (i->used && streq(i->used, name))
		return;
	free(i->used);
	i->used = xstrdup(name);
}

/* secret_set_fill(), which also notes what was used: secrets may be replaced before anybody asks. */
static ssize_t fill(struct inject *i, const char *text, size_t n,
		    bool (*allowed)(void *ctx, const struct gate_secret *secret), struct place *place, bool escape,
		    struct buf *out)
{
	const char *used = NULL;
	ssize_t r = secret_set_fill(i->secrets, text, n, allowed, place, escape, out, &used);
	if (used)
		note_used(i, used);
	return r;
}

/* Fields that decide where a message ends or whom it is for never get a value. */
static bool may_fill(const char *name)
{
	static const char *const fixed[] = { "host",	"content-length", "transfer-encoding", "connection",
					     "upgrade", "expect",	  "keep-alive",	       "proxy-connection" };
	for (size_t k = 0; k < ARRAY_LEN(fixed); k++)
		if (streq(name, fixed[k]))
			return false;
	return true;
}

/* Not passed on: trailers are dropped, so they must be neither announced nor asked for. */
static bool is_dropped(const char *name)
{
	return streq(name, "trailer") || streq(name, "te") || streq(name, "keep-alive") ||
	       streq(name, "proxy-connection");
}

static void put_basic(struct inject *i, const struct buf *credentials)
{
	AUTO(buf_wipe) struct buf encoded = { 0 };
	buf_reserve(&encoded, credentials->len * 2 + 4);
	base64_encode(credentials->data, credentials->len, &encoded);
	buf_add(&i->head, "Basic ", 6);
	buf_add(&i->head, encoded.data, encoded.len);
	buf_wipe(&i->basic);
	i->basic = encoded;
	encoded = (struct buf){ 0 };
}

/* Credentials are encoded, so they are decoded to find a placeholder. 1 = the value was written, 0 = not changed. */
static int fill_basic(struct inject *i, const char *value)
{
	AUTO(buf_release) struct buf plain = { 0 };
	AUTO(buf_wipe) struct buf filled = { .max = INJECT_HEAD_MAX };
	const char *text = value + 6 + strspn(value + 6, " ");
	if (strncasecmp(value, "basic ", 6) != 0 || base64_decode(text, strlen(text), &plain) < 0 || !plain.len)
		return 0;
	const char *colon = memchr(plain.data, ':', plain.len);
	AUTO(freep) char *user = colon ? xstrndup((char *)plain.data, (size_t)(colon - (char *)plain.data)) : NULL;
	struct place place = { .inject = i, .user = user };
	buf_reserve(&filled, INJECT_HEAD_MAX);
	ssize_t n = fill(i, (char *)plain.data, plain.len, allowed_in_basic, &place, false, &filled);
	if (n < 0)
		return refuse(i, 431, "the Authorization field with its secret is too long");
	if (n > 0)
		put_basic(i, &filled);
	return n > 0;
}

static int put_field(struct inject *i, const char *name, const char *value)
{
	struct place place = { .inject = i, .field = name };
	int basic = 0;
	if (is_dropped(name))
		return 0;
	int r = buf_printf(&i->head, "%s: ", name);
	if (r == 0 && streq(name, "authorization"))
		basic = fill_basic(i, value);
	if (basic < 0)
		return -1;
	if (r == 0 && !basic && may_fill(name))
		r = fill(i, value, strlen(value), allowed_in_field, &place, false, &i->head) < 0 ? -1 : 0;
	else if (r == 0 && !basic)
		r = buf_add_str(&i->head, value);
	if (r == 0 && buf_add(&i->head, "\r\n", 2) == 0)
		return 0;
	return refuse(i, 431, "the head of the request with its secrets is longer than 64 KiB");
}

/* A program's own field does not pass, so this is the only one. */
static int put_login(struct inject *i)
{
	AUTO(buf_wipe) struct buf plain = { 0 };
	if (!i->login)
		return 0;
	buf_reserve(&plain, strlen(i->login->basic) + strlen(i->login->value) + 2);
	buf_printf(&plain, "%s:%s", i->login->basic, i->login->value);
	buf_add_str(&i->head, "authorization: ");
	put_basic(i, &plain);
	note_used(i, i->login->name);
	return buf_add(&i->head, "\r\n", 2);
}

/* --- the target ---------------------------------------------------------------------------------------------------- */

static int put_parameter(struct inject *i, const char *text, size_t n)
{
	const char *equals = memchr(text, '=', n);
	size_t n_name = equals ? (size_t)(equals - text) : n;
	AUTO(freep) char *name = percent_decode(text, n_name);
	struct place place = { .inject = i, .parameter = name };
	if (!equals)
		return buf_add(&i->head, text, n);
	if (buf_add(&i->head, text, n_name + 1) < 0)
		return -1;
	return fill(i, equals + 1, n - n_name - 1, allowed_in_query, &place, true, &i->head) < 0 ? -1 : 0;
}

static int put_target(struct inject *i, const char *target)
{
	size_t path = strcspn(target, "?");
	if (buf_add(&i->head, target, path) < 0)
		return -1;
	const char *at = target + path;
	while (*at) {
		/* Each turn begins at '?' or '&'. */
		size_t n = 1 + strcspn(at + 1, "&");
		if (buf_add(&i->head, at, 1) < 0 || put_parameter(i, at + 1, n - 1) < 0)
			return -1;
		at += n;
	}
	return 0;
}

/* --- requests ------------------------------------------------------------------------------------------------------ */

static bool names_host(const struct inject *i, const char *value)
{
	size_t n = strlen(i->host);
	AUTO(freep) char *port = xasprintf(":%u", i->port);
	if (strncasecmp(value, i->host, n) != 0)
		return false;
	return streq(value + n, port) || ((i->port == 443 || i->port == 80) && value[n] == 0);
}

/* Chooses the login of a request to an index, which gets nothing else. */
static int check_login(struct inject *i, const struct http_head *h, const char *target)
{
	i->login = NULL;
	if (!i->guarded)
		return 0;
	if (h->method != HTTP_METHOD_GET && h->method != HTTP_METHOD_HEAD)
		return refuse(i, 405, "a package index with a login gets only GET and HEAD requests");
	if (h->upgrade)
		return refuse(i, 501, "a package index with a login is not upgraded to another protocol");
	if (h->chunked || h->length)
		return refuse(i, 413, "a package index with a login gets no requests with a body");
	i->login = login_for(i->secrets, i->host, i->port, target);
	return i->login ? 0 : refuse(i, 403, "the address is not below a package index from the settings");
}

static int check_request(struct inject *i, const struct http_head *h)
{
	const char *host = http_fields_get(&h->fields, "host");
	const char *target = (const char *)h->target.data;
	const char *upgrade = http_fields_get(&h->fields, "upgrade");
	if (i->refusing) {
		refuse(i, 502, "%s", i->refusal.message);
		i->why.cause = i->refusal.cause;
		return -1;
	}
	if (!host || !names_host(i, host))
		return refuse(i, 421, "its Host field names another host than the connection");
	if (streq(h->method_name, "CONNECT") || (target[0] != '/' && !streq(target, "*")))
		return refuse(i, 400, "its target must be a path");
	if (upgrade && (strcasecmp(upgrade, "websocket") != 0 || !h->upgrade || h->method != HTTP_METHOD_GET ||
			h->chunked || h->length))
		return refuse(i, 501, "the only supported upgrade is to WebSocket");
	if (i->n_sent == INJECT_REQUESTS_MAX)
		return refuse(i, 429, "more than %d requests wait for their answers", INJECT_REQUESTS_MAX);
	return check_login(i, h, target);
}

static void write_request(struct inject *i, const struct http_head *h)
{
	int r = buf_printf(&i->head, "%s ", h->method_name);
	if (r < 0 || put_target(i, (const char *)h->target.data) < 0 ||
	    buf_printf(&i->head, " HTTP/1.%d\r\n", h->minor) < 0) {
		refuse(i, 414, "its target with its secrets is longer than 64 KiB");
		return;
	}
	for (size_t k = 0; k < h->fields.n; k++) {
		const char *name = http_fields_name(&h->fields, k);
		if (i->login && !login_passes_up(name))
			continue;
		if (put_field(i, name, http_fields_value(&h->fields, k)) < 0)
			return;
	}
	if (put_login(i) == 0 && buf_add(&i->head, "\r\n", 2) == 0)
		i->ops.up(i->ctx, i->head.data, i->head.len);
	else
		refuse(i, 431, "the head of the request with its secrets is longer than 64 KiB");
}

static void wipe_head(struct inject *i)
{
	if (i->head.data)
		explicit_bzero(i->head.data, i->head.len);
	i->head.len = 0;
}

static void on_request(void *ctx, const struct http_head *h)
{
	struct inject *i = ctx;
	if (i->status || check_request(i, h) < 0)
		return;
	/* Growing would leave copies of values behind. */
	if (!i->head.data)
		buf_reserve(&i->head, INJECT_HEAD_MAX);
	write_request(i, h);
	wipe_head(i);
	i->chunked = h->chunked;
	i->sent[(i->first + i->n_sent++) % INJECT_REQUESTS_MAX] =
		(struct sent){ .head = h->method == HTTP_METHOD_HEAD, .upgrade = h->upgrade, .login = i->login };
	i->login = NULL;
}

typedef void (*put_fn)(void *ctx, const void *data, size_t n);

static void put_body(struct inject *i, put_fn put, bool chunked, const void *data, size_t n)
{
	char size[24];
	if (chunked)
		put(i->ctx, size, (size_t)snprintf(size, sizeof(size), "%zx\r\n", n));
	put(i->ctx, data, n);
	if (chunked)
		put(i->ctx, "\r\n", 2);
}

static void on_request_body(void *ctx, const void *data, size_t n)
{
	struct inject *i = ctx;
	if (!i->status)
		put_body(i, i->ops.up, i->chunked, data, n);
}

static void on_request_end(void *ctx)
{
	struct inject *i = ctx;
	if (!i->status && i->chunked)
		i->ops.up(i->ctx, "0\r\n\r\n", 5);
	i->chunked = false;
}

static int feed_requests(struct inject *i, const uint8_t *data, size_t n)
{
	while (n && !i->status) {
		if (http_parser_upgraded(i->requests))
			return buf_add(&i->early, data, n) == 0 ?
				       0 :
				       refuse(i, 400, "it sends too much before the upgrade is accepted");
		ssize_t used = http_parser_feed(i->requests, data, n);
		if (used < 0) {
			struct http_wrong wrong = http_parser_wrong(i->requests);
			return refuse(i, wrong.status, "%s", wrong.sentence);
		}
		data += used;
		n -= (size_t)used;
	}
	return i->status ? -1 : 0;
}

int inject_request(struct inject *i, const void *data, size_t n, struct fail *f)
{
	if (i->upgraded) {
		i->ops.up(i->ctx, data, n);
		return 0;
	}
	if (i->ending)
		return 0;
	return feed_requests(i, data, n) < 0 ? answer(i, f) : 0;
}

/* --- answers ------------------------------------------------------------------------------------------------------- */

static void hide_field(struct inject *i, const char *name, const char *value, struct buf *out)
{
	AUTO(buf_wipe) struct buf shown = { 0 };
	secret_set_hide(i->secrets, value, strlen(value), &shown);
	const char *text = buf_str(&shown);
	const char *basic = i->basic.len ? strstr(text, buf_str(&i->basic)) : NULL;
	if (is_dropped(name))
		return;
	if (basic)
		buf_printf(out, "%s: %.*s[removed]%s\r\n", name, (int)(basic - text), text, basic + i->basic.len);
	else
		buf_printf(out, "%s: %s\r\n", name, text);
}

static void note_rejected(struct inject *i, int status)
{
	for (size_t k = 0; i->used && k < i->secrets->n; k++) {
		struct gate_secret *s = &i->secrets->v[k];
		if (s->paths.n && streq(s->name, i->used) && gate_secret_is_for(s, i->host, i->port))
			s->rejected = status;
	}
}

static void on_response(void *ctx, const struct http_head *h)
{
	struct inject *i = ctx;
	const struct sent *sent = &i->sent[i->first];
	bool informs = h->status < 200 && h->status != 101;
	AUTO(buf_release) struct buf head = { 0 };
	if (i->status)
		return;
	if (!i->n_sent || (h->status == 101 && !sent->upgrade)) {
		refuse(i, 502, "its server sent an answer that nothing asked for");
		return;
	}
	if (sent->login && (h->status == 401 || h->status == 403))
		note_rejected(i, h->status);
	buf_printf(&head, "HTTP/1.%d %d %s\r\n", h->minor, h->status, http_status_phrase(h->status));
	for (size_t k = 0; k < h->fields.n; k++)
		if (!i->guarded || login_passes_down(http_fields_name(&h->fields, k)))
			hide_field(i, http_fields_name(&h->fields, k), http_fields_value(&h->fields, k), &head);
	buf_add(&head, "\r\n", 2);
	i->ops.down(i->ctx, head.data, head.len);
	i->answering = !informs;
	i->chunked_down = h->chunked && !sent->head && !informs;
	i->upgraded = h->status == 101;
}

static void on_response_body(void *ctx, const void *data, size_t n)
{
	struct inject *i = ctx;
	if (!i->status)
		put_body(i, i->ops.down, i->chunked_down, data, n);
}

static void on_response_end(void *ctx)
{
	struct inject *i = ctx;
	if (!i->status && i->chunked_down)
		i->ops.down(i->ctx, "0\r\n\r\n", 5);
	i->chunked_down = false;
}

/* After the last byte of an answer: the request is done. Interim answers (1xx) leave it open. */
static void end_response(struct inject *i)
{
	if (!i->answering)
		return;
	i->answering = false;
	i->first = (i->first + 1) % INJECT_REQUESTS_MAX;
	i->n_sent--;
}

/* The server has answered a request for an upgrade in another way: what the session sent since then are requests. */
static int resume_requests(struct inject *i)
{
	if (!http_parser_upgraded(i->requests) || i->n_sent)
		return 0;
	AUTO(buf_release) struct buf early = i->early;
	i->early = (struct buf){ .max = INJECT_EARLY_MAX };
	http_parser_decline_upgrade(i->requests);
	return feed_requests(i, early.data, early.len);
}

static int feed_responses(struct inject *i, const uint8_t *data, size_t n)
{
	while (n && !i->status && !i->upgraded) {
		if (http_parser_idle(i->responses) && i->n_sent && i->sent[i->first].head)
			http_parser_expect_no_body(i->responses);
		ssize_t used = http_parser_feed(i->responses, data, n);
		if (used < 0) {
			struct http_wrong wrong = http_parser_wrong(i->responses);
			return refuse(i, 502, "its server's answer is not valid: %s", wrong.sentence);
		}
		data += used;
		n -= (size_t)used;
		if (!i->upgraded && http_parser_idle(i->responses)) {
			end_response(i);
			if (resume_requests(i) < 0)
				return -1;
		}
	}
	if (i->upgraded) {
		if (i->early.len)
			i->ops.up(i->ctx, i->early.data, i->early.len);
		buf_release(&i->early);
		if (n)
			i->ops.down(i->ctx, data, n);
	}
	return i->status ? -1 : 0;
}

int inject_response(struct inject *i, const void *data, size_t n, struct fail *f)
{
	if (i->upgraded) {
		i->ops.down(i->ctx, data, n);
		return 0;
	}
	/* Between requests a server may say that it closes the connection (408); no client waits for that. */
	if (!i->n_sent && http_parser_idle(i->responses)) {
		i->ending = true;
		return 0;
	}
	return feed_responses(i, data, n) < 0 ? answer(i, f) : 0;
}

bool inject_ended(struct inject *i)
{
	i->ending = true;
	if (i->upgraded)
		return true;
	bool whole = !i->status && http_parser_finish(i->responses) == 0;
	if (whole && http_parser_idle(i->responses))
		end_response(i);
	return whole && !i->n_sent;
}

void inject_refuse(struct inject *i, const struct fail *f)
{
	i->refusing = true;
	fail_copy(&i->refusal, f);
}

const char *inject_used(const struct inject *i)
{
	return i->used;
}

struct inject *inject_new(const char *host, uint16_t port, struct secret_set *secrets, const struct inject_ops *ops,
			  void *ctx)
{
	static const struct http_parser_ops request_ops = { on_request, on_request_body, on_request_end };
	static const struct http_parser_ops response_ops = { on_response, on_response_body, on_response_end };
	struct inject *i = new0(struct inject);
	i->host = xstrdup(host);
	i->port = port;
	i->secrets = secret_set_ref(secrets);
	i->ops = *ops;
	i->ctx = ctx;
	i->guarded = login_guards(secrets, host, port);
	i->requests = http_parser_new(HTTP_SERVER, &request_ops, i);
	i->responses = http_parser_new(HTTP_CLIENT, &response_ops, i);
	i->head.max = INJECT_HEAD_MAX;
	i->early.max = INJECT_EARLY_MAX;
	return i;
}

struct inject *inject_free(struct inject *i)
{
	if (!i)
		return NULL;
	http_parser_free(i->requests);
	http_parser_free(i->responses);
	secret_set_unref(i->secrets);
	buf_wipe(&i->head);
	buf_wipe(&i->basic);
	buf_release(&i->early);
	fail_release(&i->why);
	fail_release(&i->refusal);
	free(i->host);
	free(i->used);
	free(i);
	return NULL;
}
