/* Runs: the manager's own, but for whom they are. */
#include "attach/codec.h"
#include "attach/fields.h"
#include "attach/served-private.h"
#include "base/alloc.h"
#include "base/json.h"
#include "base/work.h"

/* What one answer may hold of a text. */
#define TEXT_MAX (16u << 20)

/* A run, and the worker that encodes its result if that is large. */
struct run_call {
	struct served served;
	struct encoding *encoding; /* NULL = none is under way */
};

struct encoding {
	struct run_call *call; /* not to be touched once it was forgotten */
	struct work *work;
	struct run_result result;
	uint32_t number;
	struct buf frames;
};

static void encode(void *ctx)
{
	struct encoding *e = ctx;
	json_auto_t *answer = json_pack("{s:o}", "result", run_result_encode(&e->result));
	if (attach_put(&e->frames, ATTACH_SERVER, ATTACH_ANSWER, e->number, answer) < 0)
		buf_reset(&e->frames);
}

static void on_encoded(void *ctx, bool forgotten)
{
	struct encoding *e = ctx;
	if (!forgotten) {
		e->call->encoding = NULL;
		served_answer_frames(&e->call->served, &e->frames);
	}
	run_result_release(&e->result);
	buf_release(&e->frames);
	free(e);
}

static void on_heavy(void *ctx, struct run_result *result)
{
	struct run_call *call = container_of((struct served *)ctx, struct run_call, served);
	struct encoding *e = new0(struct encoding);
	call->served.op = NULL;
	call->encoding = e;
	e->call = call;
	e->number = call->served.number;
	e->result = *result;
	*result = (struct run_result){ 0 };
	e->work = work_start(call->served.host->loop,
			     &(struct work_spec){ .fn = encode, .on_done = on_encoded, .ctx = e, .render = true });
}

static void release_run(struct served *s)
{
	struct run_call *call = container_of(s, struct run_call, served);
	if (call->encoding)
		work_forget(call->encoding->work);
}

static void on_output(void *ctx, int stream, const char *text, size_t n)
{
	served_bytes(ctx, stream, text, n);
}

static void on_display(void *ctx, const struct shown_display *display)
{
	served_note(ctx, json_pack("{s:o}", "display", display_encode(display)));
}

static void on_ran(void *ctx, const struct run_result *result, const struct fail *f)
{
	struct served *s = ctx;
	s->op = NULL;
	if (result)
		served_answer(s, run_result_encode(result));
	else
		served_fail(s, f);
}

static int start_run(struct served *s, const json_t *request, struct fail *f)
{
	AUTO(freep) struct env_var *env = NULL;
	struct run_request r;
	if (run_request_decode(request, &r, &env, f) < 0)
		return -1;
	r.guest = s->host->guest;
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

static void on_text(void *ctx, const char *text, size_t n, uint64_t size, const struct fail *f)
{
	struct served *s = ctx;
	s->op = NULL;
	if (f) {
		served_fail(s, f);
		return;
	}
	json_t *out = json_object();
	fields_put_text_n(out, "text", text, n);
	fields_put_number(out, "size", size);
	served_answer(s, out);
}

static int start_run_text(struct served *s, const json_t *request, struct fail *f)
{
	struct fields in = { .json = request };
	struct run_text_request r = { .session_id = fields_text(&in, "session"),
				      .number = (uint32_t)fields_number(&in, "number", UINT32_MAX),
				      .max = fields_number(&in, "max", TEXT_MAX),
				      .on_done = on_text,
				      .ctx = s };
	if (fields_check(&in, f) < 0)
		return -1;
	if (!r.session_id)
		return fail_set(f, FAIL_INVALID, "a text needs a session");
	s->op = manager_run_text(s->host->conversation, &r, f);
	return s->op ? 0 : -1;
}

const struct served_type served_run_text = { .name = "run_text",
					     .size = sizeof(struct served),
					     .start = start_run_text };
