/* Input that a call needs from its client before it can be answered: elicitation/create, roots/list, sampling/createMessage.
 *
 * In legacy eras they are requests to the client, and the call stays open until all of them are answered. In 2026-07-28 the call is
 * answered with resultType input_required, and the client sends it again with inputResponses and requestState. Between the two, the
 * state of the call stays here under a random name, so a client cannot change it. A name is valid once. */
#ifndef HUSK_MCP_INPUTS_H
#define HUSK_MCP_INPUTS_H

#include "mcp/connection.h"

/* state and answers are borrowed. answers has the client's results by key; those that it refused are missing. */
typedef void inputs_fn(struct call *call, json_t *state, const json_t *answers);

/* Whether the client of this call declares the capability ("elicitation" means by a form). */
bool inputs_supported(const struct call *call, const char *capability);
/* Asks for these: by key, {method, params}. Both are taken; state may be NULL. The call is answered, or on_answers is called later. */
void inputs_ask(struct connection *c, struct call *call, json_t *requests, json_t *state, inputs_fn *on_answers);
/* What a request that is sent again carries. False if it names a state that does not exist: the call is answered with an error. New
 * references; *ret_state is NULL if the request names none, *ret_answers is an object. */
bool inputs_resume(struct connection *c, struct call *call, const json_t *params, json_t **ret_state,
		   json_t **ret_answers);
/* The content of an accepted form, borrowed; NULL if it was declined, cancelled or is malformed. */
const json_t *inputs_form(const json_t *answers, const char *key);

/* Of a legacy client: a response to a request of ours; others are ignored. */
void inputs_answered(struct connection *c, const json_t *message);
void inputs_bind(struct connection *c);
void inputs_release(struct connection *c);

#endif
