/* A terminal of a session over a WebSocket. Binary messages are the bytes of the terminal, in both directions. Text
 * messages are JSON: the client sends {"size": {"rows", "cols"}}, {"credit": N} and {"end": true}, the server sends
 * {"credit": N} and, as the last message, {"end": {…}}.
 *
 * Nothing is buffered without a bound. The server stops reading while the terminal has a window of input that has not
 * arrived. Output counts as taken when it was sent, or, for a client that asked for `credit`, when the client reports
 * it. The terminal hangs up with its connection. */
#include "api/host.h"
#include "api/problem.h"
#include "api/route.h"
#include "api/stream.h"
#include "base/alloc.h"
#include "base/json.h"
#include "http/websocket.h"

#define WORDS_MAX 256
#define MESSAGE_MAX TERMINAL_WINDOW
#define CLOSE_NORMAL 1000
#define CLOSE_UNSUPPORTED 1003

struct terminal_query {
	int64_t rows, cols;
	const char *term, *cwd, *command;
	bool credit;
};

static const struct arg terminal_table[] = {
	{ "cols", ARG_INT, offsetof(struct terminal_query, cols), .min = 1, .max = TERMINAL_SIDE_MAX,
	  .description = "Columns of the terminal.", .example = "80" },
	{ "rows", ARG_INT, offsetof(struct terminal_query, rows), .min = 1, .max = TERMINAL_SIDE_MAX,
	  .description = "Rows of the terminal.", .example = "24" },
	{ "term", ARG_STRING, offsetof(struct terminal_query, term), ARG_NONEMPTY, .max = 64,
	  .description = "Type of the terminal.", .example = "\"xterm-256color\"" },
	{ "cwd", ARG_STRING, offsetof(struct terminal_query, cwd), ARG_NONEMPTY, .max = 4095,
	  .description = "Directory to start in.", .example = "\"/tmp\"" },
	{ "command", ARG_STRING, offsetof(struct terminal_query, command), ARG_NONEMPTY, .max = 8192,
	  .description = "A program instead of a shell: a JSON list of its words.", .example = "\"[\\\"top\\\"]\"" },
	{ "credit", ARG_BOOL, offsetof(struct terminal_query, credit),
	  .description = "The client reports output that it has used with `{\"credit\": BYTES}`, and gets the same for "
			 "its input.",
	  .example = "true" },
	{ 0 },
};

static void defaults(const struct exchange *x UNUSED, void *query, void *args UNUSED)
{
	struct terminal_query *q = query;
	q->rows = 24;
	q->cols = 80;
}

/* x->data of the exchange, which lives as long as the terminal. */
struct terminal {
	struct exchange *exchange;
	struct websocket *websocket;
	bool credit;
	size_t unarrived;   /* input that the terminal has not taken */
	size_t untaken;	    /* output that was not reported as taken */
	struct buf waiting; /* input for which there is no room; the WebSocket is paused then */
};

/* The exchange is over: its op is cancelled, which hangs up. */
static void terminal_free(struct exchange *x)
{
	struct terminal *t = take_ptr(x->data);
	websocket_free(t->websocket);
	buf_release(&t->waiting);
	free(t);
}

static void hang_up(struct terminal *t)
{
	struct exchange *x = t->exchange;
	op_cancel(take_ptr(x->op));
	exchange_end(x);
}

/* Takes the message. */
static void send_json(struct terminal *t, json_t *message)
{
	AUTO(buf_release) struct buf text = { 0 };
	json_auto_t *json = message;
	json_print(&text, json);
	(void)websocket_send(t->websocket, /* text= */ true, text.data, text.len);
}

/* --- output -------------------------------------------------------------------------------------------------------- */

static void take_sent(struct terminal *t)
{
	if (t->credit || !t->untaken || !t->exchange->op || websocket_queued(t->websocket))
		return;
	terminal_taken(t->exchange->op, t->untaken);
	t->untaken = 0;
}

static void on_bytes(void *ctx, const void *data, size_t n)
{
	struct terminal *t = ctx;
	t->untaken += n;
	(void)websocket_send(t->websocket, /* text= */ false, data, n);
	take_sent(t);
}

static void on_drained(void *ctx)
{
	take_sent(ctx);
}

static void on_end(void *ctx, const struct terminal_end *end, const struct fail *f)
{
	struct terminal *t = ctx;
	struct exchange *x = t->exchange;
	json_t *how = json_object();
	x->op = NULL;
	if (end) {
		json_object_set_new(how, "exit_code", json_integer(end->exit_code));
		if (end->signal)
			json_object_set_new(how, "signal", json_integer(end->signal));
		if (end->oom)
			json_object_set_new(how, "oom", json_true());
		if (end->detail)
			json_object_set_new(how, "detail", json_shown(end->detail));
	} else {
		json_object_set_new(how, "problem", problem_body(problem_status(f), f, x->caller.remote));
	}
	send_json(t, json_pack("{s:o}", "end", how));
	websocket_close(take_ptr(t->websocket), CLOSE_NORMAL, "the terminal has ended");
	exchange_end(x);
}

/* --- input --------------------------------------------------------------------------------------------------------- */

static bool write_input(struct terminal *t, const void *data, size_t n)
{
	if (t->unarrived + n > TERMINAL_WINDOW || terminal_write(t->exchange->op, data, n) < 0)
		return false;
	t->unarrived += n;
	return true;
}

static void on_written(void *ctx, size_t n)
{
	struct terminal *t = ctx;
	t->unarrived -= MIN(n, t->unarrived);
	if (t->credit)
		send_json(t, json_pack("{s:I}", "credit", (json_int_t)n));
	if (t->waiting.len && write_input(t, t->waiting.data, t->waiting.len)) {
		buf_reset(&t->waiting);
		websocket_pause(t->websocket, false);
	}
}

static void on_input(struct terminal *t, const void *data, size_t n)
{
	/* While input waits, messages that were already read can follow, but no more than one read of the socket. */
	if (!t->waiting.len && write_input(t, data, n))
		return;
	buf_add(&t->waiting, data, n);
	websocket_pause(t->websocket, true);
}

struct control {
	json_t *size;
	int64_t credit;
	bool end;
};
struct size {
	int64_t rows, cols;
};

static const struct arg control_table[] = {
	{ "size", ARG_OBJECT, offsetof(struct control, size), .example = "{\"rows\": 24, \"cols\": 80}" },
	{ "credit", ARG_INT, offsetof(struct control, credit), .min = 1, .max = INT32_MAX, .example = "4096" },
	{ "end", ARG_BOOL, offsetof(struct control, end), .example = "true" },
	{ 0 },
};
static const struct arg size_table[] = {
	{ "rows", ARG_INT, offsetof(struct size, rows), ARG_REQUIRED, .min = 1, .max = TERMINAL_SIDE_MAX,
	  .example = "24" },
	{ "cols", ARG_INT, offsetof(struct size, cols), ARG_REQUIRED, .min = 1, .max = TERMINAL_SIDE_MAX,
	  .example = "80" },
	{ 0 },
};

/* False if the message is not one of ours. */
static bool read_control(const void *data, size_t n, struct control *control, struct size *size)
{
	json_auto_t *json = json_parse(data, n, JSON_REJECT_DUPLICATES);
	if (!json_is_object(json))
		return false;
	json_auto_t *problems = args_decode(control_table, json, control);
	json_auto_t *size_problems = control->size ? args_decode(size_table, control->size, size) : NULL;
	return !problems && !size_problems;
}

static void on_control(struct terminal *t, const void *data, size_t n)
{
	struct control control = { 0 };
	struct size size = { 0 };
	if (!read_control(data, n, &control, &size)) {
		websocket_close(take_ptr(t->websocket), CLOSE_UNSUPPORTED, "the message is not a known JSON object");
		hang_up(t);
		return;
	}
	struct op *op = t->exchange->op;
	if (size.rows)
		terminal_resize(op, (int)size.rows, (int)size.cols);
	if (control.credit && t->credit) {
		size_t taken = MIN((size_t)control.credit, t->untaken);
		t->untaken -= taken;
		terminal_taken(op, taken);
	}
	if (control.end)
		hang_up(t);
}

static void on_message(void *ctx, bool text, const void *data, size_t n)
{
	struct terminal *t = ctx;
	if (text)
		on_control(t, data, n);
	else if (n)
		on_input(t, data, n);
}

static void on_left(void *ctx, int code UNUSED)
{
	hang_up(ctx);
}

/* --- start --------------------------------------------------------------------------------------------------------- */

/* The words point into *ret_json. */
static int take_command(const char *text, json_t **ret_json, const char ***ret, size_t *ret_n, struct fail *f)
{
	size_t i;
	json_t *word;
	json_t *list = *ret_json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	size_t n = json_array_size(list);
	if (!n || n > WORDS_MAX)
		return fail_set(f, FAIL_INVALID, "The query: command is not a JSON list of 1 to %d words.", WORDS_MAX);
	AUTO(freep) const char **words = xcalloc(n, sizeof(*words));
	json_array_foreach(list, i, word) {
		words[i] = json_string_value(word);
		if (!words[i])
			return fail_set(f, FAIL_INVALID, "The query: a word of the command is not a string.");
	}
	*ret = take_ptr(words);
	*ret_n = n;
	return 0;
}

static int open_terminal(struct terminal *t, struct fail *f)
{
	struct exchange *x = t->exchange;
	const struct terminal_query *query = x->query;
	json_auto_t *command = NULL;
	AUTO(freep) const char **words = NULL;
	struct terminal_request request = { .session_id = x->session,
					    .term = query->term,
					    .cwd = query->cwd,
					    .rows = (int)query->rows,
					    .cols = (int)query->cols,
					    .on_bytes = on_bytes,
					    .on_written = on_written,
					    .on_end = on_end,
					    .ctx = t };
	if (query->command && take_command(query->command, &command, &words, &request.n_command, f) < 0)
		return -1;
	request.command = words;
	x->op = manager_terminal(x->conversation, &request, f);
	return x->op ? 0 : -1;
}

static void accept_terminal(struct terminal *t)
{
	static const struct websocket_ops ops = { .on_message = on_message,
						  .on_closed = on_left,
						  .on_drained = on_drained };
	struct exchange *x = t->exchange;
	struct websocket_spec spec = { .loop = x->api->spec.loop, .message_max = MESSAGE_MAX, .ops = &ops, .ctx = t };
	exchange_note_status(x, 101);
	t->websocket = websocket_accept(take_ptr(x->request), /* protocol= */ NULL, &spec);
	if (!t->websocket)
		hang_up(t);
}

static void get_terminal(struct exchange *x)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	if (!websocket_requested(http_request_head(x->request))) {
		http_fields_add(&fields, "Upgrade", "websocket");
		exchange_reply_problem(x, 426, &fields,
				       problem_plain(426, "A terminal needs a WebSocket.",
						     "Connect with ws: or wss:."));
		return;
	}
	if (!stream_admit(x))
		return;
	struct terminal *t = new0(struct terminal);
	t->exchange = x;
	t->credit = ((const struct terminal_query *)x->query)->credit;
	x->data = t;
	x->closed = terminal_free;
	if (open_terminal(t, &f) < 0)
		exchange_fail(x, &f);
	else
		accept_terminal(t);
}

static const struct route_answer answers[] = { { 101, NULL, NULL, "The WebSocket is open." },
					       { 426, "Problem", "application/problem+json",
						 "The request does not ask for a WebSocket." },
					       { 0 } };

const struct route routes_terminal[] = {
	{ .method = HTTP_METHOD_GET,
	  .path = "/v1/sessions/{session}/terminal",
	  .scope = SCOPE_TERMINAL,
	  .flags = ROUTE_SESSION | ROUTE_WEBSOCKET,
	  .name = "openTerminal",
	  .tag = "terminal",
	  .summary = "Open a shell in a session",
	  .text = "Binary messages are the bytes of the terminal. Text messages are JSON: the client sends `{\"size\": "
		  "{\"rows\": 24, \"cols\": 80}}` after a change of size and `{\"end\": true}` to hang up, and the server "
		  "sends `{\"end\": {\"exit_code\": 0}}` at the end, or a `problem` instead of the code. The terminal hangs "
		  "up with its connection.",
	  .query = terminal_table,
	  .query_size = sizeof(struct terminal_query),
	  .defaults = defaults,
	  .answers = answers,
	  .handle = get_terminal },
	{ 0 },
};
