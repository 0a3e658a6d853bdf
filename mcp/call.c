#include "mcp/call.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/deadline.h"
#include "base/json.h"
#include "base/utf8.h"
#include "base/work.h"
#include "manager/manager.h"
#include "mcp/rpc.h"

/* Minimum time between two progress messages of a request. */
#define PROGRESS_GAP_MS 500
/* Output is sent as progress this long after it arrives, so a quick request sends only its answer. */
#define PROGRESS_DELAY_MS 150
/* Maximum time between two progress messages, because clients give up on requests that are silent for long. */
#define PROGRESS_ALIVE_MS 5000
#define TAIL_BYTES 2048
#define SHOWN_CHARS 300
#define SHOWN_LINES 3

struct call *call_new(const struct call_ops *ops, void *ctx, json_t *id, const struct revision *revision)
{
	struct call *c = new0(struct call);
	c->ops = ops;
	c->ctx = ctx;
	c->id = json_incref(id);
	c->key = rpc_id_key(id);
	c->revision = revision;
	c->started_ms = c->last_ms = loop_now_ms();
	list_init(&c->link);
	return c;
}

/* --- answers that take long -------------------------------------------------------------------------------------- */

/* CPU limit of one worker job. When it is reached, texts are cut and have a note about that. */
#define LATER_CPU_MS 1000

struct later {
	struct call *call; /* do not touch after work_forget() */
	struct call_work work;
	struct work *running;
	const struct revision *revision;
	struct buf result; /* as JSON text */
	bool tool_error;
};

static void add_modern_fields(const struct revision *revision, json_t *result);
static void answer(struct call *c, const struct buf *text);

static bool is_tool_error(const json_t *result)
{
	return json_is_true(json_object_get(result, "isError"));
}

static void make_answer(void *ctx)
{
	struct later *l = ctx;
	deadline_set(LATER_CPU_MS);
	json_auto_t *result = l->work.make(l->work.ctx);
	l->tool_error = is_tool_error(result);
	if (l->revision->modern)
		add_modern_fields(l->revision, result);
	json_print(&l->result, result);
	deadline_set(0);
}

static void on_made(void *ctx, bool forgotten)
{
	struct later *l = ctx;
	AUTO(buf_release) struct buf result = l->result, text = { 0 };
	struct call *c = l->call;
	bool tool_error = l->tool_error;
	if (!forgotten && l->work.made)
		l->work.made(c, l->work.ctx);
	l->work.release(l->work.ctx);
	free(l);
	if (forgotten)
		return;
	c->later = NULL;
	c->tool_error = tool_error;
	rpc_print_result(&text, c->id, &result);
	answer(c, &text);
}

void call_reply_later(struct call *c, struct loop *loop, const struct call_work *work)
{
	struct later *l = new0(struct later);
	l->call = c;
	l->work = *work;
	l->revision = c->revision;
	c->later = l;
	l->running = work_start(loop, &(struct work_spec){ .fn = make_answer,
							   .on_done = on_made,
							   .ctx = l,
							   .bulk = work->bulk,
							   .render = !work->bulk,
							   .session = work->session });
}

/* --- lifetime ---------------------------------------------------------------------------------------------------- */

static void call_free(struct call *c)
{
	if (c->later)
		work_forget(c->later->running);
	/* This may send messages that belong to the request. */
	if (c->data_free)
		c->data_free(c->data);
	c->ops->closed(c->ctx, c);
	list_remove(&c->link);
	timer_free(c->timer);
	buf_release(&c->tail);
	json_decref(c->id);
	json_decref(c->capabilities);
	json_decref(c->token);
	json_decref(c->args);
	json_decref(c->task_ids);
	fail_release(&c->failure);
	free(c->decoded);
	free(c->key);
	free(c);
}

/* It is in each answer of the newest revision, so it is made once for revisions with titles, and once for others. */
json_t *call_server_info(const struct revision *revision)
{
	static json_t *infos[2];
	json_t **info = &infos[revision->titles];
	if (*info)
		return json_incref(*info);
	*info = json_pack("{s:s, s:s}", "name", "husk", "version", HUSK_VERSION);
	if (revision->titles)
		json_object_set_new(*info, "title", json_string("Husk"));
	return json_incref(*info);
}

static void add_modern_fields(const struct revision *revision, json_t *result)
{
	json_t *meta = json_object_get(result, "_meta");
	if (!meta) {
		meta = json_object();
		json_object_set_new_nocheck(result, "_meta", meta);
	}
	json_object_set_new_nocheck(meta, META_SERVER_INFO, call_server_info(revision));
	if (!json_object_get(result, "resultType"))
		json_object_set_new_nocheck(result, "resultType", json_string("complete"));
}

void call_set_cache_hints(const struct revision *revision, json_t *result, json_int_t ttl_ms, const char *scope)
{
	if (!revision->modern)
		return;
	json_object_set_new(result, "ttlMs", json_integer(ttl_ms));
	json_object_set_new(result, "cacheScope", json_string(scope));
}

static void answer(struct call *c, const struct buf *text)
{
	assert(!c->replied);
	c->replied = true;
	if (c->timer)
		timer_stop(c->timer);
	c->ops->reply(c->ctx, c, text);
	call_free(c);
}

/* Takes the message. */
static void answer_json(struct call *c, json_t *message)
{
	AUTO(buf_release) struct buf text = { 0 };
	json_print(&text, message);
	json_decref(message);
	answer(c, &text);
}

void call_reply(struct call *c, json_t *result)
{
	call_reply_with(c, result, NULL, NULL);
}

void call_reply_with(struct call *c, json_t *result, const char *name, const char *json)
{
	AUTO(buf_release) struct buf text = { 0 };
	c->tool_error = is_tool_error(result);
	if (c->revision->modern)
		add_modern_fields(c->revision, result);
	rpc_print_result_with(&text, c->id, result, name, json);
	json_decref(result);
	answer(c, &text);
}

void call_reply_error(struct call *c, int code, const char *message, json_t *data)
{
	c->error_code = code;
	answer_json(c, rpc_error(c->id, code, message, data));
}

void call_cancel(struct call *c)
{
	if (c->op)
		op_cancel(take_ptr(c->op));
	call_free(c);
}

/* Returns the last line before *end and moves *end before it. A \r starts the line over, as in progress bars. */
static size_t last_line(const char *text, size_t *end, size_t *ret_n)
{
	size_t stop = *end, start = stop;
	while (start > 0 && text[start - 1] != '\n')
		start--;
	*end = start > 0 ? start - 1 : 0;
	while (stop > start && (text[stop - 1] == '\r' || text[stop - 1] == ' ' || text[stop - 1] == '\t'))
		stop--;
	for (size_t i = stop; i > start; i--) {
		if (text[i - 1] == '\r') {
			start = i;
			break;
		}
	}
	*ret_n = stop - start;
	return start;
}

char *call_progress_text(const char *text, size_t n)
{
	struct {
		size_t at, n;
	} lines[SHOWN_LINES];
	int count = 0;
	struct buf out = { 0 };
	for (size_t end = n; end > 0 && count < SHOWN_LINES;) {
		lines[count].at = last_line(text, &end, &lines[count].n);
		if (lines[count].n > 0)
			count++;
	}
	while (count-- > 0) {
		buf_add(&out, text + lines[count].at, lines[count].n);
		if (count > 0)
			buf_add_str(&out, "\n");
	}
	size_t keep = utf8_tail((const char *)out.data, out.len, SHOWN_CHARS);
	buf_consume(&out, out.len - keep);
	return buf_steal_str(&out);
}

static char *progress_message(struct call *c)
{
	AUTO(freep) char *text = c->output_pending ? call_progress_text((const char *)c->tail.data, c->tail.len) : NULL;
	if (text && *text)
		return take_ptr(text);
	return xasprintf("running, %llu s", (unsigned long long)(loop_now_ms() - c->started_ms) / 1000);
}

static void arm(struct call *c)
{
	uint64_t now = loop_now_ms();
	uint64_t due = c->last_ms + PROGRESS_ALIVE_MS;
	if (c->output_pending)
		due = MIN(due, MAX(c->last_ms + PROGRESS_GAP_MS, now + PROGRESS_DELAY_MS));
	timer_start(c->timer, due > now ? due - now : 0, 0);
}

static void on_timer(void *ctx)
{
	struct call *c = ctx;
	json_t *params = json_pack("{s:O, s:I}", "progressToken", c->token, "progress", (json_int_t)++c->progress);
	if (c->revision->progress_message) {
		AUTO(freep) char *message = progress_message(c);
		json_object_set_new(params, "message", json_string(message));
	}
	c->output_pending = false;
	c->last_ms = loop_now_ms();
	c->ops->progress(c->ctx, c, rpc_notification("notifications/progress", params));
	arm(c);
}

void call_set_progress(struct call *c, struct loop *loop, json_t *token)
{
	c->token = json_incref(token);
	c->timer = timer_new(loop, on_timer, c);
	arm(c);
}

void call_output(struct call *c, const char *text, size_t n)
{
	if (!c->timer || n == 0)
		return;
	if (n > TAIL_BYTES) {
		size_t cut = n - TAIL_BYTES;
		text += cut;
		n -= cut;
		size_t rest = utf8_partial_start(text, n);
		text += rest;
		n -= rest;
		buf_reset(&c->tail);
	}
	buf_add(&c->tail, text, n);
	if (c->tail.len > TAIL_BYTES) {
		buf_consume(&c->tail, c->tail.len - TAIL_BYTES);
		buf_consume(&c->tail, utf8_partial_start(c->tail.data, c->tail.len));
	}
	if (!c->output_pending) {
		c->output_pending = true;
		arm(c);
	}
}
