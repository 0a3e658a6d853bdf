/* The routes of the API, in one table: how a request is matched, what it needs, and how it is documented. The OpenAPI
 * description and docs/http.md are written from this table, so they cannot differ from what the server does. */
#ifndef HUSK_API_ROUTE_H
#define HUSK_API_ROUTE_H

#include "api/exchange.h"
#include "base/args.h"

enum route_flags {
	ROUTE_SESSION = 1,    /* the first capture is a session; x->conversation is its conversation */
	ROUTE_RAW_BODY = 2,   /* the handler reads the body itself */
	ROUTE_OPEN = 4,	      /* needs no key */
	ROUTE_WEBSOCKET = 8,  /* only for upgrades */
	ROUTE_LINK = 16,      /* a signed link may take the place of the key */
	ROUTE_HIDDEN = 32,    /* not in the description */
	ROUTE_ANY_QUERY = 64, /* the query is not for the server */
	ROUTE_NO_COOKIE = 128 /* refuses the cookie of the page */
};

/* One possible answer, for the description. */
struct route_answer {
	int status;		 /* 0 ends the list */
	const char *schema;	 /* name of a schema in schemas.c; NULL = no body, or not JSON */
	const char *type;	 /* content type; NULL = JSON */
	const char *description; /* one sentence */
};

struct route {
	enum http_method method;
	/* Segments in braces are captures; "{path...}" at the end takes all that is left. A final slash is part of the
	 * match. */
	const char *path;
	enum scope scope;
	unsigned flags;
	const char *name;    /* operationId: "listSessions" */
	const char *tag;     /* the section of the description */
	const char *summary; /* one line */
	const char *text;    /* more; NULL = nothing */
	const struct arg *query;
	size_t query_size;
	const struct arg *body;
	size_t body_size;
	/* Writes defaults into the zeroed structs. May be NULL. */
	void (*defaults)(const struct exchange *x, void *query, void *args);
	const struct route_answer *answers;
	/* For the page: arguments of curl, or "" if it needs none. A first word that begins with '?' is added to the
	 * address. NULL = no example. */
	const char *example;
	void (*handle)(struct exchange *x);
};

/* A table of routes ends with an entry without a path. */
extern const struct route routes_meta[];
extern const struct route routes_sessions[];
extern const struct route routes_runs[];
extern const struct route routes_outputs[];
extern const struct route routes_events[];
extern const struct route routes_copies[];
extern const struct route routes_exports[];
extern const struct route routes_queries[];
extern const struct route routes_checkpoints[];
extern const struct route routes_packages[];
extern const struct route routes_network[];
extern const struct route routes_terminal[];
extern const struct route routes_ports[];
extern const struct route routes_open_port[];
extern const struct route routes_keys[];
extern const struct route routes_git[];
extern const struct route routes_secrets[];
extern const struct route routes_settings[];
extern const struct route routes_health[];
extern const struct route routes_reports[];
extern const struct route routes_metrics[];
extern const struct route routes_threads[];
extern const struct route routes_uploads[];
extern const struct route routes_files[];
extern const struct route routes_login[];
extern const struct route routes_ui[];

/* For requests to the origin of a port (origins.h), in no table. */
extern const struct route route_port_origin;

/* The i-th route of all tables; NULL past the last. */
const struct route *route_nth(size_t i);

/* True if it accepts an Idempotency-Key: each POST that is for Husk itself and needs a key. */
bool route_is_idempotent(const struct route *route);

struct route_match {
	const struct route *route; /* NULL = none */
	bool path_known;	   /* the path exists with another method */
	char allow[64];		   /* these methods, for the field Allow */
	const char *captures[CAPTURES_MAX];
	size_t rest;
};
/* Finds the route of a method and a path. HEAD is answered by GET's route unless it has its own. Pure. */
struct route_match route_find(enum http_method method, const struct http_target *target);

#endif
