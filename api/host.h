/* The state of the server that its requests share. */
#ifndef HUSK_API_HOST_H
#define HUSK_API_HOST_H

#include "base/list.h"
#include "base/strv.h"
#include "http/message.h"
#include "manager/manager.h"

struct api;
struct route;
struct conversations;
struct http_request;
struct http_server;
struct page_file;
struct peers;

struct api_caller {
	const char *tenant;
	const char *key; /* id of the key; NULL = the unix socket */
	unsigned scopes;
	const char *base; /* address of this server as the client wrote it (links_base()) */
	/* The request comes from another server, which has found that this one must handle it (reroute.h). */
	bool final;
	uint64_t number; /* from that server; 0 = none */
};

struct api_spec {
	struct loop *loop;
	const struct config *config; /* must outlive the API */
	struct manager *manager;
	/* The conversation of requests that do not name one, on the unix socket and with the first key. The caller
	 * owns it. */
	struct conversation *conversation;
	/* Answers requests to /mcp; NULL = they are answered with 404. */
	void (*on_mcp)(void *ctx, struct http_request *r, struct conversation *c, const struct api_caller *caller);
	/* The conversation will be closed, because others were used more recently. May be NULL. */
	void (*on_close)(void *ctx, struct conversation *c);
	void *mcp_ctx;		      /* for both */
	const char *env_file;	      /* as for settings_load(); must outlive the API */
	const struct page_file *page; /* files of the page; NULL = none */
	/* True for `husk serve`: it answers for the sessions of all servers of this state folder. */
	bool for_all;
};

struct request_count {
	const char *path;   /* of the route; NULL = no route */
	const char *method; /* static */
	int status;
	uint64_t n;
};

/* One listening socket, for the requests that arrive on it. */
struct listener_tag {
	struct list node;
	bool local;	   /* the unix socket: its peers are processes of this user */
	char *origin;	   /* of a TCP listener */
	struct strv hosts; /* accepted values of Host; without a port, they stand for any port */
	bool any_address;  /* it listens on all addresses, so each address is accepted as Host */
};

struct api {
	struct api_spec spec;
	/* The unix socket has connections of its own, so that clients over TCP cannot use up those of this user. */
	struct http_server *server, *local_server;
	struct list listeners; /* of struct listener_tag */
	struct list exchanges; /* of struct exchange */
	struct conversations *conversations;
	struct peers *peers;
	struct list copies; /* of messages to peers (reroute.c) */
	struct listener_tag local;
	const char *socket;	      /* path of its socket in the state folder; NULL = none */
	size_t n_streams;	      /* open streams of events and terminals */
	uint64_t last_client;	      /* number of the last attached run, for run_request.client */
	struct request_count *counts; /* of answers, by route and status */
	size_t n_counts;
	struct list codes;  /* of struct login_code */
	struct list grants; /* of struct grant (origins.c) */
	bool inspecting;    /* a doctor runs */
	struct op *ready;   /* the check of store and engine that requests wait for; NULL = none runs */
	bool closing;	    /* the manager may be freed: do not use it */
};

/* `host` is the Host of a request, and an address of this listener. */
bool listener_accepts(const struct listener_tag *tag, const char *host);
/* Counts an answer for /metrics; path: the route's, static, or NULL = no route. */
void api_count_answer(struct api *api, const char *path, enum http_method method, int status);

/* A signed link to the content of an export (links.c). base: as links_base() returns it. NULL if the key is not loaded
 * yet. The caller owns it. */
char *api_export_link(const struct api *api, const char *base, const char *export_id);

#endif
