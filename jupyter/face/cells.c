#include "jupyter/face/cells.h"

#include <ctype.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "jupyter/face/trouble.h"

/* Queued cells. Further execute requests are answered with an error. */
#define QUEUE_MAX 10000
/* Each call waits this long for the run and is repeated until the run ends: a cell may take as long as the session
 * lives. */
#define WAIT_SECONDS 86400

struct cells {
	struct cells_spec spec;
	struct attach *attach; /* NULL = no connection at present */
	char *session;
	struct list queue;
	size_t queued;
	uint64_t count; /* cells that got an execution count of their own */
	bool gone, starting;
	char *told; /* shown with the next cell that fails; NULL = nothing */

	struct request *running; /* NULL = none */
	struct attach_call *call;
	uint64_t run;	/* number of the run; 0 = unknown yet */
	bool prompting; /* the run waits for an input_reply */
	uint64_t number;
};

static void start_next(struct cells *c);
static void go_on(struct cells *c, struct run_request request);

struct cells *cells_new(const struct cells_spec *spec)
{
	struct cells *c = new0(struct cells);
	c->spec = *spec;
	list_init(&c->queue);
	return c;
}

struct cells *cells_free(struct cells *c)
{
	if (!c)
		return NULL;
	for (struct request *r; (r = list_first(&c->queue, struct request, node));)
		request_free(r);
	request_free(c->running);
	free(c->session);
	free(c->told);
	free(c);
	return NULL;
}

const struct request *cells_running(const struct cells *c)
{
	return c->running;
}

static bool is_restart(const struct request *r)
{
	return streq(json_string_value(json_object_get(r->header, "msg_type")), "shutdown_request");
}

/* --- ends of cells ----------------------------------------------------------------------------------------------- */

/* Restarts stay in the queue, unless the session is gone. */
static void abort_queue(struct cells *c)
{
	list_for_each(r, &c->queue, struct request, node) {
		if (is_restart(r) && !c->gone)
			continue;
		publisher_status(c->spec.publisher, r, "busy");
		request_reply(r, c->spec.channels, is_restart(r) ? "shutdown_reply" : "execute_reply",
			      json_pack("{s:s}", "status", "aborted"));
		publisher_status(c->spec.publisher, r, "idle");
		request_free(r);
		c->queued--;
	}
}

/* Evaluating expressions would mean generating code, and not every language has expressions. */
static json_t *refuse_expressions(const struct request *r)
{
	const char *name;
	json_t *value, *answers = json_object();
	json_object_foreach(json_object_get(r->content, "user_expressions"), name, value)
		json_object_set_new(answers, name,
				    json_pack("{s:s, s:s, s:s, s:[]}", "status", "error", "ename", "NotSupported",
					      "evalue", "Husk does not evaluate user_expressions", "traceback"));
	return answers;
}

static json_t *reply_of(const struct cells *c, const json_t *error)
{
	json_t *reply = error ? json_copy((json_t *)error) : json_pack("{s:[]}", "payload");
	json_object_set_new(reply, "status", json_string(error ? "error" : "ok"));
	json_object_set_new(reply, "execution_count", json_integer((json_int_t)c->number));
	if (!error)
		json_object_set_new(reply, "user_expressions", refuse_expressions(c->running));
	return reply;
}

/* error: the content of the error; NULL = the cell succeeded. */
static void end_cell(struct cells *c, const json_t *error)
{
	struct request *r = c->running;
	const char *type = is_restart(r) ? "shutdown_reply" : "execute_reply";
	json_t *reply = is_restart(r) ? json_pack("{s:s, s:b}", "status", error ? "error" : "ok", "restart", 1) :
					reply_of(c, error);
	if (error)
		publisher_error(c->spec.publisher, error);
	c->run = 0;
	c->prompting = false;
	publisher_flush(c->spec.publisher);
	request_reply(r, c->spec.channels, type, reply);
	publisher_end(c->spec.publisher);
	c->running = NULL;
	bool stops = error && request_flag(r, "stop_on_error", true);
	request_free(r);
	if (stops)
		abort_queue(c);
}

static void finish(struct cells *c, const json_t *error)
{
	end_cell(c, error);
	start_next(c);
}

/* From now on no cell is started. */
static void be_gone(struct cells *c, const char *why)
{
	c->gone = true;
	abort_queue(c);
	c->spec.on_gone(c->spec.ctx, why);
}

static void note(struct cells *c, const char *text)
{
	AUTO(freep) char *line = text ? xasprintf("husk: %s\n", text) : NULL;
	if (line)
		publisher_text(c->spec.publisher, 2, line, strlen(line));
}

/* Facts about the run that its output does not show. */
static void add_notes(struct cells *c, const struct run_result *r)
{
	if (r->ending == ENDING_OK)
		note(c, r->detail);
	if (r->kept_run && (r->stdout_truncated || r->stderr_truncated)) {
		AUTO(freep) char *kept =
			xasprintf("the full text is in ~/.husk/runs/%u.txt of the session", (unsigned)r->kept_run);
		note(c, kept);
	}
	if (r->displays_dropped) {
		AUTO(freep) char *dropped = xasprintf("%llu displays are not shown: too many or too large for one run",
						      (unsigned long long)r->displays_dropped);
		note(c, dropped);
	}
	note(c, r->notice);
}

static void on_ended(struct cells *c, const struct run_result *r)
{
	bool gone = r->kernel_gone || r->ending == ENDING_CONTAINER_DIED;
	json_auto_t *error = r->ending == ENDING_OK ? NULL : trouble_of_result(r);
	if (error) {
		AUTO(freep) char *told = take_ptr(c->told);
		note(c, told);
	}
	add_notes(c, r);
	publisher_result(c->spec.publisher, &r->result, c->number);
	end_cell(c, error);
	if (gone)
		be_gone(c, r->detail ? r->detail : "the session has ended");
	else
		start_next(c);
}

static void on_failed(struct cells *c, const struct fail *f)
{
	bool gone = f->kind == FAIL_NOT_FOUND || (f->kind == FAIL_DIED && cause_of(f) != CAUSE_NO_SERVER);
	json_auto_t *error = trouble_of_fail(f);
	end_cell(c, error);
	if (gone)
		be_gone(c, f->message ? f->message : "the session has ended");
	else
		start_next(c);
}

/* --- starting cells ---------------------------------------------------------------------------------------------- */

static void on_output(void *ctx, int stream, const char *text, size_t n)
{
	struct cells *c = ctx;
	publisher_text(c->spec.publisher, stream, text, n);
}

static void on_display(void *ctx, const struct shown_display *display)
{
	struct cells *c = ctx;
	publisher_display(c->spec.publisher, display);
}

static void send_prompt(struct cells *c, const struct run_result *result)
{
	const struct request *r = c->running;
	json_auto_t *content =
		json_pack("{s:s, s:b}", "prompt", result->prompt ? result->prompt : "", "password", result->password);
	c->prompting = true;
	publisher_flush(c->spec.publisher);
	channels_send(c->spec.channels, CHANNEL_STDIN, r->idents, r->n_idents, "input_request", r->header, content);
}

static void on_done(void *ctx, const struct run_result *result, const struct fail *f)
{
	struct cells *c = ctx;
	c->call = NULL;
	if (!result) {
		on_failed(c, f);
		return;
	}
	c->run = result->run;
	if (result->ending == ENDING_WAITING)
		send_prompt(c, result);
	else if (result->ending == ENDING_RUNNING)
		go_on(c, (struct run_request){ .run = c->run });
	else
		on_ended(c, result);
}

static void go_on(struct cells *c, struct run_request request)
{
	AUTO(fail_release) struct fail f = { 0 };
	request.kind = RUN_CODE;
	request.by = "husk jupyter";
	request.session_id = c->session;
	request.has_wait = true;
	request.wait_seconds = WAIT_SECONDS;
	request.on_output = on_output;
	request.on_display = on_display;
	request.on_done = on_done;
	request.ctx = c;
	c->call = attach_run(c->attach, &request, &f);
	if (!c->call)
		on_failed(c, &f);
}

static bool is_blank(const char *s)
{
	while (isspace((unsigned char)*s))
		s++;
	return !*s;
}

/* jansson's strings may contain NULs, but a C string ends at the first one. */
static bool has_nul(const struct request *r)
{
	const json_t *code = json_object_get(r->content, "code");
	return json_string_length(code) != strlen(request_string(r, "code"));
}

static void start_cell(struct cells *c)
{
	const struct request *r = c->running;
	const char *code = request_string(r, "code");
	bool silent = request_flag(r, "silent", false), blank = is_blank(code);
	bool counts = !silent && !blank && request_flag(r, "store_history", true);
	c->number = c->count + 1;
	c->count += counts;
	publisher_begin(c->spec.publisher, r, silent);
	publisher_code(c->spec.publisher, code, c->number);
	if (has_nul(r)) {
		json_auto_t *error = trouble_of_text("InvalidInput", "a cell must not contain NUL characters");
		finish(c, error);
		return;
	}
	if (blank)
		finish(c, /* error= */ NULL);
	else
		go_on(c, (struct run_request){ .text = code,
					       .len = strlen(code),
					       .interactive = request_flag(r, "allow_stdin", true) });
}

static void start_restart(struct cells *c)
{
	c->count = 0;
	publisher_begin(c->spec.publisher, c->running, /* quiet= */ false);
	go_on(c, (struct run_request){ .text = "", .restart = true });
}

static void start_next(struct cells *c)
{
	if (c->starting)
		return;
	c->starting = true; /* a cell that ends immediately calls this function again */
	while (!c->running && c->attach && !c->gone) {
		struct request *r = list_first(&c->queue, struct request, node);
		if (!r)
			break;
		list_remove(&r->node);
		c->queued--;
		c->running = r;
		if (is_restart(r))
			start_restart(c);
		else
			start_cell(c);
	}
	c->starting = false;
}

/* --- requests of clients ----------------------------------------------------------------------------------------- */

void cells_attach(struct cells *c, struct attach *attach, const char *session_id)
{
	free(c->session);
	c->session = session_id ? xstrdup(session_id) : NULL;
	c->attach = attach;
	/* The cell waited for an input_reply, and its connection is closed. */
	if (!attach && c->running && !c->call) {
		json_auto_t *error = trouble_of_text("SessionLost", "the session's server ended, and the cell with it");
		finish(c, error);
	}
	start_next(c);
}

void cells_tell(struct cells *c, const char *text)
{
	free(c->told);
	c->told = xstrdup(text);
}

void cells_add(struct cells *c, struct request *request)
{
	if (c->queued >= QUEUE_MAX || c->gone) {
		json_t *error = trouble_of_text(c->gone ? "SessionEnded" : "TooMany",
						c->gone ? "the session has ended" : "too many cells are queued");
		json_object_set_new(error, "status", json_string("error"));
		json_object_set_new(error, "execution_count", json_integer((json_int_t)c->count));
		publisher_status(c->spec.publisher, request, "busy");
		request_reply(request, c->spec.channels, "execute_reply", error);
		publisher_status(c->spec.publisher, request, "idle");
		request_free(request);
		return;
	}
	list_append(&c->queue, &request->node);
	c->queued++;
	start_next(c);
}

/* The input syntax names keys in < >. A literal < is therefore escaped. */
static char *as_typed(const char *text)
{
	struct buf typed = { 0 };
	for (; *text; text++) {
		if (*text == '<')
			(void)buf_add_str(&typed, "<Lt>");
		else
			(void)buf_add(&typed, text, 1);
	}
	return buf_steal_str(&typed);
}

void cells_input(struct cells *c, const struct message *m)
{
	const char *value = json_string_value(json_object_get(m->content, "value"));
	if (!c->running || !c->prompting || !c->attach)
		return;
	AUTO(freep) char *typed = as_typed(value ? value : "");
	c->prompting = false;
	go_on(c, (struct run_request){ .run = c->run, .input = typed, .input_len = strlen(typed) });
	explicit_bzero(typed, strlen(typed));
}

void cells_interrupt(struct cells *c)
{
	if (!c->running)
		return;
	if (c->call) {
		attach_interrupt(c->call);
	} else if (c->prompting && c->attach) {
		c->prompting = false;
		go_on(c, (struct run_request){ .run = c->run, .interrupt = true });
	}
}

void cells_restart(struct cells *c, struct request *request)
{
	abort_queue(c);
	list_append(&c->queue, &request->node);
	c->queued++;
	cells_interrupt(c);
	start_next(c);
}
