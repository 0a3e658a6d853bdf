/* Requests to /mcp that another server must answer: those of a legacy session that another server has begun, and calls of
 * tools for a session, or requests for a task, that another server has. */
#ifndef HUSK_API_REROUTE_H
#define HUSK_API_REROUTE_H

#include "api/exchange.h"

#define REROUTE_PATH "/mcp"

/* A request that MCP has read. Strings and the body are borrowed during the call. */
struct reroute_spec {
	struct http_request *request;
	struct conversation *conversation;
	const char *key; /* "" = none */
	unsigned scopes;
	const char *session; /* its id or name, or */
	const char *task;    /* the id of a task, or */
	const char *address; /* the server to which the request is passed, and the number for it */
	uint64_t number;
	const void *body;
	size_t n;
	/* One of them is called, later. here: this server handles the request, which belongs to MCP again. gone: the
	 * other server answers, or the client has left. */
	void (*here)(void *ctx);
	void (*gone)(void *ctx);
	/* For a session or a task: the request is passed on to this address. Returns a number for the other server, or 0. */
	uint64_t (*passed)(void *ctx, const char *address);
	void *ctx;
};
/* Counts the answer to a request that is given to MCP. */
void reroute_count(struct api *api, struct http_request *r);
/* False, and nothing was done, if this server has to handle the request. */
bool reroute_begin(struct api *api, const struct reroute_spec *spec);

/* Sends a copy of a message that needs no answer to a server to which calls of the same legacy session were passed, with
 * the number from passed(). Everything is borrowed; the callbacks are not used. */
void reroute_copy(struct api *api, const struct reroute_spec *spec, const char *address, uint64_t number);
/* Drops copies that are on their way. */
void reroutes_drop(struct api *api);

/* Passes a request of a legacy session on to the server that began the session. Calls here, later, if that is this server,
 * or if that server has ended. */
void reroute_home(struct exchange *x, void (*here)(struct exchange *x));
/* The number that the other server has given; 0 = the request was not passed on by reroute_begin() or
 * reroute_copy(), or the client uses 2026-07-28. */
uint64_t reroute_number(const struct exchange *x);
/* True if the request was passed on by them. */
bool reroute_is_final(const struct exchange *x);

#endif
