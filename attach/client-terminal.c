/* Terminals: a WebSocket with credit in both directions. */
#include "attach/client-private.h"
#include "base/alloc.h"
#include "base/json.h"
#include "base/percent.h"
#include "http/websocket.h"
#include "manager/json/codec.h"
#include "manager/json/fields.h"

/* Bytes between two reports. They are few, so that the server still has most of its window when a report is sent. */
#define TAKEN_STEP 8192
#define MESSAGE_MAX (1u << 20)

struct terminal_call {
	struct attach_call call;
	struct terminal_request request;
	char key[WEBSOCKET_KEY_SIZE];
	struct websocket *websocket; /* NULL = not open yet */
	struct buf early;	     /* typed before it was open */
	int rows, cols;		     /* set before it was open; 0 = not set */
	size_t typed;		     /* sent, but not yet written by the server */
	size_t taken;		     /* taken by the caller, but not yet reported */
};

static struct terminal_call *terminal_of(struct attach_call *call)
{
	return container_of(call, struct terminal_call, call);
}

static void free_call(struct attach_call *call)
{
	struct terminal_call *t = terminal_of(call);
	websocket_free(t->websocket);
	buf_release(&t->early);
	free(t);
}

/* --- the end ------------------------------------------------------------------------------------------------------- */

static int on_ended(struct attach_call *call, const json_t *json, struct fail *f)
{
	struct fields in = { .json = json_object_get(json, "end") };
	const struct terminal_request *request = &terminal_of(call)->request;
	const json_t *problem = fields_object(&in, "problem");
	struct terminal_end end = { .exit_code = (int)fields_number(&in, "exit_code", 255),
				    .signal = (int)fields_number(&in, "signal", 127),
				    .oom = fields_bool(&in, "oom"),
				    .detail = fields_text(&in, "detail") };
	if (fields_check(&in, f) < 0)
		return -1;
	if (problem) {
		fail_decode(problem, f);
		return -1;
	}
	request->on_end(request->ctx, &end, NULL);
	return 0;
}

static void on_fail(struct attach_call *call, const struct fail *f)
{
	const struct terminal_request *request = &terminal_of(call)->request;
	request->on_end(request->ctx, NULL, f);
}

/* --- messages ------------------------------------------------------------------------------------------------------ */

static void on_control(struct terminal_call *t, const void *data, size_t n)
{
	json_auto_t *json = json_parse(data, n, 0);
	struct fields in = { .json = json };
	uint64_t written = fields_number(&in, "credit", t->typed);
	if (json_object_get(json, "end")) {
		attach_call_answer(&t->call, json);
		return;
	}
	if (!written || in.bad)
		return;
	t->typed -= written;
	t->request.on_written(t->request.ctx, written);
}

static void on_message(void *ctx, bool text, const void *data, size_t n)
{
	struct terminal_call *t = ctx;
	if (text)
		on_control(t, data, n);
	else
		t->request.on_bytes(t->request.ctx, data, n);
}

static void on_closed(void *ctx, int code UNUSED)
{
	struct terminal_call *t = ctx;
	t->websocket = websocket_free(t->websocket);
	attach_lose(t->call.attach, "it closed the terminal");
}

/* Takes the message. */
static void send_json(const struct terminal_call *t, json_t *message)
{
	AUTO(buf_release) struct buf text = { 0 };
	json_auto_t *json = message;
	json_print(&text, json);
	if (t->websocket)
		(void)websocket_send(t->websocket, /* text= */ true, text.data, text.len);
}

static void send_size(const struct terminal_call *t)
{
	send_json(t, json_pack("{s:{s:i, s:i}}", "size", "rows", t->rows, "cols", t->cols));
}

/* --- the connection ------------------------------------------------------------------------------------------------ */

static void on_head(void *ctx, const struct http_head *head)
{
	static const struct websocket_ops ops = { .on_message = on_message, .on_closed = on_closed };
	struct terminal_call *t = ctx;
	t->call.status = head->status;
	t->call.body.max = ATTACH_ANSWER_MAX;
	if (head->status != 101)
		return;
	struct websocket_spec spec = {
		.loop = t->call.attach->loop, .message_max = MESSAGE_MAX, .ops = &ops, .ctx = t
	};
	t->websocket = websocket_connected(http_call_take_channel(take_ptr(t->call.http)), head, t->key, &spec);
	if (!t->websocket) {
		attach_lose(t->call.attach, "it does not open terminals");
		return;
	}
	if (t->early.len)
		(void)websocket_send(t->websocket, /* text= */ false, t->early.data, t->early.len);
	if (t->rows)
		send_size(t);
	buf_release(&t->early);
}

static void on_data(void *ctx, const void *data, size_t n)
{
	struct terminal_call *t = ctx;
	(void)buf_add(&t->call.body, data, n);
}

static void on_end(void *ctx, const char *error)
{
	struct terminal_call *t = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	t->call.http = NULL;
	if (error) {
		attach_lose(t->call.attach, error);
		return;
	}
	attach_problem(t->call.status, &t->call.body, &f);
	attach_call_fail(&t->call, &f);
}

static void add_parameter(struct buf *target, const char *name, const char *value)
{
	if (!value)
		return;
	buf_printf(target, "&%s=", name);
	percent_encode(target, value, /* keep_slash= */ false);
}

/* -1 with f if a word is not valid UTF-8. */
static int add_command(struct buf *target, const struct terminal_request *req, struct fail *f)
{
	AUTO(buf_release) struct buf text = { 0 };
	json_auto_t *words = json_array();
	for (size_t i = 0; i < req->n_command; i++)
		if (json_array_append_new(words, json_string(req->command[i])) < 0)
			return fail_set(f, FAIL_INVALID, "the command is not valid UTF-8");
	json_print(&text, words);
	add_parameter(target, "command", req->n_command ? buf_str(&text) : NULL);
	return 0;
}

struct attach_call *attach_terminal(struct attach *a, const struct terminal_request *req, struct fail *f)
{
	static const struct attach_call_type type = { .on_answer = on_ended, .on_fail = on_fail, .free = free_call };
	AUTO(freep) char *rest = xasprintf("/terminal?credit=true&rows=%d&cols=%d", req->rows, req->cols);
	AUTO(buf_release) struct buf target = attach_target(req->session_id, rest);
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	add_parameter(&target, "term", req->term);
	add_parameter(&target, "cwd", req->cwd);
	if (add_command(&target, req, f) < 0)
		return NULL;
	if (target.len > HTTP_HEAD_MAX / 2) {
		fail_set(f, FAIL_LIMIT, "the command is too long");
		return NULL;
	}
	struct terminal_call *t = new0(struct terminal_call);
	t->request = *req;
	t->request.session_id = t->request.term = t->request.cwd = NULL;
	t->request.command = NULL;
	if (!attach_call_add(a, &t->call, &type, f))
		return NULL;
	attach_fields(a, &fields);
	(void)websocket_add_fields(&fields, t->key);
	t->call.http = http_call_new(a->http, &(struct http_call_spec){ .method = "GET",
									.target = buf_str(&target),
									.fields = &fields,
									.on_head = on_head,
									.on_data = on_data,
									.on_end = on_end,
									.ctx = t });
	return &t->call;
}

/* --- the user's side ----------------------------------------------------------------------------------------------- */

int attach_terminal_write(struct attach_call *call, const void *data, size_t n)
{
	struct terminal_call *t = terminal_of(call);
	if (n > TERMINAL_WINDOW - t->typed)
		return -1;
	t->typed += n;
	if (t->websocket)
		(void)websocket_send(t->websocket, /* text= */ false, data, n);
	else
		buf_add(&t->early, data, n);
	return 0;
}

void attach_terminal_taken(struct attach_call *call, size_t n)
{
	struct terminal_call *t = terminal_of(call);
	t->taken += n;
	if (t->taken < TAKEN_STEP)
		return;
	send_json(t, json_pack("{s:I}", "credit", (json_int_t)t->taken));
	t->taken = 0;
}

void attach_terminal_resize(struct attach_call *call, int rows, int cols)
{
	struct terminal_call *t = terminal_of(call);
	t->rows = rows;
	t->cols = cols;
	send_size(t);
}
