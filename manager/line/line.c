#include "manager/line/line.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/watchdog.h"
#include "base/work.h"
#include "manager/line/console.h"
#include "manager/line/line-gate.h"
#include "manager/line/line-stream.h"
#include "manager/line/queries.h"
#include "manager/line/run.h"
#include "manager/line/status.h"
#include "manager/line/transfer.h"
#include "manager/model/cause.h"

#define RETRY_MS 100
#define RETRY_MAX_MS 5000
#define RETRY_DOUBLINGS 6u
/* A connection counts as stuck if nothing arrives for this time plus a quarter of the lease, the interval of
 * pings. */
#define STUCK_MS 10000

/* A frame that a worker prepares. Later frames wait. So each session has at most one such worker job, and its
 * frames stay in order. */
struct preparation {
	struct line *line; /* do not touch after work_forget() */
	struct work *work;
	struct prepared *prepared;
	struct wire_frame frame;
	struct buf held; /* holds the frame's payload */
};

struct line {
	struct dispatch dispatch;
	struct line_spec spec;
	struct wire wire;
	struct buf claim; /* the frame; empty = no claim */
	struct timer *heartbeat, *retry;
	uint64_t connection; /* changes with each connection, to detect that a callback has ended it */
	uint64_t frame_ms;   /* when the last bytes arrived on this connection */
	uint64_t lease_ms;
	unsigned failures;
	bool connected, closed;
	struct preparation *preparation; /* NULL = none */
	struct fail ended;		 /* why the connection ended during a preparation; kind not set = it did not */
};

static void connect_now(struct line *l);

static void send_frames(struct dispatch *d, const struct buf *frames)
{
	struct line *l = container_of(d, struct line, dispatch);
	if (l->connected)
		l->spec.transport->ops->write(l->spec.transport, frames->data, frames->len);
}

/* --- the connection ---------------------------------------------------------------------------------------------- */

static void forget_connection(struct line *l)
{
	wire_release(&l->wire);
	if (l->preparation)
		work_forget(take_ptr(l->preparation)->work);
	fail_release(&l->ended);
	l->connected = l->dispatch.open = false;
	dispatch_drop_acks(&l->dispatch);
	dispatch_drop_descriptors(&l->dispatch);
	l->connection++;
}

static void disconnect(struct line *l)
{
	l->spec.transport->ops->close(l->spec.transport);
	forget_connection(l);
}

static void lose_transfers(struct line *l)
{
	AUTO(fail_release) struct fail f = { 0 };
	cause_set(
		&f, FAIL_ENGINE, CAUSE_STREAM_BROKE,
		"the connection to the session broke while files were being copied; an import may already be in place");
	fail_hint(&f, "Check what has arrived, and try again.");
	transfers_lost(&l->dispatch, &f, /* gone= */ false);
}

static void lose_consoles(struct line *l)
{
	AUTO(fail_release) struct fail f = { 0 };
	cause_set(&f, FAIL_ENGINE, CAUSE_STREAM_BROKE,
		  "the connection to the session broke, and the terminal in it was hung up");
	fail_hint(&f, "Open another terminal; the session still exists if its container does.");
	consoles_lost(&l->dispatch, &f);
}

static void lose_streams(struct line *l)
{
	AUTO(fail_release) struct fail f = { 0 };
	cause_set(&f, FAIL_ENGINE, CAUSE_STREAM_BROKE, "the connection to the session broke");
	fail_hint(&f, "Connect again; the session still exists if its container does.");
	line_streams_lost(&l->dispatch, &f);
}

static void broken(struct line *l, const struct fail *f)
{
	disconnect(l);
	lose_transfers(l);
	/* If the container died, line_cut() reports it with the reason. */
	if (!l->closed && f->kind != FAIL_DIED) {
		lose_consoles(l);
		lose_streams(l);
		queries_lost(&l->dispatch, /* why= */ NULL);
	}
	if (l->closed)
		return;
	fail_copy(&l->dispatch.trouble, f);
	l->spec.handler.on_broken(l->spec.handler.ctx, f);
}

/* If the exec fails, the engine's client writes its error message to the stream, where PID 1's hello should be. */
static void break_protocol(struct line *l)
{
	AUTO(fail_release) struct fail f = { 0 };
	if (l->dispatch.open)
		cause_set(&f, FAIL_DIED, CAUSE_PROTOCOL, "the container broke Husk's protocol and was removed");
	else
		l->spec.transport->ops->explain(l->spec.transport, buf_str(&l->wire.reader.buf), l->wire.reader.buf.len,
						&f);
	broken(l, &f);
}

void line_retry(struct line *l)
{
	uint64_t delay = (uint64_t)RETRY_MS << MIN(l->failures, RETRY_DOUBLINGS);
	l->failures++;
	if (!l->closed)
		timer_start(l->retry, MIN(delay, RETRY_MAX_MS), 0);
}

unsigned line_failures(const struct line *l)
{
	return l->failures;
}

bool line_in_lease(const struct line *l)
{
	return loop_now_ms() - l->dispatch.heard_ms < l->lease_ms;
}

/* --- frames ------------------------------------------------------------------------------------------------------ */

static void set_lease(struct line *l, uint64_t seconds)
{
	if (!seconds || seconds * 1000 == l->lease_ms)
		return;
	l->lease_ms = seconds * 1000;
	timer_start(l->heartbeat, l->lease_ms / 4, l->lease_ms / 4);
}

static int on_hello(struct line *l, const struct wire_frame *frame)
{
	struct wire_hello hello;
	AUTO(fail_release) struct fail f = { 0 };
	if (wire_read_hello(frame, &hello, &f) < 0) {
		if (frame->type != FRAME_HELLO)
			return -EPROTO;
		f.cause = CAUSE_PROTOCOL;
		broken(l, &f);
		return 0;
	}
	if (!l->dispatch.version)
		runs_inherit(&l->dispatch, &hello);
	l->dispatch.open = true;
	l->dispatch.version = hello.version;
	l->dispatch.has_consoles = hello.has_consoles;
	l->dispatch.has_programs = hello.has_programs;
	l->dispatch.has_queries = hello.queries;
	l->dispatch.has_checkpoints = hello.checkpoints;
	l->dispatch.has_branches = hello.branches;
	l->dispatch.links = hello.links;
	l->dispatch.has_files = hello.files;
	l->dispatch.has_streams = hello.streams;
	l->dispatch.has_gate = hello.gate;
	l->failures = 0;
	fail_release(&l->dispatch.trouble);
	l->dispatch.last_call = MAX(l->dispatch.last_call, hello.last_call);
	set_lease(l, hello.lease_seconds);
	/* Before the claim, so that no code runs earlier than the rules apply. */
	line_gate_resume(&l->dispatch);
	if (l->claim.len && !*hello.session)
		dispatch_send(&l->dispatch, &l->claim);
	runs_resume(&l->dispatch, hello.last_call);
	l->spec.handler.on_hello(l->spec.handler.ctx, &hello);
	return 0;
}

static int on_event(struct line *l, const struct wire_frame *frame)
{
	AUTO(wire_event_release) struct wire_event event = { 0 };
	wire_read_event(frame, &event);
	if (event.kind == WIRE_EVENT_CLAIMED)
		set_lease(l, event.lease_seconds);
	l->spec.handler.on_event(l->spec.handler.ctx, &event);
	return 0;
}

static int on_pong(struct line *l UNUSED, const struct wire_frame *frame UNUSED)
{
	return 0;
}

static int on_info(struct line *l, const struct wire_frame *frame)
{
	return status_frame(&l->dispatch, frame);
}

static int on_answer(struct line *l, const struct wire_frame *frame)
{
	return queries_frame(&l->dispatch, frame);
}

static int on_stream(struct line *l, const struct wire_frame *frame)
{
	return line_streams_frame(&l->dispatch, frame);
}

static int on_gate(struct line *l, const struct wire_frame *frame)
{
	return line_gate_frame(&l->dispatch, frame);
}

/* Transfers, consoles and runs share one sequence of numbers and some frame types, so the number decides. */
static int on_numbered(struct line *l, const struct wire_frame *frame)
{
	int r;
	if (transfers_frame(&l->dispatch, frame, &r) || consoles_on_frame(&l->dispatch, frame, &r))
		return r;
	return runs_frame(&l->dispatch, frame);
}

/* Handlers of the frames that PID 1 may send after its HELLO. They return 0, or negative if the connection must be
 * closed. */
static int (*const routes[])(struct line *l, const struct wire_frame *frame) = {
	[FRAME_EVENT] = on_event,
	[FRAME_PONG] = on_pong,
	[FRAME_INFO] = on_info,
	[FRAME_ANSWER] = on_answer,

	[FRAME_STREAM_OPEN] = on_gate,
	[FRAME_GATE_DENIED] = on_gate,

	[FRAME_STREAM_ACCEPT] = on_stream,
	[FRAME_STREAM_REFUSE] = on_stream,
	[FRAME_STREAM_DATA] = on_stream,
	[FRAME_STREAM_CREDIT] = on_stream,
	[FRAME_STREAM_END] = on_stream,

	[FRAME_CALL] = on_numbered,
	[FRAME_OUT] = on_numbered,
	[FRAME_ERR] = on_numbered,
	[FRAME_OUT_TAIL] = on_numbered,
	[FRAME_ERR_TAIL] = on_numbered,
	[FRAME_DISPLAY] = on_numbered,
	[FRAME_RESULT] = on_numbered,
	[FRAME_ERROR] = on_numbered,
	[FRAME_PROGRESS] = on_numbered,
	[FRAME_PROMPT] = on_numbered,
	[FRAME_MARK] = on_numbered,
	[FRAME_END] = on_numbered,

	[FRAME_ENTRY] = on_numbered,
	[FRAME_DATA] = on_numbered,
	[FRAME_MAP] = on_numbered,
	[FRAME_FILE] = on_numbered,
	[FRAME_CREDIT] = on_numbered,
	[FRAME_ITEM] = on_numbered,

	[FRAME_CONSOLE_DATA] = on_numbered,
	[FRAME_CONSOLE_ERR] = on_numbered,
};

/* 0, or negative if the connection must be closed. */
static int on_frame(struct line *l, const struct wire_frame *frame)
{
	watchdog_detail("a frame (container, type):", l->spec.container, frame->type);
	/* An EVENT may precede the hello: with it, PID 1 refuses a server whose epoch is old. */
	if (!l->dispatch.open && frame->type != FRAME_EVENT)
		return on_hello(l, frame);
	if ((size_t)frame->type >= ARRAY_LEN(routes) || !routes[frame->type])
		return -EPROTO;
	return routes[frame->type](l, frame);
}

/* 0, or negative if the connection is gone or must be closed. */
static int take_frame(struct line *l, struct wire_frame *frame)
{
	struct loop *loop = l->dispatch.loop;
	uint64_t connection = l->connection;
	int descriptor = frame->type == FRAME_FILE ? dispatch_take_descriptor(&l->dispatch) : -1;
	frame->descriptor = &descriptor;
	int r = on_frame(l, frame);
	work_close(loop, descriptor); /* if no handler took it */
	/* The frame may have ended the connection, or the whole line. */
	if (l->connection != connection)
		return -ECANCELED;
	if (r >= 0)
		return 0;
	log_debug("line: frame of type %d, %zu bytes, call %u, not expected", frame->type, frame->n, frame->call);
	break_protocol(l);
	return r;
}

static void prepare(struct line *l, const struct wire_frame *frame, struct prepared *p);

static void take_frames(struct line *l)
{
	struct wire_frame frame;
	int r;
	while ((r = wire_next(&l->wire, &frame)) == 1) {
		struct prepared *p = l->dispatch.open ? runs_prepare(&l->dispatch, &frame) : NULL;
		if (p) {
			prepare(l, &frame, p);
			return;
		}
		if (take_frame(l, &frame) < 0)
			return;
	}
	if (r < 0)
		break_protocol(l);
}

static void on_bytes(void *ctx, const void *data, size_t n)
{
	struct line *l = ctx;
	if (l->closed)
		return; /* after line_stop() */
	l->frame_ms = l->dispatch.heard_ms = loop_now_ms();
	wire_feed(&l->wire, data, n);
	if (!l->preparation)
		take_frames(l);
}

/* --- frames that take long --------------------------------------------------------------------------------------- */

static void work_on_frame(void *ctx)
{
	struct preparation *p = ctx;
	prepared_work(p->prepared, &p->frame);
}

static void on_prepared(void *ctx, bool forgotten)
{
	struct preparation *p = ctx;
	struct line *l = p->line;
	uint64_t connection = forgotten ? 0 : l->connection;
	if (!forgotten) {
		l->preparation = NULL;
		l->frame_ms = loop_now_ms();
		runs_take_prepared(&l->dispatch, p->frame.call, take_ptr(p->prepared));
		if (take_frame(l, &p->frame) == 0)
			take_frames(l);
	}
	prepared_free(p->prepared);
	buf_release(&p->held);
	free(p);
	if (forgotten || l->connection != connection || l->preparation)
		return;
	if (!l->ended.kind) {
		l->spec.transport->ops->pause(l->spec.transport, false);
		return;
	}
	AUTO(fail_release) struct fail f = { 0 };
	fail_move(&f, &l->ended);
	broken(l, &f);
}

static void prepare(struct line *l, const struct wire_frame *frame, struct prepared *prepared)
{
	struct preparation *p = new0(struct preparation);
	p->line = l;
	p->frame = *frame;
	p->prepared = prepared;
	wire_detach(&l->wire, &p->held);
	l->preparation = p;
	if (!l->ended.kind)
		l->spec.transport->ops->pause(l->spec.transport, true);
	p->work = work_start(l->dispatch.loop, &(struct work_spec){ .fn = work_on_frame,
								    .on_done = on_prepared,
								    .ctx = p,
								    .render = true,
								    .session = l->spec.container });
}

static void on_descriptor(void *ctx, int fd)
{
	struct line *l = ctx;
	if (l->closed)
		work_close(l->dispatch.loop, fd);
	else if (dispatch_put_descriptor(&l->dispatch, fd) < 0)
		break_protocol(l);
}

static void on_closed(void *ctx, const struct fail *f)
{
	struct line *l = ctx;
	log_debug("line: connection closed: %s", f->message);
	/* First process the frames that arrived before the end. */
	if (l->preparation) {
		l->connected = false;
		fail_copy(&l->ended, f);
		return;
	}
	broken(l, f);
}

static void connect_now(struct line *l)
{
	struct transport *t = l->spec.transport;
	struct transport_handler handler = {
		.on_bytes = on_bytes, .on_descriptor = on_descriptor, .on_closed = on_closed, .ctx = l
	};
	AUTO(buf_release) struct buf hello = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	if (t->ops->open(t, &handler, &f) < 0) {
		broken(l, &f);
		return;
	}
	l->connected = true;
	l->frame_ms = loop_now_ms();
	wire_put_hello(&hello, l->spec.epoch);
	dispatch_send(&l->dispatch, &hello);
}

static void on_retry(void *ctx)
{
	connect_now(ctx);
}

static void on_heartbeat(void *ctx)
{
	struct line *l = ctx;
	if (!l->connected || l->preparation)
		return;
	uint64_t silent = loop_now_ms() - l->frame_ms;
	if (silent > l->lease_ms / 4 + STUCK_MS) {
		AUTO(fail_release) struct fail f = { 0 };
		cause_set(&f, FAIL_ENGINE, CAUSE_NO_ANSWER, "the container has not answered for %llu s",
			  (unsigned long long)silent / 1000);
		broken(l, &f);
		return;
	}
	dispatch_send_frame(&l->dispatch, FRAME_PING, 0);
}

/* --- life -------------------------------------------------------------------------------------------------------- */

struct line *line_new(const struct line_spec *spec)
{
	struct line *l = new0(struct line);
	l->spec = *spec;
	l->lease_ms = spec->lease_ms;
	dispatch_init(&l->dispatch, spec->loop, spec->config, send_frames);
	l->heartbeat = timer_new(spec->loop, on_heartbeat, l);
	l->retry = timer_new(spec->loop, on_retry, l);
	return l;
}

void line_claim(struct line *l, const struct wire_claim *claim)
{
	buf_reset(&l->claim);
	wire_put_claim(&l->claim, claim);
	if (l->dispatch.open)
		dispatch_send(&l->dispatch, &l->claim);
}

void line_open(struct line *l)
{
	timer_start(l->heartbeat, l->lease_ms / 4, l->lease_ms / 4);
	timer_start(l->retry, 0, 0);
}

/* Sends STOP. PID 1 then exits as soon as the connection closes, so the connection stays open and is just not read
 * any more. False if a process in the container carries the connection: STOP would kill that process, which closes
 * the connection. */
static bool tell_stop(struct line *l)
{
	struct transport *t = l->spec.transport;
	if (!l->dispatch.open || !t->ops->is_direct || !t->ops->is_direct(t))
		return false;
	dispatch_send_frame(&l->dispatch, FRAME_STOP, 0);
	t->ops->pause(t, true);
	return true;
}

static void close_line(struct line *l, const struct fail *why, bool stop)
{
	l->closed = true;
	timer_stop(l->heartbeat);
	timer_stop(l->retry);
	if (stop && tell_stop(l))
		forget_connection(l);
	else
		disconnect(l);
	transfers_lost(&l->dispatch, why, /* gone= */ true);
}

void line_close(struct line *l, const struct fail *why)
{
	close_line(l, why, /* stop= */ false);
}

void line_stop(struct line *l, const struct fail *why)
{
	close_line(l, why, /* stop= */ true);
}

void line_cut(struct line *l, enum ending ending, const struct fail *why)
{
	runs_cut(&l->dispatch, ending, why);
	consoles_lost(&l->dispatch, why);
	line_streams_lost(&l->dispatch, why);
	queries_lost(&l->dispatch, why);
	status_lost(&l->dispatch);
}

struct dispatch *line_dispatch(struct line *l)
{
	return &l->dispatch;
}

bool line_busy(const struct line *l)
{
	return runs_busy(&l->dispatch) || transfers_busy(&l->dispatch) || consoles_busy(&l->dispatch) ||
	       !list_empty(&l->dispatch.streams);
}

const char *line_transport(const struct line *l)
{
	return l->spec.transport->ops->name(l->spec.transport);
}

struct line *line_free(struct line *l)
{
	if (!l)
		return NULL;
	runs_release(&l->dispatch);
	consoles_release(&l->dispatch);
	line_streams_release(&l->dispatch);
	queries_release(&l->dispatch);
	status_release(&l->dispatch);
	dispatch_flush(&l->dispatch);
	disconnect(l);
	l->spec.transport->ops->free(l->spec.transport);
	timer_free(l->heartbeat);
	timer_free(l->retry);
	buf_release(&l->claim);
	dispatch_release(&l->dispatch);
	free(l);
	return NULL;
}
