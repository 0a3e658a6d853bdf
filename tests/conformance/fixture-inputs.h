/* Tools and a prompt of the conformance suite that ask the client for input with mcp/inputs.h. They belong to
 * fixtures.h. */
#ifndef HUSK_TESTS_CONFORMANCE_FIXTURE_INPUTS_H
#define HUSK_TESTS_CONFORMANCE_FIXTURE_INPUTS_H

#include "mcp/connection.h"

/* Append their entries to those of tools/list and prompts/list. */
void fixture_inputs_describe(json_t *tools);
void fixture_inputs_describe_prompts(json_t *prompts);
/* Returns false if tools/call or prompts/get does not name one of them. Otherwise the call is answered, now or
 * later. */
bool fixture_inputs_call(struct connection *c, struct call *call, const json_t *params);

#endif
