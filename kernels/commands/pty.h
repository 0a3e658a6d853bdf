/* The pseudo-terminal of a command that may ask: what it writes is its run's output, what somebody types goes in, and when it waits
 * for that its run says so. */
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
	struct buf typed; /* and not taken by the terminal yet */
	struct timeout look;
	uint64_t pause_ms;   /* until the next look */
	struct reader asked; /* who waited last */
	uint64_t typed_ms;   /* when something was typed for it; 0 = nothing since */
};

/* A pseudo-terminal with rows and columns, UTF-8 in its line editing. 0, or -errno and nothing is open. */
int pty_pair(int *ret_master, int *ret_slave, unsigned short rows, unsigned short cols);

/* For a run that begins, with its rows and columns. 0 or -errno; the child's end is `slave`. */
int pty_open(struct pty *p, struct poller *poller, struct run *run);
/* Types; past a bound what nobody reads is dropped. */
void pty_type(struct pty *p, const char *text, size_t n);
/* Reads what the command has written up to now. */
void pty_drain(struct pty *p);
/* Idempotent, also for one that was never opened. */
void pty_close(struct pty *p);

#endif
