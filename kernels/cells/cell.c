#include "kernels/cells/cell.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/json.h"
#include "kernels/system/clock.h"

#define SETTLE_MS 1000
#define SETTLE_STEP_MS 50

static void stop_timers(struct cell *c)
{
	timeout_stop(&c->limit);
	timeout_stop(&c->grace);
	timeout_stop(&c->repeat);
	timeout_stop(&c->settle);
}

static void on_limit(struct timeout *t)
{
	cell_interrupt(container_of(t, struct cell, limit), CELL_TIMED_OUT);
}

/* A new reference. */
static json_t *env_of(const struct run *run)
{
	json_t *env = json_object();
	for (size_t i = 0; i < run->env.n; i++) {
		const char *variable = run->env.v[i], *equals = strchr(variable, '=');
		json_object_setn_new(env, variable, (size_t)(equals - variable), json_string(equals + 1));
	}
	return env;
}

static void put_cell(struct buf *out, const struct run *run, json_int_t id)
{
	buf_add_str(out, "{\"op\":\"execute\"");
	json_put_int(out, "id", id);
	json_put_text(out, "code", run->text, run->text_len);
	if (run->env.n) {
		json_auto_t *env = env_of(run);
		json_put(out, "env", env);
	}
	buf_add_str(out, run->interactive ? ",\"interactive\":true}" : "}");
}

int cell_start(struct cell *c, struct run *run, struct link *link, pid_t group, struct past *past)
{
	const json_int_t id = link_make_id();
	struct buf *out = link_begin(link);
	if (!out)
		return -EPIPE;
	put_cell(out, run, id);
	pipes_begin(c->pipes, run);
	/* Before the code is sent: it may be over, and its processes killed, when link_finish() returns. */
	run_start(run);
	link_finish(link);
	c->run = run;
	c->id = id;
	c->group = group;
	c->stop = CELL_RUNS;
	c->has_result = c->has_error = c->has_spoken = c->is_done = false;
	c->exit_code = -1;
	c->past = *past;
	*past = (struct past){ 0 };
	timeout_start(c->poller, &c->limit, run->timeout_ms, on_limit);
	return 0;
}

static const char *ending_of(const struct cell *c)
{
	switch (c->stop) {
	case CELL_TIMED_OUT:
		return "timeout";
	case CELL_INTERRUPTED:
		return "interrupted";
	case CELL_DISK_FULL:
		return "error";
	case CELL_RUNS:
		break;
	}
	return c->has_error ? "error" : "ok";
}

static void finish(struct cell *c, const struct run_ending *e)
{
	struct run *run = take_ptr(c->run);
	stop_timers(c);
	pipes_end(c->pipes);
	run_end(run, e);
	past_release(&c->past);
}

/* Both texts may be NULL. Takes the first. */
static char *add_sentence(char *text, const char *more)
{
	AUTO(freep) char *first = text;
	if (!more)
		return take_ptr(first);
	return first ? xasprintf("%s %s", first, more) : xstrdup(more);
}

static const char *kernel_word(const struct past *p)
{
	return p->restored ? "restored" : p->note ? "restarted" : "kept";
}

static void finish_done(struct cell *c)
{
	char *text = NULL;
	if (c->past.note)
		text = xstrdup(c->past.note);
	else if (c->stop == CELL_TIMED_OUT)
		text = xasprintf("The cell ran longer than %g s and was interrupted; variables are kept.",
				 (double)c->run->timeout_ms / 1000);
	else if (c->stop == CELL_DISK_FULL)
		text = xstrdup("The home directory is full: the cell was interrupted; variables are kept.");
	AUTO(freep) char *detail = add_sentence(text, c->past.news);
	finish(c, &(struct run_ending){
			  .ending = ending_of(c),
			  .has_exit_code = c->stop == CELL_RUNS && c->exit_code >= 0,
			  .exit_code = c->exit_code,
			  .kernel = kernel_word(&c->past),
			  .detail = detail,
			  .cause = c->stop == CELL_DISK_FULL ? "disk" : NULL,
			  .lost = c->past.lost,
			  .restored = c->past.restored,
		  });
	c->on_done(c);
}

static void on_settle(struct timeout *t)
{
	struct cell *c = container_of(t, struct cell, settle);
	if (!limits_pids_full(c->limits)) {
		pipes_drain(c->pipes);
		finish_done(c);
	} else if (clock_now_ms() < c->settle_until_ms) {
		timeout_start(c->poller, t, SETTLE_STEP_MS, on_settle);
	} else {
		c->on_hopeless(c, "left so many processes behind that the process limit is reached");
	}
}

/* Most of a fork bomb survives the interrupt that ends its cell, and blocks every later run. A pool of workers, on the
 * other hand, exits soon after it. */
static void done(struct cell *c)
{
	c->is_done = true;
	timeout_stop(&c->grace);
	timeout_stop(&c->repeat);
	c->settle_until_ms = clock_now_ms() + SETTLE_MS;
	if (c->stop != CELL_RUNS)
		on_settle(&c->settle);
	else
		finish_done(c);
}

static void on_prompt(struct cell *c, const struct link_message *m)
{
	if (!m->cancel)
		run_prompt_start(c->run, m->prompt, m->prompt_len, m->password, m->prompt_id);
	else if (c->run->prompt.id == m->prompt_id)
		run_prompt_end(c->run);
}

void cell_input(struct cell *c, struct link *link, const char *text, size_t n)
{
	if (!c->run || !c->run->prompt.open)
		return;
	json_auto_t *answer = json_pack("{s:s, s:I, s:I, s:s%}", "op", "input", "id", c->id, "question",
					c->run->prompt.id, "text", text, n);
	run_prompt_end(c->run);
	(void)link_send(link, answer); /* a closed link is noticed when it is read */
}

int cell_message(struct cell *c, const struct link_message *m, const char **ret_why)
{
	if (m->op == LINK_HELLO)
		return *ret_why = "said hello twice", -EPROTO;
	if (!c->run || c->is_done)
		return *ret_why = "sent a message while no cell was running", -EPROTO;
	if (m->id != c->id)
		return *ret_why = "sent a message for another cell", -EPROTO;
	if ((m->op == LINK_RESULT && c->has_result) || (m->op == LINK_ERROR && c->has_error))
		return *ret_why = "sent a second result or error", -EPROTO;
	if (m->op == LINK_INPUT && !c->run->interactive)
		return *ret_why = "prompted in a non-interactive cell", -EPROTO;

	c->has_spoken = true;
	if (m->unusable) {
		c->has_result |= m->op == LINK_RESULT;
		cell_dropped(c);
		return 0;
	}
	switch (m->op) {
	case LINK_SYNC:
		return 0;
	case LINK_INPUT:
		on_prompt(c, m);
		return 0;
	case LINK_DISPLAY:
		if (m->clear)
			run_clear(c->run, m->wait);
		else
			run_display(c->run, m->raw, m->raw_len, m->display_id, m->update);
		return 0;
	case LINK_RESULT:
		c->has_result = true;
		run_structured(c->run, FRAME_RESULT, m->raw, m->raw_len);
		return 0;
	case LINK_ERROR:
		c->has_error = true;
		c->exit_code = m->exit_code;
		run_structured(c->run, FRAME_ERROR, m->raw, m->raw_len);
		return 0;
	default:
		done(c);
		return 0;
	}
}

void cell_dropped(struct cell *c)
{
	if (c->run)
		c->run->displays_dropped++;
}

static void signal_group(struct cell *c)
{
	kill(-c->group, c->interrupt_signal);
	/* A stopped kernel would not see the signal. */
	kill(-c->group, SIGCONT);
}

static void on_repeat(struct timeout *t)
{
	struct cell *c = container_of(t, struct cell, repeat);
	signal_group(c);
	timeout_start(c->poller, t, INTERRUPT_REPEAT_MS, on_repeat);
}

static void on_grace(struct timeout *t)
{
	struct cell *c = container_of(t, struct cell, grace);
	timeout_stop(&c->repeat);
	c->on_hopeless(c, "ignored the interrupt");
}

void cell_interrupt(struct cell *c, enum cell_stop stop)
{
	if (!c->run || c->stop != CELL_RUNS)
		return;
	c->stop = stop;
	timeout_stop(&c->limit);
	timeout_start(c->poller, &c->grace, c->grace_ms, on_grace);
	timeout_start(c->poller, &c->repeat, INTERRUPT_REPEAT_MS, on_repeat);
	signal_group(c);
}

char *death_describe(const struct death *d)
{
	if (d->oom)
		return xstrdup("was killed because the memory limit was reached");
	if (d->reason)
		return xasprintf("%s", d->reason);
	if (WIFSIGNALED(d->status))
		return xasprintf("was killed by signal %d (%s)", WTERMSIG(d->status), strsignal(WTERMSIG(d->status)));
	return xasprintf("exited with status %d", WEXITSTATUS(d->status));
}

static char *oom_detail(const struct limits *l, const char *after)
{
	uint64_t files = limits_memory_files(l);
	AUTO(freep) char *of_files = NULL;
	/* Files in tmpfs count against the limit, which surprises people. */
	if (files != LIMIT_UNKNOWN && files > l->memory_limit / 10)
		of_files = xasprintf(" (%llu MiB of it are files in /workspace, /tmp and the like)",
				     (unsigned long long)(files >> 20));
	return xasprintf("The kernel was killed because the memory limit of %llu MiB was reached%s. %s",
			 (unsigned long long)(l->memory_limit >> 20), of_files ? of_files : "", after);
}

static char *dead_detail(const struct cell *c, const struct death *d, const char *after)
{
	AUTO(freep) char *how = death_describe(d);
	if (d->oom && c->limits->memory_limit != LIMIT_UNKNOWN)
		return oom_detail(c->limits, after);
	if (c->stop != CELL_RUNS && d->reason)
		return xasprintf("The cell %s, but %s, so its kernel was killed. %s",
				 c->stop == CELL_TIMED_OUT ? "ran too long and was interrupted" :
				 c->stop == CELL_DISK_FULL ? "filled the home directory and was interrupted" :
							     "was interrupted",
				 how, after);
	return xasprintf("The kernel %s while it ran the cell. %s", how, after);
}

json_t *cell_withdraw(struct cell *c, json_t *lost)
{
	struct run *run = take_ptr(c->run);
	json_auto_t *before = take_ptr(c->past.lost);
	stop_timers(c);
	pipes_drain(c->pipes);
	pipes_end(c->pipes);
	past_release(&c->past);
	run->state = RUN_QUEUED;
	return json_incref(lost ? lost : before);
}

void cell_drop(struct cell *c, const char *detail)
{
	stop_timers(c);
	if (c->run)
		finish(c, &(struct run_ending){ .ending = "interrupted", .detail = detail });
	past_release(&c->past);
}

void cell_wait(struct cell *c)
{
	stop_timers(c);
}

void cell_end_dead(struct cell *c, const struct death *d, const struct past *next)
{
	if (!c->run)
		return;
	AUTO(freep) char *detail = add_sentence(dead_detail(c, d, next->note), c->past.news);
	bool signalled = WIFSIGNALED(d->status);
	pipes_drain(c->pipes);
	const char *ending = d->oom ? "oom" : c->stop != CELL_RUNS ? ending_of(c) : "kernel_died";
	finish(c, &(struct run_ending){
			  .ending = ending,
			  .has_exit_code = !signalled,
			  .exit_code = signalled ? 0 : WEXITSTATUS(d->status),
			  .signo = signalled ? WTERMSIG(d->status) : 0,
			  .kernel = kernel_word(next),
			  .detail = detail,
			  .cause = c->stop == CELL_DISK_FULL ? "disk" : NULL,
			  .lost = next->lost ? next->lost : c->past.lost,
			  .restored = next->restored,
		  });
}
