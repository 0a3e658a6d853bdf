#include "kernels/runs/pipes.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>

#include "base/alloc.h"

/* One turn of the loop reads at most this much from each pipe, so that a flood does not starve other work. */
#define READ_BYTES (64u << 10)

static void take_in(struct pipe_end *e, const void *data, size_t n)
{
	if (e->pipes->run)
		run_output(e->pipes->run, e->stream, data, n);
	else
		e->pipes->late_dropped += ring_add(&e->late, data, n);
}

static size_t read_some(struct pipe_end *e, size_t max)
{
	static uint8_t data[READ_BYTES];
	ssize_t n = read(e->read_fd, data, MIN(max, sizeof(data)));
	if (n <= 0)
		return 0;
	take_in(e, data, (size_t)n);
	return (size_t)n;
}

static void on_readable(struct watch *w, short revents)
{
	(void)read_some(container_of(w, struct pipe_end, watch), READ_BYTES);
}

int pipes_open(struct pipes *p, struct poller *poller)
{
	*p = (struct pipes){ 0 };
	for (int i = 0; i < RUN_STREAMS; i++) {
		struct pipe_end *e = &p->ends[i];
		int fds[2];
		if (pipe2(fds, O_CLOEXEC) < 0)
			return -errno;
		*e = (struct pipe_end){
			.pipes = p, .stream = (enum run_stream)i, .read_fd = fds[0], .write_fd = fds[1]
		};
		e->late.max = LATE_OUTPUT_MAX;
		if (fcntl(e->read_fd, F_SETFL, O_NONBLOCK) < 0)
			return -errno;
		watch_start(poller, &e->watch, e->read_fd, POLLIN, on_readable);
	}
	return 0;
}

struct pipes *pipes_new(struct poller *poller)
{
	struct pipes *p = new0(struct pipes);
	int r = pipes_open(p, poller);
	p->users = 1;
	return r < 0 ? pipes_leave(p) : p;
}

struct pipes *pipes_share(struct pipes *p)
{
	p->users++;
	return p;
}

struct pipes *pipes_leave(struct pipes *p)
{
	if (!p || --p->users)
		return NULL;
	for (int i = 0; i < RUN_STREAMS; i++) {
		struct pipe_end *e = &p->ends[i];
		if (!e->pipes)
			continue;
		watch_stop(&e->watch);
		closep(&e->read_fd);
		closep(&e->write_fd);
		ring_release(&e->late);
	}
	free(p);
	return NULL;
}

int pipes_writer(struct pipes *p, enum run_stream stream)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", p->ends[stream].write_fd);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

void pipes_drain(struct pipes *p)
{
	for (int i = 0; i < RUN_STREAMS; i++) {
		int held = 0;
		if (ioctl(p->ends[i].read_fd, FIONREAD, &held) < 0)
			continue;
		for (size_t left = (size_t)MAX(held, 0), n; left && (n = read_some(&p->ends[i], left)); left -= n)
			;
	}
}

static void give_late(struct pipes *p, struct run *run)
{
	run->late_dropped += p->late_dropped;
	p->late_dropped = 0;
	for (int i = 0; i < RUN_STREAMS; i++) {
		AUTO(buf_release) struct buf late = { 0 };
		ring_copy(&p->ends[i].late, SIZE_MAX, &late);
		ring_release(&p->ends[i].late);
		run_output(run, (enum run_stream)i, late.data, late.len);
	}
}

/* Output that is still in the pipes is read later, and is the run's too. */
void pipes_begin(struct pipes *p, struct run *run)
{
	give_late(p, run);
	p->run = run;
}

void pipes_hand_over(struct pipes *p, struct run *run)
{
	pipes_drain(p);
	give_late(p, run);
}

void pipes_end(struct pipes *p)
{
	p->run = NULL;
}
