/* One shell command: a bash in a session of its own, from its start to its end. A command ends when its shell has exited and its
 * process substitutions have read to their end; what it left in the background lives on and is not waited for.
 *
 * An install is the runtime's installer instead of bash: it reads the packages where bash reads its command, and everything that it
 * started ends with it. Code of a package may have changed the installer, so a new process then writes which versions are there, to
 * where bash writes its state. */
#ifndef HUSK_KERNELS_COMMANDS_TERMINAL_H
#define HUSK_KERNELS_COMMANDS_TERMINAL_H

#include "kernels/commands/bash.h"
#include "kernels/commands/pty.h"
#include "kernels/disk/disk.h"
#include "kernels/packages/relay.h"

struct terminal {
	struct poller *poller;
	const struct limits *limits;
	const pid_t *kernel; /* its pid; spared when room must be made */
	/* For installs: the programs that install, and that read the versions afterwards, and variables that the latter must not have. */
	const struct strv *installer, *installed, *late_env;
	struct relay *relay;	   /* for installs */
	uint64_t floor;		   /* of the host's disk, for installs */
	struct shell_state *state; /* what commands hand on to the next */
	struct strv *more_env;	   /* for the state of the next command */
	struct bash *spare;	   /* started for the next command, if there is one */
	void (*on_idle)(struct terminal *t);

	struct pipes pipes;
	struct pty pty;	 /* of a command that may ask */
	struct run *run; /* NULL = none runs */
	char *cwd;	 /* of the running call alone; NULL = the state's */
	pid_t pid; /* 0 = not started yet, or reaped; negative = the shell is reaped, others of its session are waited for */
	int status;
	struct bash bash;    /* that has the command; without a pid */
	const char *stop;    /* the ending if we stop it: "timeout", "interrupted" */
	bool aside;	     /* it runs beside the queue, and hands nothing on */
	bool killed_all;     /* not told yet */
	bool made_room;	     /* for the running call */
	bool too_large;	     /* the running install */
	bool reads_versions; /* the running install has ended, and its versions are read */
	bool disk_full;	     /* the running call was killed for it */
	bool sockets_full;   /* likewise */
	uint64_t fork_until_ms;
	uint64_t readers_until_ms;
	struct timeout limit;
	struct timeout timer; /* fork again, or kill */
	struct disk disk;     /* of the running install */
};

/* Fields above `pipes` are set by the caller. 0 or -errno. */
int terminal_init(struct terminal *t);
/* Runs a queued call; only when idle. */
void terminal_run(struct terminal *t, struct run *run);
void terminal_interrupt(struct terminal *t);
/* Types at the running command's terminal, if it has one. */
void terminal_input(struct terminal *t, const char *text, size_t n);
/* Reads what the running command has written up to now. */
void terminal_drain(struct terminal *t);
/* The running command has ended otherwise. */
void terminal_forget(struct terminal *t);
void terminal_reaped(struct terminal *t, pid_t pid, int status);

#endif
