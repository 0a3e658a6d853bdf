/* A turn of the loop begins with the first callback after a wait and ends when the loop waits again. libuv runs
 * callbacks inside the poll, so only the callbacks themselves can report when a turn begins.
 *
 * Arming the timer for each turn would cost two system calls. Instead its signal checks how long the current turn
 * has taken, and re-arms the timer for the rest of the limit. If the loop waits, the next turn arms it. */
#include "base/watchdog.h"

#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <time.h>
#include <uv.h>

#include "base/log.h"

#define FRAMES_MAX 64
#define NAME_SIZE 64

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* State shared with the signal handler, which runs in the loop's thread. */
static struct {
	uv_prepare_t before_wait;
	bool on;
	timer_t timer;
	uint64_t limit_ms;
	volatile bool set, told;
	volatile uint64_t since_ms; /* start of the turn; 0 = waiting */
	const char *volatile what;
	char name[NAME_SIZE];
	volatile uint64_t number;
} w;

static uint64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void set_timer(uint64_t ms)
{
	const struct itimerspec once = { .it_value = { .tv_sec = (time_t)(ms / 1000),
						       .tv_nsec = (long)(ms % 1000) * 1000000 + 1 } };
	w.set = timer_settime(w.timer, 0, &once, NULL) == 0;
}

/* --- in the handler: nothing that allocates or locks -------------------------------------------------------------- */

struct line {
	char text[256];
	size_t n;
};

static void add(struct line *line, const char *text)
{
	while (*text && line->n < sizeof(line->text) - 1)
		line->text[line->n++] = *text++;
}

static void add_number(struct line *line, uint64_t number)
{
	char digits[24], *at = digits + sizeof(digits);
	*--at = '\0';
	do
		*--at = (char)('0' + number % 10);
	while (number /= 10);
	add(line, at);
}

static void report(uint64_t ms)
{
	struct line line = { .n = 0 };
	void *frames[FRAMES_MAX];
	add(&line, "husk: the loop has not turned for ");
	add_number(&line, ms);
	add(&line, " ms; it is busy with ");
	add(&line, w.what ? w.what : "something unknown");
	if (w.name[0]) {
		add(&line, " ");
		add(&line, w.name);
	}
	if (w.number) {
		add(&line, " ");
		add_number(&line, w.number);
	}
	add(&line, "; its stack:\n");
	if (write(STDERR_FILENO, line.text, line.n) > 0)
		backtrace_symbols_fd(frames, backtrace(frames, FRAMES_MAX), STDERR_FILENO);
}

static void on_timer(int signo UNUSED)
{
	int saved = errno;
	uint64_t since = w.since_ms, took = since ? now_ms() - since : 0;
	w.set = false;
	if (since && took < w.limit_ms) {
		set_timer(w.limit_ms - took);
	} else if (since && !w.told) {
		w.told = true;
		report(took);
	}
	errno = saved;
}

/* --- on the loop -------------------------------------------------------------------------------------------------- */

static void on_wait(uv_prepare_t *handle UNUSED)
{
	if (w.told)
		log_warning("the loop turns again after %llu ms", (unsigned long long)(now_ms() - w.since_ms));
	w.since_ms = 0;
	w.told = false;
}

void watchdog_note(const char *what)
{
	watchdog_detail(what, NULL, 0);
}

void watchdog_detail(const char *what, const char *name, uint64_t number)
{
	size_t n = 0;
	if (!w.on)
		return;
	w.what = what;
	w.number = number;
	for (; name && name[n] && n < sizeof(w.name) - 1; n++)
		w.name[n] = name[n] > ' ' && name[n] < 0x7f ? name[n] : '?';
	w.name[n] = '\0';
	if (w.since_ms)
		return;
	w.since_ms = now_ms();
	if (!w.set)
		set_timer(w.limit_ms);
}

static bool make_timer(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN };
	struct sigaction action = { .sa_handler = on_timer, .sa_flags = SA_RESTART };
	event.sigev_notify_thread_id = gettid();
	sigemptyset(&action.sa_mask);
	return sigaction(SIGRTMIN, &action, NULL) == 0 && timer_create(CLOCK_MONOTONIC, &event, &w.timer) == 0;
}

void watchdog_start(void *uv_loop, uint64_t limit_ms)
{
	void *frame;
	/* The first call loads a library, which must not happen in the handler. */
	(void)backtrace(&frame, 1);
	if (w.on)
		timer_delete(w.timer);
	w.on = make_timer();
	if (!w.on)
		return;
	w.limit_ms = limit_ms;
	w.set = w.told = false;
	w.since_ms = 0;
	uv_prepare_init(uv_loop, &w.before_wait);
	uv_prepare_start(&w.before_wait, on_wait);
	uv_unref((uv_handle_t *)&w.before_wait);
}
