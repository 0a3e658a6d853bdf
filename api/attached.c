#include "api/attached.h"

#include <time.h>

#include "api/host.h"
#include "api/lookup.h"
#include "api/stream.h"
#include "base/alloc.h"
#include "base/deadline.h"
#include "base/json.h"
#include "base/work.h"
#include "http/events.h"
#include "manager/json/codec.h"

/* Time limit of one wait for the run; it is repeated. */
#define WAIT_SECONDS 604800
/* Limit for encoding on the loop. */
#define LOOP_BYTES (64u << 10)
/* CPU limit for encoding one event; displays that are not encoded by then are left out and counted as dropped. */
#define ENCODE_CPU_MS 1000
/* Limit of data that waits for a display to be encoded. Further displays are not sent live: the last event has them. */
#define WAITING_MAX (32u << 20)
/* Limit of one event; a longer last event is sent without texts and displays. */
#define EVENT_MAX (48u << 20)

/* The fields that all events of a run have. */
struct origin {
	char *session, *conversation, *by;
	uint64_t run;
	enum run_kind kind;
};

struct attached {
	struct exchange *exchange;
	uint64_t client; /* owner of the run */
	char *token;	 /* the field Husk-Client; NULL = none */
	struct origin origin;
	bool begun;		       /* the head of the answer was sent */
	bool over;		       /* the run has ended, or never began */
	struct journal_reader *reader; /* while nothing waits for the run, because it prompts for input */
	struct timer *comment;
	struct list steps; /* of struct step; a worker may be encoding the first */
	size_t waiting;	   /* bytes in these steps */
	struct work *work;
};

/* An event that is sent in one piece. */
struct step {
	struct list node;
	struct attached *attached; /* do not touch after work_forget() */
	struct origin origin;
	enum journal_kind kind;
	bool last; /* ends the stream */
	size_t size;
	bool encoded;
	struct run_result result;
	struct shown_display display;
	struct mime_bundle bundle;
	struct buf text;
};

static struct attached *attached_of(const struct exchange *x)
{
	return x->data;
}

static void origin_copy(struct origin *to, const struct origin *from)
{
	*to = *from;
	to->session = xstrdup(from->session);
	to->conversation = from->conversation ? xstrdup(from->conversation) : NULL;
	to->by = from->by ? xstrdup(from->by) : NULL;
}

static void origin_release(struct origin *o)
{
	free(o->session);
	free(o->conversation);
	free(o->by);
}

static void step_free(struct step *s)
{
	list_remove(&s->node);
	origin_release(&s->origin);
	run_result_release(&s->result);
	mime_bundle_release(&s->bundle);
	free((char *)s->display.id);
	buf_release(&s->text);
	free(s);
}

/* --- events -------------------------------------------------------------------------------------------------------- */

static uint64_t wall_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static struct journal_event event_of(const struct origin *o, enum journal_kind kind)
{
	return (struct journal_event){ .kind = kind,
				       .time_ms = wall_ms(),
				       .session_id = o->session,
				       .conversation = o->conversation,
				       .run = o->run,
				       .run_kind = o->kind,
				       .by = o->by };
}

/* Takes the event. */
static void print_event(struct buf *out, enum journal_kind kind, json_t *event)
{
	AUTO(buf_release) struct buf data = { 0 };
	json_auto_t *json = event;
	json_print(&data, json);
	http_event_add(out, /* id= */ NULL, journal_kind_name(kind), data.data, data.len);
}

/* run.prompt or run.ended: with the texts, displays and parts of the result. */
static void print_result(struct buf *out, const struct origin *o, enum journal_kind kind, const struct run_result *r)
{
	struct journal_event e = event_of(o, kind);
	json_t *event = journal_event_encode(&e);
	json_auto_t *result = run_result_encode(r);
	json_object_update(event, result);
	print_event(out, kind, event);
	if (out->len <= EVENT_MAX)
		return;
	buf_reset(out);
	e.ending = ending_name(r->ending);
	e.result = r;
	print_event(out, kind, journal_event_encode(&e));
}

static void print_display(struct buf *out, const struct origin *o, const struct shown_display *display)
{
	struct journal_event e = event_of(o, display->clear ? JOURNAL_RUN_CLEARED : JOURNAL_RUN_DISPLAY);
	e.display = display->clear ? NULL : display;
	print_event(out, e.kind, journal_event_encode(&e));
}

/* --- sending ------------------------------------------------------------------------------------------------------- */

static void end_stream(struct attached *a)
{
	struct exchange *x = a->exchange;
	struct http_request *r = take_ptr(x->request);
	exchange_end(x);
	http_reply_end(r);
}

static void send_text(struct attached *a, const struct buf *text)
{
	(void)http_reply_write(a->exchange->request, text->data, text->len);
	timer_start(a->comment, STREAM_COMMENT_MS, STREAM_COMMENT_MS);
}

static void on_comment(void *ctx)
{
	struct attached *a = ctx;
	AUTO(buf_release) struct buf text = { 0 };
	http_event_add_comment(&text, "alive");
	(void)http_reply_write(a->exchange->request, text.data, text.len);
}

static void encode_step(void *ctx)
{
	struct step *s = ctx;
	deadline_set(ENCODE_CPU_MS);
	if (s->kind == JOURNAL_RUN_DISPLAY)
		print_display(&s->text, &s->origin, &s->display);
	else
		print_result(&s->text, &s->origin, s->kind, &s->result);
	deadline_set(0);
}

static void go_on(struct attached *a);

static void on_encoded(void *ctx, bool forgotten)
{
	struct step *s = ctx;
	struct attached *a = s->attached;
	if (forgotten) {
		step_free(s);
		return;
	}
	a->work = NULL;
	s->encoded = true;
	go_on(a);
}

/* Sends the steps up to the first that has to be encoded. May free the exchange. */
static void go_on(struct attached *a)
{
	for (struct step *s; !a->work && (s = list_first(&a->steps, struct step, node));) {
		if (!s->encoded) {
			a->work = work_start(a->exchange->api->spec.loop,
					     &(struct work_spec){ .fn = encode_step,
								  .on_done = on_encoded,
								  .ctx = s,
								  .render = true,
								  .session = a->origin.session });
			return;
		}
		bool last = s->last;
		send_text(a, &s->text);
		a->waiting -= s->size;
		step_free(s);
		if (last) {
			end_stream(a);
			return;
		}
	}
}

static struct step *add_step(struct attached *a, enum journal_kind kind, size_t size)
{
	struct step *s = new0(struct step);
	s->attached = a;
	s->kind = kind;
	s->size = size;
	a->waiting += size;
	list_append(&a->steps, &s->node);
	return s;
}

/* A step that a worker will encode. */
static struct step *add_heavy(struct attached *a, enum journal_kind kind, size_t size)
{
	struct step *s = add_step(a, kind, size);
	origin_copy(&s->origin, &a->origin);
	return s;
}

/* Sends an event now, or after those that are being encoded. Takes the text. May free the exchange. */
static void send_event(struct attached *a, struct buf *text, bool last)
{
	struct step *s = add_step(a, JOURNAL_RUN_OUTPUT, text->len);
	s->text = *text;
	s->encoded = true;
	s->last = last;
	*text = (struct buf){ 0 };
	go_on(a);
}

/* --- the run's callbacks ------------------------------------------------------------------------------------------- */

static void begin_stream(struct attached *a)
{
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	http_fields_add(&fields, "Content-Type", "text/event-stream");
	http_fields_add(&fields, "Cache-Control", "no-store");
	http_fields_add(&fields, "X-Accel-Buffering", "no");
	a->begun = true;
	a->comment = timer_new(a->exchange->api->spec.loop, on_comment, a);
	(void)exchange_begin(a->exchange, 200, &fields, /* length= */ -1);
}

static void on_started(void *ctx, uint64_t number)
{
	struct attached *a = attached_of(ctx);
	AUTO(buf_release) struct buf text = { 0 };
	lookup_learn(a->exchange);
	free(a->origin.session);
	a->origin.session = xstrdup(a->exchange->session);
	a->origin.run = number;
	begin_stream(a);
	struct journal_event e = event_of(&a->origin, JOURNAL_RUN_QUEUED);
	print_event(&text, e.kind, journal_event_encode(&e));
	send_event(a, &text, /* last= */ false);
}

static void on_output(void *ctx, int stream, const char *data, size_t n)
{
	struct attached *a = attached_of(ctx);
	AUTO(buf_release) struct buf text = { 0 };
	struct journal_event e = event_of(&a->origin, JOURNAL_RUN_OUTPUT);
	e.stream = stream;
	e.text = data;
	e.len = n;
	if (!n)
		return;
	print_event(&text, e.kind, journal_event_encode(&e));
	send_event(a, &text, /* last= */ false);
}

static size_t display_size(const struct shown_display *display)
{
	size_t n = 0;
	for (size_t i = 0; display->bundle && i < display->bundle->n; i++)
		n += display->bundle->parts[i].len;
	return n;
}

static void on_display(void *ctx, const struct shown_display *display)
{
	struct attached *a = attached_of(ctx);
	AUTO(buf_release) struct buf text = { 0 };
	size_t size = display_size(display);
	if (a->waiting + size > WAITING_MAX)
		return;
	if (size <= LOOP_BYTES) {
		print_display(&text, &a->origin, display);
		send_event(a, &text, /* last= */ false);
		return;
	}
	struct step *s = add_heavy(a, JOURNAL_RUN_DISPLAY, size);
	s->display = *display;
	s->display.id = display->id ? xstrdup(display->id) : NULL;
	mime_bundle_copy(&s->bundle, display->bundle);
	s->display.bundle = &s->bundle;
	go_on(a);
}

static void wait_again(struct attached *a, bool interrupt);

/* Something happened to a run that prompts for input: it was answered, interrupted or ended. */
static void on_news(void *ctx, const struct journal_event *e)
{
	if (e->kind != JOURNAL_RUN_PROMPT)
		wait_again(ctx, /* interrupt= */ false);
}

static void on_gap(void *ctx, const struct journal_gap *gap UNUSED)
{
	wait_again(ctx, /* interrupt= */ false);
}

/* Nothing waits for the run while it prompts for input. Input is posted on another connection; the journal reports it. */
static void watch_prompt(struct attached *a)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct exchange *x = a->exchange;
	struct journal_request journal = { .conversation = x->conversation,
					   .session_id = x->session,
					   .run = a->origin.run,
					   .after = JOURNAL_NOW,
					   .on_event = on_news,
					   .on_gap = on_gap,
					   .ctx = a };
	a->reader = manager_read_journal(x->api->spec.manager, &journal, &f);
}

/* The event that reports the result; JOURNAL_GAP = none, because the run is still active. */
static enum journal_kind take_result(struct attached *a, const struct run_result *result)
{
	a->exchange->op = NULL;
	if (result->ending == ENDING_RUNNING) {
		wait_again(a, /* interrupt= */ false);
		return JOURNAL_GAP;
	}
	if (result->ending == ENDING_WAITING) {
		watch_prompt(a);
		return JOURNAL_RUN_PROMPT;
	}
	a->over = true;
	return JOURNAL_RUN_ENDED;
}

static void on_heavy(void *ctx, struct run_result *result)
{
	struct attached *a = attached_of(ctx);
	enum journal_kind kind = take_result(a, result);
	if (kind == JOURNAL_GAP)
		return;
	struct step *s = add_heavy(a, kind, 0);
	s->last = a->over;
	s->result = *result;
	*result = (struct run_result){ 0 };
	go_on(a);
}

static void send_fail(struct attached *a, const struct fail *f)
{
	AUTO(buf_release) struct buf text = { 0 };
	if (!a->begun) {
		exchange_fail(a->exchange, f);
		return;
	}
	struct journal_event e = event_of(&a->origin, JOURNAL_RUN_ENDED);
	e.ending = "not_run";
	json_t *event = journal_event_encode(&e);
	json_object_set_new(event, "fail", fail_encode(f));
	print_event(&text, e.kind, event);
	send_event(a, &text, /* last= */ true);
}

static void on_done(void *ctx, const struct run_result *result, const struct fail *f)
{
	struct attached *a = attached_of(ctx);
	AUTO(buf_release) struct buf text = { 0 };
	if (!result) {
		a->exchange->op = NULL;
		a->over = true;
		send_fail(a, f);
		return;
	}
	enum journal_kind kind = take_result(a, result);
	if (kind == JOURNAL_GAP)
		return;
	print_result(&text, &a->origin, kind, result);
	send_event(a, &text, /* last= */ a->over);
}

static void start(struct attached *a, struct run_request *request)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct exchange *x = a->exchange;
	request->session_id = x->session;
	request->client = a->client;
	request->has_wait = true;
	request->wait_seconds = WAIT_SECONDS;
	request->on_started = on_started;
	request->on_output = on_output;
	request->on_display = on_display;
	request->on_done = on_done;
	request->on_heavy = on_heavy;
	request->ctx = x;
	x->op = manager_run(x->conversation, request, &f);
	if (!x->op)
		send_fail(a, &f);
}

/* Waits for the run again. May free the exchange. */
static void wait_again(struct attached *a, bool interrupt)
{
	a->reader = journal_reader_free(a->reader);
	start(a, &(struct run_request){ .kind = a->origin.kind, .run = a->origin.run, .interrupt = interrupt });
}

/* --- life ---------------------------------------------------------------------------------------------------------- */

static void attached_free(struct exchange *x)
{
	struct attached *a = x->data;
	x->data = NULL;
	journal_reader_free(a->reader);
	timer_free(a->comment);
	if (!a->over && !x->api->closing)
		conversation_end_client(x->conversation, a->client);
	list_for_each(s, &a->steps, struct step, node) {
		if (a->work) {
			/* A worker is encoding the first step; on_encoded() frees it. */
			list_remove(&s->node);
			work_forget(take_ptr(a->work));
		} else {
			step_free(s);
		}
	}
	origin_release(&a->origin);
	free(a->token);
	free(a);
}

void attached_begin(struct exchange *x, const struct run_request *request)
{
	if (!stream_admit(x))
		return;
	struct attached *a = new0(struct attached);
	const char *conversation = conversation_id(x->conversation), *token = exchange_field(x, "husk-client");
	a->exchange = x;
	a->client = ++x->api->last_client;
	a->token = token ? xstrdup(token) : NULL;
	a->origin = (struct origin){ .session = xstrdup(x->session),
				     .conversation = conversation ? xstrdup(conversation) : NULL,
				     .by = request->by ? xstrdup(request->by) : NULL,
				     .kind = request->kind };
	list_init(&a->steps);
	x->data = a;
	x->closed = attached_free;
	struct run_request own = *request;
	start(a, &own);
}

/* --- requests on other connections --------------------------------------------------------------------------------- */

static struct attached *find(const struct exchange *x, uint64_t number)
{
	list_for_each(other, &x->api->exchanges, struct exchange, node) {
		struct attached *a = other->closed == attached_free ? attached_of(other) : NULL;
		if (a && a->origin.run == number && streq(a->origin.session, x->session))
			return a;
	}
	return NULL;
}

uint64_t attached_client(const struct exchange *x, uint64_t number)
{
	const struct attached *a = find(x, number);
	const char *token = exchange_field(x, "husk-client");
	bool own = a && (!a->token || (token && streq(a->token, token)));
	return own ? a->client : 0;
}

bool attached_interrupt(const struct exchange *x, uint64_t number)
{
	struct attached *a = find(x, number);
	if (!a)
		return false;
	if (a->exchange->op)
		op_interrupt(a->exchange->op);
	else if (a->reader)
		wait_again(a, /* interrupt= */ true);
	return true;
}
