#include "kernels/system/poller.h"

#include "kernels/system/clock.h"

/* More than PID 1 ever has open: signals, listeners with their clients, a controller, a link, pipes, terminals, and
 * STREAMS_MAX streams. */
#define WATCHES_MAX 256

void poller_init(struct poller *p)
{
	list_init(&p->watches);
	list_init(&p->ready);
	list_init(&p->timeouts);
	p->on_ready = NULL;
}

void watch_start(struct poller *p, struct watch *w, int fd, short events, void (*fn)(struct watch *w, short revents))
{
	watch_stop(w);
	*w = (struct watch){ .fd = fd, .events = events, .fn = fn };
	list_init(&w->ready);
	list_append(&p->watches, &w->node);
}

void watch_stop(struct watch *w)
{
	if (!w->node.next)
		return;
	list_remove(&w->node);
	list_remove(&w->ready);
}

void timeout_start(struct poller *p, struct timeout *t, uint64_t ms, void (*fn)(struct timeout *t))
{
	timeout_stop(t);
	t->due_ms = clock_now_ms() + MAX(ms, 1u);
	t->fn = fn;
	list_append(&p->timeouts, &t->node);
}

void timeout_stop(struct timeout *t)
{
	if (t->node.next)
		list_remove(&t->node);
}

bool timeout_active(const struct timeout *t)
{
	return t->node.next && !list_empty(&t->node);
}

size_t poller_timeouts(const struct poller *p)
{
	size_t n = 0;
	list_for_each(t, &p->timeouts, struct timeout, node)
		n++;
	return n;
}

static struct timeout *earliest(struct poller *p)
{
	struct timeout *first = NULL;
	list_for_each(t, &p->timeouts, struct timeout, node)
		if (!first || t->due_ms < first->due_ms)
			first = t;
	return first;
}

static int wait_time(struct poller *p, uint64_t wait_ms)
{
	const struct timeout *t = earliest(p);
	if (!t)
		return (int)wait_ms;
	uint64_t now = clock_now_ms();
	uint64_t left = t->due_ms > now ? t->due_ms - now : 0;
	return (int)MIN(left, wait_ms);
}

static void record(struct poller *p, int wait_ms)
{
	struct pollfd fds[WATCHES_MAX];
	struct watch *owners[WATCHES_MAX];
	nfds_t n = 0;

	list_for_each(w, &p->watches, struct watch, node) {
		if (n == WATCHES_MAX)
			break;
		owners[n] = w;
		fds[n++] = (struct pollfd){ .fd = w->fd, .events = w->events };
	}
	if (poll(fds, n, wait_ms) <= 0)
		return;
	for (nfds_t i = 0; i < n; i++) {
		if (!fds[i].revents)
			continue;
		owners[i]->revents = fds[i].revents;
		list_append(&p->ready, &owners[i]->ready);
	}
}

void poller_turn(struct poller *p, uint64_t wait_ms)
{
	record(p, wait_time(p, wait_ms));
	for (struct watch *w; (w = list_first(&p->ready, struct watch, ready));) {
		list_remove(&w->ready);
		if (p->on_ready)
			p->on_ready(p, w);
		w->fn(w, w->revents);
	}
	/* The clock is read once. A timeout that a callback starts now is due later, so it waits for the next turn. */
	uint64_t now = clock_now_ms();
	for (struct timeout *t; (t = earliest(p)) && t->due_ms <= now;) {
		timeout_stop(t);
		t->fn(t);
	}
}
