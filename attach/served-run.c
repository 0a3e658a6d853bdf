/* Runs: the manager's runs, on behalf of a client.
 *
 * Live output and the answer are sent in order. A worker encodes a large display or result, and everything after
 * it waits. */
#include "attach/codec.h"
#include "attach/fields.h"
#include "attach/served-private.h"
#include "base/alloc.h"
#include "base/deadline.h"
#include "base/json.h"
#include "base/work.h"

/* Limit of a text in one answer. */
#define TEXT_MAX (16u << 20)
/* Limit for encoding on the loop. */
#define LOOP_BYTES (64u << 10)
/* CPU limit for encoding one step; displays that are not encoded by then are left out and counted as dropped. */
#define ENCODE_CPU_MS 1000
/* Limit of data that waits for a display to be encoded. Further displays are not sent live: the answer has them. */
#define WAITING_MAX (32u << 20)

/* A run, or its text. */
struct run_call {
	struct served served;
	char *session;
	struct list steps; /* not sent yet; a worker may be encoding the first */
	size_t waiting;	   /* bytes in these steps */
	struct work *work;
};

/* Data that is sent in one piece. */
struct step {
	struct list node;
	struct run_call *call; /* do not touch after work_forget() */
	uint32_t number;
	bool last;  /* the answer */
	bool bytes; /* output, which is never dropped */
	size_t size;
	/* Encodes the fields below, on a worker; NULL once it was called. The caller owns the result. */
	json_t *(*encode)(const struct step *s);
	struct run_result result;
	struct shown_display display;
	struct mime_bundle bundle;
	struct buf text;
	uint64_t text_size;
	struct buf frames;
};

static struct run_call *call_of(struct served *s)
{
	return container_of(s, struct run_call, served);
}

static void step_free(struct step *s)
{
	list_remove(&s->node);
	run_result_release(&s->result);
	mime_bundle_release(&s->bundle);
	free((char *)s->display.id);
	buf_release(&s->text);
	buf_release(&s->frames);
	free(s);
}

static struct step *add_step(struct run_call *call, size_t size)
{
	struct step *s = new0(struct step);
	s->call = call;
	s->number = call->served.number;
	s->size = size;
	call->waiting += size;
	list_append(&call->steps, &s->node);
	return s;
}

/* Empty frames mean that the message is too long. */
static void put(struct step *s, json_t *json)
{
	json_auto_t *message = json;
	if (attach_put(&s->frames, ATTACH_SERVER, s->last ? ATTACH_ANSWER : ATTACH_NOTE, s->number, message) < 0)
		buf_reset(&s->frames);
}

static void encode_step(void *ctx)
{
	struct step *s = ctx;
	deadline_set(ENCODE_CPU_MS);
	put(s, s->encode(s));
	deadline_set(0);
}

static void go_on(struct run_call *call);

static void on_encoded(void *ctx, bool forgotten)
{
	struct step *s = ctx;
	struct run_call *call = s->call;
	if (forgotten) {
		step_free(s);
		return;
	}
	call->work = NULL;
	s->encode = NULL;
	go_on(call);
}

static void go_on(struct run_call *call)
{
	for (struct step *s; !call->work && (s = list_first(&call->steps, struct step, node));) {
		if (s->encode) {
			call->work =
				work_start(call->served.host->loop, &(struct work_spec){ .fn = encode_step,
											 .on_done = on_encoded,
											 .ctx = s,
											 .render = true,
											 .session = call->session });
			return;
		}
		AUTO(buf_release) struct buf frames = s->frames;
		bool last = s->last, bytes = s->bytes;
		s->frames = (struct buf){ 0 };
		call->waiting -= s->size;
		step_free(s);
		if (last) {
			served_answer_frames(&call->served, &frames);
			return;
		}
		if (bytes)
			call->served.host->write(call->served.host, &frames);
		else
			served_note_frames(&call->served, &frames);
	}
}

static void begin(struct run_call *call, const char *session)
{
	list_init(&call->steps);
	call->session = xstrdup(session ? session : "");
}

static void release_run(struct served *s)
{
	struct run_call *call = call_of(s);
	list_for_each(step, &call->steps, struct step, node) {
		if (call->work) {
			/* A worker is encoding the first step; on_encoded() frees it. */
			list_remove(&step->node);
			work_forget(take_ptr(call->work));
		} else {
			step_free(step);
		}
	}
	free(call->session);
}

/* --- results ------------------------------------------------------------------------------------------------------- */

static json_t *encode_result(const struct step *s)
{
	return json_pack("{s:o}", "result", run_result_encode(&s->result));
}

static void on_heavy(void *ctx, struct run_result *result)
{
	struct run_call *call = call_of(ctx);
	struct step *s = add_step(call, 0);
	call->served.op = NULL;
	s->last = true;
	s->encode = encode_result;
	s->result = *result;
	*result = (struct run_result){ 0 };
	go_on(call);
}

static void on_ran(void *ctx, const struct run_result *result, const struct fail *f)
{
	struct run_call *call = call_of(ctx);
	struct step *s = add_step(call, 0);
	call->served.op = NULL;
	s->last = true;
	put(s, result ? json_pack("{s:o}", "result", run_result_encode(result)) :
			json_pack("{s:o}", "fail", fail_encode(f)));
	go_on(call);
}

/* --- live output --------------------------------------------------------------------------------------------------- */

static void on_output(void *ctx, int stream, const char *text, size_t n)
{
	struct run_call *call = call_of(ctx);
	if (list_empty(&call->steps)) {
		served_bytes(ctx, stream, text, n);
		return;
	}
	if (!n)
		return;
	struct step *s = add_step(call, n);
	s->bytes = true;
	attach_put_bytes(&s->frames, stream == 2 ? ATTACH_ERR_BYTES : ATTACH_BYTES, s->number, text, n);
}

static size_t display_size(const struct shown_display *display)
{
	size_t n = 0;
	for (size_t i = 0; display->bundle && i < display->bundle->n; i++)
		n += display->bundle->parts[i].len;
	return n;
}

static json_t *encode_display(const struct step *s)
{
	return json_pack("{s:o}", "display", display_encode(&s->display));
}

static void on_display(void *ctx, const struct shown_display *display)
{
	struct run_call *call = call_of(ctx);
	size_t size = display_size(display);
	if (size > LOOP_BYTES && call->waiting + size > WAITING_MAX)
		return;
	struct step *s = add_step(call, size);
	if (size <= LOOP_BYTES) {
		put(s, json_pack("{s:o}", "display", display_encode(display)));
	} else {
		s->encode = encode_display;
		s->display = *display;
		s->display.id = display->id ? xstrdup(display->id) : NULL;
		mime_bundle_copy(&s->bundle, display->bundle);
		s->display.bundle = &s->bundle;
	}
	go_on(call);
}

static int start_run(struct served *s, const json_t *request, struct fail *f)
{
	AUTO(freep) struct env_var *env = NULL;
	struct run_request r;
	begin(call_of(s), json_string_value(json_object_get(request, "session")));
	if (run_request_decode(request, &r, &env, f) < 0)
		return -1;
	r.client = s->host->client;
	r.on_output = json_is_true(json_object_get(request, "live")) ? on_output : NULL;
	r.on_display = json_is_true(json_object_get(request, "displays")) ? on_display : NULL;
	r.on_done = on_ran;
	r.on_heavy = on_heavy;
	r.ctx = s;
	s->op = manager_run(s->host->conversation, &r, f);
	return s->op ? 0 : -1;
}

const struct served_type served_run = {
	.name = "run", .size = sizeof(struct run_call), .start = start_run, .release = release_run
};

/* --- the text of a run --------------------------------------------------------------------------------------------- */

static json_t *encode_text(const struct step *s)
{
	json_t *out = json_object();
	fields_put_text_n(out, "text", (const char *)s->text.data, s->text.len);
	fields_put_number(out, "size", s->text_size);
	return json_pack("{s:o}", "result", out);
}

static void on_text(void *ctx, const char *text, size_t n, uint64_t size, const struct fail *f)
{
	struct run_call *call = call_of(ctx);
	call->served.op = NULL;
	if (f) {
		served_fail(&call->served, f);
		return;
	}
	struct step *s = add_step(call, 0);
	s->last = true;
	s->encode = encode_text;
	buf_add(&s->text, text, n);
	s->text_size = size;
	go_on(call);
}

static int start_run_text(struct served *s, const json_t *request, struct fail *f)
{
	struct fields in = { .json = request };
	struct run_text_request r = { .session_id = fields_text(&in, "session"),
				      .number = (uint32_t)fields_number(&in, "number", UINT32_MAX),
				      .max = fields_number(&in, "max", TEXT_MAX),
				      .on_done = on_text,
				      .ctx = s };
	begin(call_of(s), r.session_id);
	if (fields_check(&in, f) < 0)
		return -1;
	if (!r.session_id)
		return fail_set(f, FAIL_INVALID, "a text needs a session");
	s->op = manager_run_text(s->host->conversation, &r, f);
	return s->op ? 0 : -1;
}

const struct served_type served_run_text = {
	.name = "run_text", .size = sizeof(struct run_call), .start = start_run_text, .release = release_run
};
