/* Server-sent events (text/event-stream): writes and reads them. */
#ifndef HUSK_HTTP_EVENTS_H
#define HUSK_HTTP_EVENTS_H

#include "base/buf.h"

/* Appends one event. id and name may be NULL; neither may have a line break. Lines of the data become lines of the
 * event. */
void http_event_add(struct buf *out, const char *id, const char *name, const void *data, size_t n);
/* Appends the time after which a reader should reconnect; it is sent with the next event. */
void http_event_add_retry(struct buf *out, unsigned ms);
/* Appends a comment, which readers ignore and proxies take as a sign of life. */
void http_event_add_comment(struct buf *out, const char *text);

struct http_event {
	const char *id;	  /* the last one that was sent; NULL = none yet */
	const char *name; /* "message" if none was sent */
	const char *data; /* NUL-terminated */
	size_t n;
};

struct http_event_reader {
	void (*on_event)(void *ctx, const struct http_event *event);
	void *ctx;
	struct buf line, data, id, name; /* .max is set by the init function */
	bool has_data, has_id, after_cr, started;
	unsigned retry_ms; /* pause before a reconnect that the server asked for; 0 = none */
};

/* An event of more than `max` bytes is an error. */
void http_event_reader_init(struct http_event_reader *r, size_t max,
			    void (*on_event)(void *, const struct http_event *), void *ctx);
void http_event_reader_release(struct http_event_reader *r);
/* 0, or -E2BIG: an event is too long. */
int http_event_reader_feed(struct http_event_reader *r, const void *data, size_t n);

#endif
