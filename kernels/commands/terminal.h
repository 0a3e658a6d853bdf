/* One shell command: a bash in its own process session, from its start to its end. A command ends when its shell has
 * exited and its process substitutions have read all of their input. Its background processes keep running and are not
 * waited for.
 *
 * An install runs the runtime's installer instead of bash. The installer reads the list of packages from the descriptor
 * that bash would read its command from, and every process that it started ends with it. Code of a package may have
 * changed the installer, so a new process then lists the installed versions; it writes them to the descriptor that bash
 * would write its state to. */
#ifndef HUSK_KERNELS_COMMANDS_TERMINAL_H
#define HUSK_KERNELS_COMMANDS_TERMINAL_H

#include "kernels/commands/bash.h"
#include "kernels/commands/pty.h"
#include "kernels/disk/disk.h"
#include "kernels/system/procs.h"

struct terminal {
	struct poller *poller;
	const struct limits *limits;
	const struct procs_set *kernels; /* the interpreters; they are not killed to make room */
	/* For installs: the program that installs, the program that lists the installed versions afterwards, and
	 * variables that the second program must not have. */
	const struct strv *installer, *installed, *late_env;
	uint64_t floor;		   /* bytes to leave free on the host's disk, for installs */
	struct shell_state *state; /* passes from each command to the next */
	struct strv *more_env;	   /* variables to add to the state before the next command */
	struct bash *spare;	   /* started in advance for the next command, if there is one */
	void (*on_idle)(struct terminal *t);

	struct pipes pipes;
	struct pty pty;	 /* of an interactive command */
	struct run *run; /* NULL = nothing runs */
	char *cwd;	 /* directory of this run only; NULL = the state's */
	pid_t pid; /* 0 = not started, or reaped; negative = the shell is reaped, but others of its session are not */
	int status;
	struct bash bash;    /* the bash that runs the command; for other programs, only state_fd is set */
	const char *stop;    /* how the run ends because PID 1 stops it: "timeout", "interrupted", "error"; or NULL */
	bool aside;	     /* the command runs beside the queue, and its state is not kept */
	bool killed_all;     /* every process was killed; not yet reported */
	bool made_room;	     /* processes were killed for this run */
	bool too_large;	     /* the install is over its disk limit */
	bool reads_versions; /* the installer has ended, and the versions are being read */
	bool disk_full;	     /* the run was killed because the disk is full */
	bool sockets_full;   /* likewise for the memory of sockets */
	uint64_t fork_until_ms;
	uint64_t readers_until_ms;
	struct timeout limit;
	struct timeout timer; /* retries the fork, checks readers, or kills */
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
/* Forgets the running command: its end has been reported elsewhere. */
void terminal_forget(struct terminal *t);
void terminal_reaped(struct terminal *t, pid_t pid, int status);

#endif
