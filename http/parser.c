#include "http/parser.h"

#include <errno.h>
#include <llhttp.h>

#include "base/alloc.h"

enum state { STATE_IDLE, STATE_HEAD, STATE_BODY, STATE_UPGRADED, STATE_WRONG };

struct http_parser {
	enum http_role role;
	struct http_parser_ops ops;
	void *ctx;
	llhttp_t llhttp;
	enum state state;
	struct http_wrong wrong;
	struct buf raw; /* the head so far */
	size_t checked; /* bytes of raw that were searched for the end of the head */
	size_t skipped; /* bytes of empty lines before this message */
	struct http_head head;
	char name[256]; /* name of the field that is being read */
	size_t name_len;
	struct buf value;
	bool in_trailer, ended, pausing, no_body;
	size_t trailer; /* bytes of trailer fields */
};

static int set_wrong(struct http_parser *p, int status, const char *sentence)
{
	if (!p->wrong.status)
		p->wrong = (struct http_wrong){ status, sentence };
	p->state = STATE_WRONG;
	return -1;
}

/* --- llhttp's callbacks; -1 stops it */

static int on_url(llhttp_t *l, const char *at, size_t n)
{
	struct http_parser *p = l->data;
	return buf_add(&p->head.target, at, n) < 0 ? set_wrong(p, 431, "the request line is too long") : 0;
}

static int flush_field(struct http_parser *p)
{
	if (!p->name_len || p->in_trailer)
		return 0;
	p->name[p->name_len] = 0;
	int r = http_fields_add(&p->head.fields, p->name, buf_str(&p->value));
	p->name_len = 0;
	buf_reset(&p->value);
	if (r == -E2BIG)
		return set_wrong(p, 431, "there are more than 64 header fields");
	return r < 0 ? set_wrong(p, 400, "a header field has a character that is not allowed") : 0;
}

static int count_trailer(struct http_parser *p, size_t n)
{
	p->trailer += n;
	return p->trailer > HTTP_HEAD_MAX ? set_wrong(p, 431, "the trailer fields are too long") : 0;
}

static int on_field(llhttp_t *l, const char *at, size_t n)
{
	struct http_parser *p = l->data;
	if (p->in_trailer)
		return count_trailer(p, n);
	if (p->name_len + n >= sizeof(p->name))
		return set_wrong(p, 431, "the name of a header field is too long");
	memcpy(p->name + p->name_len, at, n);
	p->name_len += n;
	return 0;
}

static int on_value(llhttp_t *l, const char *at, size_t n)
{
	struct http_parser *p = l->data;
	if (p->in_trailer)
		return count_trailer(p, n);
	return buf_add(&p->value, at, n) < 0 ? set_wrong(p, 431, "a header field is too long") : 0;
}

static int on_value_complete(llhttp_t *l)
{
	return flush_field(l->data);
}

static enum http_method method_of(uint8_t method)
{
	switch (method) {
	case HTTP_GET:
		return HTTP_METHOD_GET;
	case HTTP_HEAD:
		return HTTP_METHOD_HEAD;
	case HTTP_POST:
		return HTTP_METHOD_POST;
	case HTTP_PUT:
		return HTTP_METHOD_PUT;
	case HTTP_PATCH:
		return HTTP_METHOD_PATCH;
	case HTTP_DELETE:
		return HTTP_METHOD_DELETE;
	case HTTP_OPTIONS:
		return HTTP_METHOD_OPTIONS;
	default:
		return HTTP_METHOD_OTHER;
	}
}

/* A body has a length or is chunked, never both: if the two disagree, two readers see different messages. */
static int check_body(struct http_parser *p)
{
	struct http_head *h = &p->head;
	const char *coding = http_fields_get(&h->fields, "transfer-encoding");
	bool has_length = http_fields_get(&h->fields, "content-length") != NULL;
	if (coding && has_length)
		return set_wrong(p, 400, "the message has both Content-Length and Transfer-Encoding");
	if (coding && h->minor == 0)
		return set_wrong(p, 400, "Transfer-Encoding is not part of HTTP/1.0");
	if (coding && (http_fields_count(&h->fields, "transfer-encoding") > 1 || !(p->llhttp.flags & F_CHUNKED) ||
		       strchr(coding, ',')))
		return set_wrong(p, 501, "the only supported Transfer-Encoding is 'chunked'");
	if (http_fields_count(&h->fields, "content-length") > 1)
		return set_wrong(p, 400, "there is more than one Content-Length");
	h->chunked = coding != NULL;
	h->length = has_length ? (int64_t)p->llhttp.content_length : h->chunked || p->role == HTTP_CLIENT ? -1 : 0;
	if (has_length && p->llhttp.content_length > INT64_MAX)
		return set_wrong(p, 400, "Content-Length is too large");
	return 0;
}

/* A target such as "http://host/path" names its host itself. If Host named another one, a proxy might use the one and
 * we the other. */
static bool target_has_host(const struct http_head *h, const char *host)
{
	const char *target = (const char *)h->target.data, *authority = strstr(target, "://");
	if (*target == '/' || !authority)
		return true;
	size_t n = strcspn(authority += 3, "/?#");
	return host && strlen(host) == n && strncasecmp(authority, host, n) == 0;
}

static int check_request(struct http_parser *p)
{
	struct http_head *h = &p->head;
	size_t hosts = http_fields_count(&h->fields, "host");
	if (hosts > 1)
		return set_wrong(p, 400, "there is more than one Host field");
	if (!hosts && h->minor == 1)
		return set_wrong(p, 400, "the Host field is missing");
	if (!target_has_host(h, http_fields_get(&h->fields, "host")))
		return set_wrong(p, 400, "the target and Host name different hosts");
	return 0;
}

/* The result tells llhttp what to do with the body: 0 = read it, 1 = there is none, 2 = there is none and the protocol
 * changes. */
static int on_headers_complete(llhttp_t *l)
{
	struct http_parser *p = l->data;
	struct http_head *h = &p->head;
	h->method = method_of(l->method);
	h->status = l->status_code;
	h->minor = l->http_minor;
	buf_str(&h->target);
	if (l->http_major != 1 || l->http_minor > 1)
		return set_wrong(p, 505, "only HTTP/1.1 and HTTP/1.0 are supported");
	if (check_body(p) < 0 || (p->role == HTTP_SERVER && check_request(p) < 0))
		return -1;
	if (p->role == HTTP_SERVER)
		snprintf(h->method_name, sizeof(h->method_name), "%s", llhttp_method_name((llhttp_method_t)l->method));
	h->keep_alive = llhttp_should_keep_alive(l);
	h->upgrade = http_fields_has(&h->fields, "connection", "upgrade") && http_fields_get(&h->fields, "upgrade");
	bool switches = p->role == HTTP_CLIENT ? h->status == 101 : h->upgrade && !h->chunked && h->length == 0;
	p->state = switches ? STATE_UPGRADED : STATE_BODY;
	p->in_trailer = true;
	p->ops.on_head(p->ctx, h);
	if (switches)
		return 2;
	/* An upgrade that the server ignores is an ordinary request, body included. */
	l->upgrade = 0;
	return p->no_body ? 1 : 0;
}

static int on_body(llhttp_t *l, const char *at, size_t n)
{
	struct http_parser *p = l->data;
	p->ops.on_body(p->ctx, at, n);
	return 0;
}

static int on_message_complete(llhttp_t *l)
{
	struct http_parser *p = l->data;
	p->ended = true;
	return p->state == STATE_UPGRADED ? 0 : HPE_PAUSED;
}

static const llhttp_settings_t settings = {
	.on_url = on_url,
	.on_header_field = on_field,
	.on_header_value = on_value,
	.on_header_value_complete = on_value_complete,
	.on_headers_complete = on_headers_complete,
	.on_body = on_body,
	.on_message_complete = on_message_complete,
};

/* --- the head, line by line */

/* Allows CR and LF only as a pair, no NUL, and no line that continues the one before. */
static int check_bytes(struct http_parser *p)
{
	const char *line = (const char *)p->raw.data, *end = line + p->raw.len;
	if (memchr(line, 0, p->raw.len))
		return set_wrong(p, 400, "the head has a NUL byte");
	for (const char *lf; line < end; line = lf + 1) {
		lf = memchr(line, '\n', (size_t)(end - line)); /* the head ends with a line feed */
		if (lf == line || lf[-1] != '\r')
			return set_wrong(p, 400, "a line of the head ends without a carriage return");
		if (memchr(line, '\r', (size_t)(lf - 1 - line)))
			return set_wrong(p, 400, "the head has a carriage return inside a line");
		if (lf + 1 < end && (lf[1] == ' ' || lf[1] == '\t'))
			return set_wrong(p, 400, "a header field is folded over two lines");
	}
	return 0;
}

/* The line must be "METHOD TARGET HTTP/1.x": llhttp also accepts HTTP/0.9, which has no version. */
static int check_request_line(struct http_parser *p)
{
	const char *line = (const char *)p->raw.data;
	const char *end = memchr(line, '\r', p->raw.len);
	const char *first = memchr(line, ' ', (size_t)(end - line));
	const char *last = memrchr(line, ' ', (size_t)(end - line));
	if (!first || first == last || first + 1 == last)
		return set_wrong(p, 400, "the request line is not 'METHOD TARGET HTTP/1.1'");
	if (memchr(first + 1, ' ', (size_t)(last - first - 1)))
		return set_wrong(p, 400, "the request line has a space in its target");
	if (end - last != 9 || memcmp(last + 1, "HTTP/", 5) != 0)
		return set_wrong(p, 400, "the request line does not end with a version of HTTP");
	return memcmp(last + 6, "1.", 2) == 0 ? 0 : set_wrong(p, 505, "only HTTP/1.1 and HTTP/1.0 are supported");
}

/* Each line must be "name: value", with no space before the colon, which llhttp would accept. */
static int check_fields(struct http_parser *p)
{
	const char *line = memchr(p->raw.data, '\n', p->raw.len);
	const char *end = (const char *)p->raw.data + p->raw.len - 2;
	for (line++; line < end; line = (const char *)memchr(line, '\n', (size_t)(end - line)) + 1) {
		size_t n = strcspn(line, ": \t\r");
		if (!n || line[n] != ':')
			return set_wrong(p, 400, "a header field is not 'Name: value'");
	}
	return 0;
}

static int say_llhttp_error(struct http_parser *p, llhttp_errno_t error)
{
	if (p->wrong.status)
		return set_wrong(p, 0, NULL);
	switch (error) {
	case HPE_INVALID_METHOD:
		return set_wrong(p, 501, "the method is unknown");
	case HPE_INVALID_URL:
		return set_wrong(p, 400, "the request target is not a valid path");
	case HPE_INVALID_VERSION:
		return set_wrong(p, 505, "only HTTP/1.1 and HTTP/1.0 are supported");
	case HPE_INVALID_HEADER_TOKEN:
		return set_wrong(p, 400, "a header field has a character that is not allowed");
	case HPE_UNEXPECTED_CONTENT_LENGTH:
		if (p->llhttp.flags & F_TRANSFER_ENCODING)
			return set_wrong(p, 400, "the message has both Content-Length and Transfer-Encoding");
		return set_wrong(p, 400, "there is more than one Content-Length");
	case HPE_INVALID_CONTENT_LENGTH:
		return set_wrong(p, 400, "Content-Length is not a single number");
	case HPE_INVALID_TRANSFER_ENCODING:
		return set_wrong(p, 501, "the only supported Transfer-Encoding is 'chunked'");
	case HPE_INVALID_CHUNK_SIZE:
	case HPE_STRICT:
		return set_wrong(p, 400, "the chunks of the body are malformed");
	default:
		return set_wrong(p, 400, "the message is not valid HTTP");
	}
}

/* Feeds llhttp and returns the bytes it used, or -1. */
static ssize_t execute(struct http_parser *p, const void *data, size_t n)
{
	llhttp_errno_t error = llhttp_execute(&p->llhttp, data, n);
	if (error == HPE_OK)
		return (ssize_t)n;
	if (error != HPE_PAUSED && error != HPE_PAUSED_UPGRADE)
		return say_llhttp_error(p, error);
	size_t used = (size_t)(llhttp_get_error_pos(&p->llhttp) - (const char *)data);
	if (error == HPE_PAUSED)
		llhttp_resume(&p->llhttp);
	else
		llhttp_resume_after_upgrade(&p->llhttp);
	return (ssize_t)used;
}

static void begin_message(struct http_parser *p)
{
	buf_reset(&p->raw);
	buf_reset(&p->value);
	http_head_reset(&p->head);
	p->checked = p->name_len = p->trailer = 0;
	p->in_trailer = p->ended = false;
	p->state = STATE_HEAD;
}

static void end_message(struct http_parser *p)
{
	if (!p->ended)
		return;
	p->ended = p->no_body = false;
	p->skipped = 0;
	if (p->state != STATE_UPGRADED)
		p->state = STATE_IDLE;
	p->ops.on_end(p->ctx);
}

/* Ignores empty lines before a request, as RFC 9112 asks of servers; two are enough for known clients. Returns the
 * number of bytes dropped. */
static size_t drop_empty_lines(struct http_parser *p)
{
	size_t before = p->skipped;
	while (p->role == HTTP_SERVER && p->skipped < 4 && p->raw.len >= 2 && memcmp(p->raw.data, "\r\n", 2) == 0) {
		buf_consume(&p->raw, 2);
		p->skipped += 2;
	}
	return p->skipped - before;
}

/* Looks for the end of the head. 1 = found, 0 = not yet. */
static int find_end(struct http_parser *p)
{
	size_t from = p->checked > 3 ? p->checked - 3 : 0;
	const uint8_t *end = memmem(p->raw.data + from, p->raw.len - from, "\r\n\r\n", 4);
	p->checked = p->raw.len;
	if (end) {
		p->raw.len = (size_t)(end + 4 - p->raw.data);
		return 1;
	}
	/* A head whose lines end with a bare line feed would never end. */
	if (memmem(p->raw.data + from, p->raw.len - from, "\n\n", 2))
		return set_wrong(p, 400, "a line of the head ends without a carriage return");
	if (p->raw.len > HTTP_HEAD_MAX)
		return set_wrong(p, 431, "the request line and header fields are longer than 16 KiB");
	return 0;
}

static int check_head(struct http_parser *p)
{
	buf_str(&p->raw);
	if (check_bytes(p) < 0 || (p->role == HTTP_SERVER && check_request_line(p) < 0) || check_fields(p) < 0)
		return -1;
	return execute(p, p->raw.data, p->raw.len) < 0 ? -1 : 0;
}

/* Adds to the head, handles it once it is complete, and returns the bytes used. */
static ssize_t collect_head(struct http_parser *p, const uint8_t *data, size_t n)
{
	size_t before = p->raw.len;
	buf_add(&p->raw, data, MIN(n, HTTP_HEAD_MAX + 1 - before));
	size_t dropped = drop_empty_lines(p);
	int found = find_end(p);
	if (found < 0 || (found && check_head(p) < 0))
		return -1;
	if (!p->raw.len)
		p->state = STATE_IDLE;
	return (ssize_t)(p->raw.len + dropped - before);
}

ssize_t http_parser_feed(struct http_parser *p, const void *data, size_t n)
{
	const uint8_t *bytes = data;
	size_t at = 0;
	p->pausing = false;
	if (p->state == STATE_IDLE && n)
		begin_message(p);
	if (p->state == STATE_HEAD) {
		ssize_t used = collect_head(p, bytes + at, n - at);
		if (used < 0)
			return -1;
		at += (size_t)used;
	}
	if (p->state == STATE_BODY && !p->ended && !p->pausing && at < n) {
		ssize_t used = execute(p, bytes + at, n - at);
		if (used < 0)
			return -1;
		at += (size_t)used;
	}
	end_message(p);
	return p->state == STATE_WRONG ? -1 : (ssize_t)at;
}

const struct http_head *http_parser_head(const struct http_parser *p)
{
	return &p->head;
}

struct http_wrong http_parser_wrong(const struct http_parser *p)
{
	return p->wrong;
}

void http_parser_pause(struct http_parser *p)
{
	p->pausing = true;
}

int http_parser_finish(struct http_parser *p)
{
	if (p->state == STATE_IDLE || p->state == STATE_UPGRADED)
		return 0;
	if (p->state == STATE_BODY)
		llhttp_finish(&p->llhttp);
	if (!p->ended)
		return set_wrong(p, 400, "the connection ended inside a message");
	end_message(p);
	return 0;
}

bool http_parser_idle(const struct http_parser *p)
{
	return p->state == STATE_IDLE;
}

bool http_parser_upgraded(const struct http_parser *p)
{
	return p->state == STATE_UPGRADED;
}

void http_parser_decline_upgrade(struct http_parser *p)
{
	llhttp_reset(&p->llhttp);
	p->state = STATE_IDLE;
}

void http_parser_expect_no_body(struct http_parser *p)
{
	p->no_body = true;
}

struct http_parser *http_parser_new(enum http_role role, const struct http_parser_ops *ops, void *ctx)
{
	struct http_parser *p = new0(struct http_parser);
	p->role = role;
	p->ops = *ops;
	p->ctx = ctx;
	p->raw.max = HTTP_HEAD_MAX + 2; /* one byte above the limit, and a NUL */
	p->value.max = HTTP_HEAD_MAX + 1;
	p->head.target.max = HTTP_HEAD_MAX + 1;
	p->head.fields.text.max = 2 * HTTP_HEAD_MAX;
	llhttp_init(&p->llhttp, role == HTTP_SERVER ? HTTP_REQUEST : HTTP_RESPONSE, &settings);
	p->llhttp.data = p;
	return p;
}

struct http_parser *http_parser_free(struct http_parser *p)
{
	if (!p)
		return NULL;
	http_head_release(&p->head);
	buf_release(&p->raw);
	buf_release(&p->value);
	free(p);
	return NULL;
}
