/* All shell commands of a session. They run one after the other, and working directory and exported variables pass from one to
 * the next. One that nobody waits for any more is put aside: the next one runs beside it, and it hands nothing on.
 *
 * While the session rests after a command, a bash is started for the next one: the spare. It is there only between calls, and for a
 * minute: no call ever sees it but the command that gets it, since a cell does not begin before it is reaped. */
#ifndef HUSK_KERNELS_COMMANDS_TERMINALS_H
#define HUSK_KERNELS_COMMANDS_TERMINALS_H

#include "kernels/commands/terminal.h"

struct terminals {
	struct poller *poller;
	const struct limits *limits;
	const pid_t *kernel;
	/* For installs: the programs that install, and that read the versions afterwards, and variables that the latter must not have. */
	const struct strv *installer, *installed, *late_env;
	struct relay *relay; /* for installs */
	uint64_t floor;	     /* of the host's disk, for installs */
	/* A queued call can run. */
	void (*on_idle)(struct terminals *all);
	/* Nothing runs in the session that a call has started and waits for. */
	bool (*is_at_rest)(const struct terminals *all);
	/* What terminals_drop_spare() said is going has gone. */
	void (*on_gone)(struct terminals *all);

	struct shell_state state;
	struct strv more_env;
	bool killed_all; /* while no command ran; not told yet */
	struct terminal places[ASIDE_MAX + 1];
	size_t n_open;		/* places that were ever used */
	struct terminal *front; /* whose turn it is */
	struct bash spare;
	pid_t leaving;	      /* a spare that was killed; 0 = none */
	unsigned spares_left; /* that may be started until the next command */
	struct timeout spare_timer;
};

/* Fields above `state` are set by the caller. `env` is copied. 0 or -errno. */
int terminals_init(struct terminals *all, const struct strv *env);
/* Commands that start from now on have these variables too. */
void terminals_add_env(struct terminals *all, const struct strv *env);
/* The next command starts there; only when none runs. */
void terminals_set_cwd(struct terminals *all, const char *cwd);
/* Runs a queued call; only when idle. */
void terminals_run(struct terminals *all, struct run *run);
/* A call that is marked as `aside` leaves the queue, if there is room beside it. */
void terminals_make_way(struct terminals *all);
/* True if any command runs, in front or aside. */
bool terminals_busy(const struct terminals *all);
/* True if the session is that of a running command or of the spare. */
bool terminals_own(const struct terminals *all, pid_t session);
void terminals_interrupt(struct terminals *all, const struct run *run);
void terminals_input(struct terminals *all, const struct run *run, const char *text, size_t n);
/* A process has ended, or was stopped. */
void terminals_changed(struct terminals *all);
void terminals_reaped(struct terminals *all, pid_t pid, int status);
/* Reads what the pipes of a call hold. */
void terminals_drain(struct terminals *all);
/* Every process was killed to save the container: say so in each running call, or in the next. */
void terminals_killed_all(struct terminals *all);
/* Every process is about to be killed, since the home directory is full: that is how the running calls end. */
void terminals_disk_full(struct terminals *all);
void terminals_sockets_full(struct terminals *all);
/* All calls have ended otherwise. */
void terminals_forget(struct terminals *all);
/* A call has ended, and none has begun: a spare may be started soon. */
void terminals_rest(struct terminals *all);
/* Something else begins that must not find a spare: there is none until the session rests again. False if one is still going; on_gone()
 * follows. */
bool terminals_drop_spare(struct terminals *all);
static inline bool terminals_idle(const struct terminals *all)
{
	return !all->front->run;
}

#endif
