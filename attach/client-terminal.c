/* Terminals. */
#include "attach/client-private.h"
#include "attach/fields.h"
#include "base/alloc.h"

/* Bytes between two reports. They are few, so that the server still has most of its window when a report is sent. */
#define TAKEN_STEP 8192

struct terminal_call {
	struct attach_call call;
	struct terminal_request request;
	size_t typed; /* sent, but not yet written by the server */
	size_t taken; /* taken by the caller, but not yet reported */
};

static struct terminal_call *terminal_of(struct attach_call *call)
{
	return container_of(call, struct terminal_call, call);
}

static void free_call(struct attach_call *call)
{
	free(terminal_of(call));
}

static int on_ended(struct attach_call *call, const json_t *json, struct fail *f)
{
	struct fields in = { .json = json };
	const struct terminal_request *request = &terminal_of(call)->request;
	struct terminal_end end = { .exit_code = (int)fields_number(&in, "exit_code", 255),
				    .signal = (int)fields_number(&in, "signal", 127),
				    .detail = fields_text(&in, "detail") };
	if (fields_check(&in, f) < 0)
		return -1;
	request->on_end(request->ctx, &end, NULL);
	return 0;
}

static void on_fail(struct attach_call *call, const struct fail *f)
{
	const struct terminal_request *request = &terminal_of(call)->request;
	request->on_end(request->ctx, NULL, f);
}

static void on_bytes(struct attach_call *call, int stream UNUSED, const void *data, size_t n)
{
	const struct terminal_request *request = &terminal_of(call)->request;
	request->on_bytes(request->ctx, data, n);
}

static void on_note(struct attach_call *call, const json_t *note)
{
	struct terminal_call *t = terminal_of(call);
	struct fields in = { .json = note };
	uint64_t written = fields_number(&in, "written", t->typed);
	if (!written || in.bad)
		return;
	t->typed -= written;
	t->request.on_written(t->request.ctx, written);
}

struct attach_call *attach_terminal(struct attach *a, const struct terminal_request *req, struct fail *f)
{
	static const struct attach_call_type type = { .op = "terminal",
						      .on_answer = on_ended,
						      .on_fail = on_fail,
						      .on_bytes = on_bytes,
						      .on_note = on_note,
						      .free = free_call };
	struct terminal_call *t = new0(struct terminal_call);
	json_t *request = json_object(), *command = json_array();
	t->request = *req;
	t->request.session_id = t->request.term = t->request.cwd = NULL;
	t->request.command = NULL;
	for (size_t i = 0; i < req->n_command; i++)
		json_array_append_new(command, json_string(req->command[i]));
	fields_put_text(request, "session", req->session_id);
	fields_put_text(request, "term", req->term);
	fields_put_text(request, "cwd", req->cwd);
	fields_put_number(request, "rows", (uint64_t)req->rows);
	fields_put_number(request, "cols", (uint64_t)req->cols);
	json_object_set(request, "command", command);
	bool whole = json_array_size(command) == req->n_command;
	json_decref(command);
	if (whole)
		return attach_call_start(a, &t->call, &type, request, f);
	json_decref(request);
	free(t);
	fail_set(f, FAIL_INVALID, "the command is not valid UTF-8");
	return NULL;
}

int attach_terminal_write(struct attach_call *call, const void *data, size_t n)
{
	struct terminal_call *t = terminal_of(call);
	if (n > TERMINAL_WINDOW - t->typed)
		return -1;
	t->typed += n;
	attach_call_bytes(call, data, n);
	return 0;
}

void attach_terminal_taken(struct attach_call *call, size_t n)
{
	struct terminal_call *t = terminal_of(call);
	t->taken += n;
	if (t->taken < TAKEN_STEP)
		return;
	json_t *note = json_object();
	fields_put_number(note, "taken", t->taken);
	t->taken = 0;
	attach_call_note(call, note);
}

void attach_terminal_resize(struct attach_call *call, int rows, int cols)
{
	json_t *note = json_object();
	fields_put_number(note, "rows", (uint64_t)rows);
	fields_put_number(note, "cols", (uint64_t)cols);
	attach_call_note(call, note);
}
