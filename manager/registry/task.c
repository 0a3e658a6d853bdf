#include "manager/registry/task.h"

#include "base/alloc.h"
#include "base/deadline.h"
#include "base/log.h"
#include "base/work.h"
#include "manager/model/token.h"
#include "manager/registry/claims.h"

/* Delay before the store is tried again after it failed to record an end. */
#define RETRY_MS 5000
/* CPU time for writing the text of one result. After that, the text is cut, with a note. */
#define WORD_CPU_MS 1000

struct task {
	struct list node;
	struct registry *registry;
	struct conversation *conversation;
	struct session_entry *entry; /* NULL = the session is gone; the task stays until its end is stored */
	struct run_waiter waiter;
	char id[TOKEN_SIZE], session[TOKEN_SIZE];
	uint32_t number;
	enum run_kind kind;
	uint64_t timeout_seconds;
	uint64_t started, created, changed, expires; /* wall clock */
	enum task_state state;
	char *face;	 /* the face that words its result */
	char *result;	 /* text from the face */
	bool ended_here; /* this server saw the run's end */
	bool announced;
	struct store_job *job;	 /* creates its row, or records its end */
	struct wording *wording; /* worker job that writes the text of the result; NULL = none */
	struct timer *retry;
	void (*on_made)(void *ctx, struct task *t, const struct fail *f);
	void *ctx;
};

static bool is_over(const struct task *t)
{
	return t->state == TASK_ENDED || t->state == TASK_CANCELLED;
}

static struct task_record record_of(const struct task *t)
{
	return (struct task_record){
		.id = t->id,
		.thread = t->conversation->id,
		.session = t->session,
		.seq = t->number,
		.tool = run_tool(t->kind),
		.face = t->face,
		.timeout = t->timeout_seconds,
		.state = t->state,
		.started = t->started,
		.created = t->created,
		.changed = t->changed,
		.expires = t->expires,
		.result = t->result,
	};
}

struct task_info task_info_of_record(const struct task_record *row)
{
	return (struct task_info){
		.id = row->id,
		.session_id = row->session,
		.run = row->seq,
		.kind = streq(row->tool, run_tool(RUN_TERMINAL)) ? RUN_TERMINAL : RUN_CODE,
		.timeout_seconds = row->timeout,
		.state = row->state,
		.created_ms = row->created,
		.changed_ms = row->changed,
		.ttl_ms = row->expires ? row->expires - MIN(row->created, row->expires) : UINT64_MAX,
		.result = row->result,
	};
}

struct task_info task_info(const struct task *t)
{
	struct task_record row = record_of(t);
	return task_info_of_record(&row);
}

/* A worker job that writes the text of a large result. It has a copy of everything that it needs. */
struct wording {
	struct task *task; /* do not use after the job was forgotten */
	struct work *work;
	char *(*word)(const struct config *config, const struct task_info *task, const struct run_result *result,
		      const struct fail *f);
	struct config config;
	struct task_info info;
	char id[TOKEN_SIZE], session[TOKEN_SIZE];
	struct run_result result;
	char *text;
};

static void task_free(struct task *t)
{
	if (t->wording)
		work_forget(t->wording->work);
	list_remove(&t->node);
	run_leave(&t->waiter);
	store_cancel(t->job);
	timer_free(t->retry);
	free(t->face);
	free(t->result);
	free(t);
}

/* --- its end ----------------------------------------------------------------------------------------------------- */

static void write_down(struct task *t);

static void on_retry(void *ctx)
{
	write_down(ctx);
}

static void announce(struct task *t)
{
	const struct task_handler *h = conversation_tasks(t->conversation, t->face);
	if (t->announced || !h || !h->on_change)
		return;
	t->announced = true;
	struct task_info info = task_info(t);
	h->on_change(h->ctx, &info);
}

static void on_written(void *ctx, const struct fail *f)
{
	struct task *t = ctx;
	t->job = NULL;
	announce(t);
	if (f) {
		/* Until the end is stored, this server answers from memory, and PID 1 keeps the run for the next
		 * server. */
		log_debug("task of run %u: its end is not stored yet: %s", t->number, f->message);
		timer_start(t->retry, RETRY_MS, 0);
		return;
	}
	if (t->entry)
		run_acknowledge(session_dispatch(t->entry->session), t->number);
	task_free(t);
}

static void write_down(struct task *t)
{
	struct task_record row = record_of(t);
	t->job = store_task_change(t->registry->store, &row, on_written, t);
}

static void log_end(struct task *t, const struct run_result *result)
{
	if (t->entry)
		log_run_ended(t->entry, &(struct ended_run){
						.number = t->number,
						.kind = t->kind,
						.started = t->started,
						.ending = result ? ending_name(result->ending) : "not_run",
						.out_bytes = result ? result->stdout_bytes + result->stderr_bytes : 0,
						.result = result });
}

/* From now on the task is reported as ended. */
static void conclude(struct task *t, enum task_state state, char *text)
{
	t->state = state;
	t->changed = MAX(store_now_ms(), t->created);
	t->result = text;
	write_down(t);
}

static void word(void *ctx)
{
	struct wording *w = ctx;
	deadline_set(WORD_CPU_MS);
	w->text = w->word(&w->config, &w->info, &w->result, /* f= */ NULL);
	deadline_set(0);
}

static void on_worded(void *ctx, bool forgotten)
{
	struct wording *w = ctx;
	if (!forgotten) {
		w->task->wording = NULL;
		conclude(w->task, TASK_ENDED, take_ptr(w->text));
	}
	run_result_release(&w->result);
	free(w->text);
	free(w);
}

/* Takes ownership of the result's content. */
static void word_later(struct task *t, const struct task_handler *h, const struct task_info *info,
		       struct run_result *result)
{
	struct wording *w = new0(struct wording);
	t->wording = w;
	w->task = t;
	w->word = h->word;
	if (h->config)
		w->config = *h->config;
	w->info = *info;
	snprintf(w->id, sizeof(w->id), "%s", t->id);
	snprintf(w->session, sizeof(w->session), "%s", t->session);
	w->info.id = w->id;
	w->info.session_id = w->session;
	w->result = *result;
	*result = (struct run_result){ 0 };
	w->work =
		work_start(t->registry->loop,
			   &(struct work_spec){
				   .fn = word, .on_done = on_worded, .ctx = w, .render = true, .session = w->session });
}

static void end(struct task *t, struct run_result *result, const struct fail *f)
{
	const struct task_handler *h = conversation_tasks(t->conversation, t->face);
	bool cancelled = t->state == TASK_CANCELLING && result && result->ending == ENDING_INTERRUPTED;
	/* If its face has no handler for tasks here, PID 1 keeps the result for another server. */
	if (!h)
		return;
	log_end(t, result);
	t->ended_here = true;
	if (cancelled) {
		conclude(t, TASK_CANCELLED, NULL);
		return;
	}
	struct task_info info = task_info(t);
	info.state = TASK_ENDED;
	if (result && run_result_weight(result) > RUN_RESULT_HEAVY)
		word_later(t, h, &info, result);
	else
		conclude(t, TASK_ENDED, h->word(h->config, &info, result, f));
}

static void on_end(struct run_waiter *w, struct run_result *result, const struct fail *f)
{
	struct task *t = container_of(w, struct task, waiter);
	struct session *s = t->entry->session;
	/* Another server has the session now, and with it the run and this task. */
	if (session_is_lost(s)) {
		task_free(t);
		return;
	}
	if (result)
		result->notice = session_entry_notice(t->entry);
	end(t, result, f);
}

/* --- its beginning ----------------------------------------------------------------------------------------------- */

static struct task *task_new(struct session_entry *entry, struct conversation *c, const char *face)
{
	struct task *t = new0(struct task);
	t->registry = entry->registry;
	t->conversation = c;
	t->entry = entry;
	t->face = xstrdup(face && *face ? face : FACE_MCP);
	t->waiter = (struct run_waiter){ .on_end = on_end, .holds = true };
	t->retry = timer_new(entry->registry->loop, on_retry, t);
	snprintf(t->session, sizeof(t->session), "%s", session_id(entry->session));
	list_append(&entry->registry->tasks, &t->node);
	return t;
}

static void on_added(void *ctx, const struct fail *f)
{
	struct task *t = ctx;
	t->job = NULL;
	t->on_made(t->ctx, f ? NULL : t, f);
	if (f)
		task_free(t);
}

struct task *task_make(const struct task_spec *spec)
{
	struct task *t = task_new(spec->entry, spec->conversation, spec->face);
	uint64_t left = session_left_ms(spec->entry->session);
	token_make(t->id);
	t->number = spec->number;
	t->kind = spec->kind;
	t->timeout_seconds = spec->timeout_seconds;
	t->started = spec->started;
	t->created = t->changed = store_now_ms();
	t->expires = left == UINT64_MAX ? 0 : t->created + left;
	t->on_made = spec->on_made;
	t->ctx = spec->ctx;
	struct task_record row = record_of(t);
	t->job = store_task_add(t->registry->store, &row, on_added, t);
	return t;
}

void task_drop(struct task *t)
{
	/* The row may have been written already, so it is removed. */
	store_task_remove(t->registry->store, t->id);
	task_free(t);
}

void task_take(struct task *t, struct run_waiter *from)
{
	run_pass(from, &t->waiter);
}

/* --- lookups ----------------------------------------------------------------------------------------------------- */

struct task *task_find(struct conversation *c, const char *id)
{
	list_for_each(t, &c->registry->tasks, struct task, node)
		if (t->conversation == c && streq(t->id, id) && (t->waiter.run || t->ended_here))
			return t;
	return NULL;
}

struct store_job *task_stop(struct task *t, store_done_fn fn, void *ctx)
{
	if (t->state != TASK_WORKING || !t->entry || t->ended_here)
		return NULL;
	t->state = TASK_CANCELLING;
	run_interrupt(session_dispatch(t->entry->session), t->number);
	struct task_record row = record_of(t);
	return store_task_change(t->registry->store, &row, fn, ctx);
}

/* --- with a session ---------------------------------------------------------------------------------------------- */

void tasks_adopt(struct session_entry *entry, struct conversation *c, const struct task_list *rows)
{
	for (size_t i = 0; i < rows->n; i++) {
		const struct task_record *row = &rows->v[i];
		struct task_info info = task_info_of_record(row);
		if (!token_is_valid(row->id) || row->seq > UINT32_MAX)
			continue;
		struct task *t = task_new(entry, c, row->face);
		snprintf(t->id, sizeof(t->id), "%s", row->id);
		t->number = (uint32_t)row->seq;
		t->kind = info.kind;
		t->timeout_seconds = row->timeout;
		t->started = row->started;
		t->created = row->created;
		t->changed = row->changed;
		t->expires = row->expires;
		t->state = row->state;
	}
}

/* A former server may have stored a task's end without acknowledging it to PID 1, so it is acknowledged here. */
static void resume(struct task *t)
{
	struct dispatch *d = session_dispatch(t->entry->session);
	if (is_over(t)) {
		run_acknowledge(d, t->number);
		task_free(t);
	} else if (run_await(d, t->number, t->timeout_seconds, &t->waiter) < 0) {
		/* The task's handle was never sent: the run ended, or was cancelled, while the row was written. */
		task_drop(t);
	} else if (t->state == TASK_CANCELLING) {
		run_interrupt(d, t->number);
	}
}

void tasks_ready(struct session_entry *entry)
{
	list_for_each(t, &entry->registry->tasks, struct task, node)
		if (t->entry == entry && !t->waiter.run && !t->ended_here)
			resume(t);
}

void tasks_dead(struct session_entry *entry, const struct fail *f)
{
	list_for_each(t, &entry->registry->tasks, struct task, node) {
		if (t->entry != entry || t->waiter.run || t->ended_here)
			continue;
		if (is_over(t) || session_is_lost(entry->session))
			task_free(t);
		else
			end(t, /* result= */ NULL, f);
	}
}

void tasks_leave(struct session_entry *entry)
{
	list_for_each(t, &entry->registry->tasks, struct task, node) {
		if (t->entry != entry)
			continue;
		t->entry = NULL;
		if (!t->ended_here)
			task_free(t);
	}
}

void tasks_forget(struct registry *r, const struct conversation *c)
{
	list_for_each(t, &r->tasks, struct task, node)
		if (!c || t->conversation == c)
			task_free(t);
}
