/* The MCP server on one connection: reads messages, finds the method, keeps the calls in flight, answers. Never blocks and never waits
 * for a tool: pings, lists and cancellations are answered while cells run.
 *
 * It ends, with one call of on_end, when the peer closes its side or stops reading for good, or after server_stop(). Calls in flight
 * are then not answered; answers already made are written if the peer takes them within a few hundredths of a second. */
#ifndef HUSK_MCP_SERVER_H
#define HUSK_MCP_SERVER_H

#include "manager/manager.h"

struct server;
struct extension;

struct server_spec {
	struct loop *loop;
	struct conversation *conversation; /* must outlive the last call: close it first, then the server */
	const struct config *config;	   /* must outlive the server */
	int in_fd, out_fd;		   /* taken, on success and on failure */
	const struct extension *extension; /* must outlive the server; NULL = none */
	/* gave_up: the peer would not read what it had asked for. */
	void (*on_end)(void *ctx, bool gave_up);
	void *ctx;
};

/* NULL with errno set if the descriptors are unusable. */
struct server *server_new(const struct server_spec *spec);
/* Drops calls without touching the manager, which may be gone by then. Accepts NULL, returns NULL. */
struct server *server_free(struct server *s);
/* Starts to end. Idempotent. */
void server_stop(struct server *s);

#endif
