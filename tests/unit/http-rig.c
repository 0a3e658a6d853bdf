#include "tests/unit/http-rig.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "base/alloc.h"

static void on_closed(void *ctx)
{
	struct http_rig *rig = ctx;
	rig->closed++;
	rig->held = NULL;
}

struct echo {
	struct http_rig *rig;
	struct http_request *r;
};

static void free_echo(void *ctx)
{
	struct echo *e = ctx;
	e->rig->closed++;
	free(e);
}

static void echo_body(void *ctx, const void *data, size_t n)
{
	struct echo *e = ctx;
	e->rig->bodies++;
	http_reply(e->r, 200, NULL, data, n);
	free(e);
}

static void count_data(void *ctx, const void *data UNUSED, size_t n)
{
	struct echo *e = ctx;
	e->rig->body_bytes += n;
}

static void count_end(void *ctx)
{
	struct echo *e = ctx;
	AUTO(freep) char *text = xasprintf("%zu", e->rig->body_bytes);
	http_reply(e->r, 200, NULL, text, strlen(text));
	free(e);
}

static struct echo *echo_new(struct http_rig *rig, struct http_request *r)
{
	struct echo *e = new0(struct echo);
	*e = (struct echo){ rig, r };
	http_request_on_closed(r, free_echo, e);
	return e;
}

static void stream(struct http_request *r)
{
	http_reply_begin(r, 200, NULL, -1);
	http_reply_write(r, "one ", 4);
	http_reply_write(r, "two ", 4);
	http_reply_write(r, "three", 5);
	http_reply_end(r);
}

static void on_request(void *ctx, struct http_request *r)
{
	static const struct http_body_ops count = { count_data, count_end };
	struct http_rig *rig = ctx;
	const char *target = (const char *)http_request_head(r)->target.data;
	rig->requests++;
	if (streq(target, "/text") || streq(target, "/drop")) {
		http_reply(r, 200, NULL, "hello", 5);
	} else if (streq(target, "/peer")) {
		const char *who = http_request_is_peer(r) ? "peer" : "stranger";
		http_reply(r, 200, NULL, who, strlen(who));
	} else if (streq(target, "/echo")) {
		http_request_collect(r, 100, echo_body, echo_new(rig, r));
	} else if (streq(target, "/count")) {
		rig->body_bytes = 0;
		http_request_read(r, &count, echo_new(rig, r));
	} else if (streq(target, "/stream")) {
		stream(r);
	} else if (streq(target, "/big")) {
		AUTO(freep) char *big = xcalloc(1, 1 << 20);
		http_reply(r, 200, NULL, big, 1 << 20);
	} else if (streq(target, "/hold")) {
		rig->held = r;
		http_request_on_closed(r, on_closed, rig);
	} else if (strncmp(target, "/other", 6) == 0 && rig->on_other) {
		rig->on_other(rig, r);
	} else {
		http_reply_problem(r, 404, "There is nothing here.");
	}
}

void http_rig_init(struct http_rig *rig, const struct http_limits *limits)
{
	*rig = (struct http_rig){ .loop = loop_new() };
	struct http_server_spec spec = { limits ? *limits : http_limits_default, on_request, rig };
	rig->server = http_server_new(rig->loop, &spec);
}

void http_rig_release(struct http_rig *rig)
{
	rig->server = http_server_free(rig->server);
	rig->loop = loop_free(rig->loop);
}

int http_rig_connect(struct http_rig *rig)
{
	int fds[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
		abort();
	http_server_adopt(rig->server, fds[0], NULL, NULL);
	return fds[1];
}

static void stop(void *ctx)
{
	loop_stop(ctx, 0);
}

void http_rig_turn(struct http_rig *rig)
{
	struct timer *t = timer_new(rig->loop, stop, rig->loop);
	timer_start(t, 2, 0);
	loop_run(rig->loop);
	timer_free(t);
}

void http_rig_send(struct http_rig *rig, int fd, const char *text)
{
	size_t n = strlen(text);
	while (n) {
		ssize_t done = write(fd, text, n);
		if (done > 0) {
			text += done;
			n -= (size_t)done;
		} else if (errno != EAGAIN) {
			return;
		}
		http_rig_turn(rig);
	}
}

static bool read_all(int fd, struct buf *got)
{
	char chunk[65536];
	ssize_t n;
	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		buf_add(got, chunk, (size_t)n);
	return n == 0 || errno != EAGAIN;
}

const char *http_rig_read(struct http_rig *rig, int fd, struct buf *got, const char *want)
{
	uint64_t until = loop_now_ms() + 5000;
	while (loop_now_ms() < until) {
		bool ended = read_all(fd, got);
		if (memmem(buf_str(got), got->len, want, strlen(want)) || ended)
			break;
		http_rig_turn(rig);
	}
	return buf_str(got);
}

bool http_rig_ended(struct http_rig *rig, int fd)
{
	AUTO(buf_release) struct buf rest = { 0 };
	uint64_t until = loop_now_ms() + 5000;
	while (loop_now_ms() < until) {
		if (read_all(fd, &rest))
			return true;
		http_rig_turn(rig);
	}
	return false;
}
