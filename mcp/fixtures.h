/* Tools that the MCP conformance suite calls to see a server's content types, progress and errors. They exist only in
 * `husk mcp --conformance-fixtures`, which real clients never use. */
#ifndef HUSK_MCP_FIXTURES_H
#define HUSK_MCP_FIXTURES_H

#include "mcp/call.h"

/* Appends their entries to those of tools/list. */
void fixtures_describe(json_t *tools);
/* False if tools/call names none of them; else the call is answered, now or later. */
bool fixtures_call(struct call *call, struct loop *loop, json_t *params);

/* Resources of the suite: a list, a template, and the result of reading one (NULL if there is none). New references. */
json_t *fixtures_resources(void);
json_t *fixtures_template(void);
json_t *fixtures_read(const char *uri);

/* Whether a client can subscribe to it. */
bool fixtures_is_resource(const char *uri);

/* Prompts of the suite: appends their entries to those of prompts/list; the result of one (NULL if there is none, new reference); whether a
 * prompt or template of the suite has this name. */
void fixtures_describe_prompts(json_t *prompts);
json_t *fixtures_prompt(const char *name, const json_t *args);
bool fixtures_has_ref(const char *name);

#endif
