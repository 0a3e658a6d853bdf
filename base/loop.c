/* libuv's loop, timers and signals. Only this file, stream.c and child.c deal with the two-phase close (uv_close,
 * then the callback frees). */
#include "base/loop.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <time.h>
#include <uv.h>

#include "base/alloc.h"
#include "base/watchdog.h"

/* A callback that takes longer than this is a bug. */
#define TURN_MS 2000
/* Turns that follow each other within this time do not ask for events. */
#define TURNS_NS 50000
/* Time after SIGTERM until the loop must have noticed it, and until the program must have ended. */
#define NOTICE_MS 5000
#define END_MS 60000

/* Freed blocks above this size go back to the system at once. Smaller ones are kept for the next answer, since filling
 * fresh pages costs more than the work on their content. All free memory goes back TRIM_MS after the last large
 * block. */
#define KEPT_BLOCK_MAX (3 << 20) /* an answer of 1 MB, in a buffer that has doubled */
#define KEPT_MAX (24 << 20)	 /* a server stays below 64 MiB (tests/e2e/test_hostile.py) */
#define TRIM_MS 5000

struct loop {
	uv_loop_t uv;
	uv_prepare_t before_wait;
	struct timer *trim; /* NULL = memory is left to the C library */
	void *attached;
	void (*free_attached)(void *data);
	struct list owned; /* of struct loop_owned */
	struct list soon;  /* of struct timer: they fire in the next turn */
	uv_idle_t turns;   /* active while `soon` is not empty, so that the loop does not wait */
	uv_check_t events; /* after the events of a turn */
	uint64_t turn;
	int code;
	bool stopped;
};

struct timer {
	uv_timer_t uv;
	struct list in_soon;
	uint64_t turn; /* it was put into `soon` in this turn */
	timer_fn fn;
	void *ctx;
};

struct waker {
	uv_async_t uv;
	void (*fn)(void *ctx);
	void *ctx;
};

static void timer_fired(uv_timer_t *handle);
static void on_events(uv_check_t *handle);

/* Also read by other threads. */
static atomic_uint_fast64_t skipped_ms;

struct signals {
	uv_signal_t uv[SIGNALS_MAX];
	size_t n;
	void (*fn)(void *ctx, int signo);
	void *ctx;
	bool ends; /* SIGTERM ends the program */
	unsigned open;
};

int loop_make(struct loop **ret)
{
	struct loop *loop = new0(struct loop);
	int r = uv_loop_init(&loop->uv);
	if (r < 0) {
		free(loop);
		return r;
	}
	list_init(&loop->owned);
	list_init(&loop->soon);
	uv_idle_init(&loop->uv, &loop->turns);
	uv_check_init(&loop->uv, &loop->events);
	uv_check_start(&loop->events, on_events);
	uv_unref((uv_handle_t *)&loop->events);
	*ret = loop;
	return 0;
}

void loop_own(struct loop *loop, struct loop_owned *owned)
{
	if (!owned->node.next)
		list_append(&loop->owned, &owned->node);
}

void loop_disown(struct loop_owned *owned)
{
	if (owned->node.next)
		list_remove(&owned->node);
	owned->node = (struct list){ 0 };
}

struct loop *loop_new(void)
{
	struct loop *loop = NULL;
	if (loop_make(&loop) < 0)
		abort();
	return loop;
}

/* A child that its owner released is freed here; its handle carries the callback for that. */
static void close_handle(uv_handle_t *handle, void *ctx UNUSED)
{
	if (!uv_is_closing(handle))
		uv_close(handle, handle->type == UV_PROCESS ? (uv_close_cb)handle->data : NULL);
}

struct loop *loop_free(struct loop *loop)
{
	if (!loop)
		return NULL;
	if (loop->trim) {
		uv_prepare_stop(&loop->before_wait);
		loop->trim = timer_free(loop->trim);
	}
	list_for_each(o, &loop->owned, struct loop_owned, node)
		o->fn(o->ctx);
	/* Lets pending closes finish first, so that their owners' memory is freed too. */
	for (int i = 0; i < 8 && uv_run(&loop->uv, UV_RUN_NOWAIT); i++)
		continue;
	uv_walk(&loop->uv, close_handle, NULL);
	uv_run(&loop->uv, UV_RUN_NOWAIT);
	/* The loop is busy only while a thread of the pool works. The thread will access the loop when it is done,
	 * so the memory stays. */
	if (uv_loop_close(&loop->uv) == 0) {
		if (loop->free_attached)
			loop->free_attached(loop->attached);
		free(loop);
	}
	return NULL;
}

int loop_run(struct loop *loop)
{
	loop->code = 0;
	loop->stopped = false;
	while (!loop->stopped && uv_run(&loop->uv, UV_RUN_DEFAULT) != 0)
		continue;
	return loop->code;
}

void loop_stop(struct loop *loop, int code)
{
	loop->code = code;
	loop->stopped = true;
	uv_stop(&loop->uv);
}

static void stop_draining(void *ctx)
{
	loop_stop(ctx, 0);
}

uint64_t loop_now_ms(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000 + atomic_load(&skipped_ms);
}

uint64_t loop_skipped_ms(void)
{
	return atomic_load(&skipped_ms);
}

static void find_due(uv_handle_t *handle, void *ctx)
{
	uint64_t *due = ctx;
	if (handle->type == UV_TIMER && uv_is_active(handle))
		*due = MIN(*due, uv_timer_get_due_in((uv_timer_t *)handle));
}

static void bring_forward(uv_handle_t *handle, void *ctx)
{
	const uint64_t *step = ctx;
	uv_timer_t *timer = (uv_timer_t *)handle;
	if (handle->type != UV_TIMER || !uv_is_active(handle))
		return;
	uint64_t due = uv_timer_get_due_in(timer);
	uv_timer_start(timer, timer_fired, due - MIN(due, *step), uv_timer_get_repeat(timer));
}

void loop_skip(struct loop *loop, uint64_t ms)
{
	do {
		while (loop->uv.active_reqs.count || !list_empty(&loop->soon))
			uv_run(&loop->uv, UV_RUN_ONCE);
		uint64_t step = ms;
		uv_update_time(&loop->uv);
		uv_walk(&loop->uv, find_due, &step);
		uv_walk(&loop->uv, bring_forward, &step);
		atomic_fetch_add(&skipped_ms, step);
		ms -= step;
		uv_run(&loop->uv, UV_RUN_NOWAIT);
	} while (ms);
}

void loop_turn(struct loop *loop)
{
	uv_run(&loop->uv, UV_RUN_ONCE);
}

void *loop_raw(struct loop *loop)
{
	return &loop->uv;
}

void *loop_attached(struct loop *loop)
{
	return loop->attached;
}

void loop_attach(struct loop *loop, void *data, void (*free_fn)(void *data))
{
	loop->attached = data;
	loop->free_attached = free_fn;
}

struct timer *timer_new(struct loop *loop, timer_fn fn, void *ctx)
{
	struct timer *t = new0(struct timer);
	t->fn = fn;
	t->ctx = ctx;
	list_init(&t->in_soon);
	uv_timer_init(&loop->uv, &t->uv);
	return t;
}

static void timer_closed(uv_handle_t *handle)
{
	free(container_of(handle, struct timer, uv));
}

static struct loop *loop_of(const struct timer *t)
{
	return container_of(t->uv.loop, struct loop, uv);
}

static void leave_soon(struct timer *t)
{
	struct loop *loop = loop_of(t);
	if (list_empty(&t->in_soon))
		return;
	list_remove(&t->in_soon);
	if (list_empty(&loop->soon))
		uv_idle_stop(&loop->turns);
}

struct timer *timer_free(struct timer *t)
{
	if (!t || uv_is_closing((uv_handle_t *)&t->uv))
		return NULL;
	leave_soon(t);
	uv_close((uv_handle_t *)&t->uv, timer_closed);
	return NULL;
}

static void timer_fired(uv_timer_t *handle)
{
	struct timer *t = container_of(handle, struct timer, uv);
	watchdog_note("a timer");
	t->fn(t->ctx);
}

/* Those that start meanwhile have to wait for the next turn, so that they do not starve everything else. */
static void take_turn(struct loop *loop)
{
	uint64_t turn = ++loop->turn;
	for (struct timer *t; (t = list_first(&loop->soon, struct timer, in_soon)) && t->turn < turn;) {
		leave_soon(t);
		timer_fired(&t->uv);
	}
}

static void on_turn(uv_idle_t *handle)
{
	take_turn(container_of(handle, struct loop, turns));
}

/* An answer often takes several turns. If nothing else is likely to have happened meanwhile, the system need not be asked
 * for events between them. */
static void on_events(uv_check_t *handle)
{
	struct loop *loop = container_of(handle, struct loop, events);
	uint64_t began = list_empty(&loop->soon) ? 0 : uv_hrtime();
	while (!list_empty(&loop->soon) && !loop->stopped && uv_hrtime() - began < TURNS_NS)
		take_turn(loop);
}

/* libuv's timers of 0 ms fire in the same turn if they are started by a timer, and those of 1 ms are late. */
static void start_soon(struct timer *t)
{
	struct loop *loop = loop_of(t);
	uv_timer_stop(&t->uv);
	list_remove(&t->in_soon);
	t->turn = loop->turn;
	list_append(&loop->soon, &t->in_soon);
	uv_idle_start(&loop->turns, on_turn);
}

void timer_start(struct timer *t, uint64_t ms, uint64_t repeat_ms)
{
	if (!ms && !repeat_ms) {
		start_soon(t);
		return;
	}
	leave_soon(t);
	/* libuv counts from the start of the loop's turn, so timers would fire early after a long turn. */
	uv_update_time(t->uv.loop);
	uv_timer_start(&t->uv, timer_fired, MAX(ms, 1), repeat_ms);
}

void timer_stop(struct timer *t)
{
	leave_soon(t);
	uv_timer_stop(&t->uv);
}

bool timer_active(const struct timer *t)
{
	return !list_empty(&t->in_soon) || uv_is_active((const uv_handle_t *)&t->uv);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static void on_trim(void *ctx)
{
	const struct loop *loop = ctx;
	if (alloc_took_large())
		timer_start(loop->trim, TRIM_MS, 0);
	else
		malloc_trim(0);
}

static void on_wait(uv_prepare_t *handle)
{
	const struct loop *loop = container_of(handle, struct loop, before_wait);
	if (!timer_active(loop->trim) && alloc_took_large())
		timer_start(loop->trim, TRIM_MS, 0);
}

void loop_keep_memory(struct loop *loop)
{
	mallopt(M_MMAP_THRESHOLD, KEPT_BLOCK_MAX);
	mallopt(M_TRIM_THRESHOLD, KEPT_MAX);
	/* base/work runs two lookups of names beside the work that it runs on libuv's usual four threads. */
	setenv("UV_THREADPOOL_SIZE", "6", /* overwrite= */ 0);
	loop->trim = timer_new(loop, on_trim, loop);
	uv_unref((uv_handle_t *)&loop->trim->uv);
	uv_prepare_init(&loop->uv, &loop->before_wait);
	uv_prepare_start(&loop->before_wait, on_wait);
	uv_unref((uv_handle_t *)&loop->before_wait);
}

/* --- signals ------------------------------------------------------------------------------------------------------ */

static unsigned notice_ms = NOTICE_MS;
static struct sigaction by_loop; /* libuv's handler for SIGTERM */

/* From now on the process has this long to exit; then the kernel kills it. */
static void end_within(unsigned ms)
{
	const struct itimerval limit = { .it_value = { .tv_sec = ms / 1000,
						       .tv_usec = (suseconds_t)(ms % 1000) * 1000 } };
	signal(SIGALRM, SIG_DFL);
	setitimer(ITIMER_REAL, &limit, NULL);
}

/* libuv only forwards the signal to the loop, which may never turn again. */
static void on_term(int signo)
{
	int saved = errno;
	end_within(notice_ms);
	by_loop.sa_handler(signo);
	errno = saved;
}

static void guard_term(void)
{
	struct sigaction now;
	if (sigaction(SIGTERM, NULL, &now) < 0 || now.sa_flags & SA_SIGINFO || now.sa_handler == on_term ||
	    now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN)
		return;
	by_loop = now;
	now.sa_handler = on_term;
	sigaction(SIGTERM, &now, NULL);
}

void signals_set_notice(unsigned ms)
{
	notice_ms = ms;
}

static void signal_fired(uv_signal_t *handle, int signo)
{
	struct signals *s = handle->data;
	watchdog_note("a signal");
	if (s->ends && signo == SIGTERM)
		end_within(END_MS);
	s->fn(s->ctx, signo);
}

struct signals *signals_new_of(struct loop *loop, const int *signos, size_t n, void (*fn)(void *ctx, int signo),
			       void *ctx)
{
	struct signals *s = new0(struct signals);
	s->fn = fn;
	s->ctx = ctx;
	s->n = MIN(n, (size_t)SIGNALS_MAX);
	for (size_t i = 0; i < s->n; i++) {
		uv_signal_init(&loop->uv, &s->uv[i]);
		s->uv[i].data = s;
		uv_signal_start(&s->uv[i], signal_fired, signos[i]);
		/* A signal handler alone does not keep the loop alive. */
		uv_unref((uv_handle_t *)&s->uv[i]);
	}
	s->open = (unsigned)s->n;
	return s;
}

struct signals *signals_new(struct loop *loop, void (*fn)(void *ctx, int signo), void *ctx)
{
	static const int ends[] = { SIGTERM, SIGINT, SIGHUP };
	signal(SIGPIPE, SIG_IGN);
	struct signals *s = signals_new_of(loop, ends, ARRAY_LEN(ends), fn, ctx);
	s->ends = true;
	guard_term();
	watchdog_start(&loop->uv, TURN_MS);
	return s;
}

static void signal_closed(uv_handle_t *handle)
{
	struct signals *s = handle->data;
	if (--s->open == 0)
		free(s);
}

struct signals *signals_free(struct signals *s)
{
	for (size_t i = 0; s && i < s->n; i++)
		uv_close((uv_handle_t *)&s->uv[i], signal_closed);
	return NULL;
}

static void waker_woken(uv_async_t *handle)
{
	struct waker *w = container_of(handle, struct waker, uv);
	watchdog_note("a call from another thread");
	w->fn(w->ctx);
}

struct waker *waker_new(struct loop *loop, void (*fn)(void *ctx), void *ctx)
{
	struct waker *w = new0(struct waker);
	w->fn = fn;
	w->ctx = ctx;
	if (uv_async_init(&loop->uv, &w->uv, waker_woken) < 0) {
		free(w);
		return NULL;
	}
	return w;
}

void waker_wake(struct waker *w)
{
	uv_async_send(&w->uv);
}

static void waker_closed(uv_handle_t *handle)
{
	free(container_of(handle, struct waker, uv));
}

struct waker *waker_free(struct waker *w)
{
	if (w)
		uv_close((uv_handle_t *)&w->uv, waker_closed);
	return NULL;
}

void loop_drain(struct loop *loop, uint64_t ms)
{
	struct timer *patience = timer_new(loop, stop_draining, loop);
	timer_start(patience, ms, 0);
	uv_unref((uv_handle_t *)&patience->uv);
	loop_run(loop);
	timer_free(patience);
}
