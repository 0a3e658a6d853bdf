#include "kernels/jupyter/raw.h"

#include <errno.h>
#include <fcntl.h>

#define READS_A_TURN 64

int raw_open(struct raw *r, struct fail *f)
{
	for (int i = 0; i < 2; i++) {
		int ends[2];
		if (pipe2(ends, O_CLOEXEC) < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0)
			return fail_set(f, FAIL_INTERNAL, "cannot make a pipe: %m");
		r->read_fds[i] = ends[0];
		r->write_fds[i] = ends[1];
	}
	return 0;
}

void raw_started(struct raw *r)
{
	closep(&r->write_fds[0]);
	closep(&r->write_fds[1]);
}

void raw_release(struct raw *r)
{
	raw_started(r);
	closep(&r->read_fds[0]);
	closep(&r->read_fds[1]);
}

static void keep(struct raw_tail *t, const char *data, size_t n)
{
	size_t skip = n > RAW_KEPT ? n - RAW_KEPT : 0;
	data += skip;
	n -= skip;
	size_t old = MIN(t->n, RAW_KEPT - n);
	memmove(t->bytes, t->bytes + t->n - old, old);
	memcpy(t->bytes + old, data, n);
	t->n = old + n;
}

void raw_read(struct raw *r)
{
	char data[16384];
	for (int i = 0; i < 2; i++) {
		for (int turn = 0; r->read_fds[i] >= 0 && turn < READS_A_TURN; turn++) {
			ssize_t n = read(r->read_fds[i], data, sizeof(data));
			if (n < 0)
				break;
			if (n == 0)
				closep(&r->read_fds[i]);
			else
				keep(&r->tails[i], data, (size_t)n);
		}
	}
}

void raw_forget(struct raw *r)
{
	r->tails[0].n = r->tails[1].n = 0;
}

void raw_show(const struct raw *r)
{
	for (int i = 0; i < 2; i++)
		if (r->tails[i].n && write(STDERR_FILENO, r->tails[i].bytes, r->tails[i].n) < 0)
			return;
}
