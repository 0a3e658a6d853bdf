#include "tests/fake-engine/fake-pid1.h"

#include <jansson.h>

#include "base/alloc.h"
#include "kernels/protocol.h"
#include "tests/unit/unit.h"

void (*fake_on_call)(struct fake_container *c, struct fake_call *call);
void (*fake_on_interrupt)(struct fake_container *c, struct fake_call *call);
const char *fake_kernel_at_start = "ready";
int fake_consoles = 4;
bool fake_is_old;

/* --- calls ------------------------------------------------------------------------------------------------------- */

static void call_free(struct fake_call *call)
{
	list_remove(&call->node);
	buf_release(&call->frames);
	free(call->text);
	free(call->by);
	free(call);
}

struct fake_call *fake_call_find(struct fake_container *c, uint32_t number)
{
	list_for_each(call, &c->pid1->calls, struct fake_call, node)
		if (call->number == number)
			return call;
	return NULL;
}

static void give(struct fake_container *c, struct fake_call *call, uint8_t type, const char *payload, size_t n)
{
	struct engine_stream *s = fake_stream(c);
	frame_append(&call->frames, type, call->number, payload, n);
	if (s && !c->pid1->mute)
		fake_send(s, type, call->number, payload, n);
}

void fake_call_give(struct fake_container *c, struct fake_call *call, uint8_t type, const char *payload)
{
	give(c, call, type, payload, strlen(payload));
}

void fake_call_out(struct fake_container *c, struct fake_call *call, const char *text)
{
	give(c, call, FRAME_OUT, text, strlen(text));
}

void fake_call_end(struct fake_container *c, struct fake_call *call, const char *ending)
{
	AUTO(freep) char *end = xasprintf(
		"{\"ending\":\"%s\",\"duration_ms\":1,\"stdout_bytes\":0,\"stderr_bytes\":0,\"kernel\":\"kept\"}",
		ending);
	call->ended = true;
	give(c, call, FRAME_END, end, strlen(end));
}

static void install(struct fake_container *c, struct fake_call *call)
{
	json_auto_t *packages = json_loads(call->text, 0, NULL), *versions = json_object();
	const char *name;
	json_t *version;
	json_object_foreach(packages, name, version)
		json_object_set_new(versions, name, json_string("1.0"));
	json_auto_t *report =
		json_pack("{s:{s:{s:O, s:i}}}", "data", "application/json", "versions", versions, "size", 1000);
	AUTO(freep) char *text = json_dumps(report, JSON_COMPACT);
	fake_call_give(c, call, FRAME_RESULT, text);
}

static void take_call(struct fake_container *c, const struct frame *frame, json_t *payload)
{
	struct fake_pid1 *p = c->pid1;
	uint32_t number = frame->header.call;
	if (number <= p->last_call)
		return; /* a resend */
	struct fake_call *call = new0(struct fake_call);
	const char *field = frame->header.type == FRAME_EXECUTE ? "code" : "command";
	p->last_call = call->number = number;
	call->type = frame->header.type;
	if (call->type == FRAME_INSTALL)
		call->text = json_dumps(json_object_get(payload, "packages"), JSON_COMPACT | JSON_SORT_KEYS);
	else
		call->text = xstrdup(json_string_value(json_object_get(payload, field)));
	const char *by = json_string_value(json_object_get(payload, "by"));
	call->by = by ? xstrdup(by) : NULL;
	call->detached = json_is_true(json_object_get(payload, "detached"));
	list_append(&p->calls, &call->node);
	if (fake_on_call) {
		fake_on_call(c, call);
		return;
	}
	if (call->type == FRAME_INSTALL)
		install(c, call);
	fake_call_end(c, call, "ok");
}

static void interrupt(struct fake_container *c, struct fake_call *call)
{
	call->interrupted = true;
	if (fake_on_interrupt)
		fake_on_interrupt(c, call);
	else if (!call->ended)
		fake_call_end(c, call, "interrupted");
}

/* --- the session ------------------------------------------------------------------------------------------------- */

static void say_hello(struct engine_stream *s, struct fake_container *c)
{
	const struct fake_pid1 *p = c->pid1;
	json_auto_t *hello = json_pack("{s:i, s:s, s:s, s:s, s:I, s:I}", "version", PROTOCOL_VERSION, "runtime", "fake",
				       "language_version", "1", "kernel", c->spec.install ? "none" : p->kernel,
				       "last_call", (json_int_t)p->last_call, "lease_seconds", (json_int_t)p->lease);
	json_object_set_new(hello, "consoles", json_integer(fake_consoles));
	json_object_set_new(hello, "queries", json_boolean(!fake_is_old));
	json_object_set_new(hello, "files", json_boolean(!fake_is_old));
	json_object_set_new(hello, "checkpoints", json_boolean(!fake_is_old));
	json_object_set_new(hello, "branches", json_boolean(!fake_is_old));
	if (*p->session)
		json_object_set_new(hello, "session", json_string(p->session));
	if (p->lifetime)
		json_object_set_new(hello, "lifetime_left_seconds", json_integer((json_int_t)p->lifetime));
	json_t *calls = json_array();
	list_for_each(call, &p->calls, struct fake_call, node)
		json_array_append_new(calls, json_pack("{s:I, s:s}", "call", (json_int_t)call->number, "kind",
						       call->type == FRAME_TERMINAL ? "terminal" : "execute"));
	json_object_set_new(hello, "calls", calls);
	AUTO(freep) char *text = json_dumps(hello, JSON_COMPACT);
	fake_send(s, FRAME_HELLO, 0, text, strlen(text));
}

static void replay(struct engine_stream *s, const struct fake_container *c)
{
	list_for_each(call, &c->pid1->calls, struct fake_call, node) {
		fake_send_text(s, FRAME_CALL, call->number,
			       "{\"kind\":\"%s\",\"state\":\"%s\",\"told\":%u,\"by\":\"%s\",\"detached\":%s}",
			       call->type == FRAME_TERMINAL ? "terminal" : "execute", call->ended ? "ended" : "running",
			       call->told, call->by ? call->by : "", call->detached ? "true" : "false");
		fake_send_bytes(s, call->frames.data, call->frames.len);
	}
}

static void greet(struct engine_stream *s, struct fake_container *c, json_t *hello)
{
	struct fake_pid1 *p = c->pid1;
	uint64_t epoch = (uint64_t)json_integer_value(json_object_get(hello, "fence"));
	p->hellos++;
	if (p->mute)
		return;
	if (epoch < p->epoch) {
		fake_send_text(s, FRAME_EVENT, 0, "{\"event\":\"fenced\",\"fence\":%llu}",
			       (unsigned long long)p->epoch);
		fake_break(s, FAIL_ENGINE, CAUSE_NONE, "the stream ended");
		return;
	}
	p->epoch = epoch;
	fake_break_others(s);
	say_hello(s, c);
	replay(s, c);
}

static void claim(struct engine_stream *s, struct fake_container *c, json_t *payload)
{
	struct fake_pid1 *p = c->pid1;
	const char *session = json_string_value(json_object_get(payload, "session"));
	assert_non_null(session);
	p->claims++;
	if (p->mute)
		return;
	if (!p->claim_env) {
		json_t *env = json_object_get(payload, "env");
		snprintf(p->session, sizeof(p->session), "%s", session);
		p->lease = (uint64_t)json_integer_value(json_object_get(payload, "lease_seconds"));
		p->lifetime = (uint64_t)json_integer_value(json_object_get(payload, "lifetime_seconds"));
		p->claim_env = env ? json_dumps(env, JSON_COMPACT | JSON_SORT_KEYS) : xstrdup("{}");
	}
	AUTO(freep) char *left = p->lifetime ?
					 xasprintf(",\"lifetime_left_seconds\":%llu", (unsigned long long)p->lifetime) :
					 xstrdup("");
	fake_send_text(s, FRAME_EVENT, 0,
		       "{\"event\":\"claimed\",\"session\":\"%s\",\"kernel\":\"%s\",\"lease_seconds\":%llu%s}",
		       p->session, c->spec.install ? "none" : p->kernel, (unsigned long long)p->lease, left);
}

static void answer(struct engine_stream *s, struct fake_container *c, uint32_t number, const json_t *request)
{
	const char *code = json_string_value(json_object_get(request, "code"));
	assert_false(fake_is_old);
	c->pid1->queries++;
	if (!c->pid1->mute && code && *code)
		fake_send(s, FRAME_ANSWER, number, code, strlen(code));
}

/* It has one checkpoint, "a", after run 1. Two branches can be made, and "a" can be kept. */
static void answer_checkpoint(struct engine_stream *s, uint32_t number, const json_t *request)
{
	const char *action = json_string_value(json_object_get(request, "action"));
	const char *name = json_string_value(json_object_get(request, "name"));
	static const char one[] = "{\"name\":\"a\",\"run\":1,\"age_ms\":7,\"bytes\":4096,\"lost\":[\"a thread\"]}";
	if (streq(action, "branch"))
		fake_send_text(
			s, FRAME_ANSWER, number,
			"{\"status\":\"%s\",\"why\":\"No.\",\"checkpoints\":[],\"branches\":[{\"name\":\"a\",\"state\":\"ready\","
			"\"run\":3,\"runs\":[2,3],\"age_ms\":7,\"bytes\":4096}]}",
			json_array_size(json_object_get(request, "names")) == 2 ? "ok" : "invalid");
	else if (name ? !streq(name, "a") : json_integer_value(json_object_get(request, "run")) != 1)
		fake_send_text(s, FRAME_ANSWER, number,
			       "{\"status\":\"none\",\"why\":\"There is none.\",\"checkpoints\":[%s]}", one);
	else if (streq(action, "save"))
		fake_send_text(s, FRAME_ANSWER, number, "{\"status\":\"ok\",\"checkpoints\":[%s],%s", one, one + 1);
	else if (streq(action, "keep"))
		fake_send_text(
			s, FRAME_ANSWER, number,
			"{\"status\":\"ok\",\"note\":\"Kept.\",\"dropped\":[\"b\"],\"restored\":{\"run\":3,\"name\":\"a\","
			"\"missing\":[4]}}");
	else if (streq(action, "undo"))
		fake_send_text(
			s, FRAME_ANSWER, number,
			"{\"status\":\"ok\",\"note\":\"Back.\",\"checkpoints\":[%s],\"restored\":{\"run\":1,\"name\":\"a\","
			"\"missing\":[2,3],\"lost\":[\"a thread\"],\"files\":[\"b.csv\"],\"more_files\":true}}",
			one);
	else
		fake_send_text(s, FRAME_ANSWER, number, "{\"status\":\"ok\",\"checkpoints\":[]}");
}

static void on_frame(void *ctx UNUSED, struct engine_stream *s, const struct frame *frame)
{
	struct fake_container *c = fake_stream_container(s);
	struct fake_call *call = fake_call_find(c, frame->header.call);
	json_auto_t *payload = json_loadb((const char *)frame->payload, frame->header.length, 0, NULL);
	switch (frame->header.type) {
	case FRAME_HELLO:
		greet(s, c, payload);
		break;
	case FRAME_PING:
		c->pid1->pings++;
		if (!c->pid1->mute)
			fake_send(s, FRAME_PONG, 0, frame->payload, frame->header.length);
		break;
	case FRAME_CLAIM:
		claim(s, c, payload);
		break;
	case FRAME_EXECUTE:
	case FRAME_TERMINAL:
	case FRAME_INSTALL:
		take_call(c, frame, payload);
		break;
	case FRAME_INTERRUPT:
		if (call)
			interrupt(c, call);
		break;
	case FRAME_TAKE:
		if (call && !call->ended)
			fake_send_text(s, FRAME_MARK, call->number,
				       "{\"mark\":%u,\"state\":\"running\",\"duration_ms\":1,\"beside\":false}",
				       ++call->marks);
		break;
	case FRAME_INPUT:
		break;
	case FRAME_STATUS:
		fake_send_text(s, FRAME_INFO, frame->header.call,
			       "{\"kernel\":\"idle\",\"memory\":5,\"memory_limit\":9,\"fresh\":true,\"more\":2,"
			       "\"disks\":[{\"path\":\"/tmp\",\"used\":1,\"size\":2}],"
			       "\"variables\":[{\"name\":\"x\",\"type\":\"list\",\"shape\":\"3\",\"bytes\":88}],"
			       "\"checkpoints\":[{\"run\":2,\"age_ms\":5,\"bytes\":6}],\"no_checkpoints\":\"polars\"}");
		break;
	case FRAME_QUERY:
		answer(s, c, frame->header.call, payload);
		break;
	case FRAME_CHECKPOINT:
		answer_checkpoint(s, frame->header.call, payload);
		break;
	case FRAME_ACK:
		/* An ACK with a mark means that the output before the mark was delivered. */
		if (call && json_object_get(payload, "mark")) {
			buf_reset(&call->frames);
			call->told = (unsigned)json_integer_value(json_object_get(payload, "mark"));
		} else if (call)
			call_free(call);
		break;
	case FRAME_STOP:
		fake_die(c, 0, /* oom= */ false);
		break;
	default:
		fail_msg("the played PID 1 takes no frames of type %d", frame->header.type);
	}
}

void fake_kernel(struct fake_container *c, const char *kernel)
{
	struct engine_stream *s = fake_stream(c);
	c->pid1->kernel = kernel;
	if (s)
		fake_send_text(s, FRAME_EVENT, 0, "{\"event\":\"kernel_%s\"}", kernel);
}

void fake_end_by_itself(struct fake_container *c, const char *cause)
{
	struct engine_stream *s = fake_stream(c);
	if (s)
		fake_send_text(s, FRAME_EVENT, 0, "{\"event\":\"ending\",\"cause\":\"%s\"}", cause);
	fake_die(c, 0, /* oom= */ false);
}

static void on_start(void *ctx UNUSED, struct fake_container *c)
{
	c->pid1 = new0(struct fake_pid1);
	c->pid1->kernel = fake_kernel_at_start;
	c->pid1->lease = c->spec.lease;
	list_init(&c->pid1->calls);
}

static void on_end(void *ctx UNUSED, struct fake_container *c)
{
	if (!c->pid1)
		return;
	list_for_each(call, &c->pid1->calls, struct fake_call, node)
		call_free(call);
	free(c->pid1->claim_env);
	free(c->pid1);
	c->pid1 = NULL;
}

const struct fake_script fake_pid1_script = { .on_start = on_start, .on_frame = on_frame, .on_end = on_end };
