/* As much of HTTP/1.1 as an installer's requests to the relay need: a request without a body, and the head of an answer. Whoever
 * asks is sandbox code: everything is bounded and checked, and what is not understood is refused. */
#ifndef HUSK_KERNELS_PACKAGES_HTTP_H
#define HUSK_KERNELS_PACKAGES_HTTP_H

#include "base/buf.h"

/* Of a whole request. */
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
	/* Only those that the other end may see; a name appears once. */
	struct http_header headers[HTTP_HEADERS_MAX];
	size_t n_headers;
};

/* Reads the request that data starts with, writing NULs into it; *ret points into it. 1 and *ret; 0 if more bytes are needed; else a
 * negative status to refuse it with (-400, -405, -431, …). */
int http_parse(char *data, size_t n, struct http_request *ret);
/* True if the other end may have this header of a request. */
bool http_passes(const char *name);

/* Printable ASCII, blanks and tabs: what may stand in a header's value. */
bool http_is_value(const char *value);
/* The line that begins an answer. */
void http_put_status(struct buf *out, int status);
/* A whole answer with a text of ours. */
void http_put_error(struct buf *out, int status, const char *text);

#endif
