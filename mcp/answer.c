#include "mcp/answer.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/strv.h"
#include "base/utf8.h"
#include "mcp/next-step.h"
#include "mcp/text.h"

/* The first line has the error's message, unless it is longer than this or has several lines. */
#define HEADLINE_CHARS 300
#define MARK "⟦picture "
#define MARK_END "⟧"

static const char *signal_name(int signo)
{
	static const char *const names[] = {
		[1] = "SIGHUP",	  [2] = "SIGINT",   [3] = "SIGQUIT",  [4] = "SIGILL",	[6] = "SIGABRT",
		[7] = "SIGBUS",	  [8] = "SIGFPE",   [9] = "SIGKILL",  [11] = "SIGSEGV", [13] = "SIGPIPE",
		[14] = "SIGALRM", [15] = "SIGTERM", [24] = "SIGXCPU", [25] = "SIGXFSZ", [31] = "SIGSYS",
	};
	if (signo < 0 || (size_t)signo >= ARRAY_LEN(names) || !names[signo])
		return "unnamed";
	return names[signo];
}

/* --- lines and labels ------------------------------------------------------------------------------------------- */

static void begin_line(struct buf *b)
{
	if (b->len && b->data[b->len - 1] != '\n')
		buf_add_str(b, "\n");
}

static size_t without_line_ends(const char *s)
{
	size_t n = strlen(s);
	while (n > 0 && s[n - 1] == '\n')
		n--;
	return n;
}

/* Adds a label and a body: a single line after the label, several lines below it. Adds nothing for an empty body. */
static void add_labelled(struct buf *b, const char *label, const char *body)
{
	size_t n = without_line_ends(body);
	if (!n)
		return;
	begin_line(b);
	buf_printf(b, "%s%s", label, memchr(body, '\n', n) ? "\n" : " ");
	buf_add(b, body, n);
	buf_add_str(b, "\n");
}

static void add_note(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void add_note(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	AUTO(freep) char *body = xvasprintf(fmt, ap);
	va_end(ap);
	add_labelled(b, "⟦note⟧", body);
}

/* --- how the run ended ------------------------------------------------------------------------------------------ */

static char *error_line(const struct run_result *run)
{
	if (!run->error_message || !*run->error_message)
		return xstrdup(run->error_type);
	return xasprintf("%s: %s", run->error_type, run->error_message);
}

/* True if the first line has the whole error; the traceback then does not repeat it. */
static bool fits_headline(const struct run_result *run)
{
	const char *message = run->error_message ? run->error_message : "";
	return !strchr(message, '\n') && utf8_count(message, strlen(message)) <= HEADLINE_CHARS;
}

/* True if the traceback has the error's message. In some languages it has only the location. */
static bool has_message(const char *traceback, const char *line)
{
	return traceback && memmem(traceback, strlen(traceback), line, strcspn(line, "\n"));
}

static char *error_headline(const struct run_result *run)
{
	char *line = error_line(run);
	if (fits_headline(run) || !has_message(run->error_traceback, line))
		return line;
	free(line);
	return xstrdup(run->error_type);
}

static char *running_detail(const struct run_result *run)
{
	unsigned long long number = run->run, behind = run->behind;
	if (run->queued && run->behind_prompts)
		return xasprintf("run %llu is queued behind run %llu, which waits for input, and has not begun", number,
				 behind);
	if (run->queued && behind)
		return xasprintf("run %llu is queued behind run %llu and has not begun", number, behind);
	if (run->queued)
		return xasprintf("run %llu is queued and has not begun", number);
	return xasprintf("run %llu continues after %.1f s; this is its new output", number,
			 (double)run->duration_ms / 1000);
}

static char *waiting_detail(const struct run_result *run)
{
	unsigned long long number = run->run;
	const char *hidden = run->password ? " (what is typed is not shown)" : "";
	if (run->prompt && *run->prompt)
		return xasprintf("run %llu asks%s: %s", number, hidden, run->prompt);
	return xasprintf("run %llu reads its input%s", number, hidden);
}

/* The detail for endings for which the manager gives none. */
static char *default_detail(const struct run_result *run, const struct run_context *ctx)
{
	switch (run->ending) {
	case ENDING_OK:
		break;
	case ENDING_ERROR:
		if (run->error_type)
			return error_headline(run);
		if (run->signal)
			return xasprintf("killed by signal %d (%s)", run->signal, signal_name(run->signal));
		return run->has_exit_code ? xasprintf("exit code %d", run->exit_code) : xstrdup("failed");
	case ENDING_TIMEOUT:
		return xasprintf("stopped after %llu s", (unsigned long long)ctx->timeout_seconds);
	case ENDING_INTERRUPTED:
		return xstrdup("interrupted before it was done");
	case ENDING_OOM:
		return xstrdup("the memory limit of the container was reached");
	case ENDING_KERNEL_DIED:
		return xstrdup("the interpreter died; its variables are gone, files in /workspace are kept");
	case ENDING_CONTAINER_DIED:
		return xstrdup("the container is gone; call stop_session, then create_session");
	case ENDING_SESSION_LOST:
		return xstrdup("the connection to the session was lost; whether the code finished is unknown");
	case ENDING_RUNNING:
		return running_detail(run);
	case ENDING_WAITING:
		return waiting_detail(run);
	}
	return xstrdup("");
}

static void add_ending(struct buf *b, const struct run_result *run, const struct run_context *ctx)
{
	if (run->ending == ENDING_OK)
		return;
	bool queued = run->ending == ENDING_RUNNING && run->queued;
	AUTO(freep) char *label = run->ending == ENDING_WAITING ? xstrdup("⟦waiting for input⟧") :
				  queued			? xstrdup("⟦queued⟧") :
								  xasprintf("⟦%s⟧", ending_name(run->ending));
	AUTO(freep) char *standard = default_detail(run, ctx);
	/* The error's message comes first, then the manager's detail. */
	bool both = run->ending == ENDING_ERROR && run->detail;
	AUTO(freep) char *text =
		both ? xasprintf("%s (%s)", standard, run->detail) : xstrdup(run->detail ? run->detail : standard);
	add_labelled(b, label, text);
}

/* --- output of the run, in order -------------------------------------------------------------------------------- */

struct writer {
	struct buf *body;
	const struct run_result *run;
	const struct pictures *pictures;
	size_t next_picture;
	size_t max_chars; /* limit of the whole text, and thus of each piece */
	bool labelled;	  /* the last output has a label, so following stdout needs one too */
};

/* Length of the traceback's first line if it repeats the error with a code in brackets, as Node's own errors do:
 * "TypeError [ERR_INVALID_ARG_TYPE]: message". 0 = it does not. */
static size_t coded_line(const struct run_result *run)
{
	const char *s = run->error_traceback, *message = run->error_message ? run->error_message : "";
	size_t line = strcspn(s, "\n"), type = strlen(run->error_type);
	if (line < type || memcmp(s, run->error_type, type) != 0 || strncmp(s + type, " [", 2) != 0)
		return 0;
	const char *rest = memmem(s + type, line - type, "]: ", 3);
	bool same = rest && (size_t)(s + line - rest) - 3 == strlen(message) &&
		    memcmp(rest + 3, message, strlen(message)) == 0;
	return same ? line : 0;
}

/* The traceback without the lines that the first line of the answer repeats. */
static char *rest_of_traceback(const struct run_result *run)
{
	size_t n = without_line_ends(run->error_traceback);
	const char *s = run->error_traceback;
	AUTO(freep) char *line = error_line(run);
	size_t length = strlen(line), coded = coded_line(run);
	if (run->ending != ENDING_ERROR || !fits_headline(run))
		return xstrndup(s, n);
	if (coded)
		return xstrndup(s + MIN(coded + 1, n), n - MIN(coded + 1, n));
	size_t start = n;
	while (start > 0 && s[start - 1] != '\n')
		start--;
	/* Drop the last line if it repeats the error, perhaps with the module before the type. */
	if (n - start >= length && memcmp(s + n - length, line, length) == 0 &&
	    (n - start == length || s[n - length - 1] == '.') && !memchr(s + start, ' ', n - start - length))
		n = start;
	else if (n > length && memcmp(s, line, length) == 0 && s[length] == '\n')
		s += length + 1, n -= length + 1;
	return xstrndup(s, n);
}

static void write_error(struct writer *w)
{
	const struct run_result *run = w->run;
	if (run->error_traceback && *run->error_traceback) {
		AUTO(freep) char *rest = rest_of_traceback(run);
		if (*rest)
			add_labelled(w->body, "⟦traceback⟧", rest);
	} else if (run->ending != ENDING_ERROR) {
		AUTO(freep) char *line = error_line(run);
		add_labelled(w->body, "⟦error⟧", line);
	}
	w->labelled = true;
}

static void write_bundle(struct writer *w, const char *label, const struct mime_bundle *bundle)
{
	AUTO(freep) char *text = display_text(bundle, w->max_chars);
	if (!bundle->n) /* a reserved place that stayed empty */
		return;
	if (!display_has_picture(bundle)) {
		add_labelled(w->body, label, text);
		w->labelled = true;
		return;
	}
	const struct picture *p = w->next_picture < w->pictures->n ? &w->pictures->v[w->next_picture++] : NULL;
	AUTO(freep) char *mark =
		p && p->number ? xasprintf(MARK "%u" MARK_END, p->number) : xstrdup("⟦picture left out⟧");
	begin_line(w->body);
	if (*text)
		add_labelled(w->body, mark, text);
	else
		buf_printf(w->body, "%s\n", mark);
	w->labelled = *text != '\0';
}

static void write_text(struct writer *w, const struct run_part *part)
{
	if (part->kind == PART_STDERR) {
		add_labelled(w->body, "⟦stderr⟧", part->text);
	} else if (w->labelled) {
		begin_line(w->body);
		buf_printf(w->body, "⟦stdout⟧\n%s", part->text);
	} else {
		buf_add_str(w->body, part->text);
	}
	w->labelled = part->kind == PART_STDERR;
}

static void write_part(struct writer *w, const struct run_part *part)
{
	switch (part->kind) {
	case PART_STDOUT:
	case PART_STDERR:
		write_text(w, part);
		break;
	case PART_DISPLAY:
		write_bundle(w, "⟦display⟧", &w->run->displays[part->display]);
		break;
	case PART_RESULT:
		write_bundle(w, "⟦result⟧", &w->run->result);
		break;
	case PART_ERROR:
		write_error(w);
		break;
	case PART_GAP:
		begin_line(w->body);
		buf_printf(w->body, "⟦… %llu bytes cut …⟧\n", (unsigned long long)part->bytes);
		break;
	}
}

static bool has_gap(const struct run_result *run)
{
	for (size_t i = 0; i < run->n_parts; i++)
		if (run->parts[i].kind == PART_GAP)
			return true;
	return false;
}

/* --- notes ------------------------------------------------------------------------------------------------------ */

static void note_cut(struct buf *b, const struct run_result *run, const char *session_id)
{
	unsigned long long bytes = run->stdout_bytes + run->stderr_bytes;
	AUTO(freep) char *size = bytes ? xasprintf("The output was cut: the program wrote %llu bytes in all.", bytes) :
					 xstrdup("The text was cut.");
	if (!run->kept_run) {
		add_note(b, "%s", size);
		return;
	}
	AUTO(freep) char *resource = session_id ? xasprintf(" It is also the resource husk://run/%s/%u.", session_id,
							    (unsigned)run->kept_run) :
						  xstrdup("");
	add_note(b, "%s %s is in ~/.husk/runs/%u.txt of the session: search it there (grep, sed -n).%s", size,
		 run->kept_whole ? "All of it" : "Its beginning (16 MB)", (unsigned)run->kept_run, resource);
}

static void note_pictures(struct buf *b, const struct pictures *p)
{
	size_t omitted = 0, bad = 0;
	for (size_t i = 0; i < p->n; i++) {
		bad += !p->v[i].data && !p->v[i].large;
		omitted += p->v[i].large || (p->v[i].data && !p->v[i].number);
	}
	if (omitted > 0)
		add_note(
			b,
			"%zu picture%s left out: an answer holds %d pictures and about 1 MB, and the last ones are kept. Show the others in separate calls, or smaller (lower dpi).",
			omitted, omitted == 1 ? " was" : "s were", PICTURES_MAX);
	if (bad > 0)
		add_note(
			b,
			"%zu image%s left out: not a whole, valid PNG, JPEG, GIF or WebP of at most 8000 pixels a side",
			bad, bad == 1 ? " was" : "s were");
}

char *answer_hint(const struct run_result *run, const struct run_context *ctx)
{
	if (ctx->user_answers)
		return NULL;
	return next_step_after_run(run, &(struct run_terms){ .terminal = ctx->terminal,
							     .timeout_seconds = ctx->timeout_seconds,
							     .cause = run->cause,
							     .restarted = ctx->restarted });
}

static void add_notes(struct buf *b, const struct run_result *run, const struct run_context *ctx, struct strv *hints)
{
	AUTO(freep) char *hint = answer_hint(run, ctx);
	if (run->displays_dropped > 0)
		add_note(b, "%llu displays were dropped: too many or too large for one run; the last pictures are kept",
			 (unsigned long long)run->displays_dropped);
	/* If the run succeeded, the detail is a note; otherwise it is in the first line. */
	if (run->ending == ENDING_OK && run->detail)
		add_note(b, "%s", run->detail);
	if (run->lost)
		add_note(b, "Lost variables: %s.", run->lost);
	if (run->behind && run->ending != ENDING_RUNNING && run->ending != ENDING_WAITING)
		add_note(b, "It had to wait for run %llu.", (unsigned long long)run->behind);
	/* Earlier runs in the same answer may have the same hint, which is shown once. */
	if (hint && strv_find(hints, hint) == SIZE_MAX) {
		add_labelled(b, "⟦hint⟧", hint);
		strv_add(hints, hint);
	}
}

/* --- the whole answer ------------------------------------------------------------------------------------------- */

/* The text of one run; `next_picture` counts across runs. */
static char *run_text(const struct run_result *run, const struct run_context *ctx, const struct pictures *pictures,
		      size_t *next_picture, struct strv *hints, size_t max_chars)
{
	AUTO(buf_release) struct buf head = { 0 }, body = { 0 }, notes = { 0 };
	struct writer w = {
		.body = &body, .run = run, .pictures = pictures, .next_picture = *next_picture, .max_chars = max_chars
	};
	add_ending(&head, run, ctx);
	for (size_t i = 0; i < run->n_parts; i++)
		write_part(&w, &run->parts[i]);
	*next_picture = w.next_picture;
	add_notes(&notes, run, ctx, hints);
	size_t around = utf8_count(buf_str(&head), head.len) + utf8_count(buf_str(&notes), notes.len) + 300;
	size_t room = max_chars > around ? max_chars - around : 0;
	bool gap = has_gap(run);
	if (gap || run->stdout_truncated || run->stderr_truncated || utf8_count(buf_str(&body), body.len) > room)
		note_cut(&notes, run, ctx->session_id);
	AUTO(freep) char *shown = text_cut(buf_str(&body), room, gap);
	buf_add_str(&head, shown);
	begin_line(&head);
	if (!without_line_ends(shown) && !head.len && !notes.len)
		buf_add_str(&head, "(no output)\n");
	buf_add(&head, notes.data, notes.len);
	return buf_steal_str(&head);
}

static bool is_queued(const struct earlier_result *e)
{
	return e->queued && !e->ended && !e->waits_for_input;
}

static char *still_running(const struct earlier_result *e)
{
	unsigned long long number = e->seq;
	if (e->waits_for_input)
		return xasprintf(
			"{run: %llu} shows its prompt, {run: %llu, input: \"…\"} answers, {run: %llu, interrupt: true} ends it.",
			number, number, number);
	return xasprintf(
		"%.0f s so far. {run: %llu} waits for it and returns new output, {run: %llu, interrupt: true} ends it; otherwise a later answer reports its end.",
		(double)e->age_ms / 1000, number, number);
}

/* Adds one line about all runs that have not begun, unless earlier answers have listed all of them. */
static void add_queued(struct buf *b, const struct run_result *run)
{
	size_t n = 0;
	bool news = false;
	for (size_t i = 0; i < run->n_earlier; i++)
		news |= is_queued(&run->earlier[i]) && !run->earlier[i].queue_reported;
	for (size_t i = 0; news && i < run->n_earlier; i++) {
		const struct earlier_result *e = &run->earlier[i];
		if (is_queued(e))
			buf_printf(b, "%s%llu", n++ ? ", " : "⟦earlier, queued: run ", (unsigned long long)e->seq);
	}
	if (n)
		buf_add_str(b, "⟧ {run: N, interrupt: true} removes one.\n");
}

/* Whether a later run of the answer restarted the kernel, so that the variables after `e` are gone. */
static bool is_restarted_after(const struct run_result *run, const struct earlier_result *e)
{
	if (run->kernel_restarted && run->run > e->seq && streq(run->branch, e->result.branch))
		return true;
	for (size_t i = 0; i < run->n_earlier; i++)
		if (run->earlier[i].seq > e->seq && run->earlier[i].result.kernel_restarted &&
		    streq(run->earlier[i].result.branch, e->result.branch))
			return true;
	return false;
}

/* Adds runs that ended while no request waited for them, and whose end was not reported yet. */
static void add_earlier(struct buf *b, const struct run_result *run, const struct pictures *pictures,
			size_t *next_picture, struct strv *hints, size_t max_chars)
{
	for (size_t i = 0; i < run->n_earlier; i++) {
		const struct earlier_result *e = &run->earlier[i];
		const struct run_context ctx = { .terminal = e->kind == RUN_TERMINAL,
						 .restarted = is_restarted_after(run, e) };
		if (is_queued(e))
			continue;
		const char *branch = e->result.branch;
		AUTO(freep) char *label = xasprintf("⟦earlier %s %llu%s%s: %s⟧", ctx.terminal ? "command" : "cell",
						    (unsigned long long)e->seq, *branch ? " in branch " : "", branch,
						    e->ended	       ? ending_name(e->result.ending) :
						    e->waits_for_input ? "waiting for input" :
									 "still running");
		AUTO(freep) char *body = e->ended ? run_text(&e->result, &ctx, pictures, next_picture, hints,
							     max_chars / run->n_earlier) :
						    still_running(e);
		add_labelled(b, label, body);
	}
	add_queued(b, run);
	if (b->len)
		buf_add_str(b, "⟦this call⟧\n");
}

char *answer_text(const struct run_result *run, const struct run_context *ctx, const struct pictures *pictures)
{
	size_t max_chars = ctx->max_chars ? ctx->max_chars : ANSWER_CHARS, next = 0;
	AUTO(buf_release) struct buf text = { 0 }, notes = { 0 };
	AUTO(strv_release) struct strv hints = { 0 };
	add_earlier(&text, run, pictures, &next, &hints, max_chars / 2);
	note_pictures(&notes, pictures);
	if (run->notice)
		add_note(&notes, "%s", run->notice);
	if (*run->branch)
		buf_printf(&text, "⟦branch %s⟧\n", run->branch);
	size_t used = utf8_count(buf_str(&text), text.len) + utf8_count(buf_str(&notes), notes.len);
	AUTO(freep) char *own = run_text(run, ctx, pictures, &next, &hints, max_chars > used ? max_chars - used : 0);
	buf_add_str(&text, own);
	buf_add(&text, notes.data, notes.len);
	while (text.len && text.data[text.len - 1] == '\n')
		text.len--;
	return buf_steal_str(&text);
}

const char *answer_mark(const char *text, const char **ret_end, unsigned *ret_number)
{
	for (const char *at = text; (at = strstr(at, MARK)); at += strlen(MARK)) {
		char *end;
		unsigned long number = strtoul(at + strlen(MARK), &end, 10);
		if (number == 0 || strncmp(end, MARK_END, strlen(MARK_END)) != 0)
			continue;
		*ret_end = end + strlen(MARK_END);
		*ret_number = (unsigned)number;
		return at;
	}
	return NULL;
}
