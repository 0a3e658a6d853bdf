/* The limits of a server and its handler. */
#ifndef HUSK_HTTP_LIMITS_H
#define HUSK_HTTP_LIMITS_H

#include "http/request.h"

struct http_limits {
	/* A further one takes the place of the one that has waited longest for its next request. It is answered with 503 if
	 * all of them work on a request. */
	unsigned connections;
	unsigned head_ms;  /* from the first byte of a request to the end of its head; 408 after that */
	unsigned idle_ms;  /* between requests */
	unsigned stall_ms; /* without progress: a body that does not arrive, an answer that is not read */
};
extern const struct http_limits http_limits_default;

struct http_server_spec {
	struct http_limits limits;
	/* A request's head has arrived. The callee answers it, now or later (http/request.h). */
	void (*on_request)(void *ctx, struct http_request *r);
	void *ctx;
};

#endif
