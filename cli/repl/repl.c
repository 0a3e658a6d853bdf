/* Joins lines into cells and runs the cells one after the other. The user answers a cell's prompts in place. Every exit
 * goes through leave(), which waits until a new session is removed. */
#include "cli/repl/repl.h"

#include <signal.h>

#include "attach/open.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/utf8.h"
#include "cli/exit.h"
#include "cli/fresh.h"
#include "cli/outcome.h"
#include "cli/repl/block.h"
#include "cli/repl/complete.h"
#include "cli/repl/history.h"
#include "cli/repl/output.h"
#include "cli/repl/own-line.h"
#include "cli/repl/prompt.h"
#include "cli/repl/show.h"
#include "cli/report.h"

#define CELL_MAX (8u << 20)
/* A call waits for the end of the run; after this time, another call continues to wait. */
#define WAIT_SECONDS (24u * 60 * 60)
/* Time for a session to be removed. */
#define END_MS 10000
#define SETTLE_MS 2000
/* Time for a terminal to answer queries. */
#define TERMINAL_MS 500

struct repl {
	const struct options *options;
	struct config config;
	struct fresh fresh;
	struct loop *loop;
	struct prompt *prompt;
	struct complete *complete;
	struct output *output;
	struct show *show;
	struct abilities abilities;
	struct timer *deadline;
	char *history; /* path of its file; NULL = no history is kept */

	struct opening *opening;
	struct opened *opened;
	char *session;
	char branch[BRANCH_NAME_MAX + 1]; /* in which code runs; "" = the main interpreter */
	bool own;			  /* the session is fresh, so it ends with the prompt */
	const struct runtime *runtime;
	bool lost; /* the session's server has ended */

	struct block block;
	struct buf cell;
	struct strv waiting; /* in a pipe: the line after the cell */
	struct attach_call *call;
	uint64_t prompt_run; /* the run that waits for an answer; 0 = none */
	char *prompt_shown;
	bool secret;
	bool blind; /* in a pipe: the ends of cells are unknown */
	bool ended; /* no more lines */
	bool leaving;
	int code;
};

static void next(struct repl *r);
static void on_ran(void *ctx, const struct run_result *result, const struct fail *f);
static void on_failed(struct repl *r, const struct fail *f);

/* --- leaving ------------------------------------------------------------------------------------------------------- */

static void on_settled(void *ctx)
{
	struct repl *r = ctx;
	loop_stop(r->loop, r->code);
}

static void settle(struct repl *r)
{
	if (r->opened)
		opened_settle(r->opened, SETTLE_MS, on_settled, r);
	else
		loop_stop(r->loop, r->code);
}

static void on_gone(void *ctx, const struct fail *f UNUSED)
{
	struct repl *r = ctx;
	r->call = NULL;
	settle(r);
}

static void end_session(void *ctx)
{
	struct repl *r = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	struct stop_request request = { .session_id = r->session, .on_done = on_gone, .ctx = r };
	if (r->opened && r->own)
		r->call = attach_stop(opened_attach(r->opened), &request, &f);
	if (!r->call)
		settle(r);
}

static void leave(struct repl *r, int code)
{
	if (r->leaving)
		return;
	r->leaving = true;
	r->code = code;
	prompt_give_up(r->prompt);
	complete_drop(r->complete);
	if (r->call)
		attach_cancel(take_ptr(r->call));
	attach_open_cancel(take_ptr(r->opening));
	timer_start(r->deadline, END_MS, 0);
	output_when_idle(r->output, end_session, r);
}

/* --- running ------------------------------------------------------------------------------------------------------- */

static void on_output(void *ctx, int stream, const char *text, size_t n)
{
	struct repl *r = ctx;
	show_output(r->show, stream, text, n);
}

static void on_display(void *ctx, const struct shown_display *display)
{
	struct repl *r = ctx;
	show_display(r->show, display);
}

static void start(struct repl *r, struct run_request *request)
{
	AUTO(fail_release) struct fail f = { 0 };
	request->session_id = r->session;
	request->by = "husk repl";
	request->has_wait = true;
	request->wait_seconds = WAIT_SECONDS;
	request->on_output = on_output;
	request->on_display = on_display;
	request->on_done = on_ran;
	request->ctx = r;
	r->call = r->opened ? attach_run(opened_attach(r->opened), request, &f) : NULL;
	if (r->call)
		return;
	if (r->opened)
		r->code = report_fail(&f);
	next(r);
}

static void on_checkpoint(void *ctx, const struct checkpoint_answer *answer, const struct fail *f)
{
	struct repl *r = ctx;
	r->call = NULL;
	if (!answer && (f->kind != FAIL_NOT_FOUND || cause_of(f) != CAUSE_NONE)) {
		on_failed(r, f);
		return;
	}
	AUTO(freep) char *told = answer ? own_line_tell(answer) : NULL;
	r->code = answer ? EXIT_DONE : report_fail(f); /* there is no such checkpoint */
	if (told)
		show_note(r->show, "%s", told);
	next(r);
}

static void checkpoint(struct repl *r, enum own_line own, const char *rest)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *name = NULL;
	struct checkpoint_request request = { .session_id = r->session, .on_done = on_checkpoint, .ctx = r };
	if (own == OWN_KEEP)
		*r->branch = '\0';
	if (r->opened && own_line_request(own, rest, &name, &request, &f) == 0)
		r->call = attach_checkpoint(opened_attach(r->opened), &request, &f);
	if (r->call)
		return;
	if (r->opened)
		r->code = report_fail(&f);
	next(r);
}

static void run_cell(struct repl *r)
{
	AUTO(freep) char *cell = buf_steal_str(&r->cell);
	const char *rest;
	enum own_line own = own_line_of(cell, &rest);
	struct run_request request = { .kind = RUN_CODE, .text = cell, .len = strlen(cell), .interactive = true };
	if (own == OWN_COMMAND)
		request = (struct run_request){ .kind = RUN_TERMINAL, .text = rest, .len = strlen(rest) };
	else if (*r->branch)
		request.branch = r->branch;
	block_reset(&r->block);
	if (own == OWN_BRANCH) {
		AUTO(freep) char *told = own_line_enter(rest, r->branch);
		show_note(r->show, "%s", told);
		next(r);
	} else if (own >= OWN_CHECKPOINT) {
		checkpoint(r, own, rest);
	} else {
		start(r, &request);
	}
}

/* Typed text is literal: "<" would otherwise begin the name of a key. */
static void answer(struct repl *r, const char *text, size_t n)
{
	AUTO(buf_release) struct buf typed = { 0 };
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '<')
			buf_add_str(&typed, "<Lt>");
		else
			buf_add(&typed, text + i, 1);
	}
	struct run_request request = {
		.kind = RUN_CODE, .run = r->prompt_run, .input = buf_str(&typed), .input_len = typed.len
	};
	r->prompt_run = 0;
	start(r, &request);
	explicit_bzero(typed.data, typed.len);
}

static void press(struct repl *r, const char *key)
{
	struct run_request request = { .kind = RUN_CODE, .run = r->prompt_run, .input = key, .input_len = strlen(key) };
	r->prompt_run = 0;
	start(r, &request);
}

static void prompt_user(void *ctx)
{
	struct repl *r = ctx;
	if (r->leaving || !r->opened)
		return;
	if (r->waiting.n) { /* the line after the cell is the answer */
		AUTO(freep) char *line = xstrdup(r->waiting.v[0]);
		strv_release(&r->waiting);
		answer(r, line, strlen(line));
	} else if (r->ended) {
		press(r, "<Ctrl-D>");
	} else {
		if (!prompt_is_terminal(r->prompt))
			show_output(r->show, 1, r->prompt_shown, strlen(r->prompt_shown));
		prompt_start(r->prompt, r->secret ? PROMPT_SECRET : PROMPT_ANSWER, r->prompt_shown, "");
	}
}

/* The text comes from the session, so it is cleaned: libedit would pass anything between two \1 to the terminal. */
static void take_prompt(struct repl *r, const struct run_result *result)
{
	AUTO(buf_release) struct buf clean = { 0 };
	utf8_clean(&clean, result->prompt, result->prompt ? strlen(result->prompt) : 0);
	r->prompt_run = result->run;
	r->secret = result->password;
	free(r->prompt_shown);
	r->prompt_shown = buf_steal_str(&clean);
}

/* True if the session has ended and cannot run another cell. */
static bool is_over(const struct run_result *result)
{
	return result->kernel_gone || result->ending == ENDING_CONTAINER_DIED || result->ending == ENDING_SESSION_LOST;
}

static void on_failed(struct repl *r, const struct fail *f)
{
	if (cause_of(f) == CAUSE_NO_SERVER) { /* on_lost() follows, and how the cell ended is not known */
		r->code = EXIT_SYSTEM;
		return;
	}
	r->code = report_fail(f);
	if (f->kind == FAIL_NOT_FOUND || f->kind == FAIL_DIED)
		leave(r, r->code);
	else
		next(r);
}

static void on_ran(void *ctx, const struct run_result *result, const struct fail *f)
{
	struct repl *r = ctx;
	r->call = NULL;
	if (!result) {
		on_failed(r, f);
		return;
	}
	show_result(r->show, result);
	if (result->ending == ENDING_RUNNING) {
		struct run_request request = { .kind = RUN_CODE, .run = result->run };
		start(r, &request);
		return;
	}
	if (result->ending == ENDING_WAITING) {
		take_prompt(r, result);
		output_when_idle(r->output, prompt_user, r);
		return;
	}
	r->code = outcome_code(result);
	if (is_over(result) || outcome_is_exit(result))
		leave(r, r->code);
	else
		next(r);
}

/* --- lines --------------------------------------------------------------------------------------------------------- */

static const char *prompt_text(const struct repl *r, bool first)
{
	switch (r->block.syntax) {
	case SYNTAX_PYTHON:
		return first ? ">>>" : "...";
	case SYNTAX_JAVASCRIPT:
		return first ? ">" : "...";
	case SYNTAX_R:
		return first ? ">" : "+";
	case SYNTAX_LINES:
		break;
	}
	return first ? ">" : ".";
}

static void read_line(struct repl *r)
{
	bool first = r->block.lines == 0;
	AUTO(freep) char *text = show_prompt(r->show, prompt_text(r, first));
	AUTO(freep) char *begun = xasprintf("%*s", (int)block_indent(&r->block), "");
	show_line_start(r->show);
	prompt_start(r->prompt, PROMPT_CODE, text, prompt_is_terminal(r->prompt) && !first ? begun : "");
}

static void add_line(struct repl *r, const char *line, size_t n)
{
	for (const char *at = line, *end = line + n; at <= end;) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		size_t length = (size_t)((line_end ? line_end : end) - at);
		if (r->block.lines || length)
			block_feed(&r->block, at, length);
		at += length + 1;
	}
	if (r->cell.len && buf_add_str(&r->cell, "\n") < 0)
		return;
	buf_add(&r->cell, line, n);
}

static void remember(struct repl *r)
{
	const char *cell = buf_str(&r->cell);
	AUTO(freep) char *entry = xstrdup(cell);
	for (size_t n = strlen(entry); n && (entry[n - 1] == '\n' || entry[n - 1] == ' '); n--)
		entry[n - 1] = '\0';
	if (!*entry || entry[0] == ' ') /* as in shells, a blank at the beginning keeps a cell out of the history */
		return;
	prompt_remember(r->prompt, entry);
	if (r->history)
		history_add(r->history, entry);
}

static void forget_cell(struct repl *r)
{
	buf_reset(&r->cell);
	block_reset(&r->block);
}

static void finish_cell(struct repl *r)
{
	if (prompt_is_terminal(r->prompt))
		remember(r);
	if (r->block.has_code) {
		run_cell(r);
		return;
	}
	forget_cell(r);
	next(r);
}

static void take_typed(struct repl *r, const char *line, size_t n)
{
	bool whole = !r->block.lines && memchr(line, '\n', n); /* pasted, or from the history */
	add_line(r, line, n);
	if (block_is_open(&r->block, whole) && !own_line_is(buf_str(&r->cell)))
		read_line(r);
	else
		finish_cell(r);
}

/* In a pipe, nothing marks the end of a body: only the line after it shows that the cell has ended. */
static void take_piped(struct repl *r, const char *line, size_t n)
{
	if (r->block.lines && !block_takes(&r->block, line, n)) {
		strv_add(&r->waiting, line);
		finish_cell(r);
		return;
	}
	add_line(r, line, n);
	if (block_may_take(&r->block) && !own_line_is(buf_str(&r->cell)))
		read_line(r);
	else
		finish_cell(r);
}

/* If the syntax of the language is unknown, the interpreter is queried. If the interpreter does not know either, each
 * typed line is a cell, and the input of a pipe is one cell. A blank line ends a cell that the interpreter considers
 * incomplete. */
static void on_completeness(void *ctx, const struct query_answer *answer, const struct fail *f)
{
	struct repl *r = ctx;
	r->call = NULL;
	if (f && cause_of(f) == CAUSE_NO_SERVER)
		return;
	r->blind = !prompt_is_terminal(r->prompt) && (!answer || answer->completeness == CODE_UNKNOWN);
	if (r->blind || (answer && answer->completeness == CODE_INCOMPLETE))
		read_line(r);
	else
		finish_cell(r);
}

static void take_unknown(struct repl *r, const char *line, size_t n)
{
	AUTO(fail_release) struct fail f = { 0 };
	add_line(r, line, n);
	if (r->blind) {
		read_line(r);
		return;
	}
	const char *cell = buf_str(&r->cell);
	struct query_request request = { .kind = QUERY_IS_COMPLETE,
					 .session_id = r->session,
					 .code = cell,
					 .len = r->cell.len,
					 .on_done = on_completeness,
					 .ctx = r };
	if (r->block.has_code && !r->block.blank && !own_line_is(buf_str(&r->cell)))
		r->call = attach_query(opened_attach(r->opened), &request, &f);
	if (!r->call)
		finish_cell(r);
}

static void take_line(struct repl *r, const char *line, size_t n)
{
	if (r->cell.len + n > CELL_MAX) {
		log_error("cannot run a cell of more than %u bytes", CELL_MAX);
		leave(r, EXIT_NO);
	} else if (r->block.syntax == SYNTAX_LINES) {
		take_unknown(r, line, n);
	} else if (prompt_is_terminal(r->prompt)) {
		take_typed(r, line, n);
	} else {
		take_piped(r, line, n);
	}
}

static void on_line(void *ctx, const char *line, size_t n)
{
	struct repl *r = ctx;
	if (r->prompt_run)
		answer(r, line, n);
	else
		take_line(r, line, n);
}

static void on_tab(void *ctx, const char *line, size_t n UNUSED, size_t cursor)
{
	struct repl *r = ctx;
	AUTO(freep) char *before = r->cell.len ? xasprintf("%s\n", buf_str(&r->cell)) : xstrdup("");
	if (r->opened && !r->prompt_run)
		complete_query(r->complete, opened_attach(r->opened), r->session, before, line, cursor);
}

static void on_end(void *ctx)
{
	struct repl *r = ctx;
	bool terminal = prompt_is_terminal(r->prompt);
	r->ended = !terminal;
	if (r->prompt_run)
		press(r, "<Ctrl-D>");
	else if (!terminal && r->block.lines)
		finish_cell(r);
	else
		leave(r, terminal ? EXIT_DONE : r->code);
}

/* Does nothing while there is no session: on_open() calls this again. */
static void go_on(void *ctx)
{
	struct repl *r = ctx;
	if (r->leaving || !r->opened)
		return;
	if (r->waiting.n) {
		AUTO(freep) char *line = xstrdup(r->waiting.v[0]);
		strv_release(&r->waiting);
		take_line(r, line, strlen(line));
	} else if (r->ended) {
		leave(r, r->code);
	} else {
		read_line(r);
	}
}

static void next(struct repl *r)
{
	output_when_idle(r->output, go_on, r);
}

/* --- signals ------------------------------------------------------------------------------------------------------- */

static void on_interrupt(struct repl *r)
{
	if (!prompt_is_active(r->prompt)) {
		show_interrupt(r->show);
		if (r->call)
			attach_interrupt(r->call);
		else if (r->opening)
			leave(r, EXIT_INTERRUPTED);
		return;
	}
	prompt_clear(r->prompt);
	if (r->prompt_run) {
		press(r, "<Ctrl-C>");
		return;
	}
	forget_cell(r);
	read_line(r);
}

/* A second signal does not wait for the session to be removed. */
static void on_signal(void *ctx, int signo)
{
	struct repl *r = ctx;
	if (r->leaving)
		loop_stop(r->loop, r->code);
	else if (signo == SIGINT && prompt_is_terminal(r->prompt))
		on_interrupt(r);
	else
		leave(r, EXIT_SIGNALLED + signo);
}

static void on_deadline(void *ctx)
{
	struct repl *r = ctx;
	loop_stop(r->loop, r->code);
}

/* --- the terminal -------------------------------------------------------------------------------------------------- */

static bool on_reply(void *ctx, const char *sequence, size_t n)
{
	struct repl *r = ctx;
	bool taken = abilities_take(&r->abilities, sequence, n);
	if (r->abilities.answered)
		prompt_answered(r->prompt);
	return taken;
}

static void on_answered(void *ctx)
{
	struct repl *r = ctx;
	output_know(r->output, abilities_pictures(&r->abilities));
}

static void query_terminal(void *ctx)
{
	struct repl *r = ctx;
	r->abilities.answered = false;
	prompt_query_terminal(r->prompt, ABILITIES_QUERY, TERMINAL_MS, on_answered);
}

static void on_remembered(void *ctx, const char *entry)
{
	struct repl *r = ctx;
	prompt_remember(r->prompt, entry);
}

/* --- the session --------------------------------------------------------------------------------------------------- */

static void greet(struct repl *r, bool again)
{
	static const char *const words[] = { [ATTACH_SERVED] = "the session of another program, which keeps running",
					     [ATTACH_ADOPTED] = "a session that was taken over",
					     [ATTACH_FRESH] = "a new session, which ends with this prompt" };
	show_note(r->show, "%s · %s · %s", r->runtime ? r->runtime->title : opened_runtime(r->opened), r->session,
		  words[opened_how(r->opened)]);
	if (!again)
		show_note(r->show, "Ctrl-C interrupts · Ctrl-D leaves · $ COMMAND runs in its shell");
}

static void open_session(struct repl *r, const char *id);

static void on_lost(void *ctx, const struct fail *f)
{
	struct repl *r = ctx;
	/* The lines of a pipe are a program: if a cell may not have run, the cells after it do not run either. */
	if (r->leaving || r->lost || !prompt_is_terminal(r->prompt)) {
		r->opened = opened_free(r->opened);
		loop_stop(r->loop, r->leaving ? r->code : report_fail(f));
		return;
	}
	prompt_give_up(r->prompt);
	show_note(r->show, "%s", f->message);
	r->lost = true;
	r->prompt_run = 0;
	r->call = NULL;
	complete_drop(r->complete);
	r->opened = opened_free(r->opened);
	forget_cell(r);
	AUTO(freep) char *id = xstrdup(r->session);
	open_session(r, id);
}

static void on_open(void *ctx, struct opened *o, const struct fail *f)
{
	struct repl *r = ctx;
	r->opening = NULL;
	if (!o) {
		leave(r, report_fail(f));
		return;
	}
	r->opened = o;
	free(r->session);
	r->session = xstrdup(opened_session(o));
	r->own = opened_how(o) == ATTACH_FRESH;
	r->runtime = runtime_find(opened_runtime(o));
	r->block.syntax = syntax_of(r->runtime ? r->runtime->extension : NULL);
	if (!r->lost && prompt_is_terminal(r->prompt)) {
		r->history = history_path(r->config.state_dir, r->runtime ? r->runtime->name : "other");
		if (r->history)
			history_read(r->history, on_remembered, r);
	}
	greet(r, r->lost);
	r->lost = false;
	next(r);
}

static void open_session(struct repl *r, const char *id)
{
	struct open_request request = { .loop = r->loop,
					.config = &r->config,
					.session_id = id,
					.fresh = id ? NULL : &r->fresh.request,
					.on_done = on_open,
					.on_lost = on_lost,
					.ctx = r };
	r->opening = attach_open(&request);
}

/* --- life ---------------------------------------------------------------------------------------------------------- */

static int go(struct repl *r, enum pictures pictures)
{
	static const struct prompt_ops ops = {
		.on_line = on_line, .on_end = on_end, .on_tab = on_tab, .on_reply = on_reply
	};
	r->loop = loop_new();
	r->deadline = timer_new(r->loop, on_deadline, r);
	struct signals *signals = signals_new(r->loop, on_signal, r);
	r->prompt = prompt_new(r->loop, &ops, r);
	r->complete = complete_new(r->loop, r->prompt);
	r->output =
		output_new(&(struct output_spec){ .loop = r->loop,
						  .pictures = prompt_is_terminal(r->prompt) ? pictures : PICTURES_SAVED,
						  .query_terminal = query_terminal,
						  .ctx = r });
	r->show = show_new(r->output);
	open_session(r, r->options->session);
	int code = loop_run(r->loop);
	attach_open_cancel(r->opening);
	complete_free(r->complete);
	opened_free(r->opened);
	show_free(r->show);
	output_free(r->output);
	prompt_free(r->prompt);
	signals_free(signals);
	timer_free(r->deadline);
	loop_free(r->loop);
	return code;
}

int repl_run(const struct options *options)
{
	struct repl r = { .options = options };
	enum pictures pictures = PICTURES_UNKNOWN;
	AUTO(fail_release) struct fail f = { 0 };
	int code = EXIT_USAGE;
	if (options->pictures && pictures_named(options->pictures, &pictures) < 0 &&
	    fail_set(&f, FAIL_INVALID, "--pictures '%s' is not one of auto, kitty, iterm, sixel, file",
		     options->pictures) < 0)
		report_refusal(&f, options->verb);
	else if (settings_load(&r.config, options->env_file, &f) < 0)
		code = report_refusal(&f, options->verb);
	else if ((code = fresh_take(&r.fresh, options, &r.config, options->language, /* more= */ NULL)) == EXIT_DONE)
		code = go(&r, pictures != PICTURES_UNKNOWN ? pictures : abilities_by_environment(getenv));
	fresh_release(&r.fresh);
	strv_release(&r.waiting);
	buf_release(&r.cell);
	free(r.session);
	free(r.history);
	free(r.prompt_shown);
	config_release(&r.config);
	return code;
}
