#include "manager/line/wire.h"

#include <errno.h>
#include <jansson.h>

#include "base/alloc.h"
#include "base/shape.h"
#include "base/utf8.h"
#include "kernels/entry.h"

#define DETAIL_MAX 1000
#define NOTICES_MAX 20
/* Of what PID 1 says about time. */
#define SECONDS_MAX (366 * 86400)
/* What a MIME bundle may hold as a tree; PID 1 lets no more through. A container costs some 200 bytes when parsed. */
#define JSON_CONTAINERS_MAX 100000u
#define JSON_VALUES_MAX 1500000u

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
		return 65536;
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
	case FRAME_DATA:
		return 8 + FILE_DATA_MAX;
	case FRAME_MAP:
		return 16 * FILE_MAP_PIECES_A_FRAME;
	case FRAME_CREDIT:
		return 4;
	default:
		return -1; /* not PID 1's to send */
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

void wire_put(struct buf *out, enum frame_type type, uint32_t call, const void *payload, size_t n)
{
	(void)frame_append(out, (uint8_t)type, call, payload, n);
}

static int put_json(struct buf *out, enum frame_type type, uint32_t call, json_t *payload)
{
	AUTO(freep) char *text = payload ? json_dumps(payload, JSON_COMPACT) : NULL;
	if (!text || strlen(text) > FRAME_PAYLOAD_MAX)
		return -1;
	wire_put(out, type, call, text, strlen(text));
	return 0;
}

void wire_put_hello(struct buf *out, uint64_t fence)
{
	json_auto_t *hello = json_pack("{s:i, s:i, s:I}", "version", PROTOCOL_VERSION, "min_version",
				       PROTOCOL_VERSION_MIN, "fence", (json_int_t)fence);
	(void)put_json(out, FRAME_HELLO, 0, hello);
}

int wire_put_run(struct buf *out, uint32_t call, const struct wire_run *run)
{
	json_auto_t *payload = json_pack("{s:s%, s:I, s:I, s:I}", run->terminal ? "command" : "code", run->text,
					 run->len, "timeout_ms", (json_int_t)run->timeout_ms, "stdout_limit",
					 (json_int_t)run->stdout_limit, "stderr_limit", (json_int_t)run->stderr_limit);
	return put_json(out, run->terminal ? FRAME_TERMINAL : FRAME_EXECUTE, call, payload);
}

int wire_put_files(struct buf *out, uint32_t call, const struct wire_files *files)
{
	json_auto_t *payload = files->export ?
				       json_pack("{s:s}", "path", files->path) :
				       json_pack("{s:s, s:I, s:I}", "destination", files->path, "bytes",
						 (json_int_t)files->bytes, "entries", (json_int_t)files->entries);
	return put_json(out, files->export ? FRAME_EXPORT : FRAME_IMPORT, call, payload);
}

void wire_put_install(struct buf *out, uint32_t call, const struct wire_install *install)
{
	json_auto_t *env = json_object();
	for (size_t i = 0; i < install->env->n; i++) {
		const char *variable = install->env->v[i], *equals = strchr(variable, '=');
		AUTO(freep) char *name = xstrndup(variable, (size_t)(equals - variable));
		json_object_set_new(env, name, json_string(equals + 1));
	}
	json_auto_t *payload =
		json_pack("{s:o, s:O, s:I, s:I, s:I, s:I}", "packages", json_loads(install->packages, 0, NULL), "env",
			  env, "timeout_ms", (json_int_t)install->timeout_ms, "stdout_limit",
			  (json_int_t)2 * OUTPUT_LIMIT_MAX, "stderr_limit", (json_int_t)2 * OUTPUT_LIMIT_MAX,
			  "size_limit", (json_int_t)install->size_limit);
	(void)put_json(out, FRAME_INSTALL, call, payload);
}

bool wire_json_is_modest(const uint8_t *text, size_t n)
{
	struct shape s = shape_of(text, n);
	return s.containers <= JSON_CONTAINERS_MAX && s.values <= JSON_VALUES_MAX;
}

static json_t *payload_json(const struct wire_frame *frame)
{
	return json_loadb((const char *)frame->payload, frame->n, JSON_REJECT_DUPLICATES, NULL);
}

int wire_read_hello(const struct wire_frame *frame, struct wire_hello *ret, struct fail *f)
{
	json_auto_t *hello = frame->type == FRAME_HELLO ? payload_json(frame) : NULL;
	json_t *version = json_object_get(hello, "version"), *last = json_object_get(hello, "last_call");
	const char *kernel = json_string_value(json_object_get(hello, "kernel"));
	json_int_t number = json_integer_value(version), last_call = json_integer_value(last);
	if (!json_is_integer(version) || last_call < 0 || last_call > UINT32_MAX / 2)
		return fail_set(f, FAIL_ENGINE, "the session's container does not speak Husk's protocol");
	if (number < PROTOCOL_VERSION_MIN || number > PROTOCOL_VERSION)
		return fail_set(f, FAIL_ENGINE, "the session's container speaks protocol %lld, this server %d to %d",
				(long long)number, PROTOCOL_VERSION_MIN, PROTOCOL_VERSION);
	json_t *lifetime = json_object_get(hello, "lifetime_left_seconds");
	json_int_t lease = json_integer_value(json_object_get(hello, "lease_seconds"));
	*ret = (struct wire_hello){
		.version = (uint64_t)number,
		.last_call = (uint32_t)last_call,
		.lease_seconds = lease > 0 ? (uint64_t)MIN(lease, SECONDS_MAX) : 0,
		.has_lifetime = json_is_integer(lifetime) && json_integer_value(lifetime) >= 0,
		.lifetime_left_seconds = (uint64_t)MIN(MAX(json_integer_value(lifetime), 0), SECONDS_MAX),
		.kernel_ready = kernel && (streq(kernel, "ready") || streq(kernel, "busy")),
	};
	return 0;
}

enum wire_event_kind wire_read_event(const struct wire_frame *frame, char **ret_detail)
{
	static const struct {
		const char *name;
		enum wire_event_kind kind;
	} kinds[] = { { "kernel_ready", WIRE_EVENT_READY },
		      { "kernel_died", WIRE_EVENT_DIED },
		      { "kernel_failed", WIRE_EVENT_FAILED },
		      { "ending", WIRE_EVENT_ENDING },
		      { "fenced", WIRE_EVENT_FENCED } };
	json_auto_t *event = payload_json(frame);
	const char *name = json_string_value(json_object_get(event, "event"));
	const char *detail = json_string_value(json_object_get(event, "detail"));
	if (!detail)
		detail = json_string_value(json_object_get(event, "cause"));
	AUTO(buf_release) struct buf clean = { 0 };
	if (detail)
		utf8_clean(&clean, detail, utf8_head(detail, strlen(detail), DETAIL_MAX));
	*ret_detail = detail ? buf_steal_str(&clean) : NULL;
	for (size_t i = 0; name && i < ARRAY_LEN(kinds); i++)
		if (streq(name, kinds[i].name))
			return kinds[i].kind;
	return WIRE_EVENT_OTHER;
}

bool wire_read_call(const struct wire_frame *frame)
{
	json_auto_t *call = payload_json(frame);
	const char *kind = json_string_value(json_object_get(call, "kind"));
	return kind && streq(kind, "terminal");
}

char *wire_read_progress(const struct wire_frame *frame)
{
	json_auto_t *progress = payload_json(frame);
	const char *tail = json_string_value(json_object_get(progress, "tail"));
	return tail && *tail ? xstrdup(tail) : NULL;
}

static char *sentence(const json_t *text)
{
	struct buf clean = { 0 };
	if (!json_is_string(text))
		return NULL;
	const char *s = json_string_value(text);
	utf8_clean(&clean, s, utf8_head(s, strlen(s), DETAIL_MAX));
	return buf_steal_str(&clean);
}

int wire_read_files_end(const struct wire_frame *frame, struct strv *notices, struct fail *f)
{
	json_auto_t *end = payload_json(frame);
	const char *ending = json_string_value(json_object_get(end, "ending"));
	const json_t *list = json_object_get(end, "notices");
	json_int_t dropped = json_integer_value(json_object_get(end, "notices_dropped"));
	for (size_t i = 0; i < MIN(json_array_size(list), (size_t)NOTICES_MAX); i++) {
		AUTO(freep) char *text = sentence(json_array_get(list, i));
		if (text)
			strv_add(notices, text);
	}
	if (dropped > 0)
		strv_addf(notices, "and %lld more like these", (long long)dropped);
	if (ending && streq(ending, "ok"))
		return 0;
	AUTO(freep) char *detail = sentence(json_object_get(end, "detail"));
	bool refused = ending && streq(ending, "refused");
	return fail_set(f, refused ? FAIL_BUSY : FAIL_INVALID, "%s",
			detail ? detail : "the container did not say how the copy ended");
}
