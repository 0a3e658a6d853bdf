/* A pair of pipes for stdout and stderr that PID 1 always reads: one pair for kernels, one for shell commands.
 * Processes that outlive their run may keep writing. Output between runs is kept (the last few KiB) and put at the
 * start of the next run's output. */
#ifndef HUSK_KERNELS_RUNS_PIPES_H
#define HUSK_KERNELS_RUNS_PIPES_H

#include "kernels/runs/run.h"
#include "kernels/system/poller.h"

#define LATE_OUTPUT_MAX (16u << 10)

struct pipes {
	unsigned users; /* of pipes_new() */
	struct pipe_end {
		struct pipes *pipes;
		enum run_stream stream;
		int read_fd;
		int write_fd; /* held open, so that the pipe never ends */
		struct watch watch;
		struct ring late;
	} ends[RUN_STREAMS];
	uint64_t late_dropped;
	struct run *run; /* the run that gets the output now, or NULL */
};

/* 0 or -errno. */
int pipes_open(struct pipes *p, struct poller *poller);
/* For several owners: NULL, or pipes with one user. */
struct pipes *pipes_new(struct poller *poller);
struct pipes *pipes_share(struct pipes *p);
/* The last one frees them. Processes that still write then get EPIPE. */
struct pipes *pipes_leave(struct pipes *p);
/* A descriptor for a child to write to; the caller closes it. Each call opens the pipe anew, so that O_NONBLOCK
 * set by one program does not affect the next. -errno on failure. */
int pipes_writer(struct pipes *p, enum run_stream stream);
/* Reads what the pipes hold now, and no more. */
void pipes_drain(struct pipes *p);
/* From now on output belongs to the run. The run first gets the output that was written since the last run. */
void pipes_begin(struct pipes *p, struct run *run);
/* Gives a run the output that was written while none ran; the run is not attached to these pipes. */
void pipes_hand_over(struct pipes *p, struct run *run);
/* Detaches the run. Its owner has drained the pipes. */
void pipes_end(struct pipes *p);

#endif
