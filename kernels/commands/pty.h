/* The pseudo-terminal of an interactive command: its output is the run's output, typed text is its input, and the
 * run reports when the command waits for input. */
#ifndef HUSK_KERNELS_COMMANDS_PTY_H
#define HUSK_KERNELS_COMMANDS_PTY_H

#include "kernels/commands/reading.h"
#include "kernels/runs/run.h"
#include "kernels/system/poller.h"

struct pty {
	struct poller *poller;
	struct run *run; /* NULL = closed */
	int master;
	int slave; /* held open, so that the terminal lives as long as the command */
	dev_t device;
	struct watch watch;
	struct buf typed; /* text that the terminal has not accepted yet */
	struct timeout check;
	uint64_t pause_ms;    /* until the next check */
	struct reader waited; /* the reader that waited last */
	uint64_t typed_ms;    /* time of the last input since then; 0 = none */
};

/* Opens a pseudo-terminal with this size and UTF-8 line editing. 0, or -errno and nothing is open. */
int pty_pair(int *ret_master, int *ret_slave, unsigned short rows, unsigned short cols);

/* Opens the terminal of a run that begins, in the size that the run asks for. 0 or -errno; the child's end is
 * `slave`. */
int pty_open(struct pty *p, struct poller *poller, struct run *run);
/* Types text. It is dropped if too much earlier text has not been read yet. */
void pty_type(struct pty *p, const char *text, size_t n);
/* Reads the command's output so far. */
void pty_drain(struct pty *p);
/* Idempotent; also works for a pty that was never opened. */
void pty_close(struct pty *p);

#endif
