/* Sessions: find, status, queries, checkpoints, stop. */
#include "attach/client-private.h"
#include "base/alloc.h"
#include "base/percent.h"
#include "manager/json/codec.h"

struct session_call {
	struct attach_call call;
	/* Exactly one is set. */
	struct attach_find_request find;
	struct info_request info;
	struct query_request query;
	struct checkpoint_request checkpoint;
	struct stop_request stop;
	struct network_request network;
	struct attach_events_request events;
};

static struct session_call *call_of(struct attach_call *call)
{
	return container_of(call, struct session_call, call);
}

static void free_call(struct attach_call *call)
{
	free(call_of(call));
}

/* --- find ---------------------------------------------------------------------------------------------------------- */

static int on_found(struct attach_call *call, const json_t *json, struct fail *f)
{
	const struct attach_find_request *request = &call_of(call)->find;
	struct session_info info;
	if (session_info_decode(json, &info, f) < 0)
		return -1;
	request->on_done(request->ctx, &info, NULL);
	return 0;
}

static void on_not_found(struct attach_call *call, const struct fail *f)
{
	call_of(call)->find.on_done(call_of(call)->find.ctx, NULL, f);
}

struct attach_call *attach_find(struct attach *a, const struct attach_find_request *req, struct fail *f)
{
	static const struct attach_call_type type = { .on_answer = on_found,
						      .on_fail = on_not_found,
						      .free = free_call };
	AUTO(buf_release) struct buf target = attach_target(req->session_id, "?brief=true");
	struct session_call *c = new0(struct session_call);
	c->find = (struct attach_find_request){ .on_done = req->on_done, .ctx = req->ctx };
	return attach_call_start(a, &c->call, &type,
				 &(struct attach_request){ .method = "GET", .target = buf_str(&target) }, f);
}

/* --- info ---------------------------------------------------------------------------------------------------------- */

static int on_details(struct attach_call *call, const json_t *json, struct fail *f)
{
	const struct info_request *request = &call_of(call)->info;
	AUTO(freep) struct run_info *runs = NULL;
	AUTO(session_status_release) struct session_status status = { 0 };
	struct session_details details;
	if (session_details_decode(json, &details, &runs, &status, f) < 0)
		return -1;
	request->on_done(request->ctx, &details, NULL);
	return 0;
}

static void on_no_details(struct attach_call *call, const struct fail *f)
{
	call_of(call)->info.on_done(call_of(call)->info.ctx, NULL, f);
}

struct attach_call *attach_info(struct attach *a, const struct info_request *req, struct fail *f)
{
	static const struct attach_call_type type = { .on_answer = on_details,
						      .on_fail = on_no_details,
						      .free = free_call };
	AUTO(buf_release) struct buf target = attach_target(req->session_id, "");
	struct session_call *c = new0(struct session_call);
	struct attach_request request = { .method = "GET", .target = buf_str(&target) };
	c->info = (struct info_request){ .on_done = req->on_done, .ctx = req->ctx };
	if (req->keep_alive) {
		request.method = "PATCH";
		request.body = json_pack("{s:b}", "keep_alive", 1);
	}
	return attach_call_start(a, &c->call, &type, &request, f);
}

/* --- queries ------------------------------------------------------------------------------------------------------- */

static int on_query_answer(struct attach_call *call, const json_t *json, struct fail *f)
{
	const struct query_request *request = &call_of(call)->query;
	AUTO(query_answer_release) struct query_answer answer = { 0 };
	if (query_answer_decode(json, &answer, f) < 0)
		return -1;
	request->on_done(request->ctx, &answer, NULL);
	return 0;
}

static void on_no_answer(struct attach_call *call, const struct fail *f)
{
	call_of(call)->query.on_done(call_of(call)->query.ctx, NULL, f);
}

struct attach_call *attach_query(struct attach *a, const struct query_request *req, struct fail *f)
{
	static const struct attach_call_type type = { .on_answer = on_query_answer,
						      .on_fail = on_no_answer,
						      .free = free_call };
	static const char *const routes[QUERY_KINDS] = {
		[QUERY_COMPLETE] = "/complete", [QUERY_INSPECT] = "/inspect", [QUERY_IS_COMPLETE] = "/is_complete"
	};
	AUTO(buf_release) struct buf target = attach_target(req->session_id, routes[req->kind]);
	struct session_call *c = new0(struct session_call);
	json_t *body = json_pack("{s:o}", "code", json_stringn(req->code, req->len));
	c->query = (struct query_request){ .on_done = req->on_done, .ctx = req->ctx };
	if (req->kind != QUERY_IS_COMPLETE)
		json_object_set_new(body, "cursor", json_integer((json_int_t)req->cursor));
	if (req->kind == QUERY_INSPECT)
		json_object_set_new(body, "detail", json_boolean(req->detail));
	return attach_call_start(a, &c->call, &type,
				 &(struct attach_request){ .method = "POST", .target = buf_str(&target), .body = body },
				 f);
}

/* --- checkpoints --------------------------------------------------------------------------------------------------- */

static int on_checkpoint(struct attach_call *call, const json_t *json, struct fail *f)
{
	const struct checkpoint_request *request = &call_of(call)->checkpoint;
	AUTO(checkpoint_answer_release) struct checkpoint_answer answer = { 0 };
	if (checkpoint_answer_decode(json, &answer, f) < 0)
		return -1;
	request->on_done(request->ctx, &answer, NULL);
	return 0;
}

static void on_no_checkpoint(struct attach_call *call, const struct fail *f)
{
	call_of(call)->checkpoint.on_done(call_of(call)->checkpoint.ctx, NULL, f);
}

struct attach_call *attach_checkpoint(struct attach *a, const struct checkpoint_request *req, struct fail *f)
{
	static const struct attach_call_type type = { .on_answer = on_checkpoint,
						      .on_fail = on_no_checkpoint,
						      .free = free_call };
	AUTO(buf_release) struct buf target = attach_target(req->session_id, "/checkpoints");
	AUTO(freep) char *run = xasprintf("%llu", (unsigned long long)req->run);
	struct session_call *c = new0(struct session_call);
	json_t *body = json_pack("{s:s, s:s}", "action", checkpoint_action_name(req->action), "name",
				 req->name ? req->name : run);
	c->checkpoint = (struct checkpoint_request){ .on_done = req->on_done, .ctx = req->ctx };
	return attach_call_start(a, &c->call, &type,
				 &(struct attach_request){ .method = "POST", .target = buf_str(&target), .body = body },
				 f);
}

/* --- the gate ------------------------------------------------------------------------------------------------------ */

static int on_network(struct attach_call *call, const json_t *json, struct fail *f)
{
	const struct network_request *request = &call_of(call)->network;
	AUTO(network_list_release) struct network_list list = { 0 };
	struct network_info info;
	if (network_info_decode(json, &info, &list, f) < 0)
		return -1;
	request->on_done(request->ctx, &info, NULL);
	return 0;
}

static void on_no_network(struct attach_call *call, const struct fail *f)
{
	call_of(call)->network.on_done(call_of(call)->network.ctx, NULL, f);
}

static json_t *texts(const struct strv *list)
{
	json_t *out = json_array();
	for (size_t i = 0; list && i < list->n; i++)
		json_array_append_new(out, json_string(list->v[i]));
	return out;
}

struct attach_call *attach_network(struct attach *a, const struct network_request *req, struct fail *f)
{
	static const struct attach_call_type type = { .on_answer = on_network,
						      .on_fail = on_no_network,
						      .free = free_call };
	AUTO(buf_release) struct buf rest = { 0 };
	buf_add_str(&rest, "/network");
	if (req->check) {
		buf_add_str(&rest, "?check=");
		percent_encode(&rest, req->check, /* keep_slash= */ false);
	}
	AUTO(buf_release) struct buf target = attach_target(req->session_id, buf_str(&rest));
	struct session_call *c = new0(struct session_call);
	struct attach_request request = { .method = "GET", .target = buf_str(&target) };
	c->network = (struct network_request){ .on_done = req->on_done, .ctx = req->ctx };
	if (req->allow || req->deny) {
		request.method = "PATCH";
		request.body = json_pack("{s:o, s:o}", "allow", texts(req->allow), "deny", texts(req->deny));
	}
	return attach_call_start(a, &c->call, &type, &request, f);
}

/* --- events -------------------------------------------------------------------------------------------------------- */

static int on_events(struct attach_call *call, const json_t *json, struct fail *f UNUSED)
{
	const struct attach_events_request *request = &call_of(call)->events;
	json_int_t next = json_integer_value(json_object_get(json, "next"));
	request->on_done(request->ctx, json_object_get(json, "events"), (uint64_t)MAX(next, (json_int_t)0), NULL);
	return 0;
}

static void on_no_events(struct attach_call *call, const struct fail *f)
{
	call_of(call)->events.on_done(call_of(call)->events.ctx, NULL, 0, f);
}

struct attach_call *attach_events(struct attach *a, const struct attach_events_request *req, struct fail *f)
{
	static const struct attach_call_type type = { .on_answer = on_events,
						      .on_fail = on_no_events,
						      .free = free_call };
	AUTO(freep) char *rest = xasprintf("/events?after=%llu&only=%s", (unsigned long long)req->after, req->only);
	AUTO(buf_release) struct buf target = attach_target(req->session_id, rest);
	struct session_call *c = new0(struct session_call);
	c->events = (struct attach_events_request){ .on_done = req->on_done, .ctx = req->ctx };
	return attach_call_start(a, &c->call, &type,
				 &(struct attach_request){ .method = "GET", .target = buf_str(&target) }, f);
}

/* --- stop ---------------------------------------------------------------------------------------------------------- */

static int on_stopped(struct attach_call *call, const json_t *json UNUSED, struct fail *f UNUSED)
{
	call_of(call)->stop.on_done(call_of(call)->stop.ctx, NULL);
	return 0;
}

static void on_not_stopped(struct attach_call *call, const struct fail *f)
{
	call_of(call)->stop.on_done(call_of(call)->stop.ctx, f);
}

struct attach_call *attach_stop(struct attach *a, const struct stop_request *req, struct fail *f)
{
	static const struct attach_call_type type = { .on_answer = on_stopped,
						      .on_fail = on_not_stopped,
						      .free = free_call };
	AUTO(buf_release) struct buf target = attach_target(req->session_id, "");
	struct session_call *c = new0(struct session_call);
	c->stop = (struct stop_request){ .on_done = req->on_done, .ctx = req->ctx };
	return attach_call_start(a, &c->call, &type,
				 &(struct attach_request){ .method = "DELETE", .target = buf_str(&target) }, f);
}
