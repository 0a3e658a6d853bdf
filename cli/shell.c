#include "cli/shell.h"

#include <errno.h>
#include <signal.h>

#include "attach/open.h"
#include "base/alloc.h"
#include "base/log.h"
#include "base/stream.h"
#include "cli/exit.h"
#include "cli/report.h"
#include "cli/tty.h"

/* Typed bytes that may wait here while the session accepts no input. */
#define KEYS_MAX (64u << 10)
/* More than the other end is allowed to send before we have shown it. */
#define SHOWN_MAX (1u << 20)
/* Time to show the last output, and for the store to finish writing. */
#define END_MS 2000
#define HELP "\r\nhusk: ~. hangs up and leaves, ~~ is a tilde\r\n"

struct shell {
	const struct options *options;
	struct config config;
	struct loop *loop;
	struct opening *opening;
	struct opened *opened;
	struct attach_call *terminal;
	struct stream *in, *out;
	struct timer *deadline;
	struct tty_escape escape;
	struct tty_modes modes;
	struct buf keys;
	size_t typed; /* sent, and not yet written at the other end */
	size_t shown; /* received, and not yet written here */
	bool ending, settling;
	int code;
	struct fail why; /* no kind if there is no failure to report */
	char *detail;
};

/* --- the end ------------------------------------------------------------------------------------------------------- */

static void stop(void *ctx)
{
	struct shell *s = ctx;
	loop_stop(s->loop, s->code);
}

static void settle(struct shell *s)
{
	timer_stop(s->deadline);
	if (s->settling)
		return;
	s->settling = true;
	if (s->opened)
		opened_settle(s->opened, END_MS, stop, s);
	else
		stop(s);
}

static void on_deadline(void *ctx)
{
	settle(ctx);
}

/* hung_up: programs at the other end could not restore the terminal themselves. */
static void end(struct shell *s, int code, bool hung_up)
{
	AUTO(buf_release) struct buf undo = { 0 };
	if (s->ending)
		return;
	s->ending = true;
	s->code = code;
	if (s->opening)
		attach_open_cancel(take_ptr(s->opening));
	if (s->terminal)
		attach_cancel(take_ptr(s->terminal));
	if (s->in)
		stream_pause(s->in, true);
	if (s->out && hung_up && isatty(STDOUT_FILENO)) {
		tty_modes_undo(&s->modes, &undo);
		buf_add_str(&undo, "\r\n");
		(void)stream_write(s->out, undo.data, undo.len);
	}
	timer_start(s->deadline, END_MS, 0);
	if (!s->out || !stream_queued(s->out))
		settle(s);
}

static void on_signal(void *ctx, int signo)
{
	struct shell *s = ctx;
	if (s->ending)
		stop(s);
	else
		end(s, EXIT_SIGNALLED + signo, /* hung_up= */ true);
}

/* --- output -------------------------------------------------------------------------------------------------------- */

static void on_drained(void *ctx)
{
	struct shell *s = ctx;
	size_t n = s->shown;
	s->shown = 0;
	if (s->ending)
		settle(s);
	else if (s->terminal && n)
		attach_terminal_taken(s->terminal, n);
}

static void on_bytes(void *ctx, const void *data, size_t n)
{
	struct shell *s = ctx;
	tty_modes_see(&s->modes, data, n);
	s->shown += n;
	if (s->shown > SHOWN_MAX || stream_write(s->out, data, n) < 0) {
		fail_set(&s->why, FAIL_INTERNAL,
			 "cannot show the terminal: the session's server sends more than its limit");
		end(s, EXIT_SYSTEM, /* hung_up= */ true);
	} else if (!stream_queued(s->out)) {
		on_drained(s); /* the stream does not report data that it wrote immediately */
	}
}

/* The output has no reader any more. */
static void on_write_error(void *ctx, int error UNUSED)
{
	end(ctx, EXIT_SIGNALLED + SIGHUP, /* hung_up= */ false);
}

/* --- input --------------------------------------------------------------------------------------------------------- */

static void pass_on(struct shell *s)
{
	size_t n = MIN(s->keys.len, TERMINAL_WINDOW - s->typed);
	if (s->terminal && n && attach_terminal_write(s->terminal, s->keys.data, n) == 0) {
		s->typed += n;
		buf_consume(&s->keys, n);
	}
	stream_pause(s->in, s->keys.len > KEYS_MAX);
}

static void on_written(void *ctx, size_t n)
{
	struct shell *s = ctx;
	s->typed -= MIN(n, s->typed);
	pass_on(s);
}

static void on_keys(void *ctx, const void *data, size_t n)
{
	struct shell *s = ctx;
	const uint8_t *keys = data;
	for (size_t used; n && !s->ending; keys += used, n -= used) {
		enum tty_escape_event event = tty_escape_feed(&s->escape, keys, n, &s->keys, &used);
		if (event == ESCAPE_HELP)
			(void)stream_write(s->out, HELP, strlen(HELP));
		else if (event == ESCAPE_LEAVE)
			end(s, EXIT_SIGNALLED + SIGHUP, /* hung_up= */ true);
	}
	if (!s->ending)
		pass_on(s);
}

/* The user's terminal was closed. */
static void on_no_keys(void *ctx, int error UNUSED)
{
	end(ctx, EXIT_SIGNALLED + SIGHUP, /* hung_up= */ false);
}

static void on_terminal_changed(void *ctx, int signo)
{
	struct shell *s = ctx;
	int rows, cols;
	if (!s->terminal)
		return;
	if (signo == SIGCONT)
		(void)tty_enter();
	tty_size(&rows, &cols);
	attach_terminal_resize(s->terminal, rows, cols);
}

/* --- the terminal -------------------------------------------------------------------------------------------------- */

static void on_end(void *ctx, const struct terminal_end *how, const struct fail *f)
{
	struct shell *s = ctx;
	s->terminal = NULL;
	if (f)
		fail_copy(&s->why, f);
	else if (how->detail)
		s->detail = xstrdup(how->detail);
	end(s, f ? EXIT_SYSTEM : how->exit_code, /* hung_up= */ f || how->signal);
}

static int open_streams(struct shell *s)
{
	static const struct stream_ops in_ops = { .on_data = on_keys, .on_eof = on_no_keys },
				       out_ops = { .on_write_error = on_write_error, .on_drained = on_drained };
	s->in = stream_new(s->loop, tty_open_again(STDIN_FILENO), -1, &in_ops, s);
	s->out = stream_new(s->loop, -1, tty_open_again(STDOUT_FILENO), &out_ops, s);
	return s->in && s->out ? 0 : -errno;
}

static size_t count(const char *const *words)
{
	size_t n = 0;
	while (words && words[n])
		n++;
	return n;
}

static void begin(struct shell *s)
{
	struct terminal_request request = { .session_id = opened_session(s->opened),
					    .command = s->options->arguments,
					    .n_command = count(s->options->arguments),
					    .cwd = s->options->cwd,
					    .term = tty_term(),
					    .on_bytes = on_bytes,
					    .on_written = on_written,
					    .on_end = on_end,
					    .ctx = s };
	tty_size(&request.rows, &request.cols);
	if (!request.n_command)
		fprintf(stderr, "husk: a shell in session %s (%s); leave it with exit, or with ~. on a new line\n",
			opened_session(s->opened), opened_runtime(s->opened));
	s->terminal = attach_terminal(opened_attach(s->opened), &request, &s->why);
	int r = s->terminal ? tty_enter() : 0;
	if (r == 0 && s->terminal)
		r = open_streams(s);
	if (r < 0)
		fail_set(&s->why, FAIL_INTERNAL, "cannot use the terminal: %s", strerror(-r));
	if (s->why.kind)
		end(s, EXIT_SYSTEM, /* hung_up= */ false);
}

static void on_opened(void *ctx, struct opened *o, const struct fail *f)
{
	struct shell *s = ctx;
	s->opening = NULL;
	s->opened = o;
	if (f) {
		fail_copy(&s->why, f);
		end(s, EXIT_SYSTEM, /* hung_up= */ false);
		return;
	}
	begin(s);
}

/* --- life ---------------------------------------------------------------------------------------------------------- */

static int go(struct shell *s)
{
	static const int changes[] = { SIGWINCH, SIGCONT };
	s->loop = loop_new();
	s->deadline = timer_new(s->loop, on_deadline, s);
	struct signals *ends = signals_new(s->loop, on_signal, s);
	struct signals *changed = signals_new_of(s->loop, changes, ARRAY_LEN(changes), on_terminal_changed, s);
	s->opening = attach_open(&(struct open_request){ .loop = s->loop,
							 .config = &s->config,
							 .session_id = s->options->session,
							 .on_done = on_opened,
							 .ctx = s });
	int code = loop_run(s->loop);
	tty_leave();
	s->in = stream_free(s->in);
	s->out = stream_free(s->out);
	signals_free(ends);
	signals_free(changed);
	timer_free(s->deadline);
	opened_free(s->opened);
	loop_free(s->loop);
	if (s->detail)
		log_error("%s", s->detail);
	return s->why.kind ? report_fail(&s->why) : code;
}

int shell_run(const struct options *options)
{
	struct shell s = { .options = options };
	AUTO(fail_release) struct fail f = { 0 };
	int code;
	if (!tty_is_there()) {
		log_error(
			"cannot open a terminal: standard input is not a terminal\n"
			"`husk run FILE` runs a program without one; libhusk and the Python module run commands in a session.");
		options_usage(stderr, options->verb);
		return EXIT_USAGE;
	}
	if (settings_load(&s.config, options->env_file, &f) < 0)
		code = report_refusal(&f, options->verb);
	else
		code = go(&s);
	buf_release(&s.keys);
	fail_release(&s.why);
	free(s.detail);
	config_release(&s.config);
	return code;
}
