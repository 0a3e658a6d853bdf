#include "manager/line/wire.h"
#include "kernels/checkpoint-name.h"

#include <errno.h>
#include <jansson.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/utf8.h"
#include "kernels/item.h"
#include "manager/line/wire-private.h"

#define DETAIL_MAX 1000
/* Longer times in PID 1's frames are cut to this. */
#define SECONDS_MAX (366 * 86400)

void wire_release(struct wire *w)
{
	frame_reader_release(&w->reader);
}

void wire_feed(struct wire *w, const void *data, size_t n)
{
	frame_reader_feed(&w->reader, data, n);
}

static int64_t payload_max(uint8_t type)
{
	switch (type) {
	case FRAME_HELLO:
	case FRAME_EVENT:
	case FRAME_CALL:
	case FRAME_PROGRESS:
	case FRAME_END:
	case FRAME_MARK:
	case FRAME_PROMPT:
	case FRAME_INFO:
		return 65536;
	case FRAME_ANSWER:
		return ANSWER_BYTES_MAX;
	case FRAME_PONG:
		return PING_PAYLOAD_MAX;
	case FRAME_OUT:
	case FRAME_ERR:
	case FRAME_OUT_TAIL:
	case FRAME_ERR_TAIL:
		return OUTPUT_LIMIT_MAX;
	case FRAME_DISPLAY:
	case FRAME_RESULT:
	case FRAME_ERROR:
		return FRAME_PAYLOAD_MAX;
	case FRAME_ENTRY:
		return ENTRY_FIXED + 2 * ENTRY_PATH_MAX;
	case FRAME_ITEM:
		return ITEM_BYTES_MAX;
	case FRAME_DATA:
		return 8 + FILE_DATA_MAX;
	case FRAME_CONSOLE_DATA:
	case FRAME_CONSOLE_ERR:
		return CONSOLE_DATA_MAX;
	case FRAME_MAP:
		return 16 * FILE_MAP_PIECES_A_FRAME;
	case FRAME_STREAM_OPEN:
		return STREAM_OPEN_MAX;
	case FRAME_STREAM_REFUSE:
		return 4096;
	case FRAME_GATE_DENIED:
		return 65536;
	case FRAME_STREAM_DATA:
		return STREAM_DATA_MAX;
	case FRAME_CREDIT:
	case FRAME_STREAM_CREDIT:
		return 4;
	case FRAME_FILE:
	case FRAME_STREAM_ACCEPT:
	case FRAME_STREAM_END:
		return 0;
	default:
		return -1; /* PID 1 must not send it */
	}
}

int wire_next(struct wire *w, struct wire_frame *ret)
{
	struct frame f;
	int r = frame_reader_next(&w->reader, payload_max, &f);
	if (r < 0)
		return -EPROTO;
	if (r > 0)
		*ret = (struct wire_frame){ f.header.type, f.header.call, f.payload, f.header.length };
	return r;
}

void wire_detach(struct wire *w, struct buf *ret)
{
	struct frame_reader *r = &w->reader;
	*ret = r->buf;
	r->buf = (struct buf){ .max = ret->max };
	buf_add(&r->buf, ret->data + r->used, ret->len - r->used);
	r->used = 0;
}

void wire_put(struct buf *out, enum frame_type type, uint32_t call, const void *payload, size_t n)
{
	(void)frame_append(out, (uint8_t)type, call, payload, n);
}

int wire_put_json(struct buf *out, enum frame_type type, uint32_t call, json_t *payload)
{
	AUTO(freep) char *text = payload ? json_dumps(payload, JSON_COMPACT) : NULL;
	if (!text || strlen(text) > FRAME_PAYLOAD_MAX)
		return -1;
	wire_put(out, type, call, text, strlen(text));
	return 0;
}

void wire_put_hello(struct buf *out, uint64_t epoch)
{
	json_auto_t *hello = json_pack("{s:i, s:i, s:I}", "version", PROTOCOL_VERSION, "min_version",
				       PROTOCOL_VERSION_MIN, "fence", (json_int_t)epoch);
	(void)wire_put_json(out, FRAME_HELLO, 0, hello);
}

static json_t *env_json(const struct strv *env)
{
	json_t *object = json_object();
	for (size_t i = 0; env && i < env->n; i++) {
		const char *variable = env->v[i], *equals = strchr(variable, '=');
		AUTO(freep) char *name = xstrndup(variable, (size_t)(equals - variable));
		json_object_set_new(object, name, json_string(equals + 1));
	}
	return object;
}

static void put_count(struct buf *out, const char *name, uint64_t value)
{
	json_put_int(out, name, (int64_t)MIN(value, (uint64_t)INT64_MAX));
}

/* Text that is not valid UTF-8 is left out. */
static void put_text(struct buf *out, const char *name, const char *text)
{
	if (text && utf8_valid(text, strlen(text)))
		json_put_text(out, name, text, strlen(text));
}

static void put_flag(struct buf *out, const char *name, bool flag)
{
	if (flag)
		json_put(out, name, json_true());
}

int wire_put_run(struct buf *out, uint32_t call, const struct wire_run *run)
{
	AUTO(buf_release) struct buf text = { 0 };
	if (!utf8_valid(run->text, run->len))
		return -1;
	buf_add(&text, "{", 1);
	json_put_text(&text, run->terminal ? "command" : "code", run->text, run->len);
	put_count(&text, "timeout_ms", run->timeout_ms);
	put_count(&text, "stdout_limit", run->stdout_limit);
	put_count(&text, "stderr_limit", run->stderr_limit);
	if (run->keep_over)
		put_count(&text, "keep_over", run->keep_over);
	if (run->env && run->env->n) {
		json_auto_t *env = env_json(run->env);
		json_put(&text, "env", env);
	}
	if (run->rows)
		json_put_int(&text, "rows", run->rows);
	if (run->cols)
		json_put_int(&text, "cols", run->cols);
	put_text(&text, "cwd", run->cwd);
	put_text(&text, "by", run->by);
	put_text(&text, "branch", run->branch);
	put_flag(&text, "restart", run->restart);
	put_flag(&text, "interactive", run->interactive);
	put_flag(&text, "detached", run->detached);
	buf_add(&text, "}", 1);
	if (text.len > FRAME_PAYLOAD_MAX)
		return -1;
	wire_put(out, run->terminal ? FRAME_TERMINAL : FRAME_EXECUTE, call, text.data, text.len);
	return 0;
}

int wire_put_console(struct buf *out, uint32_t call, const struct wire_console *console)
{
	json_auto_t *payload = json_pack("{s:i, s:i}", "rows", console->rows, "cols", console->cols);
	json_t *words = json_array();
	for (size_t i = 0; i < console->command->n; i++)
		if (json_array_append_new(words, json_string(console->command->v[i])) < 0)
			return json_decref(words), -1;
	if (console->command->n)
		json_object_set(payload, "command", words);
	json_decref(words);
	if (console->term)
		json_object_set_new(payload, "term", json_string(console->term));
	if (console->pipes)
		json_object_set_new(payload, "pipes", json_true());
	if (console->cwd && json_object_set_new(payload, "cwd", json_string(console->cwd)) < 0)
		return -1;
	if (console->env && console->env->n && json_object_set_new(payload, "env", env_json(console->env)) < 0)
		return -1;
	AUTO(buf_release) struct buf frame = { 0 };
	if (wire_put_json(&frame, FRAME_CONSOLE, call, payload) < 0 || frame.len > CONSOLE_WANTED_MAX)
		return -1;
	return buf_add(out, frame.data, frame.len);
}

void wire_put_console_size(struct buf *out, uint32_t call, int rows, int cols)
{
	json_auto_t *payload = json_pack("{s:i, s:i}", "rows", rows, "cols", cols);
	(void)wire_put_json(out, FRAME_CONSOLE_SIZE, call, payload);
}

void wire_put_credit(struct buf *out, uint32_t call, uint32_t n)
{
	uint8_t payload[4];
	entry_put_number(payload, 4, n);
	wire_put(out, FRAME_CREDIT, call, payload, sizeof(payload));
}

void wire_put_claim(struct buf *out, const struct wire_claim *claim)
{
	json_auto_t *payload = json_pack("{s:s, s:I, s:I, s:o}", "session", claim->session, "lease_seconds",
					 (json_int_t)claim->lease_seconds, "lifetime_seconds",
					 (json_int_t)claim->lifetime_seconds, "env", env_json(claim->env));
	if (claim->cwd)
		json_object_set_new(payload, "cwd", json_string(claim->cwd));
	if (claim->authority)
		json_object_set_new(payload, "authority", json_string(claim->authority));
	(void)wire_put_json(out, FRAME_CLAIM, 0, payload);
}

void wire_put_install(struct buf *out, uint32_t call, const struct wire_install *install)
{
	json_t *direct = json_array();
	json_auto_t *payload =
		json_pack("{s:o, s:o, s:o, s:I, s:I, s:I, s:I}", "direct", direct, "packages",
			  json_loads(install->packages, 0, NULL), "env", env_json(install->env), "timeout_ms",
			  (json_int_t)install->timeout_ms, "stdout_limit", (json_int_t)2 * OUTPUT_LIMIT_MAX,
			  "stderr_limit", (json_int_t)2 * OUTPUT_LIMIT_MAX, "size_limit",
			  (json_int_t)install->size_limit);
	for (size_t i = 0; install->direct && i < install->direct->n; i++)
		json_array_append_new(direct, json_string(install->direct->v[i]));
	(void)wire_put_json(out, FRAME_INSTALL, call, payload);
}

json_t *wire_json(const struct wire_frame *frame)
{
	return json_parse(frame->payload, frame->n, JSON_REJECT_DUPLICATES);
}

int wire_read_credit(const struct wire_frame *frame, uint32_t *ret)
{
	if (frame->n != 4)
		return -1;
	*ret = (uint32_t)entry_get_number(frame->payload, 4);
	return 0;
}

static bool has_number(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);
	return json_is_integer(value) && json_integer_value(value) >= 0;
}

/* 0 if it is missing. */
static uint64_t seconds(const json_t *object, const char *name)
{
	return (uint64_t)MIN(MAX(json_integer_value(json_object_get(object, name)), 0), SECONDS_MAX);
}

static bool kernel_is_up(const json_t *object)
{
	const char *kernel = json_string_value(json_object_get(object, "kernel"));
	return kernel && (streq(kernel, "ready") || streq(kernel, "busy"));
}

static enum run_kind kind_of(const json_t *object)
{
	const char *kind = json_string_value(json_object_get(object, "kind"));
	return kind && streq(kind, "terminal") ? RUN_TERMINAL : RUN_CODE;
}

static void read_calls(struct wire_hello *ret, const json_t *calls)
{
	for (size_t i = 0; i < MIN(json_array_size(calls), (size_t)CALLS_MAX); i++) {
		const json_t *call = json_array_get(calls, i);
		json_int_t number = json_integer_value(json_object_get(call, "call"));
		if (number < 1 || number > ret->last_call)
			continue;
		ret->calls[ret->n_calls].number = (uint32_t)number;
		ret->calls[ret->n_calls++].kind = kind_of(call);
	}
}

int wire_read_hello(const struct wire_frame *frame, struct wire_hello *ret, struct fail *f)
{
	json_auto_t *hello = frame->type == FRAME_HELLO ? wire_json(frame) : NULL;
	json_t *version = json_object_get(hello, "version"), *last = json_object_get(hello, "last_call");
	json_int_t number = json_integer_value(version), last_call = json_integer_value(last);
	if (!json_is_integer(version) || last_call < 0 || last_call > UINT32_MAX / 2)
		return fail_set(f, FAIL_ENGINE, "the session's container does not speak Husk's protocol");
	if (number < PROTOCOL_VERSION_MIN || number > PROTOCOL_VERSION)
		return fail_set(f, FAIL_ENGINE, "the session's container speaks protocol %lld, this server %d to %d",
				(long long)number, PROTOCOL_VERSION_MIN, PROTOCOL_VERSION);
	*ret = (struct wire_hello){
		.version = (uint64_t)number,
		.last_call = (uint32_t)last_call,
		.lease_seconds = seconds(hello, "lease_seconds"),
		.has_lifetime = has_number(hello, "lifetime_left_seconds"),
		.lifetime_left_seconds = seconds(hello, "lifetime_left_seconds"),
		.kernel_ready = kernel_is_up(hello),
		.has_consoles = json_integer_value(json_object_get(hello, "consoles")) > 0,
		.has_programs = json_is_true(json_object_get(hello, "programs")),
		.queries = json_is_true(json_object_get(hello, "queries")),
		.checkpoints = json_is_true(json_object_get(hello, "checkpoints")),
		.branches = json_is_true(json_object_get(hello, "branches")),
		.links = json_is_true(json_object_get(hello, "links")),
		.files = json_is_true(json_object_get(hello, "files")),
		.streams = json_is_true(json_object_get(hello, "streams")),
		.gate = json_is_true(json_object_get(hello, "gate")),
		.standing = json_is_true(json_object_get(hello, "standing")),
	};
	read_calls(ret, json_object_get(hello, "calls"));
	const char *session = json_string_value(json_object_get(hello, "session"));
	if (session && strlen(session) < sizeof(ret->session))
		memcpy(ret->session, session, strlen(session) + 1);
	return 0;
}

char *wire_sentence(const json_t *text)
{
	struct buf clean = { 0 };
	if (!json_is_string(text))
		return NULL;
	const char *s = json_string_value(text);
	utf8_clean(&clean, s, utf8_head(s, strlen(s), DETAIL_MAX));
	return buf_steal_str(&clean);
}

static enum wire_event_kind event_kind(const char *name)
{
	static const struct {
		const char *name;
		enum wire_event_kind kind;
	} kinds[] = { { "kernel_ready", WIRE_EVENT_READY },   { "kernel_died", WIRE_EVENT_DIED },
		      { "kernel_failed", WIRE_EVENT_FAILED }, { "ending", WIRE_EVENT_ENDING },
		      { "fenced", WIRE_EVENT_OLD_EPOCH },     { "claimed", WIRE_EVENT_CLAIMED } };
	for (size_t i = 0; name && i < ARRAY_LEN(kinds); i++)
		if (streq(name, kinds[i].name))
			return kinds[i].kind;
	return WIRE_EVENT_OTHER;
}

void wire_read_event(const struct wire_frame *frame, struct wire_event *ret)
{
	json_auto_t *event = wire_json(frame);
	*ret = (struct wire_event){
		.kind = event_kind(json_string_value(json_object_get(event, "event"))),
		.detail = wire_sentence(json_object_get(event, "detail")),
		.refused = wire_sentence(json_object_get(event, "refused")),
		.kernel_ready = kernel_is_up(event),
		.lease_seconds = seconds(event, "lease_seconds"),
		.has_lifetime = has_number(event, "lifetime_left_seconds"),
		.lifetime_left_seconds = seconds(event, "lifetime_left_seconds"),
	};
	const char *cause = json_string_value(json_object_get(event, "cause"));
	if (cause)
		ret->cause = cause_find(cause);
	if (!ret->detail)
		ret->detail = wire_sentence(json_object_get(event, "cause"));
}

void wire_event_release(struct wire_event *event)
{
	free(event->detail);
	free(event->refused);
	*event = (struct wire_event){ 0 };
}

static uint64_t count_of(const json_t *object, const char *name, uint64_t max)
{
	return has_number(object, name) ? MIN((uint64_t)json_integer_value(json_object_get(object, name)), max) : 0;
}

struct wire_call wire_read_call(const struct wire_frame *frame)
{
	json_auto_t *call = wire_json(frame);
	const char *by = json_string_value(json_object_get(call, "by"));
	struct wire_call ret = { .kind = kind_of(call),
				 .told = (uint32_t)count_of(call, "told", UINT32_MAX),
				 .detached = json_is_true(json_object_get(call, "detached")) };
	AUTO(buf_release) struct buf clean = { 0 };
	if (by)
		utf8_clean_name(&clean, by);
	size_t n = MIN(clean.len, (size_t)RUN_BY_MAX);
	memcpy(ret.by, buf_str(&clean), n - utf8_partial_end(clean.data, n));
	const char *branch = json_string_value(json_object_get(call, "branch"));
	if (branch && checkpoint_name_valid(branch))
		memcpy(ret.branch, branch, strlen(branch));
	return ret;
}

void wire_prompt_release(struct wire_prompt *q)
{
	free(q->prompt);
	*q = (struct wire_prompt){ 0 };
}

/* The field if it is a number from 1 to max, otherwise `standard`. */
static int size_of(const json_t *object, const char *name, int standard, int max)
{
	json_int_t value = json_integer_value(json_object_get(object, name));
	return value >= 1 && value <= max ? (int)value : standard;
}

void wire_read_prompt(const struct wire_frame *frame, struct wire_prompt *ret)
{
	json_auto_t *fields = wire_json(frame);
	const char *state = json_string_value(json_object_get(fields, "state"));
	*ret = (struct wire_prompt){
		.interactive = json_is_true(json_object_get(fields, "interactive")),
		.begun = state && !streq(state, "queued"),
		.waiting = state && streq(state, "waiting"),
		.password = json_is_true(json_object_get(fields, "password")),
		.prompt = wire_sentence(json_object_get(fields, "prompt")),
		.inputs = (uint32_t)count_of(fields, "inputs", UINT32_MAX),
		.rows = size_of(fields, "rows", TERMINAL_ROWS, TERMINAL_ROWS_MAX),
		.cols = size_of(fields, "cols", TERMINAL_COLS, TERMINAL_COLS_MAX),
	};
}

int wire_put_input(struct buf *out, uint32_t call, uint32_t number, const char *text, size_t n)
{
	json_auto_t *payload = json_pack("{s:I, s:s%}", "number", (json_int_t)number, "text", text, n);
	return wire_put_json(out, FRAME_INPUT, call, payload);
}

int wire_put_query(struct buf *out, uint32_t number, const struct wire_query *query)
{
	json_auto_t *payload = json_pack("{s:s, s:s%, s:I, s:i}", "kind", query->kind, "code", query->code, query->len,
					 "cursor", (json_int_t)query->cursor, "detail", query->detail);
	return wire_put_json(out, FRAME_QUERY, number, payload);
}

void wire_put_take(struct buf *out, uint32_t call, bool aside)
{
	json_auto_t *payload = json_pack("{s:b}", "aside", aside);
	(void)wire_put_json(out, FRAME_TAKE, call, payload);
}

void wire_put_mark_ack(struct buf *out, uint32_t call, uint32_t mark)
{
	json_auto_t *payload = json_pack("{s:I}", "mark", (json_int_t)mark);
	(void)wire_put_json(out, FRAME_ACK, call, payload);
}

int wire_read_mark(const struct wire_frame *frame, struct wire_mark *ret)
{
	json_auto_t *mark = wire_json(frame);
	const char *state = json_string_value(json_object_get(mark, "state"));
	*ret = (struct wire_mark){
		.number = (uint32_t)count_of(mark, "mark", UINT32_MAX),
		.queued = state && streq(state, "queued"),
		.beside = json_is_true(json_object_get(mark, "beside")),
		.behind = (uint32_t)count_of(mark, "behind", UINT32_MAX),
		.duration_ms = count_of(mark, "duration_ms", INT64_MAX),
		.stdout_bytes = count_of(mark, "stdout_bytes", INT64_MAX),
		.stderr_bytes = count_of(mark, "stderr_bytes", INT64_MAX),
		.displays_dropped = count_of(mark, "displays_dropped", INT64_MAX),
	};
	return ret->number && state ? 0 : -1;
}

char *wire_read_progress(const struct wire_frame *frame)
{
	json_auto_t *progress = wire_json(frame);
	const char *tail = json_string_value(json_object_get(progress, "tail"));
	return tail && *tail ? xstrdup(tail) : NULL;
}

void wire_read_console_end(const struct wire_frame *frame, struct wire_console_end *ret)
{
	json_auto_t *end = wire_json(frame);
	const char *ending = json_string_value(json_object_get(end, "ending"));
	const json_t *code = json_object_get(end, "exit_code");
	const char *cause = json_string_value(json_object_get(end, "cause"));
	*ret = (struct wire_console_end){
		.cause = cause ? cause_find(cause) : CAUSE_NONE,
		.refused = !ending || streq(ending, "refused") || !json_is_integer(code),
		.exit_code = (int)(json_integer_value(code) & 0xff),
		.signal = (int)(json_integer_value(json_object_get(end, "signal")) & 0x7f),
		.oom = json_is_true(json_object_get(end, "oom")),
		.detail = wire_sentence(json_object_get(end, "detail")),
	};
}

void wire_console_end_release(struct wire_console_end *end)
{
	free(end->detail);
	*end = (struct wire_console_end){ 0 };
}
