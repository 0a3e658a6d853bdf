#include "kernels/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>

#include "kernels/clock.h"

#define READ_BYTES (64u << 10)
/* A flood does not keep us from the rest. */
#define DRAIN_READS_MAX 16
#define TYPED_MAX (1u << 20)
/* A command that has been quiet for so long may wait for somebody. If it does not, it is looked at more and more rarely. */
#define LOOK_MS 30
#define LOOK_MAX_MS 500
/* One that waits may stop doing so without a word (`read -t`). */
#define LOOK_AGAIN_MS 1000
/* What was typed without the end of a line wakes nobody. */
#define WAKE_MS 1000

static void on_look(struct timeout *t);

static void look_soon(struct pty *p)
{
	p->pause_ms = LOOK_MS;
	timeout_start(p->poller, &p->look, LOOK_MS, on_look);
}

static size_t read_some(struct pty *p)
{
	static uint8_t data[READ_BYTES];
	ssize_t n = read(p->master, data, sizeof(data));
	if (n <= 0)
		return 0;
	job_ask_no_more(p->job);
	job_output(p->job, JOB_STDOUT, data, (size_t)n);
	look_soon(p);
	return (size_t)n;
}

static void write_typed(struct pty *p)
{
	while (p->typed.len) {
		ssize_t n = write(p->master, p->typed.data, p->typed.len);
		if (n <= 0)
			break;
		buf_consume(&p->typed, (size_t)n);
	}
	p->watch.events = (short)(POLLIN | (p->typed.len ? POLLOUT : 0));
	if (!p->typed.len)
		buf_release(&p->typed);
}

static void on_ready(struct watch *w, short revents)
{
	struct pty *p = container_of(w, struct pty, watch);
	if (revents & POLLOUT)
		write_typed(p);
	if (revents & ~POLLOUT)
		(void)read_some(p);
}

/* Whoever was waiting when something was typed has not got it yet. */
static bool is_old_wait(const struct pty *p, const struct reader *r)
{
	return p->typed_ms && r->thread == p->asked.thread && r->sleeps == p->asked.sleeps &&
	       clock_now_ms() - p->typed_ms < WAKE_MS;
}

/* Lines are read, and what is typed is not shown. */
static bool hides_input(const struct pty *p)
{
	struct termios t;
	return tcgetattr(p->slave, &t) == 0 && t.c_lflag & ICANON && !(t.c_lflag & ECHO);
}

static void on_look(struct timeout *t)
{
	struct pty *p = container_of(t, struct pty, look);
	struct reader reader;
	pid_t group = tcgetpgrp(p->master);
	bool waits = !p->typed.len && reading_find(group, p->device, &reader) && !is_old_wait(p, &reader);
	if (waits && !p->job->question.asked) {
		p->asked = reader;
		p->typed_ms = 0;
		job_ask(p->job, /* prompt= */ NULL, 0, hides_input(p), 0);
	} else if (!waits) {
		job_ask_no_more(p->job);
		p->pause_ms = MIN(2 * p->pause_ms, (uint64_t)LOOK_MAX_MS);
	}
	timeout_start(p->poller, t, waits ? LOOK_AGAIN_MS : p->pause_ms, on_look);
}

static int set_up(struct pty *p)
{
	struct termios t;
	struct stat st;
	struct winsize size = { .ws_row = p->job->rows, .ws_col = p->job->cols };
	if (fstat(p->slave, &st) < 0 || tcgetattr(p->slave, &t) < 0)
		return -errno;
	p->device = st.st_rdev;
	t.c_iflag |= IUTF8;
	if (tcsetattr(p->slave, TCSANOW, &t) < 0 || ioctl(p->slave, TIOCSWINSZ, &size) < 0)
		return -errno;
	return 0;
}

int pty_open(struct pty *p, struct poller *poller, struct job *job)
{
	AUTO(closep) int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (master < 0 || unlockpt(master) < 0)
		return -errno;
	AUTO(closep) int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return -errno;
	*p = (struct pty){ .poller = poller, .job = job, .master = master, .slave = slave, .typed.max = TYPED_MAX };
	int r = set_up(p);
	if (r < 0) {
		p->job = NULL;
		return r;
	}
	watch_start(poller, &p->watch, take_fd(master), POLLIN, on_ready);
	(void)take_fd(slave);
	look_soon(p);
	return 0;
}

void pty_type(struct pty *p, const char *text, size_t n)
{
	if (!p->job)
		return;
	p->typed.max = TYPED_MAX;
	(void)buf_add(&p->typed, text, n);
	p->typed_ms = clock_now_ms();
	job_ask_no_more(p->job);
	write_typed(p);
	look_soon(p);
}

void pty_drain(struct pty *p)
{
	for (int i = 0; p->job && i < DRAIN_READS_MAX && read_some(p); i++)
		;
}

void pty_close(struct pty *p)
{
	if (!p->job)
		return;
	pty_drain(p);
	watch_stop(&p->watch);
	timeout_stop(&p->look);
	closep(&p->master);
	closep(&p->slave);
	buf_release(&p->typed);
	p->job = NULL;
}
