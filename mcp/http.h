/* MCP over Streamable HTTP, all revisions on one endpoint.
 *
 * A request of 2026-07-28 is complete in itself: its headers repeat its body, and a client that disconnects cancels it.
 * Older revisions begin a session with `initialize`. The session's requests name it with Mcp-Session-Id, a GET opens a
 * stream for messages that belong to no request, and a DELETE ends the session. A disconnect does not cancel a request
 * of a session: its events are kept for a while, within limits, and a GET with Last-Event-ID continues the stream.
 *
 * A request is answered with one JSON object. The answer becomes a stream of events when there is something to send
 * before it, such as progress, and after 15 s in any case, so that proxies see signs of life.
 *
 * Clients may be elsewhere: paths of the host are not accepted or shown, and roots are not used.
 *
 * The caller checks Host, Origin and the key before. Sessions never decide which conversation a request belongs to. */
#ifndef HUSK_MCP_HTTP_H
#define HUSK_MCP_HTTP_H

#include "http/request.h"
#include "manager/manager.h"

struct mcp_http;
struct extension;

/* A request that another server may have to handle. Strings and the body are borrowed during the call. */
struct mcp_http_transfer {
	struct http_request *request;
	struct conversation *conversation;
	const char *key;
	unsigned scopes;
	const char *session; /* its id or name, or */
	const char *task;    /* the id of a task, or */
	const char *address; /* the server that handles it, and its number; all three NULL for a copy */
	uint64_t number;
	const void *body;
	size_t n;
	void (*here)(void *ticket); /* MCP gets the request back */
	void (*gone)(void *ticket); /* another server answers, or the client has left */
	/* The request is passed on to this address. Returns a number that the other server must get
	 * (struct mcp_http_caller). */
	uint64_t (*passed)(void *ticket, const char *address);
	void *ticket;
};

struct mcp_http_spec {
	struct loop *loop;
	const struct config *config;	   /* must outlive it */
	const struct extension *extension; /* must outlive it; NULL = none */
	const char *app;		   /* the document of MCP Apps; static; NULL = none */
	size_t sessions_max;		   /* sessions of older revisions; 0 = 1000 */
	size_t sessions_per_key;	   /* 0 = 100 */
	size_t unsent_max;		   /* a reader with more unsent bytes is disconnected; 0 = 1 MiB */
	uint64_t idle_ms;		   /* a session without requests ends after this time; 0 = 24 h */
	/* Returns an address of the export that works without a key, or NULL if none can be made now. The caller of the
	 * function owns the result. `base` is the field of struct mcp_http_caller. link = NULL: answers have no links. */
	char *(*link)(void *ctx, const char *base, const char *export_id);
	/* For several servers that share a store; all NULL = this is the only one.
	 * The id of a session contains the sealed state of the session, so that each server can continue it: seal
	 * returns a text that only unseal can read, for the same conversation and key; NULL = not now. The caller owns
	 * the results. */
	char *(*seal)(void *ctx, const struct conversation *c, const char *key, const char *text);
	char *(*unseal)(void *ctx, const struct conversation *c, const char *key, const char *sealed);
	/* Another server may have the session or the task that a request names. False: this server handles the request.
	 * True: the callee has taken the request and calls here or gone, later. */
	bool (*transfer)(void *ctx, const struct mcp_http_transfer *t);
	/* Sends a copy of a notification or an answer of the client to a server that works for the same session. */
	void (*copy)(void *ctx, const struct mcp_http_transfer *t, const char *address, uint64_t number);
	void *ctx; /* for all of them */
};

/* The sender of a request, as its key says. */
struct mcp_http_caller {
	struct conversation *conversation; /* stays open until mcp_http_forget() or mcp_http_free() */
	const char *key;		   /* identifies the key; only it can use the sessions that it began */
	unsigned scopes;		   /* of the key; the server's log is only for SCOPE_ADMIN */
	const char *base;		   /* address of this server as the client wrote it; NULL = unknown */
	bool final;			   /* another server has found that this one must handle the request */
	uint64_t number;		   /* from that server, for requests of a session; 0 = none */
};

struct mcp_http *mcp_http_new(const struct mcp_http_spec *spec);
/* Closes all connections of its requests. Does not use the manager, which may be freed already. Call it before
 * http_server_free(). Accepts NULL, returns NULL. */
struct mcp_http *mcp_http_free(struct mcp_http *h);
/* Ends subscriptions and streams without a request; further requests are answered with 503. */
void mcp_http_stop(struct mcp_http *h);
/* Answers the request, now or later. */
void mcp_http_request(struct mcp_http *h, struct http_request *r, const struct mcp_http_caller *caller);
/* Call it before the conversation is closed: cancels its requests and ends its sessions. */
void mcp_http_forget(struct mcp_http *h, struct conversation *conversation);
/* For tests and figures: the number of sessions of older revisions, and the bytes of events kept for them. */
size_t mcp_http_sessions(const struct mcp_http *h);
size_t mcp_http_kept(const struct mcp_http *h);

#endif
