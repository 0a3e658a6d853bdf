/* Child processes by uv_spawn; their pipes are streams of ours. */
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <uv.h>

#include "base/alloc.h"
#include "base/stream.h"
#include "base/watchdog.h"

#define CAPTURE_DEFAULT 65536u
/* How long a grandchild may hold the pipes after the child itself has been reaped. */
#define DRAIN_MS 200

struct child {
	uv_process_t process;
	struct loop *loop;
	struct child_spec spec;
	struct stream *in, *out, *err;
	struct buf out_text, err_text;
	struct timer *deadline, *drain;
	bool reaped, out_ended, err_ended, timed_out, truncated, done;
	bool orphaned; /* released by its owner */
	struct loop_owned leaving;
	uint64_t leaves_by; /* for child_leave() */
	int exit_status, signal;
};

static void child_closed(uv_handle_t *handle)
{
	struct child *c = container_of(handle, struct child, process);
	buf_release(&c->out_text);
	buf_release(&c->err_text);
	free(c);
}

/* From here on the child only waits to be reaped. If the loop is freed first, loop_free() closes it with this
 * callback. */
static void orphan(struct child *c)
{
	c->orphaned = true;
	c->process.data = (void *)child_closed;
}

static void close_pipes(struct child *c)
{
	c->in = stream_free(c->in);
	c->out = stream_free(c->out);
	c->err = stream_free(c->err);
	c->deadline = timer_free(c->deadline);
	c->drain = timer_free(c->drain);
}

static void finish_if_done(struct child *c)
{
	if (c->done || c->orphaned || !c->reaped || !c->out_ended || !c->err_ended)
		return;
	c->done = true;
	struct child_result result = {
		.exit_status = c->signal ? -1 : c->exit_status,
		.signal = c->signal,
		.timed_out = c->timed_out,
		.truncated = c->truncated,
		.out_len = c->out_text.len,
		.err_len = c->err_text.len,
	};
	result.out = buf_str(&c->out_text);
	result.err = buf_str(&c->err_text);
	if (c->deadline)
		timer_stop(c->deadline);
	c->spec.on_done(c->spec.ctx, &result);
}

static void on_drain_over(void *ctx)
{
	struct child *c = ctx;
	c->out = stream_free(c->out);
	c->err = stream_free(c->err);
	c->out_ended = c->err_ended = true;
	finish_if_done(c);
}

static void on_reaped(uv_process_t *process, int64_t status, int signo)
{
	struct child *c = container_of(process, struct child, process);
	watchdog_note("the end of a child process");
	c->reaped = true;
	c->exit_status = (int)status;
	c->signal = signo;
	if (c->orphaned) {
		loop_disown(&c->leaving);
		c->deadline = timer_free(c->deadline);
		uv_close((uv_handle_t *)process, child_closed);
		return;
	}
	if (!c->out_ended || !c->err_ended) {
		c->drain = timer_new(c->loop, on_drain_over, c);
		timer_start(c->drain, DRAIN_MS, 0);
	}
	finish_if_done(c);
}

static void capture(struct child *c, struct buf *text, const void *data, size_t n)
{
	size_t room = text->max - text->len;
	if (n > room)
		c->truncated = true;
	buf_add(text, data, MIN(n, room));
}

static void on_out(void *ctx, const void *data, size_t n)
{
	struct child *c = ctx;
	if (c->spec.on_stdout)
		c->spec.on_stdout(c->spec.ctx, data, n);
	else
		capture(c, &c->out_text, data, n);
}

static void on_err(void *ctx, const void *data, size_t n)
{
	struct child *c = ctx;
	capture(c, &c->err_text, data, n);
}

static void on_out_eof(void *ctx, int error UNUSED)
{
	struct child *c = ctx;
	c->out_ended = true;
	finish_if_done(c);
}

static void on_err_eof(void *ctx, int error UNUSED)
{
	struct child *c = ctx;
	c->err_ended = true;
	finish_if_done(c);
}

static void on_deadline(void *ctx)
{
	struct child *c = ctx;
	c->timed_out = true;
	child_kill(c, SIGKILL);
}

/* All ends are O_CLOEXEC; uv_spawn() duplicates those that the child gets. */
static int make_pipes(int in[2], int out[2], int err[2], const struct child_spec *spec)
{
	if (spec->stdout_fd)
		out[1] = fcntl(spec->stdout_fd, F_DUPFD_CLOEXEC, 3);
	else if (pipe2(out, O_CLOEXEC) < 0)
		return -errno;
	if (out[1] < 0 || pipe2(err, O_CLOEXEC) < 0)
		return -errno;
	if (spec->stdin_pipe)
		return pipe2(in, O_CLOEXEC) < 0 ? -errno : 0;
	in[0] = spec->stdin_fd ? fcntl(spec->stdin_fd, F_DUPFD_CLOEXEC, 3) : open("/dev/null", O_RDONLY | O_CLOEXEC);
	return in[0] < 0 ? -errno : 0;
}

static int spawn(struct child *c, const struct child_spec *spec, int in, int out, int err)
{
	uv_stdio_container_t stdio[3] = {
		{ .flags = UV_INHERIT_FD, .data.fd = in },
		{ .flags = UV_INHERIT_FD, .data.fd = out },
		{ .flags = UV_INHERIT_FD, .data.fd = err },
	};
	uv_process_options_t options = {
		.exit_cb = on_reaped,
		.file = spec->argv[0],
		.args = (char **)spec->argv,
		.env = (char **)spec->env,
		.flags = UV_PROCESS_DETACHED, /* setsid(): the child leads the group that is killed */
		.stdio_count = 3,
		.stdio = stdio,
	};
	return uv_spawn(loop_raw(c->loop), &c->process, &options);
}

static void close_all(int in[2], int out[2], int err[2])
{
	closep(&in[0]);
	closep(&in[1]);
	closep(&out[0]);
	closep(&out[1]);
	closep(&err[0]);
	closep(&err[1]);
}

static void open_streams(struct child *c, int in[2], int out[2], int err[2])
{
	static const struct stream_ops in_ops = { 0 };
	static const struct stream_ops out_ops = { .on_data = on_out, .on_eof = on_out_eof };
	static const struct stream_ops err_ops = { .on_data = on_err, .on_eof = on_err_eof };
	if (in[1] >= 0)
		c->in = stream_new(c->loop, -1, take_fd(in[1]), &in_ops, c);
	if (out[0] >= 0)
		c->out = stream_new(c->loop, take_fd(out[0]), -1, &out_ops, c);
	else
		c->out_ended = true;
	c->err = stream_new(c->loop, take_fd(err[0]), -1, &err_ops, c);
}

int child_start(struct loop *loop, const struct child_spec *spec, struct child **ret, struct fail *f)
{
	int in[2] = { -1, -1 }, out[2] = { -1, -1 }, err[2] = { -1, -1 };
	int r = make_pipes(in, out, err, spec);
	if (r < 0) {
		close_all(in, out, err);
		return fail_set(f, FAIL_INTERNAL, "cannot make pipes for '%s': %s", spec->argv[0], strerror(-r));
	}
	struct child *c = new0(struct child);
	c->loop = loop;
	c->spec = *spec;
	c->out_text.max = c->err_text.max = spec->out_max ? spec->out_max : CAPTURE_DEFAULT;
	r = spawn(c, spec, in[0], out[1], err[1]);
	closep(&in[0]);
	closep(&out[1]);
	closep(&err[1]);
	if (r < 0) {
		close_all(in, out, err);
		c->orphaned = true;
		uv_close((uv_handle_t *)&c->process, child_closed);
		return fail_set(f, r == UV_ENOENT ? FAIL_ENGINE : FAIL_INTERNAL, "cannot run '%s': %s", spec->argv[0],
				uv_strerror(r));
	}
	open_streams(c, in, out, err);
	if (spec->deadline_ms) {
		c->deadline = timer_new(loop, on_deadline, c);
		timer_start(c->deadline, spec->deadline_ms, 0);
	}
	*ret = c;
	return 0;
}

int child_write(struct child *c, const void *data, size_t n)
{
	return c->in ? stream_write(c->in, data, n) : -EPIPE;
}

void child_close_stdin(struct child *c)
{
	c->in = stream_free(c->in);
}

void child_pause(struct child *c, bool paused)
{
	if (c->out)
		stream_pause(c->out, paused);
}

size_t child_write_queued(const struct child *c)
{
	return c->in ? stream_queued(c->in) : 0;
}

void child_kill(struct child *c, int signo)
{
	if (!c->reaped)
		kill(-c->process.pid, signo);
}

struct child *child_free(struct child *c)
{
	if (!c)
		return NULL;
	child_kill(c, SIGKILL);
	close_pipes(c);
	orphan(c);
	if (c->reaped)
		uv_close((uv_handle_t *)&c->process, child_closed);
	else
		uv_unref((uv_handle_t *)&c->process);
	return NULL;
}

static void on_leave_over(void *ctx)
{
	child_kill(ctx, SIGKILL);
}

/* Whether it has ended, without reaping it: libuv does that. */
static bool has_ended(const struct child *c)
{
	siginfo_t info = { 0 };
	return waitid(P_PID, (id_t)c->process.pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid != 0;
}

/* The loop is freed first. */
static void on_loop_over(void *ctx)
{
	static const struct timespec pause = { .tv_nsec = 2000000 };
	struct child *c = ctx;
	c->deadline = timer_free(c->deadline);
	loop_disown(&c->leaving);
	while (!has_ended(c) && loop_now_ms() < c->leaves_by)
		(void)nanosleep(&pause, NULL);
	child_kill(c, SIGKILL);
}

struct child *child_leave(struct child *c)
{
	if (!c || c->reaped)
		return child_free(c);
	close_pipes(c);
	orphan(c);
	uv_unref((uv_handle_t *)&c->process);
	c->leaves_by = loop_now_ms() + CHILD_LEAVE_MS;
	c->deadline = timer_new(c->loop, on_leave_over, c);
	timer_start(c->deadline, CHILD_LEAVE_MS, 0);
	c->leaving = (struct loop_owned){ .fn = on_loop_over, .ctx = c };
	loop_own(c->loop, &c->leaving);
	return NULL;
}

int child_spawn_forgotten(struct loop *loop, char *const *argv, char *const *env, struct fail *f)
{
	uv_stdio_container_t stdio[3] = { { .flags = UV_IGNORE }, { .flags = UV_IGNORE }, { .flags = UV_IGNORE } };
	uv_process_options_t options = {
		.exit_cb = on_reaped,
		.file = argv[0],
		.args = (char **)argv,
		.env = (char **)env,
		.flags = UV_PROCESS_DETACHED,
		.stdio_count = 3,
		.stdio = stdio,
	};
	struct child *c = new0(struct child);
	c->loop = loop;
	orphan(c);
	int r = uv_spawn(loop_raw(loop), &c->process, &options);
	if (r < 0) {
		uv_close((uv_handle_t *)&c->process, child_closed);
		return fail_set(f, FAIL_INTERNAL, "cannot run '%s': %s", argv[0], uv_strerror(r));
	}
	uv_unref((uv_handle_t *)&c->process);
	return 0;
}
