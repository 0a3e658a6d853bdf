#include "manager/deps/install.h"

#include <time.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/utf8.h"
#include "manager/deps/set.h"
#include "manager/line/collect.h"
#include "manager/line/wire.h"
#include "manager/model/token.h"

#define INSTALL_CALL 1
#define ATTACH_RETRY_MS 200
#define ATTACH_RETRIES 25u
/* What PID 1 may need beyond the time limit: to stop the installer, to count, to answer. */
#define GRACE_MS 30000
/* A container that nobody controls any more. */
#define LEASE_SECONDS 60
#define PARTIAL_MAX 16384u
/* The installer's last words, for whoever reads the failure. */
#define LAST_LINES 25
#define LAST_BYTES 6000u

struct install {
	struct loop *loop;
	struct engine *engine;
	const struct config *config;
	struct install_spec spec; /* only the callbacks are looked at after the start */
	char *container;
	struct buf request; /* the INSTALL frame */
	struct strv secrets;
	struct engine_task *task;
	struct engine_stream *stream;
	struct wire wire;
	struct collect *collect;
	struct buf partial[2]; /* of stdout and stderr: a line that has not ended */
	struct buf last;       /* the end of what was said */
	struct timer *deadline, *heartbeat, *retry, *tell;
	unsigned attach_failures;
	bool greeted, ended;
	char *versions; /* the outcome: this and its size, or the failure */
	uint64_t size;
	struct fail failure;
};

static void attach(struct install *i);

static void on_tell(void *ctx)
{
	struct install *i = ctx;
	i->spec.on_done(i->spec.ctx, i->versions, i->size, i->failure.kind ? &i->failure : NULL);
}

/* Told from the loop: the owner may free us, and we may be in the middle of a frame. */
static void end(struct install *i)
{
	i->ended = true;
	timer_stop(i->deadline);
	timer_start(i->tell, 0, 0);
}

static void end_failed(struct install *i, const struct fail *f)
{
	if (i->ended)
		return;
	fail_copy(&i->failure, f);
	end(i);
}

/* --- what it says ------------------------------------------------------------------------------------------------ */

static void say(struct install *i, const char *text, size_t n)
{
	AUTO(buf_release) struct buf clean = { 0 }, shown = { 0 };
	utf8_clean(&clean, text, n);
	deps_scrub(&shown, buf_str(&clean), clean.len, &i->secrets);
	buf_add(&i->last, shown.data, shown.len);
	if (i->last.len > 4 * LAST_BYTES)
		buf_consume(&i->last, i->last.len - 2 * LAST_BYTES);
	if (shown.len)
		i->spec.on_output(i->spec.ctx, buf_str(&shown), shown.len);
}

/* By whole lines, so that a login that came in two pieces is found. */
static void take_output(struct install *i, int stream, const void *data, size_t n)
{
	struct buf *partial = &i->partial[stream];
	buf_add(partial, data, n);
	const char *newline = memrchr(partial->data, '\n', partial->len);
	size_t whole = newline ? (size_t)(newline + 1 - (const char *)partial->data) : 0;
	if (!whole && partial->len > PARTIAL_MAX)
		whole = partial->len;
	say(i, (const char *)partial->data, whole);
	buf_consume(partial, whole);
}

/* Cut output starts anywhere in a line. */
static void take_tail(struct install *i, int stream, const char *text, size_t n)
{
	const char *newline = memchr(text, '\n', n);
	size_t skip = newline ? (size_t)(newline + 1 - text) : n;
	buf_reset(&i->partial[stream]);
	take_output(i, stream, text + skip, n - skip);
}

static char *last_words(struct install *i)
{
	for (int stream = 0; stream < 2; stream++)
		say(i, buf_str(&i->partial[stream]), i->partial[stream].len);
	const char *text = buf_str(&i->last);
	size_t end = i->last.len, start, lines = 0;
	while (end && text[end - 1] == '\n')
		end--;
	for (start = end; start > 0 && end - start < LAST_BYTES; start--)
		if (text[start - 1] == '\n' && ++lines == LAST_LINES)
			break;
	start += utf8_partial_start(text + start, end - start);
	return xstrndup(text + start, end - start);
}

/* --- how it ended ------------------------------------------------------------------------------------------------ */

static void failed_install(struct install *i, const struct run_result *r)
{
	const struct config *c = i->config;
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *words = last_words(i);
	const char *gap = *words ? "\n" : "";
	switch (r->ending) {
	case ENDING_TIMEOUT:
		fail_set(&f, FAIL_TIMEOUT, "the dependencies were not installed within %llu s%s%s",
			 (unsigned long long)c->dependency_timeout, gap, words);
		fail_hint(
			&f,
			"Ask for fewer or smaller packages, or for versions that need no compiling, or raise DEPENDENCY_INSTALL_TIMEOUT_SECONDS.");
		break;
	case ENDING_OOM:
		fail_set(&f, FAIL_INSTALL, "the installer needed more than the memory limit%s%s", gap, words);
		fail_hint(&f, "Ask for versions that need no compiling, or raise CONTAINER_MEMORY_LIMIT.");
		break;
	default:
		fail_set(&f, FAIL_INSTALL, "the dependencies could not be installed%s%s%s%s", r->detail ? ": " : "",
			 r->detail ? r->detail : "", gap, words);
		if (r->detail && strstr(r->detail, "larger"))
			fail_hint(&f, "Ask for fewer or smaller packages, or raise DEPENDENCY_MAX_SIZE (now %llu MiB).",
				  (unsigned long long)(c->dependency_max_size >> 20));
		else
			fail_hint(&f,
				  "Correct the names or versions and call create_session again; no session was made.");
	}
	end_failed(i, &f);
}

/* The report is the container's: hostile like all that comes from it. */
static void read_report(struct install *i, const struct run_result *r)
{
	AUTO(fail_release) struct fail f = { 0 };
	i->versions = deps_read_report(&r->result, &i->size);
	if (i->versions) {
		end(i);
		return;
	}
	fail_set(&f, FAIL_INSTALL, "the installer did not say what it has installed");
	end_failed(i, &f);
}

static void on_end(struct install *i)
{
	AUTO(run_result_release) struct run_result result = { 0 };
	bool refused = collect_refused(i->collect);
	collect_finish(i->collect, &result);
	if (result.ending == ENDING_OK && !refused)
		read_report(i, &result);
	else
		failed_install(i, &result);
}

/* --- the stream -------------------------------------------------------------------------------------------------- */

static void send_bytes(struct install *i, const struct buf *bytes)
{
	if (i->stream)
		(void)i->engine->ops->stream_write(i->stream, bytes->data, bytes->len);
}

static int on_hello(struct install *i, const struct wire_frame *frame)
{
	struct wire_hello hello;
	AUTO(fail_release) struct fail f = { 0 };
	if (frame->type == FRAME_EVENT)
		return 0;
	if (wire_read_hello(frame, &hello, &f) < 0) {
		end_failed(i, &f);
		return -1;
	}
	i->greeted = true;
	i->attach_failures = 0;
	/* PID 1 replays a call that it knows. */
	if (hello.last_call < INSTALL_CALL)
		send_bytes(i, &i->request);
	return 0;
}

static int on_frame(struct install *i, const struct wire_frame *frame)
{
	AUTO(freep) char *tail = NULL;
	if (!i->greeted)
		return on_hello(i, frame);
	switch (frame->type) {
	case FRAME_PONG:
	case FRAME_EVENT:
		return 0;
	case FRAME_HELLO:
		return -1;
	case FRAME_OUT:
	case FRAME_ERR:
		take_output(i, frame->type == FRAME_ERR, frame->payload, frame->n);
		break;
	case FRAME_OUT_TAIL:
	case FRAME_ERR_TAIL:
		take_tail(i, frame->type == FRAME_ERR_TAIL, (const char *)frame->payload, frame->n);
		break;
	case FRAME_PROGRESS:
		tail = wire_read_progress(frame);
		if (tail)
			take_tail(i, 0, tail, strlen(tail));
		break;
	case FRAME_CALL:
		buf_reset(&i->partial[0]);
		buf_reset(&i->partial[1]);
		buf_reset(&i->last);
		break;
	default:
		break;
	}
	int r = collect_frame(i->collect, frame);
	if (r == 1)
		on_end(i);
	return r < 0 ? r : 0;
}

static void on_bytes(void *ctx, const void *data, size_t n)
{
	struct install *i = ctx;
	struct wire_frame frame;
	int r;
	wire_feed(&i->wire, data, n);
	while (!i->ended && (r = wire_next(&i->wire, &frame)) != 0) {
		if (r > 0)
			r = on_frame(i, &frame);
		if (i->ended || r >= 0)
			continue;
		AUTO(fail_release) struct fail f = { 0 };
		if (i->greeted)
			fail_set(&f, FAIL_ENGINE, "the install container broke Husk's protocol");
		else
			i->engine->ops->explain(i->engine, i->wire.reader.buf.data, i->wire.reader.buf.len, &f);
		end_failed(i, &f);
	}
}

static void on_closed(void *ctx, const struct fail *f)
{
	struct install *i = ctx;
	log_debug("install %s: stream closed: %s", i->container, f->message);
	i->stream = i->engine->ops->stream_free(i->stream);
	wire_release(&i->wire);
	i->greeted = false;
	if (i->ended)
		return;
	if (i->attach_failures++ >= ATTACH_RETRIES) {
		AUTO(fail_release) struct fail why = { 0 };
		fail_set(&why, FAIL_INSTALL,
			 "the dependencies could not be installed: the container for it was lost (%s)", f->message);
		fail_hint(&why, "Call create_session again; no session was made.");
		end_failed(i, &why);
		return;
	}
	timer_start(i->retry, ATTACH_RETRY_MS, 0);
}

static void on_retry(void *ctx)
{
	attach(ctx);
}

static void attach(struct install *i)
{
	struct stream_handler handler = { .on_bytes = on_bytes, .on_closed = on_closed, .ctx = i };
	AUTO(buf_release) struct buf hello = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	i->stream = i->engine->ops->attach(i->engine, i->container, &handler, &f);
	if (!i->stream) {
		on_closed(i, &f);
		return;
	}
	wire_put_hello(&hello, /* fence= */ 1);
	send_bytes(i, &hello);
}

static void on_heartbeat(void *ctx)
{
	struct install *i = ctx;
	AUTO(buf_release) struct buf ping = { 0 };
	wire_put(&ping, FRAME_PING, 0, NULL, 0);
	if (i->greeted)
		send_bytes(i, &ping);
}

static void on_deadline(void *ctx)
{
	struct install *i = ctx;
	failed_install(i, &(struct run_result){ .ending = ENDING_TIMEOUT });
}

/* --- life -------------------------------------------------------------------------------------------------------- */

static void on_created(void *ctx, const struct fail *f)
{
	struct install *i = ctx;
	i->task = NULL;
	if (f) {
		end_failed(i, f);
		return;
	}
	timer_start(i->heartbeat, LEASE_SECONDS * 1000 / 4, LEASE_SECONDS * 1000 / 4);
	attach(i);
}

static void start_container(struct install *i, const struct install_spec *spec)
{
	const struct config *c = i->config;
	uint64_t lifetime = c->dependency_timeout + 2 * GRACE_MS / 1000 + 900;
	struct container_spec container = {
		.name = i->container,
		.image = spec->image,
		.store = spec->store,
		.owner = spec->owner,
		.memory = c->memory_limit,
		.cpu_quota = c->cpu_quota,
		.pids = c->pids_limit,
		.tmpfs = c->tmpfs_size,
		.lease = LEASE_SECONDS,
		.lifetime = lifetime,
		.network = true,
		.keep_proxies = c->proxy_enabled,
		.ca_bundle = c->ca_bundle,
		.install = true,
	};
	i->task = i->engine->ops->create(i->engine, &container, on_created, i);
}

struct install *install_start(const struct install_spec *spec)
{
	struct install *i = new0(struct install);
	char id[TOKEN_SIZE];
	token_make(id);
	i->loop = spec->loop;
	i->engine = spec->engine;
	i->config = spec->config;
	i->spec = (struct install_spec){ .on_output = spec->on_output, .on_done = spec->on_done, .ctx = spec->ctx };
	i->container = xasprintf("husk-%s", id);
	i->collect = collect_new(i->config);
	deps_secrets(&i->secrets, spec->sources);
	wire_put_install(&i->request, INSTALL_CALL,
			 &(struct wire_install){ .packages = spec->wanted,
						 .env = spec->sources,
						 .timeout_ms = i->config->dependency_timeout * 1000,
						 .size_limit = i->config->dependency_max_size });
	i->heartbeat = timer_new(i->loop, on_heartbeat, i);
	i->retry = timer_new(i->loop, on_retry, i);
	i->tell = timer_new(i->loop, on_tell, i);
	i->deadline = timer_new(i->loop, on_deadline, i);
	timer_start(i->deadline, i->config->dependency_timeout * 1000 + GRACE_MS, 0);
	start_container(i, spec);
	return i;
}

const char *install_container(const struct install *i)
{
	return i->container;
}

struct install *install_free(struct install *i)
{
	if (!i)
		return NULL;
	/* A create that is under way cleans up behind itself. */
	if (i->task)
		i->engine->ops->task_cancel(i->task);
	else
		i->engine->ops->remove(i->engine, i->container, /* done= */ NULL, NULL);
	i->engine->ops->stream_free(i->stream);
	wire_release(&i->wire);
	collect_free(i->collect);
	timer_free(i->deadline);
	timer_free(i->heartbeat);
	timer_free(i->retry);
	timer_free(i->tell);
	buf_release(&i->request);
	buf_release(&i->partial[0]);
	buf_release(&i->partial[1]);
	buf_release(&i->last);
	strv_release(&i->secrets);
	fail_release(&i->failure);
	free(i->versions);
	free(i->container);
	free(i);
	return NULL;
}
