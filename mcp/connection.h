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
	bool initialized;		   /* in a legacy era, */
	json_t *capabilities;		   /* with these of the client */
	struct {
		struct timer *timer; /* NULL = the client has none */
		struct list held;    /* calls that wait for the answer */
		uint64_t number;     /* of the last request */
		bool asking, known;
	} roots; /* see roots.h; the folders are in env */
	struct {
		struct list states, waits;
		size_t n_states;
		uint64_t number; /* of the last request */
	} inputs;		 /* see inputs.h */
	/* Sends a message that answers no request; takes it. */
	void (*notify)(struct connection *c, json_t *message);
	/* The same for a message that is JSON text. */
	void (*notify_text)(struct connection *c, const struct buf *text);
	/* Likewise, unless the client is behind with reading. */
	void (*notify_if_idle)(struct connection *c, json_t *message);
};

#endif
