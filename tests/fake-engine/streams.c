/* Attached streams: bytes to and from the script that plays PID 1. */
#include "base/alloc.h"
#include "base/child.h"
#include "tests/fake-engine/box.h"
#include "tests/fake-engine/fake-engine-private.h"
#include "tests/unit/unit.h"

struct engine_stream {
	struct list node;
	struct fake *fake;
	struct fake_container *container; /* NULL once it is gone */
	struct stream_handler handler;
	struct timer *timer;
	struct frame_reader in; /* from the manager */
	struct buf out;		/* to it */
	bool opened, closing, closed;
	struct fail why;
	struct child *child; /* `husk-client attach`, if PID 1 is real */
	bool *gone;	     /* set when it is freed from inside a callback */
};

static int64_t any_payload(uint8_t type UNUSED)
{
	return FRAME_PAYLOAD_MAX;
}

static void wake(struct engine_stream *s)
{
	timer_start(s->timer, 0, 0);
}

/* --- a played PID 1 ---------------------------------------------------------------------------------------------- */

static const struct fake_script *script_of(struct engine_stream *s)
{
	return s->container ? s->container->script : NULL;
}

static void hear(struct engine_stream *s)
{
	const struct fake_script *script = script_of(s);
	struct frame frame;
	if (!s->opened && script && script->on_attach)
		script->on_attach(script->ctx, s);
	s->opened = true;
	while ((script = script_of(s)) && !s->closing) {
		int r = frame_reader_next(&s->in, any_payload, &frame);
		if (r == 0)
			break;
		assert_int_equal(r, 1); /* frames of the manager are valid */
		if (script->on_frame)
			script->on_frame(script->ctx, s, &frame);
	}
}

static void tell(struct engine_stream *s)
{
	size_t n = s->fake->cut ? MIN(s->fake->cut, s->out.len) : s->out.len;
	AUTO(buf_release) struct buf bytes = { 0 };
	if (n) {
		buf_add(&bytes, s->out.data, n);
		buf_consume(&s->out, n);
		if (s->out.len || s->closing)
			wake(s);
		s->handler.on_bytes(s->handler.ctx, bytes.data, bytes.len);
	} else if (s->closing && !s->closed) {
		AUTO(fail_release) struct fail why = { 0 };
		s->closed = true;
		fail_move(&why, &s->why);
		s->handler.on_closed(s->handler.ctx, &why);
	}
}

static void on_timer(void *ctx)
{
	struct engine_stream *s = ctx;
	bool gone = false;
	if (s->fake->faults[FAKE_ATTACH].held && !s->closing)
		return;
	s->gone = &gone;
	hear(s);
	if (!gone)
		tell(s);
	if (!gone)
		s->gone = NULL;
}

/* --- a real PID 1 ------------------------------------------------------------------------------------------------ */

static void on_attach_output(void *ctx, const void *data, size_t n)
{
	struct engine_stream *s = ctx;
	if (!s->closing)
		s->handler.on_bytes(s->handler.ctx, data, n);
}

static void on_attach_ended(void *ctx, const struct child_result *r)
{
	struct engine_stream *s = ctx;
	if (s->closing)
		return;
	bool alive = s->container && s->container->running && box_is_up(s->container->box);
	s->closing = true;
	if (alive)
		cause_set(&s->why, FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "the stream ended: status %d, %.200s",
			  r->exit_status, r->err);
	else
		cause_set(&s->why, FAIL_DIED, CAUSE_NO_CONTAINER, "container no longer exists (removed externally)");
	wake(s);
}

static int attach_real(struct engine_stream *s, struct fail *f)
{
	AUTO(strv_release) struct strv argv = { 0 };
	box_attach_argv(s->container->box, &argv);
	struct child_spec spec = {
		.argv = strv_argv(&argv),
		.stdin_pipe = true,
		.on_stdout = on_attach_output,
		.on_done = on_attach_ended,
		.ctx = s,
	};
	return child_start(s->fake->loop, &spec, &s->child, f);
}

/* --- for the client ---------------------------------------------------------------------------------------------- */

struct engine_stream *streams_attach(struct engine *e, const char *name, const struct stream_handler *handler,
				     struct fail *f)
{
	struct fake *fake = fake_of(e);
	struct fake_container *c = fake_find(fake, name);
	struct engine_stream *s = new0(struct engine_stream);
	fake->faults[FAKE_ATTACH].calls++;
	s->fake = fake;
	s->handler = *handler;
	s->timer = timer_new(fake->loop, on_timer, s);
	list_init(&s->node);
	if (fake_judge(fake, FAKE_ATTACH, &s->why) < 0) {
		s->closing = true;
	} else if (!c || !c->running) {
		s->closing = true;
		cause_set(&s->why, FAIL_DIED, CAUSE_NO_CONTAINER, "container no longer exists (removed externally)");
	} else {
		s->container = c;
		list_append(&c->streams, &s->node);
	}
	if (s->container && c->box && attach_real(s, f) < 0)
		return streams_free(s);
	wake(s);
	return s;
}

int streams_write(struct engine_stream *s, const void *data, size_t n)
{
	if (s->child)
		return child_write(s->child, data, n);
	frame_reader_feed(&s->in, data, n);
	wake(s);
	return 0;
}

struct engine_stream *streams_free(struct engine_stream *s)
{
	if (!s)
		return NULL;
	const struct fake_script *script = script_of(s);
	if (s->gone)
		*s->gone = true;
	list_remove(&s->node);
	if (script && script->on_detach && s->opened)
		script->on_detach(script->ctx, s);
	child_free(s->child);
	timer_free(s->timer);
	frame_reader_release(&s->in);
	buf_release(&s->out);
	fail_release(&s->why);
	free(s);
	return NULL;
}

void streams_explain(struct engine *e UNUSED, const void *data, size_t n, struct fail *f)
{
	cause_set(f, FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "the engine says: %.*s", (int)MIN(n, 200), (const char *)data);
}

void streams_wake(struct fake *f)
{
	list_for_each(c, &f->containers, struct fake_container, node)
		list_for_each(s, &c->streams, struct engine_stream, node)
			wake(s);
}

void streams_break(struct fake_container *c, enum fail_kind kind, enum cause cause, const char *message)
{
	list_for_each(s, &c->streams, struct engine_stream, node) {
		list_remove(&s->node);
		list_init(&s->node);
		fake_break(s, kind, cause, message);
		s->child = child_free(s->child);
		s->container = NULL;
	}
}

/* --- for scripts ------------------------------------------------------------------------------------------------- */

struct fake_container *fake_stream_container(struct engine_stream *s)
{
	return s->container;
}

struct engine_stream *fake_stream(struct fake_container *c)
{
	struct engine_stream *last = NULL;
	list_for_each(s, &c->streams, struct engine_stream, node)
		if (!s->closing)
			last = s;
	return last;
}

void fake_send_bytes(struct engine_stream *s, const void *data, size_t n)
{
	buf_add(&s->out, data, n);
	wake(s);
}

void fake_send(struct engine_stream *s, uint8_t type, uint32_t call, const void *payload, size_t n)
{
	frame_append(&s->out, type, call, payload, n);
	wake(s);
}

void fake_send_text(struct engine_stream *s, uint8_t type, uint32_t call, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	AUTO(freep) char *text = xvasprintf(fmt, ap);
	va_end(ap);
	fake_send(s, type, call, text, strlen(text));
}

void fake_break(struct engine_stream *s, enum fail_kind kind, enum cause cause, const char *message)
{
	if (s->closing)
		return;
	s->closing = true;
	cause_set(&s->why, kind, cause, "%s", message);
	wake(s);
}

void fake_break_others(struct engine_stream *s)
{
	list_for_each(other, &s->container->streams, struct engine_stream, node)
		if (other != s)
			fake_break(other, FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "the stream ended");
}
