#include "http/events.h"

#include <errno.h>

#include "base/parse.h"

void http_event_add(struct buf *out, const char *id, const char *name, const void *data, size_t n)
{
	if (id)
		buf_printf(out, "id: %s\n", id);
	if (name)
		buf_printf(out, "event: %s\n", name);
	const uint8_t *at = data, *end = at + n;
	for (;;) {
		const uint8_t *line = at;
		while (at < end && *at != '\n' && *at != '\r')
			at++;
		buf_add_str(out, "data: ");
		buf_add(out, line, (size_t)(at - line));
		buf_add(out, "\n", 1);
		if (at == end)
			break;
		at += at + 1 < end && at[0] == '\r' && at[1] == '\n' ? 2 : 1;
	}
	buf_add(out, "\n", 1);
}

void http_event_add_retry(struct buf *out, unsigned ms)
{
	buf_printf(out, "retry: %u\n", ms);
}

void http_event_add_comment(struct buf *out, const char *text)
{
	buf_printf(out, ": %s\n\n", text);
}

void http_event_reader_init(struct http_event_reader *r, size_t max,
			    void (*on_event)(void *, const struct http_event *), void *ctx)
{
	*r = (struct http_event_reader){ .on_event = on_event, .ctx = ctx };
	r->line.max = r->data.max = max;
	r->id.max = r->name.max = 1024;
}

void http_event_reader_release(struct http_event_reader *r)
{
	buf_release(&r->line);
	buf_release(&r->data);
	buf_release(&r->id);
	buf_release(&r->name);
}

static void dispatch(struct http_event_reader *r)
{
	if (r->has_data) {
		const char *data = buf_str(&r->data);
		struct http_event event = { r->has_id ? buf_str(&r->id) : NULL,
					    r->name.len ? buf_str(&r->name) : "message", data, r->data.len };
		r->on_event(r->ctx, &event);
	}
	buf_reset(&r->data);
	buf_reset(&r->name);
	r->has_data = false;
}

static int set_text(struct buf *to, const char *value)
{
	buf_reset(to);
	return buf_add_str(to, value) < 0 ? -E2BIG : 0;
}

static int take_field(struct http_event_reader *r, const char *name, const char *value)
{
	uint64_t ms;
	if (streq(name, "data")) {
		bool more = r->has_data;
		r->has_data = true;
		return (more && buf_add(&r->data, "\n", 1) < 0) || buf_add_str(&r->data, value) < 0 ? -E2BIG : 0;
	}
	if (streq(name, "event"))
		return set_text(&r->name, value);
	if (streq(name, "id")) {
		r->has_id = true;
		return set_text(&r->id, value);
	}
	if (streq(name, "retry") && parse_u64(value, &ms) == 0)
		r->retry_ms = (unsigned)MIN(ms, (uint64_t)3600000);
	return 0;
}

static int take_line(struct http_event_reader *r)
{
	char *line = (char *)(uintptr_t)buf_str(&r->line);
	if (!r->started && strncmp(line, "\xef\xbb\xbf", 3) == 0)
		line += 3;
	r->started = true;
	if (!*line) {
		dispatch(r);
		return 0;
	}
	char *colon = strchr(line, ':');
	if (colon == line)
		return 0;
	const char *value = "";
	if (colon) {
		*colon = 0;
		value = colon + 1 + (colon[1] == ' ');
	}
	return take_field(r, line, value);
}

int http_event_reader_feed(struct http_event_reader *r, const void *data, size_t n)
{
	const uint8_t *at = data, *end = at + n;
	while (at < end) {
		if (r->after_cr && *at == '\n') {
			r->after_cr = false;
			at++;
			continue;
		}
		r->after_cr = false;
		const uint8_t *line = at;
		while (at < end && *at != '\n' && *at != '\r')
			at++;
		if (buf_add(&r->line, line, (size_t)(at - line)) < 0)
			return -E2BIG;
		if (at == end)
			break;
		r->after_cr = *at++ == '\r';
		int result = take_line(r);
		buf_reset(&r->line);
		if (result < 0)
			return result;
	}
	return 0;
}
