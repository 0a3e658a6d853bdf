/* Runs. */
#include "attach/client-private.h"
#include "attach/codec.h"
#include "attach/fields.h"
#include "base/alloc.h"

struct run_call {
	struct attach_call call;
	struct run_request request;
};

static const struct run_request *request_of(struct attach_call *call)
{
	return &container_of(call, struct run_call, call)->request;
}

static void free_call(struct attach_call *call)
{
	free(container_of(call, struct run_call, call));
}

static int on_ran(struct attach_call *call, const json_t *json, struct fail *f)
{
	AUTO(run_result_release) struct run_result result = { 0 };
	if (run_result_decode(json, &result, f) < 0)
		return -1;
	request_of(call)->on_done(request_of(call)->ctx, &result, NULL);
	return 0;
}

static void on_not_run(struct attach_call *call, const struct fail *f)
{
	request_of(call)->on_done(request_of(call)->ctx, NULL, f);
}

static void on_output(struct attach_call *call, int stream, const void *data, size_t n)
{
	const struct run_request *request = request_of(call);
	if (request->on_output)
		request->on_output(request->ctx, stream, data, n);
}

/* An invalid display is not shown live; the result has the displays again. */
static void on_note(struct attach_call *call, const json_t *note)
{
	const struct run_request *request = request_of(call);
	AUTO(mime_bundle_release) struct mime_bundle bundle = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	struct shown_display display;
	const json_t *json = json_object_get(note, "display");
	if (json && request->on_display && display_decode(json, &display, &bundle, &f) == 0)
		request->on_display(request->ctx, &display);
}

struct attach_call *attach_run(struct attach *a, const struct run_request *req, struct fail *f)
{
	static const struct attach_call_type type = { .op = "run",
						      .on_answer = on_ran,
						      .on_fail = on_not_run,
						      .on_bytes = on_output,
						      .on_note = on_note,
						      .free = free_call };
	struct run_call *c = new0(struct run_call);
	c->request = (struct run_request){
		.on_output = req->on_output, .on_display = req->on_display, .on_done = req->on_done, .ctx = req->ctx
	};
	return attach_call_start(a, &c->call, &type, run_request_encode(req), f);
}

/* --- the full text ------------------------------------------------------------------------------------------------- */

struct text_call {
	struct attach_call call;
	struct run_text_request request;
};

static const struct run_text_request *text_request_of(struct attach_call *call)
{
	return &container_of(call, struct text_call, call)->request;
}

static void free_text(struct attach_call *call)
{
	free(container_of(call, struct text_call, call));
}

static int on_text(struct attach_call *call, const json_t *json, struct fail *f)
{
	struct fields in = { .json = json };
	size_t n;
	const char *text = fields_text_n(&in, "text", &n);
	uint64_t size = fields_number(&in, "size", UINT64_MAX);
	const struct run_text_request *request = text_request_of(call);
	if (fields_check(&in, f) < 0)
		return -1;
	if (n > request->max)
		return fail_set(f, FAIL_INVALID, "the text is longer than requested");
	request->on_done(request->ctx, text, n, size, NULL);
	return 0;
}

static void on_no_text(struct attach_call *call, const struct fail *f)
{
	text_request_of(call)->on_done(text_request_of(call)->ctx, NULL, 0, 0, f);
}

struct attach_call *attach_run_text(struct attach *a, const struct run_text_request *req, struct fail *f)
{
	static const struct attach_call_type type = {
		.op = "run_text", .on_answer = on_text, .on_fail = on_no_text, .free = free_text
	};
	struct text_call *c = new0(struct text_call);
	json_t *request = json_object();
	c->request = *req;
	c->request.session_id = NULL;
	fields_put_text(request, "session", req->session_id);
	fields_put_number(request, "number", req->number);
	fields_put_number(request, "max", req->max);
	return attach_call_start(a, &c->call, &type, request, f);
}
