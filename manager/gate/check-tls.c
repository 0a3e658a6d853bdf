#include <errno.h>

#include "base/alloc.h"
#include "base/hello.h"
#include "manager/gate/checks.h"
#include "manager/model/cause.h"

/* The most that a session may send before the server has answered its hello: early data, or a second hello. */
#define HELD_MAX (64u << 10)

enum step {
	STEP_HELLO,  /* the session's hello is not complete */
	STEP_ANSWER, /* the server has not answered it */
	STEP_AGAIN,  /* the server has asked for a second hello */
	STEP_PASS,
};

struct check_tls {
	struct gate_filter base;
	char *host;
	enum step step;
	struct buf held;    /* bytes of the session that were not passed on */
	size_t read;	    /* of these, records of a hello that is not complete */
	struct buf message; /* the hello, without the headers of its records */
	struct buf answer;  /* the server's first bytes */
};

static struct check_tls *check_of(struct gate_filter *f)
{
	return container_of(f, struct check_tls, base);
}

static int refuse(struct check_tls *c, struct buf *down, struct fail *f, const char *fmt, ...) PRINTF_LIKE(4, 5);

static int refuse(struct check_tls *c, struct buf *down, struct fail *f, const char *fmt, ...)
{
	/* Alert: fatal, access_denied. */
	static const uint8_t alert[] = { HELLO_ALERT, 3, 3, 0, 2, 2, 49 };
	va_list ap;
	va_start(ap, fmt);
	AUTO(freep) char *text = xvasprintf(fmt, ap);
	va_end(ap);
	buf_add(down, alert, sizeof(alert));
	cause_set(f, FAIL_INVALID, CAUSE_GATE_MISMATCH, "the connection to %s %s", c->host, text);
	fail_hint(f, "Port 443 carries only TLS that names the host (SNI), unless a rule ends in :443/tcp.");
	return -EPROTO;
}

static int check_name(struct check_tls *c, const char *name, struct buf *down, struct fail *f)
{
	if (streq(name, c->host))
		return 0;
	return *name ? refuse(c, down, f, "asks for another host in its TLS hello: %s", name) :
		       refuse(c, down, f, "names no host in its TLS hello");
}

/* How a record of the session is treated. */
enum fate { FATE_REFUSED = -1, FATE_WAIT, FATE_MORE, FATE_PASS };

static enum fate read_hello(struct check_tls *c, const void *record, size_t size, struct buf *down, struct fail *f)
{
	char name[HELLO_NAME_SIZE];
	if (hello_add(&c->message, record, size) < 0)
		return refuse(c, down, f, "sends a TLS hello that is too long"), FATE_REFUSED;
	int r = hello_read(&c->message, name);
	if (r < 0)
		return refuse(c, down, f, "sends a TLS hello that is not valid"), FATE_REFUSED;
	if (r == 0)
		return FATE_MORE;
	if (check_name(c, name, down, f) < 0)
		return FATE_REFUSED;
	c->step = c->step == STEP_HELLO ? STEP_ANSWER : STEP_PASS;
	buf_release(&c->message);
	return FATE_PASS;
}

static enum fate judge(struct check_tls *c, const void *record, size_t size, enum hello_record type, struct buf *down,
		       struct fail *f)
{
	if (type == HELLO_HANDSHAKE)
		return c->step == STEP_ANSWER ? FATE_WAIT : read_hello(c, record, size, down, f);
	/* Early data may follow the first hello. */
	if (c->step != STEP_HELLO && !c->message.len)
		return FATE_PASS;
	return refuse(c, down, f, "does not begin with a TLS hello"), FATE_REFUSED;
}

/* Nothing of a hello passes before all of it is known. */
static int pass_held(struct check_tls *c, struct buf *up, struct buf *down, struct fail *f)
{
	while (c->step != STEP_PASS) {
		enum hello_record type;
		const uint8_t *record = c->held.data + c->read;
		ssize_t size = hello_record(record, c->held.len - c->read, &type);
		if (size < 0)
			return refuse(c, down, f, "does not use TLS");
		enum fate fate = size ? judge(c, record, (size_t)size, type, down, f) : FATE_WAIT;
		if (fate == FATE_REFUSED)
			return -EPROTO;
		if (fate == FATE_WAIT)
			return 0;
		c->read += (size_t)size;
		if (fate == FATE_MORE)
			continue;
		buf_add(up, c->held.data, c->read);
		buf_consume(&c->held, c->read);
		c->read = 0;
	}
	buf_add(up, c->held.data, c->held.len);
	buf_release(&c->held);
	return 0;
}

static int from_session(struct gate_filter *filter, const void *data, size_t n, struct buf *up, struct buf *down,
			struct fail *f)
{
	struct check_tls *c = check_of(filter);
	if (c->step == STEP_PASS) {
		buf_add(up, data, n);
		return 0;
	}
	if (c->held.len + n > HELD_MAX)
		return refuse(c, down, f, "sends too much before its host has answered");
	buf_add(&c->held, data, n);
	return pass_held(c, up, down, f);
}

static int from_upstream(struct gate_filter *filter, const void *data, size_t n, struct buf *up, struct buf *down,
			 struct fail *f)
{
	struct check_tls *c = check_of(filter);
	buf_add(down, data, n);
	if (c->step != STEP_ANSWER)
		return 0;
	buf_add(&c->answer, data, n);
	int retry = hello_is_retry(c->answer.data, c->answer.len);
	if (retry == -EAGAIN)
		return 0;
	buf_release(&c->answer);
	c->step = retry ? STEP_AGAIN : STEP_PASS;
	return pass_held(c, up, down, f);
}

static int ended(struct gate_filter *filter UNUSED, struct buf *up UNUSED, struct buf *down UNUSED,
		 struct fail *f UNUSED)
{
	return 0;
}

static void check_free(struct gate_filter *filter)
{
	struct check_tls *c = check_of(filter);
	buf_release(&c->held);
	buf_release(&c->message);
	buf_release(&c->answer);
	free(c->host);
	free(c);
}

struct gate_filter *check_tls_new(const char *host)
{
	static const struct gate_filter_type type = { .from_session = from_session,
						      .from_upstream = from_upstream,
						      .session_ended = ended,
						      .upstream_ended = ended,
						      .free = check_free };
	struct check_tls *c = new0(struct check_tls);
	c->base.type = &type;
	c->host = xstrdup(host);
	return &c->base;
}
