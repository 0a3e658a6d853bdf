/* Requests to an HTTP/1.1 server, over a unix socket or TCP, with or without TLS. Connections are kept for a short
 * while and reused. Redirects are not followed and requests are not retried: the caller sees what the server said. */
#ifndef HUSK_HTTP_CLIENT_H
#define HUSK_HTTP_CLIENT_H

#include "base/fail.h"
#include "http/channel.h"
#include "http/message.h"

struct http_client; /* a server's address, and idle connections to it */
struct http_call;   /* one request */

struct http_client_spec {
	struct loop *loop;
	/* Returns a connected stream socket or -errno; must not block. NULL = `path` or `address` is used. */
	int (*dial)(void *ctx);
	void *dial_ctx;
	const char *path;	 /* path of a unix socket; NULL = use `address` */
	const char *address;	 /* a numeric IPv4 or IPv6 address and a port: "127.0.0.1:80", "[::1]:80" */
	struct tls_context *tls; /* NULL = plain. The caller frees it after the client */
	const char *host;	 /* for the Host field and TLS; NULL = "localhost" */
	unsigned connect_ms;	 /* 0 = 10 s */
};

/* NULL with f if the address is invalid. */
struct http_client *http_client_new(const struct http_client_spec *spec, struct fail *f);
/* Free its calls first. Accepts NULL, returns NULL. */
struct http_client *http_client_free(struct http_client *c);

struct http_call_spec {
	const char *method, *target;	  /* "GET", "/v1/sessions" */
	const struct http_fields *fields; /* may be NULL; Host, Content-Length and Connection are added */
	const void *body;		  /* copied */
	size_t n;
	bool stream;	/* the body follows by http_call_write() */
	int64_t length; /* of a body that follows; 0 or less = unknown, so it is sent in chunks */
	/* Open files to send with the request over a unix socket; duplicated. At most CHANNEL_FILES_MAX. */
	const int *files;
	size_t n_files;
	/* Called in this order: on_head once, on_data any number of times, on_end once. on_head is not called if there
	 * was no answer. None of them is called from inside the functions below. 1xx answers other than 101 are
	 * skipped. */
	void (*on_head)(void *ctx, const struct http_head *head);
	void (*on_data)(void *ctx, const void *data, size_t n);
	void (*on_end)(void *ctx, const char *error); /* NULL = complete. The call is already invalid */
	/* Everything written so far is sent. May be NULL. */
	void (*on_drained)(void *ctx);
	void *ctx;
};

struct http_call *http_call_new(struct http_client *c, const struct http_call_spec *spec);
/* Cancels the request without calling on_end; callbacks may call it. Accepts NULL, returns NULL. */
struct http_call *http_call_free(struct http_call *call);
/* Send a piece of a streamed body, and end the body. 0 or -errno. */
int http_call_write(struct http_call *call, const void *data, size_t n);
void http_call_end(struct http_call *call);
size_t http_call_queued(const struct http_call *call);
/* Stops and resumes reading the answer (back pressure). */
void http_call_pause(struct http_call *call, bool paused);
/* Call it from on_head with status 101: takes the connection. Afterwards the call is invalid, and on_end is not called.
 * The channel is paused and has no owner; its first bytes are those that came after the head. The head stays valid
 * until on_head returns. */
struct channel *http_call_take_channel(struct http_call *call);

#endif
