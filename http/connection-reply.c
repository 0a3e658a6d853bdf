#include <errno.h>
#include <time.h>

#include "base/alloc.h"
#include "base/json.h"
#include "http/connection-private.h"
#include "http/problem.h"

/* A shorter body is sent together with its head. */
#define TOGETHER_MAX (64u << 10)
/* An unread request body of at most this size is dropped, so that the connection can be reused. */
#define DROP_MAX (64 << 10)

static const char *date_now(struct http_host *host)
{
	int64_t now = (int64_t)time(NULL);
	if (now != host->date_at) {
		struct tm tm;
		time_t at = (time_t)now;
		static const char days[][4] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
		static const char months[][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
						  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
		gmtime_r(&at, &tm);
		snprintf(host->date, sizeof(host->date), "%s, %02d %s %04d %02d:%02d:%02d GMT", days[tm.tm_wday],
			 tm.tm_mday, months[tm.tm_mon], tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec);
		host->date_at = now;
	}
	return host->date;
}

/* Closes the connection after the answer if the rest of the request's body is too long to read and drop. */
static void decide_close(struct http_request *r)
{
	const struct http_head *head = r->c->head;
	if (!r->body_ended && (r->continues || head->chunked || head->length > DROP_MAX))
		r->close = true;
}

/* Formatting would take several times as long, and is a part of each answer's time. */
static void add_line(struct buf *out, const char *name, const char *value)
{
	buf_add_str(out, name);
	buf_add(out, ": ", 2);
	buf_add_str(out, value);
	buf_add(out, "\r\n", 2);
}

static void add_status(struct http_connection *c, int status)
{
	buf_reset(&c->out);
	buf_add_str(&c->out, "HTTP/1.1 ");
	buf_add_int(&c->out, status);
	buf_add(&c->out, " ", 1);
	buf_add_str(&c->out, http_status_phrase(status));
	buf_add(&c->out, "\r\n", 2);
	add_line(&c->out, "Date", date_now(c->host));
}

static void add_length(struct buf *out, int64_t length)
{
	buf_add_str(out, "Content-Length: ");
	buf_add_int(out, length);
	buf_add(out, "\r\n", 2);
}

static void add_fields(struct buf *out, const struct http_fields *fields)
{
	for (size_t i = 0; fields && i < fields->n; i++)
		add_line(out, http_fields_name(fields, i), http_fields_value(fields, i));
}

static bool status_has_body(int status)
{
	return status >= 200 && status != 204 && status != 304;
}

static void add_head(struct http_request *r, int status, const struct http_fields *fields, int64_t length)
{
	struct http_connection *c = r->c;
	struct buf *out = &c->out;
	if (r->on_answer)
		r->on_answer(r->answer_ctx, r, status);
	add_status(c, status);
	add_fields(out, fields);
	r->no_body = c->head->method == HTTP_METHOD_HEAD || !status_has_body(status);
	r->chunked = status_has_body(status) && length < 0 && c->head->minor == 1;
	if (status_has_body(status) && length < 0 && !r->chunked)
		r->close = true;
	if (r->chunked)
		buf_add_str(out, "Transfer-Encoding: chunked\r\n");
	else if (status_has_body(status) && length >= 0)
		add_length(out, length);
	decide_close(r);
	if (r->close)
		buf_add_str(out, "Connection: close\r\n");
	else if (c->head->minor == 0)
		buf_add_str(out, "Connection: keep-alive\r\n");
	buf_add(out, "\r\n", 2);
	r->begun = true;
}

void http_reply(struct http_request *r, int status, const struct http_fields *fields, const void *body, size_t n)
{
	struct http_connection *c = r->c;
	add_head(r, status, fields, (int64_t)n);
	bool with_body = !r->no_body && n;
	bool together = with_body && n <= TOGETHER_MAX;
	if (together)
		buf_add(&c->out, body, n);
	channel_write(c->channel, c->out.data, c->out.len);
	if (with_body && !together)
		channel_write(c->channel, body, n);
	http_connection_answered(c);
}

void http_reply_problem(struct http_request *r, int status, const char *detail)
{
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	AUTO(buf_release) struct buf body = { 0 };
	http_fields_add(&fields, "Content-Type", "application/problem+json");
	json_auto_t *problem = http_problem(status, /* cause= */ NULL, detail, /* hint= */ NULL);
	json_print(&body, problem);
	http_reply(r, status, &fields, body.data, body.len);
}

bool http_reply_begin(struct http_request *r, int status, const struct http_fields *fields, int64_t length)
{
	add_head(r, status, fields, length);
	channel_write(r->c->channel, r->c->out.data, r->c->out.len);
	http_connection_wrote(r->c);
	return !r->no_body;
}

static int write_chunk(struct http_connection *c, const void *data, size_t n)
{
	buf_reset(&c->out);
	buf_printf(&c->out, "%zx\r\n", n);
	if (n <= TOGETHER_MAX) {
		buf_add(&c->out, data, n);
		buf_add(&c->out, "\r\n", 2);
		return channel_write(c->channel, c->out.data, c->out.len);
	}
	int result = channel_write(c->channel, c->out.data, c->out.len);
	if (result == 0)
		result = channel_write(c->channel, data, n);
	return result == 0 ? channel_write(c->channel, "\r\n", 2) : result;
}

int http_reply_write(struct http_request *r, const void *data, size_t n)
{
	struct http_connection *c = r->c;
	if (!n || r->no_body)
		return 0;
	int result = r->chunked ? write_chunk(c, data, n) : channel_write(c->channel, data, n);
	http_connection_wrote(c);
	return result;
}

size_t http_reply_queued(const struct http_request *r)
{
	return channel_queued(r->c->channel);
}

void http_reply_on_drained(struct http_request *r, void (*fn)(void *ctx), void *ctx)
{
	r->on_drained = fn;
	r->drained_ctx = ctx;
}

void http_reply_end(struct http_request *r)
{
	if (r->chunked && !r->no_body)
		channel_write(r->c->channel, "0\r\n\r\n", 5);
	http_connection_answered(r->c);
}

void http_reply_abort(struct http_request *r)
{
	r->active = false;
	http_connection_close(r->c);
}

struct channel *http_reply_upgrade(struct http_request *r, const struct http_fields *fields)
{
	struct http_connection *c = r->c;
	struct buf *out = &c->out;
	add_status(c, 101);
	add_line(out, "Connection", "Upgrade");
	add_fields(out, fields);
	buf_add(out, "\r\n", 2);
	channel_write(c->channel, out->data, out->len);
	return http_connection_detach(c);
}
