/* The methods of both eras of the protocol, in one table. */
#ifndef HUSK_MCP_METHODS_H
#define HUSK_MCP_METHODS_H

#include "mcp/connection.h"

struct method {
	const char *name;
	bool legacy;
	bool modern;
	bool alone; /* not allowed in a batch */
	/* Answers the request now or later; params may be NULL. */
	void (*handle)(struct connection *c, struct call *call, json_t *params);
};

/* Returns NULL if that era does not have the method. */
const struct method *method_find(const char *name, bool modern);
/* Ends a subscription gracefully: answers and frees the request. */
void method_end_listening(struct call *call);

#endif
