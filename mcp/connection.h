/* One client's connection, as methods see it: what they may use, and what they remember of the client. */
#ifndef HUSK_MCP_CONNECTION_H
#define HUSK_MCP_CONNECTION_H

#include "mcp/tools.h"

struct extension;

struct connection {
	struct loop *loop;
	struct tool_env env;
	const struct extension *extension; /* NULL = none */
	struct list *calls;		   /* of struct call: those in flight */
	const struct revision *legacy;	   /* of requests that name no version of their own */
	size_t n_listening;		   /* open subscriptions/listen */
	struct list subscriptions;	   /* see subscriptions.h */
	bool initialized;		   /* in a legacy era */
	struct {
		struct timer *timer; /* NULL = the client has none */
		struct list held;    /* calls that wait for the answer */
		uint64_t number;     /* of the last request */
		bool asking, known;
	} roots; /* see roots.h; the folders are in env */
	/* Sends a message that answers no request; takes it. */
	void (*notify)(struct connection *c, json_t *message);
	/* The same for a message that is JSON text. */
	void (*notify_text)(struct connection *c, const struct buf *text);
};

#endif
