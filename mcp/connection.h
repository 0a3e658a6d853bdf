/* One client's connection, as methods see it: what they may use, and what they remember about the client. */
#ifndef HUSK_MCP_CONNECTION_H
#define HUSK_MCP_CONNECTION_H

#include "mcp/tools.h"

struct extension;

struct connection {
	struct loop *loop;
	struct tool_env env;
	const struct extension *extension; /* NULL = none */
	struct list *calls;		   /* of struct call, in flight */
	const struct revision *legacy;	   /* for requests that do not name a version */
	size_t n_listening;		   /* open subscriptions/listen */
	struct list subscriptions;	   /* see subscriptions.h */
	bool initialized;		   /* legacy era only: */
	json_t *capabilities;		   /* the client's name and version */
	struct {
		struct timer *timer; /* NULL = the client has none */
		struct list held;    /* requests that wait for the roots */
		uint64_t number;     /* number of the last request to the client */
		bool asking, known;
	} roots; /* see roots.h; the folders are in env */
	struct {
		struct list states, waits;
		size_t n_states;
		uint64_t number; /* of the last request */
	} inputs;		 /* see inputs.h */
	/* Sends a message that does not answer a request; takes it. */
	void (*notify)(struct connection *c, json_t *message);
	/* Likewise, for a message that is JSON text. */
	void (*notify_text)(struct connection *c, const struct buf *text);
	/* Likewise, unless the client is slow to read. */
	void (*notify_if_idle)(struct connection *c, json_t *message);
};

#endif
