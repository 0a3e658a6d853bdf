#include "kernels/commands/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>

#include "kernels/protocol.h"
#include "kernels/system/clock.h"

#define READ_BYTES (64u << 10)
/* A flood of output must not delay other work. */
#define DRAIN_READS_MAX 16
#define TYPED_MAX (1u << 20)
/* A command that has been quiet for this long may be waiting for input. If it is not waiting, it is checked less and
 * less often. */
#define CHECK_MS 30
#define CHECK_MAX_MS 500
/* A command that waits may stop waiting without any output (`read -t`). */
#define CHECK_AGAIN_MS 1000
/* Typed text without a newline does not wake the reader, so after this time the same wait is reported again. */
#define WAKE_MS 1000

static void on_check(struct timeout *t);

static void check_soon(struct pty *p)
{
	p->pause_ms = CHECK_MS;
	timeout_start(p->poller, &p->check, CHECK_MS, on_check);
}

static size_t read_some(struct pty *p)
{
	static uint8_t data[READ_BYTES];
	ssize_t n = read(p->master, data, sizeof(data));
	if (n <= 0)
		return 0;
	run_prompt_end(p->run);
	run_output(p->run, RUN_STDOUT, data, (size_t)n);
	check_soon(p);
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

/* True if the reader has slept since before the last input: it has not received the text yet. */
static bool is_old_wait(const struct pty *p, const struct reader *r)
{
	return p->typed_ms && r->thread == p->waited.thread && r->sleeps == p->waited.sleeps &&
	       clock_now_ms() - p->typed_ms < WAKE_MS;
}

/* True if the terminal reads lines and does not echo them, as for a password. */
static bool hides_input(const struct pty *p)
{
	struct termios t;
	return tcgetattr(p->slave, &t) == 0 && t.c_lflag & ICANON && !(t.c_lflag & ECHO);
}

static void on_check(struct timeout *t)
{
	struct pty *p = container_of(t, struct pty, check);
	struct reader reader;
	pid_t group = tcgetpgrp(p->master);
	bool waits = !p->typed.len && reading_find(group, p->device, &reader) && !is_old_wait(p, &reader);
	if (waits && !p->run->prompt.open) {
		p->waited = reader;
		p->typed_ms = 0;
		run_prompt_start(p->run, /* prompt= */ NULL, 0, hides_input(p), 0);
	} else if (!waits) {
		run_prompt_end(p->run);
		p->pause_ms = MIN(2 * p->pause_ms, (uint64_t)CHECK_MAX_MS);
	}
	timeout_start(p->poller, t, waits ? CHECK_AGAIN_MS : p->pause_ms, on_check);
}

/* An engine may lack TERMINALS_PATH. Then the terminal is in /dev/pts, where cells can open it too. */
static int open_master(void)
{
	int flags = O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK;
	int master = open(TERMINALS_PATH "/ptmx", flags);
	return master < 0 && errno == ENOENT ? posix_openpt(flags) : master;
}

int pty_pair(int *ret_master, int *ret_slave, unsigned short rows, unsigned short cols)
{
	struct termios t;
	struct winsize size = { .ws_row = rows, .ws_col = cols };
	AUTO(closep) int master = open_master();
	if (master < 0 || unlockpt(master) < 0)
		return -errno;
	AUTO(closep) int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0 || tcgetattr(slave, &t) < 0)
		return -errno;
	t.c_iflag |= IUTF8;
	if (tcsetattr(slave, TCSANOW, &t) < 0 || ioctl(slave, TIOCSWINSZ, &size) < 0)
		return -errno;
	*ret_master = take_fd(master);
	*ret_slave = take_fd(slave);
	return 0;
}

int pty_open(struct pty *p, struct poller *poller, struct run *run)
{
	struct stat st;
	int master, slave;
	int r = pty_pair(&master, &slave, run->rows, run->cols);
	if (r < 0)
		return r;
	if (fstat(slave, &st) < 0) {
		r = -errno;
		close(master);
		close(slave);
		return r;
	}
	*p = (struct pty){ .poller = poller,
			   .run = run,
			   .master = master,
			   .slave = slave,
			   .device = st.st_rdev,
			   .typed.max = TYPED_MAX };
	watch_start(poller, &p->watch, master, POLLIN, on_ready);
	check_soon(p);
	return 0;
}

void pty_type(struct pty *p, const char *text, size_t n)
{
	if (!p->run)
		return;
	p->typed.max = TYPED_MAX;
	(void)buf_add(&p->typed, text, n);
	p->typed_ms = clock_now_ms();
	run_prompt_end(p->run);
	write_typed(p);
	check_soon(p);
}

void pty_drain(struct pty *p)
{
	for (int i = 0; p->run && i < DRAIN_READS_MAX && read_some(p); i++)
		;
}

void pty_close(struct pty *p)
{
	if (!p->run)
		return;
	pty_drain(p);
	watch_stop(&p->watch);
	timeout_stop(&p->check);
	closep(&p->master);
	closep(&p->slave);
	buf_release(&p->typed);
	p->run = NULL;
}
