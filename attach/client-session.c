/* Sessions: status, list, create, stop. */
#include "attach/client-private.h"
#include "attach/codec.h"
#include "attach/fields.h"
#include "base/alloc.h"

struct session_call {
	struct attach_call call;
	/* Exactly one is set. */
	struct info_request info;
	struct attach_list_request list;
	struct create_request create;
	struct stop_request stop;
};

static struct session_call *call_of(struct attach_call *call)
{
	return container_of(call, struct session_call, call);
}

static void free_call(struct attach_call *call)
{
	free(call_of(call));
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
	static const struct attach_call_type type = {
		.op = "info", .on_answer = on_details, .on_fail = on_no_details, .free = free_call
	};
	struct session_call *c = new0(struct session_call);
	json_t *request = json_object();
	c->info = (struct info_request){ .on_done = req->on_done, .ctx = req->ctx };
	fields_put_text(request, "session", req->session_id);
	fields_put_bool(request, "keep_alive", req->keep_alive);
	return attach_call_start(a, &c->call, &type, request, f);
}

/* --- list ---------------------------------------------------------------------------------------------------------- */

static int on_sessions(struct attach_call *call, const json_t *json, struct fail *f)
{
	AUTO(freep) struct session_info *v = NULL;
	size_t n;
	if (sessions_decode(json, &v, &n, f) < 0)
		return -1;
	call_of(call)->list.on_done(call_of(call)->list.ctx, v, n, NULL);
	return 0;
}

static void on_no_sessions(struct attach_call *call, const struct fail *f)
{
	call_of(call)->list.on_done(call_of(call)->list.ctx, NULL, 0, f);
}

struct attach_call *attach_list(struct attach *a, const struct attach_list_request *req, struct fail *f)
{
	static const struct attach_call_type type = {
		.op = "list", .on_answer = on_sessions, .on_fail = on_no_sessions, .free = free_call
	};
	struct session_call *c = new0(struct session_call);
	c->list = *req;
	return attach_call_start(a, &c->call, &type, json_object(), f);
}

/* --- create -------------------------------------------------------------------------------------------------------- */

static int on_created(struct attach_call *call, const json_t *json, struct fail *f)
{
	const struct create_request *request = &call_of(call)->create;
	struct fields in = { .json = json };
	const json_t *session = fields_object(&in, "session"), *fail = fields_object(&in, "fail"),
		     *active = json_object_get(json, "active");
	struct create_result result = { .note = fields_text(&in, "note") };
	struct session_info info;
	AUTO(freep) struct session_info *v = NULL;
	AUTO(fail_release) struct fail why = { 0 };
	if (fields_check(&in, f) < 0 || (session && session_info_decode(session, &info, f) < 0) ||
	    (active && sessions_decode(active, &v, &result.n_active, f) < 0))
		return -1;
	if (!session == !fail)
		return fail_set(f, FAIL_INVALID, "the answer has neither a session nor a failure");
	if (fail)
		fail_decode(fail, &why);
	result.session = session ? &info : NULL;
	result.active = v;
	request->on_done(request->ctx, &result, fail ? &why : NULL);
	return 0;
}

static void on_not_created(struct attach_call *call, const struct fail *f)
{
	struct create_result none = { 0 };
	call_of(call)->create.on_done(call_of(call)->create.ctx, &none, f);
}

static void on_install_output(struct attach_call *call, int stream UNUSED, const void *data, size_t n)
{
	const struct create_request *request = &call_of(call)->create;
	if (request->on_output)
		request->on_output(request->ctx, data, n);
}

struct attach_call *attach_create(struct attach *a, const struct create_request *req, struct fail *f)
{
	static const struct attach_call_type type = { .op = "create",
						      .on_answer = on_created,
						      .on_fail = on_not_created,
						      .on_bytes = on_install_output,
						      .free = free_call };
	struct session_call *c = new0(struct session_call);
	c->create = (struct create_request){ .on_output = req->on_output, .on_done = req->on_done, .ctx = req->ctx };
	return attach_call_start(a, &c->call, &type, create_request_encode(req), f);
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
	static const struct attach_call_type type = {
		.op = "stop", .on_answer = on_stopped, .on_fail = on_not_stopped, .free = free_call
	};
	struct session_call *c = new0(struct session_call);
	json_t *request = json_object();
	c->stop = (struct stop_request){ .on_done = req->on_done, .ctx = req->ctx };
	fields_put_text(request, "session", req->session_id);
	return attach_call_start(a, &c->call, &type, request, f);
}
