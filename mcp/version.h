/* The protocol revisions, in one table, and the choice of a request's revision. Modern revisions are stateless: each
 * request names its revision in params._meta. Legacy revisions are negotiated once by `initialize`. One connection
 * serves both. */
#ifndef HUSK_MCP_VERSION_H
#define HUSK_MCP_VERSION_H

#include <jansson.h>

#include "base/defs.h"

struct revision {
	const char *name;
	bool modern;	  /* resultType, serverInfo, cache hints; no handshake, no ping */
	bool batches;	  /* batches (arrays of messages) */
	bool annotations; /* annotations of tools */
	bool progress_message;
	bool titles;	       /* titles of tools and of the server */
	bool structured;       /* structuredContent in results */
	bool error_without_id; /* its schema allows an error without an id */
	bool primes_streams;   /* over HTTP, a stream of events begins with an empty one that has an id */
};

#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_LOG_LEVEL "io.modelcontextprotocol/logLevel"
#define META_SERVER_INFO "io.modelcontextprotocol/serverInfo"
#define META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

/* Finds a revision of either era by its exact name; NULL if it is unknown. */
const struct revision *revision_find(const char *name);
/* The revision for the answer to `initialize`: the requested one if it is a legacy revision, else the newest legacy
 * revision. Never NULL. */
const struct revision *revision_negotiate(const char *requested);
/* The revisions that are allowed in _meta, for supportedVersions and for the data of error -32022. New reference. */
json_t *revision_supported(void);

struct meta_verdict {
	const struct revision *revision; /* set if the request is modern and well-formed */
	bool legacy;			 /* no version in _meta: the connection's revision applies */
	int code;			 /* if neither is set: the error to answer with */
	const char *message;		 /* static */
	json_t *data;			 /* new reference or NULL; the caller owns it */
};

/* Reads params._meta (params may be NULL). Pure. */
struct meta_verdict revision_of_request(const json_t *params);

#endif
