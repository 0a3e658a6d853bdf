#include "mcp/inputs.h"

#include "base/alloc.h"
#include "mcp/client-request.h"
#include "mcp/random-name.h"
#include "mcp/rpc.h"

/* Maximum number of requests per connection that wait for their client to send them again. The oldest is forgotten
 * first. */
#define STATES_MAX 64

/* The state of one request, which the client names with requestState. */
struct input_state {
	struct list node;
	char name[RANDOM_NAME_SIZE];
	json_t *state;
};

/* A request of a legacy era that waits for input; owned by the request. */
struct input_wait {
	struct call *call;
	struct list parts; /* those not answered yet */
	json_t *answers, *state;
	inputs_fn *on_answers;
};

/* One request to the client. */
struct input_part {
	struct list node;
	struct input_wait *wait;
	struct client_request *request;
	char *key;
};

bool inputs_supported(const struct call *call, const char *capability)
{
	const json_t *declared = json_object_get(call->capabilities, capability);
	if (!json_is_object(declared))
		return false;
	return !streq(capability, "elicitation") || !json_object_get(declared, "url") ||
	       json_object_get(declared, "form");
}

const json_t *inputs_form(const json_t *answers, const char *key)
{
	const json_t *answer = json_object_get(answers, key);
	const char *action = json_string_value(json_object_get(answer, "action"));
	const json_t *content = json_object_get(answer, "content");
	return action && streq(action, "accept") && json_is_object(content) ? content : NULL;
}

/* --- 2026-07-28 ---------------------------------------------------------------------------------------------------- */

static void state_free(struct connection *c, struct input_state *s)
{
	list_remove(&s->node);
	json_decref(s->state);
	free(s);
	c->inputs.n_states--;
}

/* Takes the state. */
static const char *keep_state(struct connection *c, json_t *state)
{
	if (c->inputs.n_states == STATES_MAX)
		state_free(c, list_first(&c->inputs.states, struct input_state, node));
	struct input_state *s = new0(struct input_state);
	random_name(s->name);
	s->state = state;
	list_append(&c->inputs.states, &s->node);
	c->inputs.n_states++;
	return s->name;
}

static json_t *take_state(struct connection *c, const char *name)
{
	list_for_each(s, &c->inputs.states, struct input_state, node) {
		if (!streq(s->name, name))
			continue;
		json_t *state = json_incref(s->state);
		state_free(c, s);
		return state;
	}
	return NULL;
}

static void reply_input_required(struct connection *c, struct call *call, json_t *requests, json_t *state)
{
	json_t *result = json_pack("{s:s, s:o}", "resultType", "input_required", "inputRequests", requests);
	if (state)
		json_object_set_new(result, "requestState", json_string(keep_state(c, state)));
	call_reply(call, result);
}

bool inputs_resume(struct connection *c, struct call *call, const json_t *params, json_t **ret_state,
		   json_t **ret_answers)
{
	const json_t *name = json_object_get(params, "requestState");
	json_t *answers = json_object_get(params, "inputResponses"), *state = NULL;
	if (name && call->revision->modern) {
		state = json_is_string(name) ? take_state(c, json_string_value(name)) : NULL;
		if (!state) {
			call_reply_error(call, RPC_INVALID_PARAMS,
					 "Invalid params: \"requestState\" is unknown, was used before or is too old",
					 NULL);
			return false;
		}
	}
	*ret_state = state;
	*ret_answers = json_is_object(answers) && call->revision->modern ? json_incref(answers) : json_object();
	return true;
}

/* --- legacy eras --------------------------------------------------------------------------------------------------- */

static void part_free(struct input_part *p)
{
	list_remove(&p->node);
	free(p->key);
	free(p);
}

/* Withdraws the open requests to the client, because the request that needs them was cancelled. */
static void wait_free(void *data)
{
	struct input_wait *w = data;
	for (struct input_part *p; (p = list_first(&w->parts, struct input_part, node));) {
		client_request_cancel(p->request, w->call);
		part_free(p);
	}
	json_decref(w->answers);
	json_decref(w->state);
	free(w);
}

static void resume(struct input_wait *w)
{
	struct call *call = w->call;
	json_auto_t *state = json_incref(w->state);
	json_auto_t *answers = json_incref(w->answers);
	inputs_fn *on_answers = w->on_answers;
	call->data = NULL;
	call->data_free = NULL;
	wait_free(w);
	on_answers(call, state, answers);
}

static void on_answer(void *ctx, json_t *result)
{
	struct input_part *p = ctx;
	struct input_wait *w = p->wait;
	if (result)
		json_object_set(w->answers, p->key, result);
	part_free(p);
	if (list_empty(&w->parts))
		resume(w);
}

static void send_requests(struct connection *c, struct call *call, json_t *requests, json_t *state,
			  inputs_fn *on_answers)
{
	struct input_wait *w = new0(struct input_wait);
	const char *key;
	json_t *request;
	w->call = call;
	w->answers = json_object();
	w->state = state;
	w->on_answers = on_answers;
	list_init(&w->parts);
	call->data = w;
	call->data_free = wait_free;
	json_object_foreach(requests, key, request) {
		struct input_part *p = new0(struct input_part);
		p->wait = w;
		p->key = xstrdup(key);
		list_append(&w->parts, &p->node);
		p->request = client_request_send(c, call, json_string_value(json_object_get(request, "method")),
						 json_incref(json_object_get(request, "params")), /* timeout_ms= */ 0,
						 on_answer, p);
	}
	json_decref(requests);
}

/* --- both eras ----------------------------------------------------------------------------------------------------- */

void inputs_request(struct connection *c, struct call *call, json_t *requests, json_t *state, inputs_fn *on_answers)
{
	if (call->revision->modern)
		reply_input_required(c, call, requests, state);
	else
		send_requests(c, call, requests, state, on_answers);
}

void inputs_bind(struct connection *c)
{
	list_init(&c->inputs.states);
}

void inputs_release(struct connection *c)
{
	for (struct input_state *s; (s = list_first(&c->inputs.states, struct input_state, node));)
		state_free(c, s);
	json_decref(c->capabilities);
}
