/* One client's connection, as methods see it: what they may use, and what is known about the client. */
#ifndef HUSK_MCP_CONNECTION_H
#define HUSK_MCP_CONNECTION_H

#include "mcp/tools.h"

struct client_request;
struct extension;

struct connection {
	struct loop *loop;
	struct tool_env env;
	const struct extension *extension; /* NULL = none */
	struct list *calls;		   /* of struct call, in flight */
	const struct revision *legacy;	   /* for requests that do not name a version */
	size_t n_listening;		   /* open subscriptions/listen */
	struct list subscriptions;	   /* see subscriptions.h */
	bool initialized;		   /* legacy eras only, like the next */
	json_t *capabilities;		   /* the client's, from `initialize` */
	struct {
		struct list open;
		uint64_t number; /* of the last request */
	} requests;		 /* to the client, see client-request.h */
	struct {
		struct client_request *request; /* NULL = no roots/list is open */
		struct list held;		/* requests that wait for the roots */
		bool known;
	} roots; /* see roots.h; the folders are in env */
	struct {
		struct list states;
		size_t n_states;
	} inputs; /* see inputs.h */
	/* Sends a message that does not answer a request; takes the message. */
	void (*notify)(struct connection *c, json_t *message);
	/* Sends such a message that is JSON text. */
	void (*notify_text)(struct connection *c, const struct buf *text);
	/* Like notify(), but drops the message if the client is slow to read. */
	void (*notify_if_idle)(struct connection *c, json_t *message);
};

#endif
