#include "attach/client.h"

#include <errno.h>

#include "attach/client-private.h"
#include "attach/codec.h"
#include "attach/fields.h"
#include "attach/wire.h"
#include "base/alloc.h"
#include "base/stream.h"

/* Bytes that may wait for a server that does not read. */
#define QUEUE_MAX (4 * ATTACH_REQUEST_MAX)
/* Time limit for the server's hello. */
#define HELLO_MS 10000

struct attach {
	struct attach_spec spec;
	struct stream *stream;
	struct attach_reader reader;
	struct list calls; /* of struct attach_call */
	size_t n_calls;
	uint32_t last_number;
	struct timer *timer; /* for the hello, then to report the loss */
	struct fail loss;    /* no kind while connected */
	bool takes_no_files; /* the server is an older version */
	bool reading, freed; /* attach_free() from a callback waits for it to return */
};

static void drop_call(struct attach_call *call)
{
	list_remove(&call->node);
	call->attach->n_calls--;
	call->type->free(call);
}

/* The loss is reported from the loop, because callbacks never run inside a function that the user called. */
static void lose(struct attach *a, const char *why)
{
	if (a->loss.kind)
		return;
	cause_set(&a->loss, FAIL_DIED, CAUSE_NO_SERVER, "the connection to the session's server is gone: %s", why);
	timer_start(a->timer, 0, 0);
}

static void tell_loss(struct attach *a)
{
	a->stream = stream_free(a->stream);
	for (struct attach_call *call; !a->freed && (call = list_first(&a->calls, struct attach_call, node));) {
		list_remove(&call->node);
		a->n_calls--;
		call->type->on_fail(call, &a->loss);
		call->type->free(call);
	}
	if (!a->freed && a->spec.on_lost)
		a->spec.on_lost(a->spec.ctx, &a->loss);
}

static void end_callbacks(struct attach *a)
{
	a->reading = false;
	if (a->freed) {
		a->freed = false;
		attach_free(a);
	}
}

static void on_timer(void *ctx)
{
	struct attach *a = ctx;
	if (!a->loss.kind)
		cause_set(&a->loss, FAIL_TIMEOUT, CAUSE_SERVER_SILENT,
			  "the session's server did not answer within %d s", HELLO_MS / 1000);
	a->reading = true;
	tell_loss(a);
	end_callbacks(a);
}

static void send_with(struct attach *a, const struct buf *frames, const int *files, size_t n_files)
{
	if (a->loss.kind)
		return;
	int r = n_files ? stream_write_with(a->stream, frames->data, frames->len, files, n_files) :
			  stream_write(a->stream, frames->data, frames->len);
	if (r < 0)
		lose(a, r == -ENOBUFS ? "it does not read its messages" : strerror(-r));
}

static void send_frames(struct attach *a, const struct buf *frames)
{
	send_with(a, frames, NULL, 0);
}

/* --- in ------------------------------------------------------------------------------------------------------------ */

static struct attach_call *find(struct attach *a, uint32_t number)
{
	list_for_each(call, &a->calls, struct attach_call, node)
		if (call->number == number)
			return call;
	return NULL;
}

static void on_hello(struct attach *a, const json_t *json)
{
	struct fields in = { .json = json };
	const json_t *fail = fields_object(&in, "fail"), *session = fields_object(&in, "session");
	struct attach_hello hello = { .version = fields_number(&in, "version", UINT32_MAX),
				      .pid = fields_number(&in, "pid", INT32_MAX),
				      .has_session = session != NULL };
	struct session_info info = { 0 };
	bool files = fields_bool(&in, "files");
	AUTO(fail_release) struct fail bad = { 0 };
	if (fail) {
		fail_decode(fail, &a->loss);
		timer_start(a->timer, 0, 0);
		return;
	}
	if (fields_check(&in, &bad) < 0 || (session && session_info_decode(session, &info, &bad) < 0)) {
		lose(a, bad.message);
		return;
	}
	if (!hello.version || hello.version > ATTACH_VERSION) {
		cause_set(&a->loss, FAIL_INVALID, CAUSE_OTHER_VERSION,
			  "the session's server speaks version %llu of the protocol, and this program %d",
			  (unsigned long long)hello.version, ATTACH_VERSION);
		timer_start(a->timer, 0, 0);
		return;
	}
	a->takes_no_files = !files;
	hello.runtime = info.runtime;
	hello.status = info.status;
	timer_stop(a->timer);
	if (a->spec.on_hello)
		a->spec.on_hello(a->spec.ctx, &hello);
}

static void on_answer(struct attach_call *call, const json_t *json)
{
	AUTO(fail_release) struct fail f = { 0 };
	const json_t *result = json_object_get(json, "result");
	list_remove(&call->node);
	call->attach->n_calls--;
	if (!result)
		fail_decode(json_object_get(json, "fail"), &f);
	else if (call->type->on_answer(call, result, &f) < 0)
		cause_set(&f, FAIL_INTERNAL, CAUSE_PROTOCOL, "the server's answer is malformed: %s",
			  f.message ? f.message : "it is not a result");
	if (f.kind)
		call->type->on_fail(call, &f);
	call->type->free(call);
}

static void on_message(struct attach *a, const struct attach_message *m)
{
	struct attach_call *call;
	if (m->type == ATTACH_HELLO) {
		on_hello(a, m->json);
		return;
	}
	if (m->call > a->last_number) {
		lose(a, "it answered a request that was never made");
		return;
	}
	/* A cancelled request is no longer found. */
	call = find(a, m->call);
	if (!call)
		return;
	if (m->type == ATTACH_ANSWER)
		on_answer(call, m->json);
	else if (m->type == ATTACH_NOTE && call->type->on_note)
		call->type->on_note(call, m->json);
	else if (m->type != ATTACH_NOTE && call->type->on_bytes)
		call->type->on_bytes(call, m->type == ATTACH_ERR_BYTES ? 2 : 1, m->bytes, m->n);
}

static void on_data(void *ctx, const void *data, size_t n)
{
	struct attach *a = ctx;
	const char *why = NULL;
	int r = 0;
	if (a->loss.kind)
		return;
	attach_reader_feed(&a->reader, data, n);
	a->reading = true;
	while (!a->freed && !a->loss.kind) {
		struct attach_message m = { 0 };
		r = attach_reader_next(&a->reader, &m, &why);
		if (r <= 0)
			break;
		on_message(a, &m);
		attach_message_release(&m);
	}
	if (r < 0)
		lose(a, why);
	end_callbacks(a);
}

static void on_eof(void *ctx, int error)
{
	lose(ctx, error ? strerror(-error) : "it has ended");
}

static void on_write_error(void *ctx, int error)
{
	lose(ctx, error == -EPIPE ? "it has ended" : strerror(-error));
}

/* --- calls --------------------------------------------------------------------------------------------------------- */

struct attach_call *attach_call_start(struct attach *a, struct attach_call *call, const struct attach_call_type *type,
				      json_t *request, struct fail *f)
{
	AUTO(buf_release) struct buf frames = { 0 };
	json_auto_t *json = request;
	int r = -1;
	call->type = type;
	call->attach = a;
	list_init(&call->node);
	json_object_set_new(json, "op", json_string(type->op));
	fields_put_number(json, "files", call->n_files);
	if (call->n_files && a->takes_no_files)
		cause_set(f, FAIL_INVALID, CAUSE_OTHER_VERSION,
			  "the session's server is older than this program and does not accept files from it");
	else if (a->loss.kind)
		fail_copy(f, &a->loss);
	else if (a->n_calls >= ATTACH_CALLS_MAX)
		fail_set(f, FAIL_BUSY, "%d requests are already waiting for their answers", ATTACH_CALLS_MAX);
	else if ((r = attach_put(&frames, ATTACH_CLIENT, ATTACH_CALL, a->last_number + 1, json)) < 0)
		cause_set(f, FAIL_LIMIT, CAUSE_TOO_LONG, "a request has at most %u MiB", ATTACH_REQUEST_MAX >> 20);
	if (r < 0) {
		type->free(call);
		return NULL;
	}
	call->number = ++a->last_number;
	list_append(&a->calls, &call->node);
	a->n_calls++;
	send_with(a, &frames, call->files, call->n_files);
	call->files = NULL;
	return call;
}

void attach_call_note(struct attach_call *call, json_t *note)
{
	AUTO(buf_release) struct buf frames = { 0 };
	if (attach_put(&frames, ATTACH_CLIENT, ATTACH_NOTE, call->number, note) == 0)
		send_frames(call->attach, &frames);
	json_decref(note);
}

void attach_call_bytes(struct attach_call *call, const void *data, size_t n)
{
	AUTO(buf_release) struct buf frames = { 0 };
	if (!n)
		return;
	attach_put_bytes(&frames, ATTACH_BYTES, call->number, data, n);
	send_frames(call->attach, &frames);
}

static void send_empty(struct attach_call *call, enum attach_frame type)
{
	AUTO(buf_release) struct buf frames = { 0 };
	attach_put_bytes(&frames, type, call->number, "", 0);
	send_frames(call->attach, &frames);
}

void attach_interrupt(struct attach_call *call)
{
	send_empty(call, ATTACH_INTERRUPT);
}

void attach_cancel(struct attach_call *call)
{
	send_empty(call, ATTACH_CANCEL);
	drop_call(call);
}

/* --- life ---------------------------------------------------------------------------------------------------------- */

static void say_hello(struct attach *a)
{
	AUTO(buf_release) struct buf frames = { 0 };
	json_auto_t *hello = json_object();
	fields_put_number(hello, "version", ATTACH_VERSION);
	fields_put_text(hello, "session", a->spec.session_id);
	attach_put(&frames, ATTACH_CLIENT, ATTACH_HELLO, 0, hello);
	send_frames(a, &frames);
	timer_start(a->timer, HELLO_MS, 0);
}

struct attach *attach_new(const struct attach_spec *spec)
{
	static const struct stream_ops ops = { .on_data = on_data, .on_eof = on_eof, .on_write_error = on_write_error };
	struct attach *a = new0(struct attach);
	a->spec = *spec;
	a->stream = stream_new(spec->loop, spec->fd, spec->fd, &ops, a);
	if (!a->stream) {
		int saved = errno;
		free(a);
		errno = saved;
		return NULL;
	}
	stream_set_queue_max(a->stream, QUEUE_MAX);
	list_init(&a->calls);
	attach_reader_init(&a->reader, ATTACH_SERVER);
	a->timer = timer_new(spec->loop, on_timer, a);
	say_hello(a);
	a->spec.session_id = NULL;
	return a;
}

void attach_watch(struct attach *a, void (*on_lost)(void *ctx, const struct fail *f), void *ctx)
{
	a->spec.on_lost = on_lost;
	a->spec.ctx = ctx;
}

struct attach *attach_free(struct attach *a)
{
	if (!a || a->freed)
		return NULL;
	for (struct attach_call *call; (call = list_first(&a->calls, struct attach_call, node));)
		drop_call(call);
	a->timer = timer_free(a->timer);
	a->stream = stream_free(a->stream);
	if (a->reading) {
		a->freed = true;
		return NULL;
	}
	attach_reader_release(&a->reader);
	fail_release(&a->loss);
	free(a);
	return NULL;
}
