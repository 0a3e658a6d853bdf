/* The protocol revisions, in one table, and which of them a request speaks. Modern ones are stateless: each request names its
 * revision in params._meta. Legacy ones are negotiated once by `initialize`. One connection serves both. */
#ifndef HUSK_MCP_VERSION_H
#define HUSK_MCP_VERSION_H

#include <jansson.h>

#include "base/defs.h"

struct revision {
	const char *name;
	bool modern;	  /* resultType, serverInfo, cache hints; no handshake, no ping */
	bool batches;	  /* arrays of messages are read */
	bool annotations; /* of tools */
	bool progress_message;
	bool titles;	       /* of tools and of the server */
	bool structured;       /* structuredContent in results */
	bool error_without_id; /* its schema allows an error that answers no request */
};

#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_LOG_LEVEL "io.modelcontextprotocol/logLevel"
#define META_SERVER_INFO "io.modelcontextprotocol/serverInfo"
#define META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

/* By exact name, of either era; NULL if there is none. */
const struct revision *revision_find(const char *name);
/* What `initialize` answers: the revision asked for if it is a legacy one, else our newest legacy one. Never NULL. */
const struct revision *revision_negotiate(const char *requested);
/* The names for supportedVersions and for the data of -32022: those that a request may have in its _meta. New reference. */
json_t *revision_supported(void);

struct meta_verdict {
	const struct revision *revision; /* set if the request is modern and well-formed */
	bool legacy;			 /* no version in _meta: the connection decides */
	int code;			 /* else the error to answer with */
	const char *message;		 /* static */
	json_t *data;			 /* new reference or NULL; the caller owns it */
};

/* Looks at params._meta (params may be NULL). Pure. */
struct meta_verdict revision_of_request(const json_t *params);

#endif
