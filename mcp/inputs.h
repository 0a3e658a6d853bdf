/* Input that a request needs from its client before it can be answered: elicitation/create, roots/list,
 * sampling/createMessage.
 *
 * In legacy eras these are requests to the client, and the original request stays open until all are answered. In
 * 2026-07-28 the request is answered with resultType input_required, and the client sends it again with
 * inputResponses and requestState. Meanwhile its state stays here under a random name, so a client cannot change
 * it. A name is valid once. */
#ifndef HUSK_MCP_INPUTS_H
#define HUSK_MCP_INPUTS_H

#include "mcp/connection.h"

/* state and answers are borrowed. answers has the client's results by key, without those that it refused. */
typedef void inputs_fn(struct call *call, json_t *state, const json_t *answers);

/* Whether the client declares the capability ("elicitation" means by a form). */
bool inputs_supported(const struct call *call, const char *capability);
/* Requests these inputs: by key, {method, params}. Takes both; state may be NULL. The request is answered, or
 * on_answers is called later. */
void inputs_ask(struct connection *c, struct call *call, json_t *requests, json_t *state, inputs_fn *on_answers);
/* Reads state and answers of a repeated request. False if its state does not exist: the request is then answered
 * with an error. New references; *ret_state is NULL if the request names no state, *ret_answers is an object. */
bool inputs_resume(struct connection *c, struct call *call, const json_t *params, json_t **ret_state,
		   json_t **ret_answers);
/* The content of an accepted form, borrowed; NULL if it was declined, cancelled or is malformed. */
const json_t *inputs_form(const json_t *answers, const char *key);

/* For a legacy client: handles a response to a request of ours; ignores others. */
void inputs_answered(struct connection *c, const json_t *message);
void inputs_bind(struct connection *c);
void inputs_release(struct connection *c);

#endif
