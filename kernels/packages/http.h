/* The part of HTTP/1.1 that an installer's requests to the relay need: a request without a body, and the head of
 * an answer. The clients are sandbox code: everything is bounded and checked, and unsupported requests are
 * rejected. */
#ifndef HUSK_KERNELS_PACKAGES_HTTP_H
#define HUSK_KERNELS_PACKAGES_HTTP_H

#include "base/buf.h"

/* Limit for a whole request. */
#define HTTP_HEAD_MAX 8192u
#define HTTP_TARGET_MAX 4096u
#define HTTP_HEADERS_MAX 8

struct http_header {
	const char *name; /* lower case */
	const char *value;
};

struct http_request {
	bool head;	    /* HEAD instead of GET */
	const char *target; /* printable ASCII, starts with '/' */
	/* Only headers that the other end may see; each name appears once. */
	struct http_header headers[HTTP_HEADERS_MAX];
	size_t n_headers;
};

/* Parses the request at the start of `data` and writes NULs into it; *ret points into `data`. 1 and *ret; 0 if more
 * bytes are needed; else a negative status to reject the request with (-400, -405, -431, …). */
int http_parse(char *data, size_t n, struct http_request *ret);
/* True if this request header may be passed to the other end. */
bool http_passes(const char *name);

/* True for printable ASCII, blanks and tabs, which a header's value may contain. */
bool http_is_value(const char *value);
/* The first line of an answer. */
void http_put_status(struct buf *out, int status);
/* A complete answer with this text. */
void http_put_error(struct buf *out, int status, const char *text);

#endif
