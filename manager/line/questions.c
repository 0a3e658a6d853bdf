/* Runs that may ask somebody: what they ask, what they are told, and what a terminal shows of those that have one. */
#include "base/alloc.h"
#include "manager/line/keys.h"
#include "manager/line/run-private.h"

/* An answer may be a secret. */
static void forget(struct buf *typed)
{
	if (typed->len)
		explicit_bzero(typed->data, typed->len);
	buf_release(typed);
}

void question_release(struct run_question *q)
{
	free(q->prompt);
	forget(&q->typed);
	vt_free(q->screen);
	*q = (struct run_question){ 0 };
}

static void may_ask(struct run *run, int rows, int cols)
{
	run->question.may_ask = true;
	if (run->kind != RUN_TERMINAL || run->question.screen)
		return;
	run->question.screen = vt_new(rows, cols);
	collect_set_raw(run->collect);
}

void question_begin(struct run *run, const struct run_spec *spec)
{
	if (spec->interactive)
		may_ask(run, spec->rows ? spec->rows : TERMINAL_ROWS, spec->cols ? spec->cols : TERMINAL_COLS);
}

void question_read(struct run *run, const struct wire_frame *frame)
{
	struct run_question *q = &run->question;
	AUTO(wire_question_release) struct wire_question now;
	wire_read_question(frame, &now);
	if (!now.interactive)
		return;
	may_ask(run, now.rows, now.cols);
	bool asked = now.waiting && now.inputs >= q->inputs; /* else it was answered, and PID 1 does not know yet */
	if (now.inputs >= q->inputs)
		forget(&q->typed);
	q->told &= asked && frame->type == FRAME_MARK;
	q->inputs = MAX(q->inputs, now.inputs);
	q->begun |= now.begun;
	q->asked = asked;
	q->password = now.password;
	free(q->prompt);
	q->prompt = take_ptr(now.prompt);
}

/* Once told that it asks, whoever comes again for a command comes to see something new. A cell goes on only when it is answered. */
bool question_is_due(const struct run *run)
{
	return run->question.asked && !(run->question.told && run->kind == RUN_TERMINAL);
}

void question_show(struct run *run, struct run_result *result)
{
	struct run_question *q = &run->question;
	if (!q->screen || !result->raw)
		return;
	vt_feed(q->screen, result->raw, result->raw_len);
	free(take_ptr(result->raw));
	AUTO(freep) char *text = vt_take(q->screen);
	const struct config *config = run->dispatch->config;
	free(result->stdout_text);
	result->stdout_text = parts_cut(text, strlen(text), config->max_stdout_chars);
	result->stdout_truncated |= strlen(result->stdout_text) != strlen(text);
	run_result_add_text(result, PART_STDOUT, xstrdup(result->stdout_text));
}

void question_tell(struct run *run, struct run_result *result)
{
	struct run_question *q = &run->question;
	if (!q->asked)
		return;
	q->told = true;
	result->ending = ENDING_WAITING;
	result->password = q->password;
	result->prompt = q->prompt ? xstrdup(q->prompt) : q->screen ? vt_prompt(q->screen) : xstrdup("");
}

/* --- answers ----------------------------------------------------------------------------------------------------- */

static int check(const struct run *run, size_t n, struct fail *f)
{
	unsigned long long number = run->call;
	if (n > INPUT_BYTES_MAX / 2)
		return cause_set(f, FAIL_INVALID, CAUSE_INPUT_SIZE, "input is too long (%zu bytes, at most %u)", n,
				 INPUT_BYTES_MAX / 2);
	if (run->ended)
		return cause_set(f, FAIL_INVALID, CAUSE_NOT_ASKING, "run %llu has ended and takes no input", number);
	if (!run->question.may_ask)
		return cause_set(f, FAIL_INVALID, CAUSE_NOT_INTERACTIVE,
				 "run %llu was not started as interactive, so its input is closed", number);
	if (run->waiter && !run_is_old(run))
		return cause_set(f, FAIL_BUSY, CAUSE_RUN_WAITED,
				 "another call waits for run %llu and will have its output", number);
	if (!(run->began_ms || run->question.begun) || (run->kind == RUN_CODE && !run->question.asked))
		return cause_set(f, FAIL_INVALID, CAUSE_NOT_ASKING, "run %llu does not ask for input now", number);
	return 0;
}

int run_input(struct dispatch *c, uint64_t number, const char *text, size_t n, struct fail *f)
{
	struct run *run = run_find_kept(c, number, f);
	if (!run || check(run, n, f) < 0)
		return -1;
	struct run_question *q = &run->question;
	AUTO(forget) struct buf typed = { 0 }, frame = { 0 };
	keys_type(text, n, q->screen, &typed);
	int r = wire_put_input(&frame, run->call, q->inputs + 1, buf_str(&typed), typed.len);
	if (r < 0)
		return cause_set(f, FAIL_INVALID, CAUSE_INPUT_SIZE, "input is not valid UTF-8");
	q->inputs++;
	q->asked = q->told = false;
	buf_add(&q->typed, frame.data, frame.len);
	if (c->open)
		dispatch_send(c, &frame);
	return 0;
}

void question_resume(struct run *run)
{
	if (run->question.typed.len)
		dispatch_send(run->dispatch, &run->question.typed);
}
