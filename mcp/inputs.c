#include "mcp/inputs.h"

#include <sys/random.h>

#include "base/alloc.h"
#include "mcp/rpc.h"

#define ID_PREFIX "husk-input-"
/* Per connection: requests that wait to be sent again by their client. The oldest is forgotten first. */
#define STATES_MAX 64
/* Random bytes in a name. */
#define NAME_BYTES 16

/* One requestState. */
struct input_state {
	struct list node;
	char name[2 * NAME_BYTES + 1];
	json_t *state;
};

/* A waiting request of a legacy era; owned by the request. */
struct input_wait {
	struct list node;
	struct connection *connection;
	struct call *call;
	json_t *open; /* keys of the unanswered requests, by id */
	json_t *answers, *state;
	inputs_fn *on_answers;
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

static void make_name(char name[2 * NAME_BYTES + 1])
{
	unsigned char bytes[NAME_BYTES];
	if (getentropy(bytes, sizeof(bytes)) < 0)
		abort();
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(name + 2 * i, 3, "%02x", bytes[i]);
}

/* Takes the state. */
static const char *keep_state(struct connection *c, json_t *state)
{
	if (c->inputs.n_states == STATES_MAX)
		state_free(c, list_first(&c->inputs.states, struct input_state, node));
	struct input_state *s = new0(struct input_state);
	make_name(s->name);
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

/* Withdraws open requests to the client, because their request was cancelled. */
static void wait_free(void *data)
{
	struct input_wait *w = data;
	const char *id;
	json_t *key;
	json_object_foreach(w->open, id, key)
		w->connection->notify(w->connection, rpc_notification("notifications/cancelled",
								      json_pack("{s:s, s:s}", "requestId", id, "reason",
										"the call has ended")));
	list_remove(&w->node);
	json_decref(w->open);
	json_decref(w->answers);
	json_decref(w->state);
	free(w);
}

static void send_requests(struct connection *c, struct call *call, json_t *requests, json_t *state,
			  inputs_fn *on_answers)
{
	struct input_wait *w = new0(struct input_wait);
	const char *key;
	json_t *request;
	w->connection = c;
	w->call = call;
	w->open = json_object();
	w->answers = json_object();
	w->state = state;
	w->on_answers = on_answers;
	list_append(&c->inputs.waits, &w->node);
	call->data = w;
	call->data_free = wait_free;
	json_object_foreach(requests, key, request) {
		AUTO(freep) char *id = xasprintf(ID_PREFIX "%llu", (unsigned long long)++c->inputs.number);
		json_object_set_new(w->open, id, json_string(key));
		c->notify(c,
			  json_pack("{s:s, s:s, s:O, s:O}", "jsonrpc", "2.0", "id", id, "method",
				    json_object_get(request, "method"), "params", json_object_get(request, "params")));
	}
	json_decref(requests);
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

void inputs_answered(struct connection *c, const json_t *message)
{
	const char *id = json_string_value(json_object_get(message, "id"));
	json_t *result = json_object_get(message, "result");
	list_for_each(w, &c->inputs.waits, struct input_wait, node) {
		json_t *key = id ? json_object_get(w->open, id) : NULL;
		if (!key)
			continue;
		if (json_is_object(result))
			json_object_set(w->answers, json_string_value(key), result);
		json_object_del(w->open, id);
		if (json_object_size(w->open) == 0)
			resume(w);
		return;
	}
}

/* --- both ---------------------------------------------------------------------------------------------------------- */

void inputs_ask(struct connection *c, struct call *call, json_t *requests, json_t *state, inputs_fn *on_answers)
{
	if (call->revision->modern)
		reply_input_required(c, call, requests, state);
	else
		send_requests(c, call, requests, state, on_answers);
}

void inputs_bind(struct connection *c)
{
	list_init(&c->inputs.states);
	list_init(&c->inputs.waits);
}

void inputs_release(struct connection *c)
{
	for (struct input_state *s; (s = list_first(&c->inputs.states, struct input_state, node));)
		state_free(c, s);
	json_decref(c->capabilities);
}
