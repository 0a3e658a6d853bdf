/* The protocol revisions, in one table, and the choice of a request's revision. Modern ones are stateless: each
 * request names its revision in params._meta. Legacy ones are negotiated once by `initialize`. One connection
 * serves both. */
#ifndef HUSK_MCP_VERSION_H
#define HUSK_MCP_VERSION_H

#include <jansson.h>

#include "base/defs.h"

struct revision {
	const char *name;
	bool modern;	  /* resultType, serverInfo, cache hints; no handshake, no ping */
	bool batches;	  /* batches (arrays of messages) */
	bool annotations; /* of tools */
	bool progress_message;
	bool titles;	       /* of tools and of the server */
	bool structured;       /* structuredContent in results */
	bool error_without_id; /* its schema allows an error without an id */
};

#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_LOG_LEVEL "io.modelcontextprotocol/logLevel"
#define META_SERVER_INFO "io.modelcontextprotocol/serverInfo"
#define META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

/* By exact name, of either era; NULL if unknown. */
const struct revision *revision_find(const char *name);
/* The answer to `initialize`: the requested revision if it is a legacy one, else our newest legacy one. Never
 * NULL. */
const struct revision *revision_negotiate(const char *requested);
/* The names for supportedVersions and for the data of -32022: the ones allowed in _meta. New reference. */
json_t *revision_supported(void);

struct meta_verdict {
	const struct revision *revision; /* set if the request is modern and well-formed */
	bool legacy;			 /* no version in _meta: the connection's applies */
	int code;			 /* otherwise the error to answer with */
	const char *message;		 /* static */
	json_t *data;			 /* new reference or NULL; the caller owns it */
};

/* Reads params._meta (params may be NULL). Pure. */
struct meta_verdict revision_of_request(const json_t *params);

#endif
