/* The methods of both eras, in one table. */
#ifndef HUSK_MCP_METHODS_H
#define HUSK_MCP_METHODS_H

#include "mcp/call.h"

struct server;

struct method {
	const char *name;
	bool legacy;
	bool modern;
	bool alone; /* not in a batch */
	/* Answers the call now or later; params may be NULL. */
	void (*handle)(struct server *s, struct call *call, json_t *params);
};

/* NULL if the era does not have it. */
const struct method *method_find(const char *name, bool modern);
/* What modern results of lists and reads must carry. */
void method_set_cache_hints(const struct call *call, json_t *result, json_int_t ttl_ms, const char *scope);
/* The graceful end of a subscription: answers and frees the call. */
void method_end_listening(struct call *call);

#endif
