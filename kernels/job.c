#include "kernels/job.h"

#include <errno.h>
#include <limits.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "kernels/clock.h"
#include "kernels/frames.h"

#define DEFAULT_TIMEOUT_MS 30000
#define DEFAULT_OUTPUT_LIMIT (1u << 20)

void jobs_init(struct jobs *c, const struct limits *limits)
{
	*c = (struct jobs){ .limits = limits };
	list_init(&c->list);
}

void jobs_release(struct jobs *c)
{
	list_for_each(job, &c->list, struct job, node)
		job_free(job);
}

struct job *jobs_find(struct jobs *c, uint32_t number)
{
	list_for_each(job, &c->list, struct job, node)
		if (job->number == number)
			return job;
	return NULL;
}

struct job *jobs_next(struct jobs *c, enum job_kind kind)
{
	list_for_each(job, &c->list, struct job, node)
		if (job->kind == kind && job->state == JOB_QUEUED)
			return job;
	return NULL;
}

struct job *job_free(struct job *c)
{
	if (!c)
		return NULL;
	list_remove(&c->node);
	c->jobs->count--;
	c->jobs->display_bytes -= c->display_bytes;
	for (int i = 0; i < JOB_STREAMS; i++)
		capture_release(&c->streams[i]);
	buf_release(&c->log);
	free(c->text);
	free(c->cwd);
	strv_release(&c->env);
	free(c);
	return NULL;
}

static size_t limit_of(const json_t *payload, const char *name)
{
	const json_t *value = json_object_get(payload, name);
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return DEFAULT_OUTPUT_LIMIT;
	return (size_t)MIN(json_integer_value(value), (json_int_t)2 * OUTPUT_LIMIT_MAX);
}

static const char *take_text(struct job *c, const json_t *text)
{
	if (!json_is_string(text))
		return "The frame holds no text to run.";
	size_t n = json_string_length(text);
	if (n > CODE_BYTES_MAX)
		return "The text to run is longer than 8 MiB.";
	if (strlen(json_string_value(text)) != n)
		return "The text to run contains a NUL character.";
	c->text = xstrndup(json_string_value(text), n);
	c->text_len = n;
	return NULL;
}

static const char *take_relays(struct job *c, const json_t *relays)
{
	size_t i;
	json_t *port;
	if (json_array_size(relays) > RELAY_PORTS_MAX)
		return "The frame asks for too many relays.";
	json_array_foreach(relays, i, port) {
		json_int_t number = json_integer_value(port);
		if (number < 1024 || number > UINT16_MAX)
			return "The frame asks for a relay on a port that cannot be had.";
		c->relays[c->n_relays++] = (uint16_t)number;
	}
	return NULL;
}

static const char *take_env(struct job *c, json_t *env)
{
	size_t total = 0;
	const char *name;
	json_t *value;
	json_object_foreach(env, name, value) {
		if (!json_is_string(value) || !*name || strchr(name, '=') ||
		    strlen(json_string_value(value)) != json_string_length(value))
			return "The frame's environment is not an object of texts.";
		total += strlen(name) + 1 + json_string_length(value) + 1;
		if (total > CLAIM_ENV_MAX)
			return "The environment of the call is larger than 64 KiB.";
		strv_addf(&c->env, "%s=%s", name, json_string_value(value));
	}
	return NULL;
}

static const char *take_cwd(struct job *c, const json_t *cwd)
{
	if (!cwd)
		return NULL;
	if (!json_is_string(cwd) || !json_string_length(cwd) || json_string_length(cwd) >= PATH_MAX ||
	    strlen(json_string_value(cwd)) != json_string_length(cwd))
		return "The frame's directory is no path.";
	c->cwd = xstrdup(json_string_value(cwd));
	return NULL;
}

static const char *take_install(struct job *c, const json_t *payload)
{
	json_t *packages = json_object_get(payload, "packages");
	json_int_t size = json_integer_value(json_object_get(payload, "size_limit"));
	if (!json_is_object(packages))
		return "The frame holds no packages to install.";
	c->size_limit = size > 0 ? (uint64_t)size : 0;
	AUTO(buf_release) struct buf text = { .max = CODE_BYTES_MAX };
	if (json_append(&text, packages) < 0)
		return "The packages are too many.";
	c->text_len = text.len;
	c->text = buf_steal_str(&text);
	return take_relays(c, json_object_get(payload, "relays"));
}

/* NULL, or why the call cannot run. */
static const char *take_fields(struct job *c, const json_t *payload)
{
	const json_t *timeout = json_object_get(payload, "timeout_ms");

	capture_init(&c->streams[JOB_STDOUT], limit_of(payload, "stdout_limit"));
	capture_init(&c->streams[JOB_STDERR], limit_of(payload, "stderr_limit"));
	c->timeout_ms = DEFAULT_TIMEOUT_MS;
	if (json_is_integer(timeout) && json_integer_value(timeout) > 0)
		c->timeout_ms = (uint64_t)json_integer_value(timeout);
	const char *why = take_env(c, json_object_get(payload, "env"));
	if (!why && c->kind == JOB_TERMINAL)
		why = take_cwd(c, json_object_get(payload, "cwd"));
	if (why)
		return why;
	if (c->kind == JOB_INSTALL)
		return take_install(c, payload);
	return take_text(c, json_object_get(payload, c->kind == JOB_EXECUTE ? "code" : "command"));
}

static size_t queued_bytes(const struct jobs *jobs)
{
	size_t sum = 0;
	list_for_each(c, &jobs->list, struct job, node)
		sum += c->text ? c->text_len : 0;
	return sum;
}

int jobs_add(struct jobs *jobs, uint32_t number, enum job_kind kind, const void *payload, size_t n, struct job **ret)
{
	if (number == 0)
		return -EPROTO;
	if (number <= jobs->last_number)
		return 1;
	json_auto_t *fields = json_loadb(payload, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	if (!json_is_object(fields))
		return -EPROTO;
	jobs->last_number = number;
	if (jobs->count >= CALLS_MAX || queued_bytes(jobs) + n > QUEUE_BYTES_MAX)
		return -EBUSY;

	struct job *c = new0(struct job);
	c->jobs = jobs;
	c->number = number;
	c->kind = kind;
	list_append(&jobs->list, &c->node);
	jobs->count++;
	const char *why = take_fields(c, fields);
	if (why)
		job_end(c, &(struct job_ending){ .ending = "refused", .detail = why });
	*ret = c;
	return 0;
}

void jobs_ack(struct jobs *jobs, uint32_t number)
{
	struct job *c = jobs_find(jobs, number);
	if (!c || c->state != JOB_ENDED)
		return;
	if (c->sent < c->claimed)
		c->acked = true; /* the frame that is half sent must go out whole */
	else
		job_free(c);
}

void jobs_rewind(struct jobs *jobs)
{
	list_for_each(c, &jobs->list, struct job, node) {
		if (c->acked) {
			job_free(c);
			continue;
		}
		c->sent = c->claimed = 0;
		c->replay = true;
	}
}

/* What the logs hold and the running jobs may still add to theirs. */
static size_t output_bytes(const struct jobs *jobs)
{
	size_t sum = 0;
	list_for_each(c, &jobs->list, struct job, node) {
		sum += c->log.len - MIN(c->log.len, c->display_bytes);
		for (int i = 0; i < JOB_STREAMS && c->state == JOB_RUNNING; i++)
			sum += c->streams[i].head_max - c->streams[i].head_len + c->streams[i].tail.max;
	}
	return sum;
}

static void limit_output(struct job *c)
{
	size_t used = output_bytes(c->jobs);
	size_t left = used < JOBS_OUTPUT_BYTES_MAX ? (JOBS_OUTPUT_BYTES_MAX - used) / JOB_STREAMS : 0;
	for (int i = 0; i < JOB_STREAMS; i++)
		capture_limit(&c->streams[i], MAX(left, (size_t)JOB_OUTPUT_MIN));
}

void job_start(struct job *c)
{
	limit_output(c);
	c->state = JOB_RUNNING;
	c->started_ms = clock_now_ms();
	c->oom_kills_before = c->jobs->limits ? limits_oom_kills(c->jobs->limits) : LIMIT_UNKNOWN;
}

static void log_frame(struct job *c, uint8_t type, const void *payload, size_t n)
{
	size_t at = c->log.len;
	if (frame_append(&c->log, type, c->number, payload, n) == 0)
		c->last_frame = at;
}

/* Output comes in small pieces. As long as the last frame has not begun to go out, it takes them in. */
static bool extend_last(struct job *c, uint8_t type, const void *data, size_t n)
{
	if (!c->log.len || c->last_frame < c->claimed)
		return false;
	struct frame_header h = frame_header_read(c->log.data + c->last_frame);
	if (h.type != type || h.length + n > FRAME_PAYLOAD_MAX || buf_add(&c->log, data, n) < 0)
		return false;
	h.length += (uint32_t)n;
	frame_header_write(c->log.data + c->last_frame, &h);
	return true;
}

void job_output(struct job *c, enum job_stream stream, const void *data, size_t n)
{
	if (!n || c->state == JOB_ENDED)
		return;
	size_t head = capture_add(&c->streams[stream], data, n);
	uint8_t type = stream == JOB_STDOUT ? FRAME_OUT : FRAME_ERR;
	if (head < n)
		c->wrote_last = stream;
	if (head && !extend_last(c, type, data, head))
		log_frame(c, type, data, head);
}

void job_structured(struct job *c, enum frame_type type, const void *json, size_t n)
{
	if (type != FRAME_ERROR) {
		if (c->displays >= CALL_DISPLAYS_MAX || c->display_bytes + n > CALL_DISPLAY_BYTES_MAX ||
		    c->jobs->display_bytes + n > JOBS_DISPLAY_BYTES_MAX) {
			c->displays_dropped++;
			return;
		}
		c->displays++;
	}
	c->display_bytes += n;
	c->jobs->display_bytes += n;
	log_frame(c, type, json, n);
}

/* OOM kills in the container since the call started. */
static uint64_t job_oom_kills(const struct job *c)
{
	uint64_t now = c->jobs->limits ? limits_oom_kills(c->jobs->limits) : LIMIT_UNKNOWN;
	if (now == LIMIT_UNKNOWN || c->oom_kills_before == LIMIT_UNKNOWN || now < c->oom_kills_before)
		return 0;
	return now - c->oom_kills_before;
}

static void log_tail(struct job *c, enum job_stream stream, uint8_t type)
{
	AUTO(buf_release) struct buf tail = { 0 };
	ring_copy(&c->streams[stream].tail, SIZE_MAX, &tail);
	if (tail.len)
		log_frame(c, type, tail.data, tail.len);
}

static void set_number(json_t *o, const char *name, uint64_t value)
{
	if (value != LIMIT_UNKNOWN)
		json_object_set_new(o, name, json_integer((json_int_t)MIN(value, (uint64_t)INT64_MAX)));
}

/* Reading memory.stat makes the kernel sum up its counters: only for a call whose reader may need it. */
static void set_memory(json_t *o, const struct limits *l, bool oom)
{
	if (!l)
		return;
	set_number(o, "memory_peak", limits_memory_peak(l));
	set_number(o, "memory_limit", l->memory_limit);
	if (oom)
		set_number(o, "memory_files", limits_memory_files(l));
}

static char *full_detail(const struct job *c, const struct job_ending *e, uint64_t oom_kills)
{
	struct buf text = { 0 };
	if (e->detail)
		buf_add_str(&text, e->detail);
	if (oom_kills && !streq(e->ending, "oom"))
		buf_printf(&text, "%s%llu process%s of this session %s killed because the memory limit was reached.",
			   text.len ? " " : "", (unsigned long long)oom_kills, oom_kills == 1 ? "" : "es",
			   oom_kills == 1 ? "was" : "were");
	if (c->late_dropped)
		buf_printf(&text, "%s%llu bytes of output written since the last call were dropped.",
			   text.len ? " " : "", (unsigned long long)c->late_dropped);
	return text.len ? buf_steal_str(&text) : NULL;
}

void job_end(struct job *c, const struct job_ending *e)
{
	bool ran = c->state == JOB_RUNNING;
	uint64_t oom_kills = ran ? job_oom_kills(c) : 0;
	AUTO(freep) char *detail = full_detail(c, e, oom_kills);
	json_auto_t *end = json_pack("{s:s, s:I, s:I, s:I, s:s*, s:s*}", "ending", e->ending, "duration_ms",
				     (json_int_t)(ran ? clock_now_ms() - c->started_ms : 0), "stdout_bytes",
				     (json_int_t)c->streams[JOB_STDOUT].total, "stderr_bytes",
				     (json_int_t)c->streams[JOB_STDERR].total, "kernel", e->kernel, "detail", detail);
	if (!end) /* a detail that is no text would take the END with it */
		end = json_pack("{s:s}", "ending", e->ending);
	if (e->cause)
		json_object_set_new(end, "cause", json_string(e->cause));
	if (e->has_exit_code)
		json_object_set_new(end, "exit_code", json_integer(e->exit_code));
	if (e->signo)
		json_object_set_new(end, "signal", json_integer(e->signo));
	if (c->behind)
		json_object_set_new(end, "behind", json_integer(c->behind));
	if (c->displays_dropped)
		json_object_set_new(end, "displays_dropped", json_integer(c->displays_dropped));
	if (oom_kills)
		set_number(end, "oom_kills", oom_kills);
	if (ran)
		set_memory(end, c->jobs->limits, oom_kills > 0);

	log_tail(c, JOB_STDOUT, FRAME_OUT_TAIL);
	log_tail(c, JOB_STDERR, FRAME_ERR_TAIL);
	AUTO(buf_release) struct buf text = { 0 };
	if (json_append(&text, end) == 0)
		log_frame(c, FRAME_END, text.data, text.len);
	for (int i = 0; i < JOB_STREAMS; i++)
		capture_release(&c->streams[i]);
	free(take_ptr(c->text));
	free(take_ptr(c->cwd));
	strv_release(&c->env);
	c->state = JOB_ENDED;
}

/* The next piece begins like a new call. */
static void begin_piece(struct job *c)
{
	for (int i = 0; i < JOB_STREAMS; i++) {
		size_t limit = c->streams[i].head_max + c->streams[i].tail.max;
		capture_release(&c->streams[i]);
		capture_init(&c->streams[i], limit);
	}
	c->displays_dropped = 0;
	c->progress_bytes = 0;
}

void job_mark(struct job *c)
{
	if (c->state == JOB_ENDED)
		return;
	json_auto_t *mark = json_pack("{s:I, s:s, s:I, s:I, s:I, s:b}", "mark", (json_int_t)++c->marks, "state",
				      job_state_name(c->state), "duration_ms",
				      (json_int_t)(c->state == JOB_RUNNING ? clock_now_ms() - c->started_ms : 0),
				      "stdout_bytes", (json_int_t)c->streams[JOB_STDOUT].total, "stderr_bytes",
				      (json_int_t)c->streams[JOB_STDERR].total, "beside", c->beside);
	if (c->behind)
		json_object_set_new(mark, "behind", json_integer(c->behind));
	if (c->displays_dropped)
		json_object_set_new(mark, "displays_dropped", json_integer(c->displays_dropped));
	log_tail(c, JOB_STDOUT, FRAME_OUT_TAIL);
	log_tail(c, JOB_STDERR, FRAME_ERR_TAIL);
	AUTO(buf_release) struct buf text = { 0 };
	if (json_append(&text, mark) == 0)
		log_frame(c, FRAME_MARK, text.data, text.len);
	c->mark_end = c->log.len;
	begin_piece(c);
}

/* Bytes of displays among the first n of the log. */
static size_t display_bytes_before(const struct job *c, size_t n)
{
	size_t sum = 0;
	for (size_t at = 0; at < n; at += frame_size(c->log.data + at)) {
		struct frame_header h = frame_header_read(c->log.data + at);
		if (h.type == FRAME_DISPLAY || h.type == FRAME_RESULT || h.type == FRAME_ERROR)
			sum += h.length;
	}
	return MIN(sum, c->display_bytes);
}

void job_told(struct job *c, uint32_t mark)
{
	size_t n = c->mark_end;
	/* A frame that is half sent must go out whole; then the next mark takes this one with it. */
	if (mark != c->marks || !n || c->sent < n)
		return;
	size_t displays = display_bytes_before(c, n);
	c->display_bytes -= displays;
	c->jobs->display_bytes -= displays;
	c->displays = 0;
	buf_consume(&c->log, n);
	c->sent -= n;
	c->claimed -= n;
	c->last_frame -= MIN(c->last_frame, n);
	c->mark_end = 0;
	c->told = mark;
}

bool job_progress(struct job *c, uint64_t now_ms, json_t **ret)
{
	const struct capture *out = &c->streams[JOB_STDOUT], *err = &c->streams[JOB_STDERR];
	uint64_t total = out->total + err->total;
	if (c->state != JOB_RUNNING || total == c->progress_bytes || now_ms - c->progress_ms < PROGRESS_INTERVAL_MS ||
	    !(capture_past_head(out) || capture_past_head(err)))
		return false;

	AUTO(buf_release) struct buf raw = { 0 };
	AUTO(buf_release) struct buf clean = { 0 };
	ring_copy(&c->streams[c->wrote_last].tail, PROGRESS_TAIL_MAX, &raw);
	const char *tail = buf_str(&raw); /* never NULL, also if the limit keeps nothing */
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

const char *job_kind_name(enum job_kind kind)
{
	return kind == JOB_EXECUTE ? "execute" : kind == JOB_TERMINAL ? "terminal" : "install";
}

const char *job_state_name(enum job_state state)
{
	return state == JOB_QUEUED ? "queued" : state == JOB_RUNNING ? "running" : "ended";
}
