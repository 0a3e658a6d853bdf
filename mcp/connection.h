/* One client's connection, as methods see it: what they may use, and what is known about the client. A transport
 * (server.c for stdio, http.c for HTTP) embeds a connection and sends what the connection has for the client. */
#ifndef HUSK_MCP_CONNECTION_H
#define HUSK_MCP_CONNECTION_H

#include "mcp/tools.h"

struct client_request;
struct connection;
struct extension;

/* An answer, or the end of a request without one. */
struct connection_answer {
	void *origin;		/* as given to messages_handle() */
	const struct buf *text; /* a message, or a list of messages of a batch; NULL = there is no answer (cancelled) */
	int code;		/* of an error; 0 = a result, or a list */
	bool refused;		/* no method saw the request */
	bool last;		/* nothing more follows for this origin */
};

/* How messages reach the client. */
struct connection_ops {
	void (*answer)(struct connection *c, const struct connection_answer *answer);
	/* Sends a message that is not an answer. It belongs to `call`, or to no request (NULL). */
	void (*send)(struct connection *c, const struct call *call, const struct buf *text);
	/* True if the client reads slowly: messages that may be dropped are not sent then. */
	bool (*is_slow)(struct connection *c, const struct call *call);
	/* Closes what carries the messages of the request, which continues: the client resumes reading them. NULL = the
	 * transport cannot do that. */
	void (*hang_up)(struct connection *c, const struct call *call);
	/* The scopes of a request. NULL = all. */
	unsigned (*scopes)(const void *origin);
};

struct connection {
	struct loop *loop;
	struct tool_env env;
	const struct extension *extension; /* NULL = none */
	const struct connection_ops *ops;
	void *transport;   /* for the transport */
	struct list calls; /* of struct call: requests in flight */
	size_t n_calls;
	bool shared;		       /* several clients send requests, so an id does not identify a request */
	bool hides_log;		       /* the client may not see the server's log */
	bool freeing;		       /* nothing is sent anymore */
	const struct revision *legacy; /* for requests that do not name a version */
	size_t n_listening;	       /* open subscriptions/listen */
	struct list subscriptions;     /* see subscriptions.h */
	bool initialized;	       /* legacy eras only, like the next */
	json_t *capabilities;	       /* the client's, from `initialize` */
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
};

/* Sends a message that is not an answer; takes the message. call is the request that it belongs to, or NULL. */
void connection_notify(struct connection *c, const struct call *call, json_t *message);
/* Sends such a message that is JSON text. */
void connection_notify_text(struct connection *c, const struct call *call, const struct buf *text);
/* Like connection_notify(), but drops the message if the client is slow to read. */
void connection_notify_if_idle(struct connection *c, const struct call *call, json_t *message);

#endif
