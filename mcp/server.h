/* The MCP server for one client over two descriptors, such as stdin and stdout: one message per line.
 *
 * The server ends, with one call of on_end, when the client closes its side or stops reading, or after server_stop().
 * Requests in flight are then not answered. Finished answers are written if the client reads them within a few
 * hundredths of a second. */
#ifndef HUSK_MCP_SERVER_H
#define HUSK_MCP_SERVER_H

#include "manager/manager.h"

struct server;
struct extension;

struct server_spec {
	struct loop *loop;
	struct conversation *conversation; /* close it before the server is freed */
	const struct config *config;	   /* must outlive the server */
	int in_fd, out_fd;		   /* owned by the server, on success and on failure */
	const struct extension *extension; /* must outlive the server; NULL = none */
	const char *app;		   /* the document of MCP Apps; static; NULL = none */
	/* gave_up means that the client did not read its answers. */
	void (*on_end)(void *ctx, bool gave_up);
	void *ctx;
};

/* Returns NULL and sets errno if the descriptors are unusable. */
struct server *server_new(const struct server_spec *spec);
/* Drops requests without using the manager, which may be freed already. Accepts NULL, returns NULL. */
struct server *server_free(struct server *s);
/* Begins to end the server. May be called repeatedly. */
void server_stop(struct server *s);

#endif
