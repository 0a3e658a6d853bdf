#include "kernels/runs/run-private.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/utf8.h"
#include "kernels/system/clock.h"
#include "kernels/system/frames.h"

/* Maximum size of a display or result whose text is written to the file of a long run. */
#define KEEP_PARSE_MAX (4u << 20)

void runs_init(struct runs *c, const struct limits *limits)
{
	*c = (struct runs){ .limits = limits };
	list_init(&c->list);
}

void runs_release(struct runs *c)
{
	list_for_each(run, &c->list, struct run, node)
		run_free(run);
	keeps_release(&c->keeps);
}

struct run *runs_find(struct runs *c, uint32_t number)
{
	list_for_each(run, &c->list, struct run, node)
		if (run->number == number)
			return run;
	return NULL;
}

struct run *runs_next(struct runs *c, enum run_kind kind, uint32_t kernel)
{
	struct run *next = NULL;
	list_for_each(run, &c->list, struct run, node) {
		if (run->kind != kind || run->state != RUN_QUEUED || run->kernel != kernel)
			continue;
		if (run->first)
			return run;
		next = next ? next : run;
	}
	return next;
}

static void forget_updates(struct run *c)
{
	while (c->n_updates)
		free(c->updates[--c->n_updates].id);
}

struct run *run_free(struct run *c)
{
	if (!c)
		return NULL;
	list_remove(&c->node);
	c->runs->count--;
	c->runs->display_bytes -= c->display_bytes;
	tail_release(&c->tail);
	keep_close(&c->keep);
	forget_updates(c);
	buf_release(&c->log);
	run_prompt_end(c);
	free(c->text);
	free(c->cwd);
	free(c->by);
	free(c->branch);
	strv_release(&c->env);
	strv_release(&c->direct);
	free(c);
	return NULL;
}

void run_size_tail(struct run *c)
{
	c->tail.bytes.max = 0;
	for (int i = 0; i < RUN_STREAMS; i++)
		c->tail.bytes.max += c->streams[i].limit / 2;
}

void runs_ack(struct runs *runs, uint32_t number)
{
	struct run *c = runs_find(runs, number);
	if (!c || c->state != RUN_ENDED)
		return;
	if (c->sent < c->claimed)
		c->acked = true; /* a frame that is partly sent must be completed first */
	else
		run_free(c);
}

void runs_rewind(struct runs *runs)
{
	list_for_each(c, &runs->list, struct run, node) {
		if (c->acked) {
			run_free(c);
			continue;
		}
		c->sent = c->claimed = 0;
		c->replay = true;
	}
}

/* Bytes in the logs, and bytes that unfinished runs may still add. */
static size_t output_bytes(const struct runs *runs)
{
	size_t sum = 0;
	list_for_each(c, &runs->list, struct run, node) {
		sum += c->log.len - MIN(c->log.len, c->display_bytes);
		for (int i = 0; i < RUN_STREAMS && c->state == RUN_RUNNING; i++)
			sum += c->streams[i].head_max - c->streams[i].head_len;
		sum += c->state == RUN_RUNNING ? c->tail.bytes.max : 0;
	}
	return sum;
}

static void limit_output(struct run *c)
{
	size_t used = output_bytes(c->runs);
	size_t left = used < RUNS_OUTPUT_BYTES_MAX ? (RUNS_OUTPUT_BYTES_MAX - used) / RUN_STREAMS : 0;
	for (int i = 0; i < RUN_STREAMS; i++)
		capture_limit(&c->streams[i], MAX(left, (size_t)RUN_OUTPUT_MIN));
	run_size_tail(c);
}

void run_start(struct run *c)
{
	limit_output(c);
	c->state = RUN_RUNNING;
	c->started_ms = clock_now_ms();
	c->oom_kills_before = c->runs->limits ? limits_oom_kills(c->runs->limits) : LIMIT_UNKNOWN;
}

void run_log(struct run *c, uint8_t type, const void *payload, size_t n)
{
	size_t at = c->log.len;
	if (frame_append(&c->log, type, c->number, payload, n) == 0)
		c->last_frame = at;
}

/* Output comes in small pieces. They are added to the last frame until the sender has started on it. */
static bool extend_last(struct run *c, uint8_t type, const void *data, size_t n)
{
	if (c->last_frame + FRAME_HEADER_SIZE > c->log.len || c->last_frame < c->claimed)
		return false;
	struct frame_header h = frame_header_read(c->log.data + c->last_frame);
	if (h.type != type || h.length + n > FRAME_PAYLOAD_MAX || buf_add(&c->log, data, n) < 0)
		return false;
	h.length += (uint32_t)n;
	frame_header_write(c->log.data + c->last_frame, &h);
	return true;
}

/* ---- the file of a long run */

static void keep_plain(struct run *c, const json_t *message)
{
	static const char *const fields[] = { "traceback", "message" };
	const json_t *text = json_object_get(json_object_get(message, "data"), "text/plain");
	for (size_t i = 0; !text && i < ARRAY_LEN(fields); i++)
		text = json_object_get(message, fields[i]);
	if (!json_is_string(text))
		return;
	keep_write(&c->keep, json_string_value(text), json_string_length(text));
	keep_write(&c->keep, "\n", 1);
}

void run_keep_structured(struct run *c, const void *json, size_t n)
{
	json_auto_t *message = n <= KEEP_PARSE_MAX ? json_parse(json, n, 0) : NULL;
	keep_plain(c, message);
}

/* Writes the text that came before the run turned out to be long. It is still in the log. */
static void keep_log(struct run *c)
{
	for (size_t at = 0; at < c->log.len; at += frame_size(c->log.data + at)) {
		struct frame_header h = frame_header_read(c->log.data + at);
		const uint8_t *payload = c->log.data + at + FRAME_HEADER_SIZE;
		if (h.type == FRAME_OUT || h.type == FRAME_ERR)
			keep_write(&c->keep, payload, h.length);
		else
			run_keep_structured(c, payload, h.length);
	}
}

/* Counts text that is about to be logged. True if it must be written to the file. */
bool run_keeps_on(struct run *c, size_t n)
{
	c->text_bytes += n;
	if (c->keep.fd >= 0)
		return true;
	if (!c->keep_over || c->text_bytes <= c->keep_over)
		return false;
	if (!c->keep.cut && keep_open(&c->keep, &c->runs->keeps, c->number))
		keep_log(c);
	return c->keep.fd >= 0;
}

/* Bytes of displays among the first n of the log. */
static size_t display_bytes_before(const struct run *c, size_t n)
{
	size_t sum = 0;
	for (size_t at = 0; at < n; at += frame_size(c->log.data + at)) {
		struct frame_header h = frame_header_read(c->log.data + at);
		if (h.type == FRAME_DISPLAY || h.type == FRAME_RESULT || h.type == FRAME_ERROR)
			sum += h.length;
	}
	return MIN(sum, c->display_bytes);
}

/* ---- output */

static const char clear_message[] = "{\"data\":{},\"clear\":true}";

/* A frame that is partly sent is completed, and frames before a reported mark stay. The rest of the log is
 * obsolete. */
void run_clear_now(struct run *c)
{
	size_t keep = MAX(c->mark_end, c->sent < c->claimed ? c->claimed : 0);
	size_t displays = display_bytes_before(c, keep);
	c->clears = false;
	c->log.len = keep;
	c->sent = MIN(c->sent, keep);
	c->claimed = MIN(c->claimed, keep);
	c->last_frame = keep;
	c->runs->display_bytes -= c->display_bytes - displays;
	c->display_bytes = displays;
	c->displays = 0;
	forget_updates(c);
	for (int i = 0; i < RUN_STREAMS; i++)
		capture_clear(&c->streams[i]);
	tail_release(&c->tail);
	c->progress_bytes = 0;
	run_log(c, FRAME_DISPLAY, clear_message, strlen(clear_message));
}

void run_clear(struct run *c, bool wait)
{
	if (c->state == RUN_ENDED)
		return;
	if (wait)
		c->clears = true;
	else
		run_clear_now(c);
}

void run_output(struct run *c, enum run_stream stream, const void *data, size_t n)
{
	if (!n || c->state == RUN_ENDED)
		return;
	if (c->clears)
		run_clear_now(c);
	if (run_keeps_on(c, n))
		keep_write(&c->keep, data, n);
	size_t head = capture_add(&c->streams[stream], n);
	uint8_t type = stream == RUN_STDOUT ? FRAME_OUT : FRAME_ERR;
	if (head && !(tail_at_place(&c->tail) && extend_last(c, type, data, head))) {
		run_log(c, type, data, head);
		tail_place(&c->tail);
	}
	tail_add(&c->tail, (uint8_t)stream, (const uint8_t *)data + head, n - head);
}

/* OOM kills in the container since the run started. */
static uint64_t run_oom_kills(const struct run *c)
{
	uint64_t now = c->runs->limits ? limits_oom_kills(c->runs->limits) : LIMIT_UNKNOWN;
	if (now == LIMIT_UNKNOWN || c->oom_kills_before == LIMIT_UNKNOWN || now < c->oom_kills_before)
		return 0;
	return now - c->oom_kills_before;
}

struct tail_log {
	struct run *run;
	size_t skip[RUN_STREAMS]; /* bytes of a stream in the ring beyond the stream's limit */
};

/* Writes a piece of the tail to the log. A frame without content marks the place of something that was sent before. */
static void log_run(void *ctx, uint8_t tag, const void *data, size_t n)
{
	struct tail_log *log = ctx;
	if (tag == TAIL_PLACE) {
		run_log(log->run, FRAME_OUT_TAIL, NULL, 0);
		return;
	}
	size_t skip = MIN(log->skip[tag], n);
	log->skip[tag] -= skip;
	if (n > skip)
		run_log(log->run, tag == RUN_STDOUT ? FRAME_OUT_TAIL : FRAME_ERR_TAIL, (const uint8_t *)data + skip,
			n - skip);
}

static void log_tail(struct run *c)
{
	struct tail_log log = { .run = c };
	for (int i = 0; i < RUN_STREAMS; i++) {
		size_t n = tail_bytes(&c->tail, (uint8_t)i), own = c->streams[i].limit / 2;
		log.skip[i] = n > own ? n - own : 0;
	}
	tail_each(&c->tail, log_run, &log);
}

static void put_number(struct buf *to, const char *name, uint64_t value)
{
	if (value != LIMIT_UNKNOWN)
		json_put_int(to, name, (int64_t)MIN(value, (uint64_t)INT64_MAX));
}

/* A text that is not valid would lose the whole END. */
static void put_text(struct buf *to, const char *name, const char *text)
{
	if (text && utf8_valid(text, strlen(text)))
		json_put_text(to, name, text, strlen(text));
}

/* Reading memory.stat makes the kernel sum up its counters, so it is read only after an OOM kill. */
static void put_memory(struct buf *to, const struct limits *l, bool oom)
{
	if (!l)
		return;
	put_number(to, "memory_peak", limits_memory_peak(l));
	put_number(to, "memory_limit", l->memory_limit);
	if (oom)
		put_number(to, "memory_files", limits_memory_files(l));
}

static char *full_detail(const struct run *c, const struct run_ending *e, uint64_t oom_kills)
{
	struct buf text = { 0 };
	if (e->detail)
		buf_add_str(&text, e->detail);
	if (oom_kills && !streq(e->ending, "oom"))
		buf_printf(&text, "%s%llu process%s of this session %s killed because the memory limit was reached.",
			   text.len ? " " : "", (unsigned long long)oom_kills, oom_kills == 1 ? "" : "es",
			   oom_kills == 1 ? "was" : "were");
	if (c->late_dropped)
		buf_printf(&text, "%s%llu bytes of output written since the last run were dropped.",
			   text.len ? " " : "", (unsigned long long)c->late_dropped);
	return text.len ? buf_steal_str(&text) : NULL;
}

static void put_end(struct buf *to, struct run *c, const struct run_ending *e)
{
	bool ran = c->state == RUN_RUNNING;
	uint64_t oom_kills = ran ? run_oom_kills(c) : 0;
	AUTO(freep) char *detail = full_detail(c, e, oom_kills);
	buf_add_str(to, "{");
	put_text(to, "ending", e->ending);
	put_number(to, "duration_ms", ran ? clock_now_ms() - c->started_ms : 0);
	put_number(to, "stdout_bytes", c->streams[RUN_STDOUT].total);
	put_number(to, "stderr_bytes", c->streams[RUN_STDERR].total);
	put_text(to, "kernel", e->kernel);
	put_text(to, "detail", detail);
	put_text(to, "cause", e->cause);
	if (e->lost)
		json_put(to, "lost", e->lost);
	if (e->restored)
		json_put(to, "restored", e->restored);
	if (e->has_exit_code)
		json_put_int(to, "exit_code", e->exit_code);
	if (e->signo)
		json_put_int(to, "signal", e->signo);
	if (c->behind)
		put_number(to, "behind", c->behind);
	if (c->displays_dropped)
		put_number(to, "displays_dropped", c->displays_dropped);
	if (oom_kills)
		put_number(to, "oom_kills", oom_kills);
	if (ran)
		put_memory(to, c->runs->limits, oom_kills > 0);
	if (keep_is_there(&c->keep))
		buf_printf(to, ",\"kept\":{\"bytes\":%llu,\"whole\":%s}", (unsigned long long)c->keep.bytes,
			   c->keep.cut ? "false" : "true");
	buf_add_str(to, "}");
}

void run_end(struct run *c, const struct run_ending *e)
{
	AUTO(buf_release) struct buf end = { 0 };
	if (c->runs->on_ending)
		c->runs->on_ending(c->runs);
	put_end(&end, c, e);
	log_tail(c);
	run_log(c, FRAME_END, end.data, end.len);
	tail_release(&c->tail);
	keep_close(&c->keep);
	forget_updates(c);
	run_prompt_end(c);
	free(take_ptr(c->text));
	free(take_ptr(c->cwd));
	strv_release(&c->env);
	c->state = RUN_ENDED;
}

/* Resets the output state, so that the next piece begins like a new run. */
static void begin_piece(struct run *c)
{
	for (int i = 0; i < RUN_STREAMS; i++)
		capture_clear(&c->streams[i]);
	tail_release(&c->tail);
	forget_updates(c);
	c->displays_dropped = 0;
	c->progress_bytes = 0;
}

void run_mark(struct run *c)
{
	if (c->state == RUN_ENDED)
		return;
	json_auto_t *mark = json_pack("{s:I, s:I, s:I, s:I, s:b}", "mark", (json_int_t)++c->marks, "duration_ms",
				      (json_int_t)(c->state == RUN_RUNNING ? clock_now_ms() - c->started_ms : 0),
				      "stdout_bytes", (json_int_t)c->streams[RUN_STDOUT].total, "stderr_bytes",
				      (json_int_t)c->streams[RUN_STDERR].total, "beside", c->beside);
	run_add_state(c, mark);
	if (c->behind)
		json_object_set_new(mark, "behind", json_integer(c->behind));
	if (c->displays_dropped)
		json_object_set_new(mark, "displays_dropped", json_integer(c->displays_dropped));
	log_tail(c);
	AUTO(buf_release) struct buf text = { 0 };
	json_print(&text, mark);
	run_log(c, FRAME_MARK, text.data, text.len);
	c->mark_end = c->log.len;
	begin_piece(c);
}

void run_ack_mark(struct run *c, uint32_t mark)
{
	size_t n = c->mark_end;
	/* A frame that is partly sent must be completed; then the next mark removes this one too. */
	if (mark != c->marks || !n || c->sent < n)
		return;
	/* The file of a long run must be complete, and the log is about to be dropped. */
	if (c->keep_over && c->keep.fd < 0 && !c->keep.cut && keep_open(&c->keep, &c->runs->keeps, c->number))
		keep_log(c);
	size_t displays = display_bytes_before(c, n);
	c->display_bytes -= displays;
	c->runs->display_bytes -= displays;
	c->displays = 0;
	buf_consume(&c->log, n);
	c->sent -= n;
	c->claimed -= n;
	c->last_frame -= MIN(c->last_frame, n);
	for (size_t i = 0; i < c->n_updates; i++)
		c->updates[i].at -= MIN(c->updates[i].at, n);
	c->mark_end = 0;
	c->told = mark;
}

bool run_progress(struct run *c, uint64_t now_ms, json_t **ret)
{
	const struct capture *out = &c->streams[RUN_STDOUT], *err = &c->streams[RUN_STDERR];
	uint64_t total = out->total + err->total;
	if (c->state != RUN_RUNNING || total == c->progress_bytes || now_ms - c->progress_ms < PROGRESS_INTERVAL_MS ||
	    !(capture_past_head(out) || capture_past_head(err)))
		return false;

	AUTO(buf_release) struct buf raw = { 0 };
	AUTO(buf_release) struct buf clean = { 0 };
	ring_copy(&c->tail.bytes, PROGRESS_TAIL_MAX, &raw);
	const char *tail = buf_str(&raw); /* never NULL, even if the limit keeps nothing */
	size_t skip = utf8_partial_start(tail, raw.len);
	size_t left = raw.len - skip;
	utf8_clean(&clean, tail + skip, left - utf8_partial_end(tail + skip, left));
	json_t *payload = json_pack("{s:I, s:I, s:s%}", "stdout_bytes", (json_int_t)out->total, "stderr_bytes",
				    (json_int_t)err->total, "tail", buf_str(&clean), clean.len);
	if (!payload)
		return false;
	c->progress_ms = now_ms;
	c->progress_bytes = total;
	*ret = payload;
	return true;
}

const char *run_kind_name(enum run_kind kind)
{
	return kind == RUN_EXECUTE ? "execute" : kind == RUN_TERMINAL ? "terminal" : "install";
}

/* ---- prompts */

static const char *state_name(const struct run *c)
{
	if (c->prompt.open)
		return "waiting";
	return c->state == RUN_QUEUED ? "queued" : c->state == RUN_RUNNING ? "running" : "ended";
}

void run_add_state(const struct run *c, json_t *to)
{
	const struct run_prompt *q = &c->prompt;
	json_object_set_new(to, "state", json_string(state_name(c)));
	if (!c->interactive)
		return;
	json_object_set_new(to, "interactive", json_true());
	json_object_set_new(to, "inputs", json_integer(q->taken));
	if (c->kind == RUN_TERMINAL) {
		json_object_set_new(to, "rows", json_integer(c->rows));
		json_object_set_new(to, "cols", json_integer(c->cols));
	}
	if (q->open && q->password)
		json_object_set_new(to, "password", json_true());
	(void)json_object_set_new(to, "prompt", json_string(q->prompt)); /* NULL sets nothing */
}

void run_prompt_start(struct run *c, const char *prompt, size_t n, bool password, json_int_t id)
{
	run_prompt_end(c);
	if (prompt) {
		size_t kept = utf8_tail(prompt, n, PROMPT_CHARS_MAX);
		c->prompt.prompt = xstrndup(prompt + n - kept, kept);
	}
	c->prompt.open = true;
	c->prompt.password = password;
	c->prompt.id = id;
	c->prompt_due = true;
}

void run_prompt_end(struct run *c)
{
	free(take_ptr(c->prompt.prompt));
	c->prompt = (struct run_prompt){ .taken = c->prompt.taken };
	c->prompt_due = false;
}
