/* All shell commands of a session. They run one after the other, and the working directory and exported variables pass
 * from each to the next. A command that no client waits for any more is put aside: its state is not kept, and the next
 * command runs beside it.
 *
 * While the session rests after a command, a bash is started in advance for the next one: the spare. It exists only
 * between runs, and for at most a minute. A cell does not begin before the spare is reaped, so no run can see it except
 * the command that gets it. */
#ifndef HUSK_KERNELS_COMMANDS_TERMINALS_H
#define HUSK_KERNELS_COMMANDS_TERMINALS_H

#include "kernels/commands/terminal.h"

struct terminals {
	struct poller *poller;
	const struct limits *limits;
	const struct procs_set *kernels;
	/* For installs: the program that installs, the program that lists the installed versions afterwards, and
	 * variables that the second program must not have. */
	const struct strv *installer, *installed, *late_env;
	uint64_t floor; /* bytes to leave free on the host's disk, for installs */
	/* A queued run can start. */
	void (*on_idle)(struct terminals *all);
	/* True if no run is in progress and no console is open. */
	bool (*is_at_rest)(const struct terminals *all);
	/* The spare that terminals_drop_spare() killed has ended. */
	void (*on_gone)(struct terminals *all);

	struct shell_state state;
	struct strv more_env;
	bool killed_all; /* every process was killed while no command ran; not yet reported */
	struct terminal places[ASIDE_MAX + 1];
	size_t n_open;		/* slots that were ever used */
	struct terminal *front; /* runs the commands of the queue */
	struct bash spare;
	pid_t leaving;	      /* pid of a spare that was killed; 0 = none */
	unsigned spares_left; /* spares that may be started before the next command */
	struct timeout spare_timer;
};

/* The caller has set the fields above `state`. `env` is copied. 0 or -errno. */
int terminals_init(struct terminals *all, const struct strv *env);
/* Commands that start from now on get these variables too. */
void terminals_add_env(struct terminals *all, const struct strv *env);
/* The next command starts in this directory. Only call it while no command runs. */
void terminals_set_cwd(struct terminals *all, const char *cwd);
/* Starts a queued run; only when idle. */
void terminals_run(struct terminals *all, struct run *run);
/* A run that is marked as `aside` leaves the queue, if there is a free slot. */
void terminals_make_way(struct terminals *all);
/* True if any command runs, in the queue or aside. */
bool terminals_busy(const struct terminals *all);
/* True if this process session belongs to a running command or to the spare. */
bool terminals_own(const struct terminals *all, pid_t session);
void terminals_interrupt(struct terminals *all, const struct run *run);
void terminals_input(struct terminals *all, const struct run *run, const char *text, size_t n);
/* A process has ended, or was stopped. */
void terminals_changed(struct terminals *all);
void terminals_reaped(struct terminals *all, pid_t pid, int status);
/* Reads the output that commands have written so far. */
void terminals_drain(struct terminals *all);
/* Every process was killed to save the container. Each running command reports this; if none runs, the next one
 * does. */
void terminals_killed_all(struct terminals *all);
/* Every process is about to be killed because the home directory is full. The runs end with this reason. */
void terminals_disk_full(struct terminals *all);
void terminals_sockets_full(struct terminals *all);
/* Forgets all runs: their ends have been reported elsewhere. */
void terminals_forget(struct terminals *all);
/* A run has ended and none has begun: a spare may be started soon. */
void terminals_rest(struct terminals *all);
/* Kills the spare, because something begins that must not see it. No spare is started until the session rests again.
 * False if the spare has not ended yet: on_gone() follows. */
bool terminals_drop_spare(struct terminals *all);
static inline bool terminals_idle(const struct terminals *all)
{
	return !all->front->run;
}

#endif
