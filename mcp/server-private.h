/* What server.c and methods.c share. */
#ifndef HUSK_MCP_SERVER_PRIVATE_H
#define HUSK_MCP_SERVER_PRIVATE_H

#include "base/list.h"
#include "mcp/server.h"
#include "mcp/tools.h"

/* The answers of one batch, while some of its requests still run. */
struct batch {
	json_t *answers;
	size_t bytes;
	size_t open; /* calls that refer to it, and the dispatcher */
};

struct server {
	struct server_spec spec;
	struct tool_env env;
	struct lines *lines;
	const struct revision *legacy; /* what requests without a version of their own speak */
	struct list calls;
	size_t n_calls;
	size_t n_listening;
	struct timer *end_timer;
	int exit_code;
	bool stopping; /* nothing more is read */
	bool ended;
	bool freeing;
};

/* A message that belongs to no answer; taken. */
void server_notify(struct server *s, json_t *message);

#endif
