#include "manager/gate/terminate.h"

#include <errno.h>

#include "base/alloc.h"
#include "manager/gate/inject.h"
#include "manager/model/cause.h"

/* Maximum size of the bytes that a session sends before the host has answered; a hello has less than 17 KiB. */
#define HELD_MAX GATE_FILTER_STEP

struct terminate {
	struct gate_filter base;
	char *host;
	struct tls *session, *upstream;
	struct inject *inject;
	struct buf held; /* the session's bytes before the host is verified */
	bool begun, released;
	bool failed;	       /* the host could not be verified: nothing is sent to it any more */
	bool closed_by_host;   /* with a close_notify */
	struct buf *up, *down; /* during a call */
	int error;	       /* of a write during a call */
};

static struct terminate *terminate_of(struct gate_filter *f)
{
	return container_of(f, struct terminate, base);
}

static void send_up(void *ctx, const void *data, size_t n)
{
	struct terminate *t = ctx;
	if (!t->failed && tls_send(t->upstream, data, n, t->up) < 0)
		t->error = -EPROTO;
}

static void send_down(void *ctx, const void *data, size_t n)
{
	struct terminate *t = ctx;
	if (tls_send(t->session, data, n, t->down) < 0)
		t->error = -EPROTO;
}

static int lost(struct terminate *t, struct fail *f)
{
	return cause_set(f, FAIL_INVALID, CAUSE_GATE_TLS, "the TLS connection to %s broke", t->host), -EPROTO;
}

static int from_session_tls(struct terminate *t, const void *data, size_t n, struct fail *f)
{
	AUTO(buf_wipe) struct buf plain = { 0 };
	int r = tls_receive(t->session, data, n, &plain, t->down);
	if (r < 0) {
		cause_set(f, FAIL_INVALID, CAUSE_GATE_TLS,
			  "the connection to %s cannot carry a secret: the session's TLS failed: %s", t->host,
			  tls_error(t->session));
		fail_hint(
			f,
			"The gate needs TLS with the name of the host (SNI) and HTTP/1.1, and a client that trusts the "
			"certificates in SSL_CERT_FILE.");
		return -EPROTO;
	}
	int sent = plain.len ? inject_request(t->inject, plain.data, plain.len, f) : 0;
	if (sent < 0)
		tls_finish(t->session, t->down);
	else if (r == 1 && !t->failed)
		tls_finish(t->upstream, t->up);
	return sent < 0 ? sent : t->error ? lost(t, f) : 0;
}

/* The host is verified, or never will be: the session's hello is answered. */
static int release_held(struct terminate *t, struct fail *f)
{
	AUTO(buf_release) struct buf held = t->held;
	t->held = (struct buf){ 0 };
	t->released = true;
	return held.len ? from_session_tls(t, held.data, held.len, f) : 0;
}

/* The reason is given in the answer to the session's first request. */
static int give_up(struct terminate *t, const char *why, struct fail *f)
{
	AUTO(fail_release) struct fail reason = { 0 };
	cause_set(&reason, FAIL_INVALID, CAUSE_GATE_UPSTREAM, "the host %s did not prove who it is: %s", t->host, why);
	t->failed = true;
	inject_refuse(t->inject, &reason);
	return t->released ? fail_move(f, &reason), -EPROTO : release_held(t, f);
}

static void begin_call(struct terminate *t, struct buf *up, struct buf *down)
{
	t->up = up;
	t->down = down;
	t->error = 0;
	if (t->begun)
		return;
	t->begun = true;
	send_up(t, NULL, 0);
}

static int from_session(struct gate_filter *filter, const void *data, size_t n, struct buf *up, struct buf *down,
			struct fail *f)
{
	struct terminate *t = terminate_of(filter);
	begin_call(t, up, down);
	if (t->released)
		return from_session_tls(t, data, n, f);
	if (buf_add(&t->held, data, n) == 0)
		return 0;
	cause_set(f, FAIL_INVALID, CAUSE_GATE_TLS, "the session sent too much before %s had answered", t->host);
	return -EPROTO;
}

static int from_upstream(struct gate_filter *filter, const void *data, size_t n, struct buf *up, struct buf *down,
			 struct fail *f)
{
	struct terminate *t = terminate_of(filter);
	AUTO(buf_wipe) struct buf plain = { 0 };
	begin_call(t, up, down);
	if (t->failed)
		return 0;
	int r = tls_receive(t->upstream, data, n, &plain, up);
	if (r < 0 && !t->released)
		return give_up(t, tls_error(t->upstream), f);
	if (r < 0)
		return lost(t, f);
	t->closed_by_host = t->closed_by_host || r == 1;
	if (!t->released && tls_is_ready(t->upstream)) {
		int released = release_held(t, f);
		if (released < 0)
			return released;
	}
	if (plain.len && t->released) {
		int passed = inject_response(t->inject, plain.data, plain.len, f);
		if (passed < 0) {
			tls_finish(t->session, down);
			return passed;
		}
	}
	return t->error ? lost(t, f) : 0;
}

static int session_ended(struct gate_filter *filter, struct buf *up, struct buf *down, struct fail *f UNUSED)
{
	struct terminate *t = terminate_of(filter);
	begin_call(t, up, down);
	if (!t->failed)
		tls_finish(t->upstream, up);
	return 0;
}

/* An answer that was cut off must not look complete, so the session then gets no close_notify. */
static int upstream_ended(struct gate_filter *filter, struct buf *up, struct buf *down, struct fail *f)
{
	struct terminate *t = terminate_of(filter);
	begin_call(t, up, down);
	if (t->failed)
		return 0;
	if (!t->released)
		return give_up(t, "it closed the connection during the TLS handshake", f);
	if (inject_ended(t->inject) || t->closed_by_host)
		tls_finish(t->session, down);
	return 0;
}

static void terminate_free(struct gate_filter *filter)
{
	struct terminate *t = terminate_of(filter);
	inject_free(t->inject);
	tls_free(t->session);
	tls_free(t->upstream);
	buf_release(&t->held);
	free(t->host);
	free(t);
}

/* The session's first request gets the reason. */
static bool is_alone(const struct gate_filter *f)
{
	return terminate_of((struct gate_filter *)(uintptr_t)f)->failed;
}

const char *terminate_used(const struct gate_filter *f)
{
	return inject_used(container_of((struct gate_filter *)(uintptr_t)f, struct terminate, base)->inject);
}

struct gate_filter *terminate_new(const struct terminate_spec *spec)
{
	static const struct gate_filter_type type = { .from_session = from_session,
						      .from_upstream = from_upstream,
						      .session_ended = session_ended,
						      .upstream_ended = upstream_ended,
						      .is_alone = is_alone,
						      .secret = terminate_used,
						      .free = terminate_free };
	static const struct inject_ops ops = { .up = send_up, .down = send_down };
	struct tls *upstream = tls_new(spec->upstream, spec->host);
	if (!upstream)
		return NULL;
	struct terminate *t = new0(struct terminate);
	t->base.type = &type;
	t->host = xstrdup(spec->host);
	t->upstream = upstream;
	t->session = tls_new(spec->session, NULL);
	t->inject = inject_new(spec->host, spec->port, spec->secrets, &ops, t);
	t->held.max = HELD_MAX;
	return &t->base;
}
