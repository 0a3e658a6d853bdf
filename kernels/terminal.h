/* Shell commands, one after the other, each a bash in a session of its own. Working directory and exported variables
 * pass from one to the next. A command ends when its shell has exited and its process substitutions have read to their
 * end; what it left in the background lives on and is not waited for.
 *
 * An install is the runtime's installer instead of bash: it reads the packages where bash reads its command, writes what
 * it installed where bash writes its state, and everything that it started ends with it. */
#ifndef HUSK_KERNELS_TERMINAL_H
#define HUSK_KERNELS_TERMINAL_H

#include "kernels/pipes.h"
#include "kernels/relay.h"
#include "kernels/shell.h"

struct terminal {
	struct poller *poller;
	const struct limits *limits;
	const pid_t *kernel; /* its pid; spared when room must be made */
	const struct strv *installer;
	struct relay *relay; /* for installs */
	void (*on_idle)(struct terminal *t);

	struct pipes pipes;
	struct shell_state state;
	struct strv more_env; /* for the state of the next command */
	struct job *job;      /* NULL = none runs */
	char *cwd;	      /* of the running call alone; NULL = the state's */
	pid_t pid; /* 0 = not started yet, or reaped; negative = the shell is reaped, others of its session are waited for */
	int status;
	int state_fd;
	const char *stop; /* the ending if we stop it: "timeout", "interrupted" */
	bool killed_all;  /* not told yet */
	bool made_room;	  /* for the running call */
	bool too_large;	  /* the running install */
	uint64_t fork_until_ms;
	uint64_t readers_until_ms;
	struct timeout limit;
	struct timeout timer; /* fork again, or kill */
	struct timeout measure;
};

/* poller, limits, kernel and on_idle are set by the caller. `env` is copied. 0 or -errno. */
int terminal_init(struct terminal *t, const struct strv *env);
/* Commands that start from now on have these variables too. */
void terminal_add_env(struct terminal *t, const struct strv *env);
/* The next command starts there; only when idle. */
void terminal_set_cwd(struct terminal *t, const char *cwd);
/* Runs a queued call; only when idle. */
void terminal_run(struct terminal *t, struct job *job);
void terminal_interrupt(struct terminal *t);
void terminal_reaped(struct terminal *t, pid_t pid, int status);
/* Every process was killed to save the container: say so in the running call, or in the next. */
void terminal_killed_all(struct terminal *t);
static inline bool terminal_idle(const struct terminal *t)
{
	return !t->job;
}

#endif
