/* One shell command: a bash in its own process session, from its start to its end. A command ends when its shell has
 * exited and its process substitutions have read to their end. Its background processes keep running and are not
 * waited for.
 *
 * An install runs the runtime's installer instead of bash: it reads the packages where bash reads its command, and
 * every process that it started ends with it. Code of a package may have changed the installer, so a new process
 * then writes the installed versions to where bash writes its state. */
#ifndef HUSK_KERNELS_COMMANDS_TERMINAL_H
#define HUSK_KERNELS_COMMANDS_TERMINAL_H

#include "kernels/commands/bash.h"
#include "kernels/commands/pty.h"
#include "kernels/disk/disk.h"
#include "kernels/packages/relay.h"

struct terminal {
	struct poller *poller;
	const struct limits *limits;
	const pid_t *kernel; /* its pid; not killed to make room */
	/* For installs: the program that installs, the one that reads the versions afterwards, and variables that
	 * the latter must not have. */
	const struct strv *installer, *installed, *late_env;
	struct relay *relay;	   /* for installs */
	uint64_t floor;		   /* of the host's disk, for installs */
	struct shell_state *state; /* passes from each command to the next */
	struct strv *more_env;	   /* for the state of the next command */
	struct bash *spare;	   /* started in advance for the next command, if there is one */
	void (*on_idle)(struct terminal *t);

	struct pipes pipes;
	struct pty pty;	 /* of an interactive command */
	struct run *run; /* NULL = nothing runs */
	char *cwd;	 /* of this run only; NULL = the state's */
	pid_t pid; /* 0 = not started or reaped; negative = the shell is reaped, other processes of its session are waited for */
	int status;
	struct bash bash;    /* that has the command; without a pid */
	const char *stop;    /* the ending if PID 1 stops it: "timeout", "interrupted" */
	bool aside;	     /* it runs beside the queue and leaves no state */
	bool killed_all;     /* not yet reported */
	bool made_room;	     /* processes were killed for this run */
	bool too_large;	     /* the install is over its disk limit */
	bool reads_versions; /* the installer has ended, and the versions are being read */
	bool disk_full;	     /* the run was killed because the disk is full */
	bool sockets_full;   /* likewise for the memory of sockets */
	uint64_t fork_until_ms;
	uint64_t readers_until_ms;
	struct timeout limit;
	struct timeout timer; /* retries fork, or kills */
	struct disk disk;     /* of the running install */
};

/* The caller has set the fields above `pipes`. 0 or -errno. */
int terminal_init(struct terminal *t);
/* Starts a queued run; only when idle. */
void terminal_run(struct terminal *t, struct run *run);
void terminal_interrupt(struct terminal *t);
/* Types at the running command's terminal, if it has one. */
void terminal_input(struct terminal *t, const char *text, size_t n);
/* Reads the running command's output so far. */
void terminal_drain(struct terminal *t);
/* The running command has ended otherwise. */
void terminal_forget(struct terminal *t);
void terminal_reaped(struct terminal *t, pid_t pid, int status);

#endif
