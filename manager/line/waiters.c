/* Waiters of runs: how they join and leave, and how runs of an earlier server are taken over. */
#include "base/alloc.h"
#include "manager/line/run-private.h"
#include "manager/model/cause.h"

#define OLD_MS 20000

bool run_is_old(const struct run *run)
{
	return run->waiter && !run->waiter->holds && !run->ended && run->began_ms &&
	       loop_now_ms() - run->began_ms >= OLD_MS;
}

struct run *run_find_kept(struct dispatch *d, uint64_t number, struct fail *f)
{
	struct run *run = run_find(d, number);
	unsigned long long shown = number;
	if (run && !run->abandoned && !run->held)
		return run;
	if (number > d->last_call)
		cause_set(f, FAIL_INVALID, CAUSE_NO_RUN, "there is no run %llu in this session", shown);
	else
		cause_set(f, FAIL_INVALID, CAUSE_RUN_TOLD,
			  "run %llu has ended, and its result has already been delivered", shown);
	return NULL;
}

struct run_state *runs_list(const struct dispatch *d, size_t *ret_n)
{
	struct run_state *v = xcalloc(list_length(&d->runs) + 1, sizeof(*v));
	size_t n = 0;
	list_for_each(run, &d->runs, struct run, node)
		if (!run->abandoned && !run->held)
			v[n++] = (struct run_state){ .number = run->call,
						     .kind = run->kind,
						     .ended = run->ended,
						     .waited = run->waiter != NULL,
						     .begun = run->began_ms != 0,
						     .waits_for_input = run->prompt.open,
						     .age_ms = loop_now_ms() - run->started_ms };
	*ret_n = n;
	return v;
}

int run_kind(struct dispatch *d, uint64_t number, enum run_kind *ret, struct fail *f)
{
	const struct run *run = run_find_kept(d, number, f);
	if (!run)
		return -1;
	*ret = run->kind;
	return 0;
}

bool run_is_foreign(struct dispatch *d, uint64_t number, uint64_t client)
{
	const struct run *run = run_find(d, number);
	return run && run->client != client;
}

int run_check_client(struct dispatch *d, uint64_t number, uint64_t client, struct fail *f)
{
	if (!run_find_kept(d, number, f))
		return -1;
	if (!run_is_foreign(d, number, client))
		return 0;
	return cause_set(f, FAIL_BUSY, CAUSE_RUN_FOREIGN,
			 "run %llu was started by another client of this session, which will get its output",
			 (unsigned long long)number);
}

bool run_has_ended(struct dispatch *d, uint64_t number)
{
	const struct run *run = run_find(d, number);
	return !run || run->ended;
}

bool run_is_waited(struct dispatch *d, uint64_t number)
{
	const struct run *run = run_find(d, number);
	return run && run->waiter && !run_is_old(run);
}

int run_join(struct dispatch *d, uint64_t number, uint64_t wait_ms, struct run_waiter *w, struct fail *f)
{
	struct run *run = run_find(d, number);
	if (run_check_client(d, number, w->client, f) < 0)
		return -1;
	if (run_is_old(run))
		run_answer_empty(run);
	else if (run->waiter)
		return cause_set(f, FAIL_BUSY, CAUSE_RUN_WAITED,
				 "another request waits for run %llu and will get its output",
				 (unsigned long long)number);
	run->waiter = w;
	w->run = run;
	run->unseen = w->on_display != NULL;
	run->patience = FOR_A_WHILE;
	d->used_ms = loop_now_ms();
	timer_start(run->timer, run->ended || run_prompt_is_due(run) ? 0 : wait_ms, 0);
	return 0;
}

int run_await(struct dispatch *d, uint64_t number, uint64_t timeout_seconds, struct run_waiter *w)
{
	struct run *run = run_find(d, number);
	if (!run || run->abandoned || run->held || run->waiter)
		return -1;
	run->timeout_seconds = timeout_seconds;
	run->waiter = w;
	w->run = run;
	run_guard(run);
	if (run->ended)
		timer_start(run->timer, 0, 0);
	return 0;
}

void run_pass(struct run_waiter *from, struct run_waiter *to)
{
	struct run *run = from->run;
	(void)run_take_waiter(run);
	run->waiter = to;
	to->run = run;
	run_guard(run);
}

void run_acknowledge(struct dispatch *d, uint64_t number)
{
	struct run *run = run_find(d, number);
	if (!run || run->waiter)
		return;
	dispatch_ack(d, run->call);
	run_free(run);
}

void run_interrupt(struct dispatch *d, uint64_t number)
{
	struct run *run = run_find(d, number);
	/* The interrupt ends the prompt; the run may prompt again. */
	if (run)
		run->prompt.open = false;
	dispatch_send_frame(d, FRAME_INTERRUPT, (uint32_t)number);
}

void run_leave(struct run_waiter *w)
{
	if (w->run)
		(void)run_take_waiter(w->run);
}

void run_abandon(struct run_waiter *w)
{
	struct run *run = w->run;
	if (!run)
		return;
	(void)run_take_waiter(run);
	run->abandoned = true;
	if (run->dispatch->open)
		dispatch_send_frame(run->dispatch, FRAME_INTERRUPT, run->call);
}

void runs_end_client(struct dispatch *d, uint64_t client)
{
	list_for_each(run, &d->runs, struct run, node) {
		if (run->client != client || run->abandoned)
			continue;
		(void)run_take_waiter(run);
		run->abandoned = true;
		if (run->ended) {
			dispatch_ack(d, run->call);
			run_free(run);
		} else if (d->open) {
			dispatch_send_frame(d, FRAME_INTERRUPT, run->call);
		}
	}
}

void runs_inherit(struct dispatch *d, const struct wire_hello *hello)
{
	for (size_t i = 0; i < hello->n_calls; i++)
		if (!run_find(d, hello->calls[i].number))
			run_record_inherit(run_new(d, hello->calls[i].number, hello->calls[i].kind));
}

void runs_resume(struct dispatch *d, uint32_t last_known)
{
	list_for_each(run, &d->runs, struct run, node) {
		bool known = run->call <= last_known;
		run->taking = false; /* the request was lost with the connection */
		if (run->abandoned && !known)
			run_free(run);
		else if (run->abandoned)
			dispatch_send_frame(d, FRAME_INTERRUPT, run->call);
		else if (!known && run->request.len)
			run_send(run);
		if (known)
			run_prompt_resume(run);
	}
}
