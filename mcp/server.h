/* The MCP server on one connection: reads messages, finds the method, tracks requests in flight, answers. Never
 * blocks and never waits for a tool: pings, lists and cancellations are answered while cells run.
 *
 * It ends with one on_end when the client closes its side or stops reading, or after server_stop(). Requests in
 * flight are then not answered. Finished answers are written if the client reads them within a few hundredths of a
 * second. */
#ifndef HUSK_MCP_SERVER_H
#define HUSK_MCP_SERVER_H

#include "manager/manager.h"

struct server;
struct extension;

struct server_spec {
	struct loop *loop;
	struct conversation *conversation; /* must outlive the last request: close it first, then the server */
	const struct config *config;	   /* must outlive the server */
	int in_fd, out_fd;		   /* owned by the server, on success and on failure */
	const struct extension *extension; /* must outlive the server; NULL = none */
	/* gave_up: the client did not read its answers. */
	void (*on_end)(void *ctx, bool gave_up);
	void *ctx;
};

/* NULL with errno set if the descriptors are unusable. */
struct server *server_new(const struct server_spec *spec);
/* Drops requests without touching the manager, which may be freed already. Accepts NULL, returns NULL. */
struct server *server_free(struct server *s);
/* Starts to end. Idempotent. */
void server_stop(struct server *s);

#endif
