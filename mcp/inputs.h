/* Input that a request needs from its client before it can be answered: elicitation/create, roots/list,
 * sampling/createMessage.
 *
 * In legacy eras these are requests to the client, and the original request stays open until all are answered. In
 * 2026-07-28 the request is answered with resultType input_required, and the client sends it again with
 * inputResponses and requestState. Meanwhile the server keeps the state under a random name, so a client cannot change
 * it. A name is valid once. */
#ifndef HUSK_MCP_INPUTS_H
#define HUSK_MCP_INPUTS_H

#include "mcp/connection.h"

/* state and answers are borrowed. answers has the client's results by key, without refused ones. */
typedef void inputs_fn(struct call *call, json_t *state, const json_t *answers);

/* True if the client declares the capability ("elicitation" means elicitation by a form). */
bool inputs_supported(const struct call *call, const char *capability);
/* Requests these inputs, an object of {method, params} by key. Takes requests and state, which may be NULL. The request
 * is answered, or on_answers is called later. */
void inputs_request(struct connection *c, struct call *call, json_t *requests, json_t *state, inputs_fn *on_answers);
/* Reads the state and the answers of a repeated request. If the state does not exist, answers the request with an error
 * and returns false. New references; *ret_state is NULL if the request names no state, *ret_answers is an object. */
bool inputs_resume(struct connection *c, struct call *call, const json_t *params, json_t **ret_state,
		   json_t **ret_answers);
/* The content of an accepted form, borrowed; NULL if the form was declined or cancelled, or is malformed. */
const json_t *inputs_form(const json_t *answers, const char *key);

void inputs_bind(struct connection *c);
void inputs_release(struct connection *c);

#endif
