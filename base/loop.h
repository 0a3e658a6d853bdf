/* The event loop of the host program: libuv behind a narrow interface, so that its types and its two-phase close
 * stay in loop.c, stream.c, child.c and work.c. One loop, one thread; callbacks never run inside the call that set
 * them up. */
#ifndef HUSK_BASE_LOOP_H
#define HUSK_BASE_LOOP_H

#include "base/list.h"

struct loop;
struct timer;
struct signals;
struct waker;

struct loop *loop_new(void);
/* The same for callers that cannot end the process: 0, or -errno if no descriptor is left. */
int loop_make(struct loop **ret);
/* Closes whatever is still open on it. Accepts NULL, returns NULL. */
struct loop *loop_free(struct loop *loop);
/* An object that only the loop owns, such as a connection that is being closed: if the loop is freed first, `fn` frees
 * the object. loop_disown() takes it out again; both functions are idempotent. */
struct loop_owned {
	struct list node;
	void (*fn)(void *ctx);
	void *ctx;
};
void loop_own(struct loop *loop, struct loop_owned *owned);
void loop_disown(struct loop_owned *owned);
/* Runs until loop_stop() and returns its code, or returns 0 when there is nothing left to wait for. */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop, int code);
/* Lets pending work end, for at most ms. Call it before loop_free() if the process continues. */
void loop_drain(struct loop *loop, uint64_t ms);
/* For Husk's long-running programs: freed large blocks stay with the process for reuse. They go back to the system when
 * no large block was allocated for some seconds. Call it once, before loop_run(). */
void loop_keep_memory(struct loop *loop);
/* Current monotonic time in milliseconds. */
uint64_t loop_now_ms(void);

/* For tests, outside loop_run(): advances time by ms at once. Timers fire in order, and everything they start runs in
 * between. Waits for running worker jobs first. loop_now_ms() includes the skipped time; loop_skipped_ms() returns its
 * sum, for code that reads another clock. */
void loop_skip(struct loop *loop, uint64_t ms);
/* For tests, outside loop_run(): waits for an event and handles those that are due, in one turn. */
void loop_turn(struct loop *loop);
uint64_t loop_skipped_ms(void);

typedef void (*timer_fn)(void *ctx);
/* The timer is not started yet. timer_free() may be called from its own callback; accepts NULL, returns NULL. */
struct timer *timer_new(struct loop *loop, timer_fn fn, void *ctx);
struct timer *timer_free(struct timer *t);
/* repeat_ms 0 = once. Restarting a running timer moves it. 0 ms means in the next turn of the loop. */
void timer_start(struct timer *t, uint64_t ms, uint64_t repeat_ms);
void timer_stop(struct timer *t);
bool timer_active(const struct timer *t);

/* Delivers SIGTERM, SIGINT and SIGHUP as events. For Husk's own programs, which have one loop each; libhusk must not
 * call it. SIGPIPE is ignored from then on, and base/watchdog.h watches the loop. After SIGTERM, SIGALRM ends the
 * process in any case: after 5 s if the loop is stuck, after 60 s if the program has not exited. */
struct signals *signals_new(struct loop *loop, void (*fn)(void *ctx, int signo), void *ctx);
/* Other signals, at most SIGNALS_MAX of them. */
#define SIGNALS_MAX 4
struct signals *signals_new_of(struct loop *loop, const int *signos, size_t n, void (*fn)(void *ctx, int signo),
			       void *ctx);
struct signals *signals_free(struct signals *s);
/* For tests: replaces the 5 s after SIGTERM. */
void signals_set_notice(unsigned ms);

/* Wakes the loop from another thread: fn runs on the loop soon, once for any number of waker_wake() calls since it
 * last ran. NULL if no descriptor is left. */
struct waker *waker_new(struct loop *loop, void (*fn)(void *ctx), void *ctx);
/* The only function of this header that any thread may call, until waker_free(). */
void waker_wake(struct waker *w);
/* On the loop's thread. Accepts NULL, returns NULL. */
struct waker *waker_free(struct waker *w);

/* For the other adapters of base/ only: the raw uv_loop_t, and a pointer that base/work keeps with each loop (NULL at
 * first). free_fn, if not NULL, is called on the pointer when the loop is freed. */
void *loop_raw(struct loop *loop);
void *loop_attached(struct loop *loop);
void loop_attach(struct loop *loop, void *data, void (*free_fn)(void *data));

#endif
