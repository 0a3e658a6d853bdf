#include "libhusk/call.h"

#include <errno.h>
#include <time.h>

#include "base/alloc.h"
#include "base/buf.h"

#define IDLE_MS 100
/* How long an incomplete line is held back, and its maximum length. */
#define LINE_MS 50
#define LINE_MAX_BYTES (64u << 10)

struct husk_cancel {
	pthread_mutex_t lock;
	bool cancelled;
	struct list calls;
};

/* Output for the caller's callback. */
struct text {
	struct list node;
	int stream;
	size_t n;
	char data[];
};

/* --- on the loop ------------------------------------------------------------------------------------------------- */

void call_finish(struct call *call, const struct fail *f)
{
	list_remove(&call->node);
	call->op = NULL;
	pthread_mutex_lock(&call->lock);
	if (f)
		fail_copy(&call->fail, f);
	call->done = true;
	pthread_cond_signal(&call->changed);
	pthread_mutex_unlock(&call->lock);
}

void call_text(struct call *call, int stream, const char *text, size_t n)
{
	struct text *t = xmalloc(sizeof(*t) + n + 1);
	t->stream = stream;
	t->n = n;
	memcpy(t->data, text, n);
	t->data[n] = '\0';
	pthread_mutex_lock(&call->lock);
	list_append(&call->texts, &t->node);
	pthread_cond_signal(&call->changed);
	pthread_mutex_unlock(&call->lock);
}

void call_end(struct call *call, const struct fail *why)
{
	struct op *op = take_ptr(call->op);
	if (op)
		op_cancel(op);
	call_finish(call, why);
}

static void begin(struct task *task)
{
	struct call *call = container_of(task, struct call, begin);
	AUTO(fail_release) struct fail f = { 0 };
	if (call->husk->closing || (call->conversation && !call->conversation->conversation)) {
		error_set(&f, FAIL_CANCELLED, ERROR_CLOSED, "the manager or conversation is closed");
		call_finish(call, &f);
		return;
	}
	list_append(&call->husk->calls, &call->node);
	call->op = call->start(call, &f);
	if (!call->op)
		call_finish(call, f.kind ? &f : NULL);
}

static void abort_call(struct task *task)
{
	struct call *call = container_of(task, struct call, abort);
	AUTO(fail_release) struct fail why = { 0 };
	/* Once the call is posted, only this thread changes its state. It may be answered already. */
	pthread_mutex_lock(&call->lock);
	bool done = call->done, cancelled = call->cancelled;
	pthread_mutex_unlock(&call->lock);
	if (cancelled)
		error_set(&why, FAIL_CANCELLED, ERROR_CANCELLED, "the call was cancelled");
	else
		error_set(&why, FAIL_TIMEOUT, ERROR_DEADLINE, "the call did not end before its deadline");
	if (!done)
		call_end(call, &why);
	/* The caller waits until abort.fn is NULL, because the task is part of the call. */
	pthread_mutex_lock(&call->lock);
	call->abort.fn = NULL;
	pthread_cond_signal(&call->changed);
	pthread_mutex_unlock(&call->lock);
}

/* --- in the caller's thread ---------------------------------------------------------------------------------------- */

static uint64_t now_ms(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* Waits for a change or until the given time. The lock must be held. */
static void wait_until(struct call *call, uint64_t until_ms)
{
	struct timespec at = { .tv_sec = (time_t)(until_ms / 1000), .tv_nsec = (long)(until_ms % 1000) * 1000000 };
	if (until_ms == UINT64_MAX)
		pthread_cond_wait(&call->changed, &call->lock);
	else
		pthread_cond_timedwait(&call->changed, &call->lock, &at);
}

/* Output of one stream that was not passed on yet. A program's print() may write a line and its line end separately. */
struct lines {
	struct buf held;
	int stream;
	uint64_t due_ms; /* UINT64_MAX: empty */
};

/* Passes on the first n bytes. Releases the lock meanwhile, because the callback may be slow. */
static void pass_on(struct call *call, struct lines *l, size_t n)
{
	if (n > 0) {
		pthread_mutex_unlock(&call->lock);
		if (call->on_text)
			call->on_text(call, l->stream, buf_str(&l->held), n);
		pthread_mutex_lock(&call->lock);
		buf_consume(&l->held, n);
	}
	if (!l->held.len)
		l->due_ms = UINT64_MAX;
}

/* Adds the text (taken) to the output that is held back, and passes on whole lines. */
static void take_text(struct call *call, struct lines *l, struct text *text)
{
	if (l->stream != text->stream)
		pass_on(call, l, l->held.len);
	l->stream = text->stream;
	buf_add(&l->held, text->data, text->n);
	free(text);
	const char *end = l->held.len ? memrchr(l->held.data, '\n', l->held.len) : NULL;
	bool full = l->held.len > LINE_MAX_BYTES;
	pass_on(call, l, full ? l->held.len : end ? (size_t)(end + 1 - (const char *)l->held.data) : 0);
	if (l->held.len && l->due_ms == UINT64_MAX)
		l->due_ms = now_ms() + LINE_MS;
}

static bool is_idle_cancelled(struct call *call, const struct husk_wait *wait)
{
	pthread_mutex_unlock(&call->lock);
	bool cancelled = wait->on_idle(wait->ctx) != 0;
	pthread_mutex_lock(&call->lock);
	return cancelled;
}

/* Asks the loop, once, to end the call. The lock must be held. */
static void request_end(struct call *call, bool *requested)
{
	if (*requested || call->done)
		return;
	*requested = true;
	call->abort.fn = abort_call;
	thread_post(&call->abort);
}

static void wait_for_end(struct call *call, const struct husk_wait *wait)
{
	uint64_t deadline = wait->deadline_ms ? now_ms() + wait->deadline_ms : UINT64_MAX;
	uint64_t idle = wait->on_idle ? now_ms() + IDLE_MS : UINT64_MAX;
	bool requested = false;
	struct lines lines = { .due_ms = UINT64_MAX };
	pthread_mutex_lock(&call->lock);
	for (;;) {
		struct text *text = list_first(&call->texts, struct text, node);
		if (text) {
			list_remove(&text->node);
			take_text(call, &lines, text);
		} else if (call->done && !call->abort.fn) {
			break;
		} else {
			wait_until(call, requested ? lines.due_ms : MIN(MIN(deadline, idle), lines.due_ms));
		}
		uint64_t now = now_ms();
		if (now >= lines.due_ms)
			pass_on(call, &lines, lines.held.len);
		if (now >= idle && !call->done) {
			call->cancelled = is_idle_cancelled(call, wait) || call->cancelled;
			idle = now_ms() + IDLE_MS;
		}
		if (call->cancelled || now >= deadline)
			request_end(call, &requested);
	}
	pass_on(call, &lines, lines.held.len);
	pthread_mutex_unlock(&call->lock);
	buf_release(&lines.held);
}

/* Adds the call to its cancel object. Returns false if that was cancelled already. */
static bool join_switch(struct call *call, struct husk_cancel *cancel)
{
	if (!cancel)
		return true;
	pthread_mutex_lock(&cancel->lock);
	bool open = !cancel->cancelled;
	if (open)
		list_append(&cancel->calls, &call->cancel_node);
	pthread_mutex_unlock(&cancel->lock);
	return open;
}

static void leave_switch(struct call *call, struct husk_cancel *cancel)
{
	if (!cancel)
		return;
	pthread_mutex_lock(&cancel->lock);
	list_remove(&call->cancel_node);
	pthread_mutex_unlock(&cancel->lock);
}

static void call_init(struct call *call)
{
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_mutex_init(&call->lock, NULL);
	pthread_cond_init(&call->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	list_init(&call->node);
	list_init(&call->cancel_node);
	list_init(&call->texts);
	call->begin.fn = begin;
}

static void call_release(struct call *call)
{
	pthread_cond_destroy(&call->changed);
	pthread_mutex_destroy(&call->lock);
	fail_release(&call->fail);
}

struct husk_error *call_perform(struct call *call, const struct call_target *target)
{
	struct husk_error *error = NULL;
	struct husk_wait wait = { 0 };
	error = HANDLE_TAKE(target->function, struct husk_wait, target->wait, &wait);
	if (error)
		return error;
	call->conversation = target->conversation;
	call->husk = target->conversation ? handle_hold_conversation(target->conversation, target->function, &error) :
					    handle_hold(target->husk, target->function, &error);
	if (!call->husk)
		return error;
	call_init(call);
	if (join_switch(call, wait.cancel)) {
		thread_post(&call->begin);
		wait_for_end(call, &wait);
		leave_switch(call, wait.cancel);
	} else {
		error_set(&call->fail, FAIL_CANCELLED, ERROR_CANCELLED, "the call was cancelled before it began");
	}
	error = error_of(&call->fail);
	call_release(call);
	handle_let_go(call->husk);
	return error;
}

/* --- cancel objects ------------------------------------------------------------------------------------------------ */

struct husk_error *husk_cancel_new(struct husk_cancel **ret)
{
	if (!ret)
		return error_missing("husk_cancel_new", "ret");
	struct husk_cancel *cancel = new0(struct husk_cancel);
	pthread_mutex_init(&cancel->lock, NULL);
	list_init(&cancel->calls);
	*ret = cancel;
	return NULL;
}

void husk_cancel(struct husk_cancel *cancel)
{
	if (!cancel)
		return;
	pthread_mutex_lock(&cancel->lock);
	cancel->cancelled = true;
	list_for_each(call, &cancel->calls, struct call, cancel_node) {
		pthread_mutex_lock(&call->lock);
		call->cancelled = true;
		pthread_cond_signal(&call->changed);
		pthread_mutex_unlock(&call->lock);
	}
	pthread_mutex_unlock(&cancel->lock);
}

void husk_cancel_free(struct husk_cancel *cancel)
{
	if (!cancel)
		return;
	pthread_mutex_destroy(&cancel->lock);
	free(cancel);
}
