/* Interactive runs: their prompts, their input, and the terminals of commands. */
#include "base/alloc.h"
#include "base/utf8.h"
#include "manager/line/keys.h"
#include "manager/line/run-private.h"

/* If the screen cannot be drawn, only this many bytes from the end of the output are shown. */
#define PLAIN_BYTES (256u << 10)

/* Clears the memory, since input may be a secret. */
static void forget(struct buf *typed)
{
	if (typed->len)
		explicit_bzero(typed->data, typed->len);
	buf_release(typed);
}

void run_prompt_release(struct run_prompt *q)
{
	free(q->prompt);
	free(q->line);
	forget(&q->typed);
	emulator_free(q->screen);
	*q = (struct run_prompt){ 0 };
}

/* --- the terminal ------------------------------------------------------------------------------------------------ */

/* Replaces the first n bytes of a command's raw output with the text that the terminal shows. */
static void add_shown(struct run *run, const char *text, size_t n)
{
	struct run_result *r = &run->result;
	AUTO(freep) char *before = take_ptr(r->stdout_text);
	AUTO(freep) char *cut = run_output_cut(text, strlen(text), run->dispatch->config->max_stdout_chars);
	r->stdout_text = xasprintf("%s%s", before ? before : "", cut);
	r->stdout_truncated |= strlen(cut) != strlen(text);
	run_result_add_text(r, PART_STDOUT, take_ptr(cut));
	r->raw_len -= n;
	if (r->raw_len)
		memmove(r->raw, r->raw + n, r->raw_len);
	else
		free(take_ptr(r->raw));
}

static void add_plain(struct run *run, const char *trouble, size_t n)
{
	AUTO(buf_release) struct buf text = { 0 }, shown = { 0 };
	if (trouble)
		buf_printf(&shown, "⟦the screen could not be shown: %s⟧\n", trouble);
	/* Bytes that would be cut are not cleaned: this runs on the loop, and a command may have written several
	 * MiB. */
	size_t some = MIN(n, (size_t)PLAIN_BYTES);
	run->result.stdout_truncated |= some < n;
	if (some < n)
		buf_printf(&shown, "[%zu bytes cut]\n", n - some);
	utf8_clean(&text, run->result.raw + n - some, some);
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] != '\r')
			buf_add(&shown, text.data + i, 1);
	add_shown(run, buf_str(&shown), n);
}

static void on_shown(void *ctx, const struct shown_screen *screen)
{
	struct run *run = ctx;
	struct run_prompt *q = &run->prompt;
	size_t n = q->feeding;
	q->feeding = 0;
	free(q->line);
	q->line = screen->trouble ? NULL : xstrdup(screen->prompt);
	q->application_keys = screen->application_keys;
	if (screen->trouble)
		add_plain(run, screen->trouble, n);
	else
		add_shown(run, screen->text, n);
	if (run->ended && !run->result.raw)
		emulator_reset(q->screen); /* this was its last screen */
	run_shown(run);
}

bool run_prompt_show(struct run *run)
{
	struct run_prompt *q = &run->prompt;
	struct run_result *r = &run->result;
	if (!q->screen || !r->raw)
		return true;
	if (emulator_busy(q->screen))
		return false;
	if (!r->raw_len) {
		add_shown(run, "", 0);
		return true;
	}
	q->unsettled = true;
	q->feeding = r->raw_len;
	emulator_feed(q->screen, r->raw, r->raw_len);
	return false;
}

void run_prompt_settle(struct run *run)
{
	struct run_prompt *q = &run->prompt;
	q->unsettled = false;
	if (q->screen && run->result.raw) {
		emulator_reset(q->screen);
		q->feeding = 0;
		add_plain(run, NULL, run->result.raw_len);
	}
}

void run_prompt_restart(struct run *run)
{
	struct run_prompt *q = &run->prompt;
	if (q->unsettled)
		emulator_reset(q->screen);
	q->unsettled = false;
	q->feeding = 0;
	run_result_release(&run->result);
}

/* --- prompts ----------------------------------------------------------------------------------------------------- */

static void may_prompt(struct run *run, int rows, int cols)
{
	const struct dispatch *d = run->dispatch;
	run->prompt.may_prompt = true;
	if (run->kind != RUN_TERMINAL || run->prompt.screen)
		return;
	run->prompt.screen = emulator_new(&(struct emulator_spec){
		.loop = d->loop, .rows = rows, .cols = cols, .on_shown = on_shown, .ctx = run });
	collect_set_raw(run->collect);
}

void run_prompt_begin(struct run *run, const struct run_spec *spec)
{
	if (spec->interactive)
		may_prompt(run, spec->rows ? spec->rows : TERMINAL_ROWS, spec->cols ? spec->cols : TERMINAL_COLS);
}

void run_prompt_read(struct run *run, const struct wire_frame *frame)
{
	struct run_prompt *q = &run->prompt;
	AUTO(wire_prompt_release) struct wire_prompt now;
	wire_read_prompt(frame, &now);
	if (!now.interactive)
		return;
	may_prompt(run, now.rows, now.cols);
	bool open = now.waiting && now.inputs >= q->inputs; /* false if the answer has not reached PID 1 yet */
	if (now.inputs >= q->inputs)
		forget(&q->typed);
	q->told &= open && frame->type == FRAME_MARK;
	q->inputs = MAX(q->inputs, now.inputs);
	q->begun |= now.begun;
	bool opens = open && !q->open;
	q->open = open;
	q->password = now.password;
	free(q->prompt);
	q->prompt = take_ptr(now.prompt);
	if (opens)
		run_record_prompt(run);
}

/* A command's prompt is reported once: a client that then waits again wants new output. A cell's prompt is reported
 * again, because the cell continues only after input. */
bool run_prompt_is_due(const struct run *run)
{
	return run->prompt.open && !(run->prompt.told && run->kind == RUN_TERMINAL);
}

void run_prompt_tell(struct run *run, struct run_result *result)
{
	struct run_prompt *q = &run->prompt;
	if (!q->open)
		return;
	q->told = true;
	result->ending = ENDING_WAITING;
	result->password = q->password;
	result->prompt = q->prompt ? xstrdup(q->prompt) : xstrdup(q->line ? q->line : "");
}

/* --- input ------------------------------------------------------------------------------------------------------- */

static int check(const struct run *run, size_t n, struct fail *f)
{
	unsigned long long number = run->call;
	if (n > INPUT_BYTES_MAX / 2)
		return cause_set(f, FAIL_INVALID, CAUSE_INPUT_SIZE, "input is too long (%zu bytes, at most %u)", n,
				 INPUT_BYTES_MAX / 2);
	if (run->ended)
		return cause_set(f, FAIL_INVALID, CAUSE_NO_PROMPT, "run %llu has ended and takes no input", number);
	if (!run->prompt.may_prompt)
		return cause_set(f, FAIL_INVALID, CAUSE_NOT_INTERACTIVE,
				 "run %llu was not started as interactive, so its input is closed", number);
	if (run->waiter && !run_is_old(run))
		return cause_set(f, FAIL_BUSY, CAUSE_RUN_WAITED,
				 "another request waits for run %llu and will get its output", number);
	if (!(run->began_ms || run->prompt.begun) || (run->kind == RUN_CODE && !run->prompt.open))
		return cause_set(f, FAIL_INVALID, CAUSE_NO_PROMPT, "run %llu is not waiting for input", number);
	return 0;
}

int run_input(struct dispatch *d, uint64_t number, const char *text, size_t n, struct fail *f)
{
	struct run *run = run_find_kept(d, number, f);
	if (!run || check(run, n, f) < 0)
		return -1;
	struct run_prompt *q = &run->prompt;
	AUTO(forget) struct buf typed = { 0 }, frame = { 0 };
	keys_type(text, n, !q->screen ? KEYS_CELL : q->application_keys ? KEYS_APPLICATION : KEYS_TERMINAL, &typed);
	int r = wire_put_input(&frame, run->call, q->inputs + 1, buf_str(&typed), typed.len);
	if (r < 0)
		return cause_set(f, FAIL_INVALID, CAUSE_INPUT_SIZE, "input is not valid UTF-8");
	q->inputs++;
	q->open = q->told = false;
	run_record_answer(run);
	buf_add(&q->typed, frame.data, frame.len);
	if (d->open)
		dispatch_send(d, &frame);
	return 0;
}

void run_prompt_resume(struct run *run)
{
	if (run->prompt.typed.len)
		dispatch_send(run->dispatch, &run->prompt.typed);
}
