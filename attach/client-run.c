/* Runs. Each run has a connection of its own: the answer to its POST is the stream of its events, which stays open at
 * prompts and while no call waits for the run. Input and interrupts are posted on other connections. */
#include "attach/client-private.h"
#include "base/alloc.h"
#include "base/json.h"
#include "http/events.h"
#include "manager/json/codec.h"
#include "manager/json/fields.h"

/* Runs that no call waits for; above this, the oldest is ended. */
#define LEFT_MAX 256

struct run_call;

struct run_stream {
	struct list node;
	struct attach *attach;
	struct http_call *http; /* NULL = it has ended */
	struct http_event_reader reader;
	char *session;
	uint64_t number; /* 0 = not known yet */
	int status;
	struct buf body;       /* of an answer that is not a stream */
	struct run_call *call; /* the call that waits for the run; NULL = none */
	json_t *news;	       /* a prompt or the end of the run that no call has reported; NULL = none */
	bool interrupts;       /* to be interrupted as soon as its number is known */
	bool ended;
	bool feeding, dropped; /* a callback of its own events has dropped it */
};

struct run_call {
	struct attach_call call;
	struct run_request request;
	struct run_stream *stream;
	struct timer *timer; /* its wait, or the report of news */
	bool due;	     /* the wait is over, but the run has no number yet */
};

static struct run_call *call_of(struct attach_call *call)
{
	return container_of(call, struct run_call, call);
}

static void stream_release(struct run_stream *s)
{
	http_event_reader_release(&s->reader);
	buf_release(&s->body);
	json_decref(s->news);
	free(s->session);
	free(s);
}

static void stream_drop(struct run_stream *s)
{
	list_remove(&s->node);
	s->http = http_call_free(s->http);
	s->dropped = true;
	if (!s->feeding)
		stream_release(s);
}

void attach_runs_drop(struct attach *a)
{
	list_for_each(s, &a->runs, struct run_stream, node) {
		if (s->call)
			s->call->stream = NULL;
		stream_drop(s);
	}
}

/* The call no longer waits for the run. */
static void leave(struct run_call *c)
{
	struct run_stream *s = take_ptr(c->stream);
	c->timer = timer_free(c->timer);
	if (!s)
		return;
	s->call = NULL;
	/* No call reads the output of the run now. The server keeps it. */
	if (s->http)
		http_call_pause(s->http, true);
}

static void free_run(struct attach_call *call)
{
	struct run_call *c = call_of(call);
	leave(c);
	free(c);
}

/* --- requests about a run ------------------------------------------------------------------------------------------ */

/* A request whose answer matters only if it fails. */
struct control_call {
	struct attach_call call;
	struct run_stream *stream; /* compared, not used: the run may have ended */
	struct attach *attach;
};

static int on_control_done(struct attach_call *call UNUSED, const json_t *json UNUSED, struct fail *f UNUSED)
{
	return 0;
}

static struct run_stream *stream_of(struct attach *a, const struct run_stream *s)
{
	list_for_each(other, &a->runs, struct run_stream, node)
		if (other == s)
			return other;
	return NULL;
}

/* The input was refused: the call that waits for the run reports why. */
static void on_input_refused(struct attach_call *call, const struct fail *f)
{
	struct control_call *t = container_of(call, struct control_call, call);
	struct run_stream *s = stream_of(t->attach, t->stream);
	if (s && s->call && !t->attach->loss.kind)
		attach_call_fail(&s->call->call, f);
}

static void on_interrupt_refused(struct attach_call *call UNUSED, const struct fail *f UNUSED)
{
}

static void free_control(struct attach_call *call)
{
	free(container_of(call, struct control_call, call));
}

static const struct attach_call_type input_type = { .on_answer = on_control_done,
						    .on_fail = on_input_refused,
						    .free = free_control };
static const struct attach_call_type interrupt_type = { .on_answer = on_control_done,
							.on_fail = on_interrupt_refused,
							.free = free_control };

/* input NULL = an interrupt. */
static int tell(struct run_stream *s, const char *input, size_t n, struct fail *f)
{
	AUTO(freep) char *rest =
		xasprintf("/runs/%llu/%s", (unsigned long long)s->number, input ? "input" : "interrupt");
	AUTO(buf_release) struct buf target = attach_target(s->session, rest);
	struct attach_request request = { .method = "POST", .target = buf_str(&target) };
	struct control_call *t = new0(struct control_call);
	t->stream = s;
	t->attach = s->attach;
	if (input) {
		request.body = json_object();
		json_object_set_new(request.body, "text", json_stringn(input, n));
	}
	return attach_call_start(s->attach, &t->call, input ? &input_type : &interrupt_type, &request, f) ? 0 : -1;
}

static void interrupt(struct run_stream *s)
{
	AUTO(fail_release) struct fail ignored = { 0 };
	s->interrupts = !s->number;
	if (s->number && !s->ended)
		(void)tell(s, NULL, 0, &ignored);
}

/* --- answers ------------------------------------------------------------------------------------------------------- */

static int on_result(struct attach_call *call, const json_t *json, struct fail *f)
{
	const struct run_request *request = &call_of(call)->request;
	const json_t *fail = json_object_get(json, "fail");
	AUTO(run_result_release) struct run_result result = { 0 };
	leave(call_of(call)); /* the callback may wait for the run again */
	if (fail) {
		fail_decode(fail, f);
		return -1;
	}
	if (run_result_decode(json, &result, f) < 0)
		return -1;
	request->on_done(request->ctx, &result, NULL);
	return 0;
}

static void on_no_result(struct attach_call *call, const struct fail *f)
{
	const struct run_request *request = &call_of(call)->request;
	leave(call_of(call));
	request->on_done(request->ctx, NULL, f);
}

/* A run that this call started ends with it. */
static void on_cancel(struct attach_call *call)
{
	struct run_call *c = call_of(call);
	struct run_stream *s = c->stream;
	if (!s || c->request.run)
		return;
	leave(c);
	stream_drop(s);
}

static const struct attach_call_type run_type = {
	.on_answer = on_result, .on_fail = on_no_result, .on_cancel = on_cancel, .free = free_run
};

static void report_running(struct run_call *c)
{
	struct run_stream *s = c->stream;
	json_auto_t *json =
		json_pack("{s:s, s:I}", "ending", ending_name(ENDING_RUNNING), "run", (json_int_t)s->number);
	attach_call_answer(&c->call, json);
}

static void report_news(struct run_call *c)
{
	struct run_stream *s = c->stream;
	json_auto_t *json = take_ptr(s->news);
	if (s->ended) {
		leave(c);
		stream_drop(s);
	}
	attach_call_answer(&c->call, json);
}

static void on_timer(void *ctx)
{
	struct run_call *c = ctx;
	if (!c->stream)
		return;
	if (c->stream->news)
		report_news(c);
	else if (c->stream->number)
		report_running(c);
	else
		c->due = true;
}

/* --- events -------------------------------------------------------------------------------------------------------- */

static void show_display(struct run_stream *s, const json_t *event, bool clear)
{
	AUTO(fail_release) struct fail bad = { 0 };
	AUTO(mime_bundle_release) struct mime_bundle bundle = { 0 };
	struct shown_display display = { .clear = true };
	const struct run_request *request = s->call ? &s->call->request : NULL;
	if (!request || !request->on_display)
		return;
	if (!clear && display_decode(json_object_get(event, "display"), &display, &bundle, &bad) < 0)
		attach_lose(s->attach, "it sent an invalid display");
	else
		request->on_display(request->ctx, &display);
}

static void show_output(const struct run_stream *s, const json_t *event)
{
	const struct run_request *request = s->call ? &s->call->request : NULL;
	const json_t *text = json_object_get(event, "text");
	const char *stream = json_string_value(json_object_get(event, "stream"));
	if (request && request->on_output && json_is_string(text) && stream)
		request->on_output(request->ctx, streq(stream, "stderr") ? 2 : 1, json_string_value(text),
				   json_string_length(text));
}

static void take_number(struct run_stream *s, const json_t *event)
{
	json_int_t number = json_integer_value(json_object_get(event, "run"));
	if (s->number || number <= 0)
		return;
	s->number = (uint64_t)number;
	if (s->interrupts)
		interrupt(s);
	if (s->call && s->call->due)
		report_running(s->call);
}

static void on_event(void *ctx, const struct http_event *e)
{
	struct run_stream *s = ctx;
	json_auto_t *event = json_parse(e->data, e->n, JSON_ALLOW_NUL);
	if (s->dropped || s->attach->loss.kind)
		return;
	if (!event) {
		attach_lose(s->attach, "it sent an invalid event");
	} else if (streq(e->name, "run.output")) {
		show_output(s, event);
	} else if (streq(e->name, "run.display") || streq(e->name, "run.cleared")) {
		show_display(s, event, streq(e->name, "run.cleared"));
	} else if (streq(e->name, "run.queued")) {
		take_number(s, event);
	} else if (streq(e->name, "run.prompt") || streq(e->name, "run.ended")) {
		s->ended = streq(e->name, "run.ended");
		json_decref(s->news);
		s->news = json_incref(event);
		/* From the loop, because the callback may free the stream. */
		if (s->call)
			timer_start(s->call->timer, 0, 0);
	}
}

static void on_head(void *ctx, const struct http_head *head)
{
	struct run_stream *s = ctx;
	s->status = head->status;
	s->body.max = ATTACH_ANSWER_MAX;
}

static void on_data(void *ctx, const void *data, size_t n)
{
	struct run_stream *s = ctx;
	struct attach *a = s->attach;
	attach_enter(a);
	s->feeding = true;
	int r = s->status == 200 ? http_event_reader_feed(&s->reader, data, n) : buf_add(&s->body, data, n);
	s->feeding = false;
	if (r < 0 && !s->dropped)
		attach_lose(a, "its answer is too long");
	if (s->dropped)
		stream_release(s);
	attach_leave(a);
}

static void on_end(void *ctx, const char *error)
{
	struct run_stream *s = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	s->http = NULL;
	if (error || (s->status == 200 && !s->ended)) {
		attach_lose(s->attach, error ? error : "it ended a run without a result");
		return;
	}
	if (s->status == 200)
		return;
	attach_problem(s->status, &s->body, &f);
	struct run_call *c = s->call;
	if (c)
		leave(c);
	stream_drop(s);
	if (c)
		attach_call_fail(&c->call, &f);
}

/* --- the start ----------------------------------------------------------------------------------------------------- */

static json_t *encode(const struct run_request *req)
{
	json_t *out = run_request_encode(req);
	json_object_set_new(out, "attached", json_true());
	return out;
}

static struct run_stream *stream_start(struct attach *a, const struct run_request *req, const struct buf *body)
{
	AUTO(buf_release) struct buf target = attach_target(req->session_id, "/runs");
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	struct run_stream *s = new0(struct run_stream);
	s->attach = a;
	s->session = xstrdup(req->session_id);
	http_event_reader_init(&s->reader, ATTACH_ANSWER_MAX, on_event, s);
	list_append(&a->runs, &s->node);
	attach_fields(a, &fields);
	http_fields_add(&fields, "Accept", "text/event-stream");
	http_fields_add(&fields, "Content-Type", "application/json");
	s->http = http_call_new(a->http, &(struct http_call_spec){ .method = "POST",
								   .target = buf_str(&target),
								   .fields = &fields,
								   .body = body->data,
								   .n = body->len,
								   .on_head = on_head,
								   .on_data = on_data,
								   .on_end = on_end,
								   .ctx = s });
	return s;
}

/* Ends the oldest run that no call waits for, if there are too many. */
static void make_room(struct attach *a)
{
	if (list_length(&a->runs) < LEFT_MAX)
		return;
	list_for_each(s, &a->runs, struct run_stream, node) {
		if (s->call)
			continue;
		stream_drop(s);
		return;
	}
}

static void connect(struct run_call *c, struct run_stream *s)
{
	c->stream = s;
	s->call = c;
	c->timer = timer_new(s->attach->loop, on_timer, c);
	if (c->request.has_wait)
		timer_start(c->timer, c->request.wait_seconds * 1000, 0);
	if (s->http)
		http_call_pause(s->http, false);
}

static struct run_call *new_call(const struct run_request *req)
{
	struct run_call *c = new0(struct run_call);
	c->request = (struct run_request){ .run = req->run,
					   .has_wait = req->has_wait,
					   .wait_seconds = req->wait_seconds,
					   .on_output = req->on_output,
					   .on_display = req->on_display,
					   .on_done = req->on_done,
					   .ctx = req->ctx };
	return c;
}

static struct attach_call *start(struct attach *a, const struct run_request *req, struct fail *f)
{
	AUTO(buf_release) struct buf body = { 0 };
	if (req->interactive && !req->has_wait) {
		fail_set(f, FAIL_INVALID, "an interactive run needs a wait");
		return NULL;
	}
	if (attach_print(&body, encode(req), f) < 0)
		return NULL;
	struct run_call *c = new_call(req);
	if (!attach_call_add(a, &c->call, &run_type, f))
		return NULL;
	make_room(a);
	connect(c, stream_start(a, req, &body));
	return &c->call;
}

/* --- runs that were started before --------------------------------------------------------------------------------- */

static struct run_stream *find(struct attach *a, const char *session, uint64_t number)
{
	list_for_each(s, &a->runs, struct run_stream, node)
		if (s->number == number && streq(s->session, session))
			return s;
	return NULL;
}

static int on_foreign_interrupted(struct attach_call *call, const json_t *json UNUSED, struct fail *f UNUSED)
{
	const struct run_request *request = &call_of(call)->request;
	AUTO(run_result_release) struct run_result result = {
		.ending = ENDING_OK,
		.run = request->run,
		.cause = CAUSE_RUN_FOREIGN,
		.detail = xasprintf("Another client of this session started run %llu. Its output goes to that client.",
				    (unsigned long long)request->run),
		.stdout_text = xstrdup(""),
		.stderr_text = xstrdup("")
	};
	request->on_done(request->ctx, &result, NULL);
	return 0;
}

/* Every user of a session may interrupt its interpreter. */
static struct attach_call *interrupt_foreign(struct attach *a, const struct run_request *req, struct fail *f)
{
	static const struct attach_call_type type = { .on_answer = on_foreign_interrupted,
						      .on_fail = on_no_result,
						      .free = free_run };
	AUTO(freep) char *rest = xasprintf("/runs/%llu/interrupt", (unsigned long long)req->run);
	AUTO(buf_release) struct buf target = attach_target(req->session_id, rest);
	struct run_call *c = new_call(req);
	return attach_call_start(a, &c->call, &type,
				 &(struct attach_request){ .method = "POST", .target = buf_str(&target) }, f);
}

static struct attach_call *join(struct attach *a, const struct run_request *req, struct fail *f)
{
	struct run_stream *s = find(a, req->session_id, req->run);
	if (!s && req->interrupt)
		return interrupt_foreign(a, req, f);
	if (!s || s->call) {
		cause_set(f, FAIL_BUSY, s ? CAUSE_RUN_WAITED : CAUSE_RUN_FOREIGN,
			  s ? "another request waits for run %llu and will get its output" :
			      "run %llu was started by another client of this session, or its end was reported already",
			  (unsigned long long)req->run);
		return NULL;
	}
	struct run_call *c = new_call(req);
	c->request.has_wait = req->has_wait;
	if (!attach_call_add(a, &c->call, &run_type, f))
		return NULL;
	connect(c, s);
	bool told = (req->input || req->interrupt) && !s->ended;
	if (told) {
		json_decref(s->news);
		s->news = NULL;
	}
	if (req->input && told && tell(s, req->input, req->input_len, f) < 0) {
		attach_cancel(&c->call);
		return NULL;
	}
	if (req->interrupt && told)
		interrupt(s);
	if (s->news)
		timer_start(c->timer, 0, 0);
	return &c->call;
}

struct attach_call *attach_run(struct attach *a, const struct run_request *req, struct fail *f)
{
	return req->run ? join(a, req, f) : start(a, req, f);
}

void attach_interrupt(struct attach_call *call)
{
	struct run_call *c = call_of(call);
	if (c->stream)
		interrupt(c->stream);
}
