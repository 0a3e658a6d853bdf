/* Terminals for people: each runs a bash (or another program) on its own pseudo-terminal, and bytes pass unchanged in
 * both directions. A program may also have three pipes in place of the terminal, as in a shell's pipeline. Consoles
 * run beside cells and commands. They start with the directory and variables of the last command and leave no state
 * to the next.
 *
 * Consoles are not replayed: when the stream ends they are hung up. A process that ignores SIGHUP keeps running,
 * like any process that a command leaves in the background. */
#ifndef HUSK_KERNELS_COMMANDS_CONSOLES_H
#define HUSK_KERNELS_COMMANDS_CONSOLES_H

#include "base/list.h"
#include "kernels/commands/shell.h"
#include "kernels/runs/sender.h"
#include "kernels/system/frames.h"
#include "kernels/system/limits.h"
#include "kernels/system/poller.h"

struct consoles {
	struct poller *poller;
	struct sender *sender;
	const struct limits *limits;
	const struct shell_state *state; /* left by the last command */
	const struct strv *more_env;	 /* not yet in the state */
	bool refuses;			 /* this container runs no user code */
	/* A console is about to be opened. */
	void (*on_open)(struct consoles *all);

	struct list list; /* of struct console */
};

/* The caller has set the fields above `list`. */
void consoles_init(struct consoles *all);
/* True if this is the number of a console. */
bool consoles_have(struct consoles *all, uint32_t call);
/* Takes a CONSOLE frame of any type, or a CREDIT. 0, or -EPROTO if the stream must be closed. The caller has checked
 * that the number of a new console is free. */
int consoles_frame(struct consoles *all, const struct frame *frame);
/* True if the console was known: its terminal is hung up. */
bool consoles_interrupt(struct consoles *all, uint32_t call);
/* The controller has disconnected: all consoles are hung up, and their ends are not reported. */
void consoles_orphan(struct consoles *all);
/* True if this process session belongs to an open console. */
bool consoles_own(const struct consoles *all, pid_t session);
void consoles_reaped(struct consoles *all, pid_t pid, int status);
/* Every process is about to be killed. `why` is the reason, a string literal. */
void consoles_explain(struct consoles *all, const char *why);
/* Sends some of the output. True if more can be done without waiting. A terminal is only read while there is
 * credit and no frames wait for the stream except those of runs, so a program that floods its terminal is slowed
 * down. */
bool consoles_step(struct consoles *all);

#endif
