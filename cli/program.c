#include "cli/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/stream.h"
#include "cli/tty.h"

struct program {
	struct program_spec spec;
	struct op *op;
	struct stream *in, *out, *err; /* err == out if both are the same file, to keep the order of output */
	struct signals *changes;
	struct buf input; /* read, and not sent yet */
	size_t sent;	  /* sent, but not yet taken on the program's side */
	size_t shown;	  /* received, and not yet written here */
	bool has_tty, input_ended, ended, told;
	struct terminal_end end;
	char *detail;
	struct fail why;
};

/* --- the end ------------------------------------------------------------------------------------------------------- */

static size_t queued(const struct program *p)
{
	size_t n = p->out ? stream_queued(p->out) : 0;
	return p->err && p->err != p->out ? n + stream_queued(p->err) : n;
}

static void tell_end(struct program *p)
{
	if (p->told || !p->ended || queued(p))
		return;
	p->told = true;
	if (p->has_tty)
		tty_leave();
	p->spec.on_end(p->spec.ctx, p->why.kind ? NULL : &p->end, p->why.kind ? &p->why : NULL);
}

static void on_end(void *ctx, const struct terminal_end *end, const struct fail *f)
{
	struct program *p = ctx;
	p->op = NULL;
	p->ended = true;
	if (f) {
		fail_copy(&p->why, f);
	} else {
		p->end = *end;
		p->detail = end->detail ? xstrdup(end->detail) : NULL;
		p->end.detail = p->detail;
	}
	tell_end(p);
}

/* --- output -------------------------------------------------------------------------------------------------------- */

static void on_drained(void *ctx)
{
	struct program *p = ctx;
	if (queued(p))
		return;
	if (p->op && p->shown)
		terminal_taken(p->op, p->shown);
	p->shown = 0;
	tell_end(p);
}

/* The reader of our output has gone, so the program is stopped, as in a pipeline. */
static void on_write_error(void *ctx, int error UNUSED)
{
	struct program *p = ctx;
	if (p->told)
		return;
	p->told = p->ended = true;
	if (p->op)
		op_cancel(take_ptr(p->op));
	if (p->has_tty)
		tty_leave();
	p->spec.on_end(p->spec.ctx, NULL, NULL);
}

static void show(struct program *p, struct stream *to, const void *data, size_t n)
{
	p->shown += n;
	(void)stream_write(to, data, n);
	/* The stream does not report data that it wrote immediately. */
	if (!queued(p))
		on_drained(p);
}

static void on_bytes(void *ctx, const void *data, size_t n)
{
	struct program *p = ctx;
	show(p, p->out, data, n);
}

static void on_error_bytes(void *ctx, const void *data, size_t n)
{
	struct program *p = ctx;
	show(p, p->err, data, n);
}

/* --- input --------------------------------------------------------------------------------------------------------- */

static void pass_on(struct program *p)
{
	size_t n = MIN(p->input.len, TERMINAL_WINDOW - p->sent);
	if (p->op && n && terminal_write(p->op, p->input.data, n) == 0) {
		p->sent += n;
		buf_consume(&p->input, n);
	}
	if (p->in)
		stream_pause(p->in, p->input.len > 0);
	if (p->op && p->input_ended && !p->input.len && !p->has_tty) {
		p->input_ended = false;
		terminal_end_input(p->op);
	}
}

static void on_written(void *ctx, size_t n)
{
	struct program *p = ctx;
	p->sent -= MIN(n, p->sent);
	pass_on(p);
}

static void on_input(void *ctx, const void *data, size_t n)
{
	struct program *p = ctx;
	buf_add(&p->input, data, n);
	pass_on(p);
}

static void on_input_end(void *ctx, int error UNUSED)
{
	struct program *p = ctx;
	p->input_ended = true;
	if (p->has_tty && p->op)
		terminal_signal(p->op, SIGHUP); /* the user's terminal was closed */
	pass_on(p);
}

static void on_terminal_changed(void *ctx, int signo)
{
	struct program *p = ctx;
	int rows, cols;
	if (!p->op || !p->has_tty)
		return;
	if (signo == SIGCONT)
		(void)tty_enter();
	tty_size(&rows, &cols);
	terminal_resize(p->op, rows, cols);
}

/* --- life ---------------------------------------------------------------------------------------------------------- */

static bool is_one_file(int a, int b)
{
	struct stat x, y;
	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int open_streams(struct program *p)
{
	static const struct stream_ops in_ops = { .on_data = on_input, .on_eof = on_input_end },
				       out_ops = { .on_write_error = on_write_error, .on_drained = on_drained };
	struct loop *loop = p->spec.loop;
	p->out = stream_new(loop, -1, tty_open_again(STDOUT_FILENO), &out_ops, p);
	if (p->out)
		p->err = is_one_file(STDOUT_FILENO, STDERR_FILENO) ?
				 p->out :
				 stream_new(loop, -1, tty_open_again(STDERR_FILENO), &out_ops, p);
	if (!p->err)
		return -errno;
	if (p->spec.no_input || fcntl(STDIN_FILENO, F_GETFD) < 0)
		on_input_end(p, 0);
	else if (!(p->in = stream_new(loop, tty_open_again(STDIN_FILENO), -1, &in_ops, p)))
		return -errno;
	return p->has_tty ? tty_enter() : 0;
}

struct program *program_start(const struct program_spec *spec, struct fail *f)
{
	static const int changes[] = { SIGWINCH, SIGCONT };
	struct program *p = new0(struct program);
	p->spec = *spec;
	p->has_tty = !spec->no_input && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && isatty(STDERR_FILENO);
	struct terminal_request request = {
		.session_id = spec->session_id,
		.command = (const char *const *)spec->command->v,
		.n_command = spec->command->n,
		.is_run = true,
		.cwd = spec->cwd,
		.env = spec->env,
		.n_env = spec->n_env,
		.term = p->has_tty ? tty_term() : NULL,
		.on_bytes = on_bytes,
		.on_error_bytes = p->has_tty ? NULL : on_error_bytes,
		.on_written = on_written,
		.on_end = on_end,
		.ctx = p,
	};
	tty_size(&request.rows, &request.cols);
	p->op = manager_terminal(spec->conversation, &request, f);
	if (!p->op)
		return program_free(p);
	int r = open_streams(p);
	if (r < 0) {
		fail_set(f, FAIL_INTERNAL, "cannot use the standard streams: %s", strerror(-r));
		return program_free(p);
	}
	p->changes = signals_new_of(spec->loop, changes, ARRAY_LEN(changes), on_terminal_changed, p);
	return p;
}

void program_signal(struct program *p, int signo)
{
	if (p->op)
		terminal_signal(p->op, signo);
}

struct program *program_free(struct program *p)
{
	if (!p)
		return NULL;
	if (p->op)
		op_cancel(p->op);
	if (p->has_tty)
		tty_leave();
	if (p->err != p->out)
		stream_free(p->err);
	stream_free(p->out);
	stream_free(p->in);
	signals_free(p->changes);
	buf_release(&p->input);
	fail_release(&p->why);
	free(p->detail);
	free(p);
	return NULL;
}
