/* Terminals at which a person sits: each a bash (or another program) on a pseudo-terminal of its own, whose bytes are passed both
 * ways as they are. A program may also have three pipes in place of the terminal, as in a shell's pipeline. They
 * run beside cells and commands, begin where the last command ended and with its variables, and hand nothing on.
 *
 * They are not replayed: when the stream ends they are hung up, as a telephone line was. What ignores that lives on, like everything
 * that a command leaves in the background. */
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
	const struct shell_state *state; /* of commands */
	const struct strv *more_env;	 /* not in the state yet */
	bool refuses;			 /* this container runs nobody's code */
	/* One is about to be opened. */
	void (*on_open)(struct consoles *all);

	struct list list; /* of struct console */
};

/* Fields above `list` are set by the caller. */
void consoles_init(struct consoles *all);
/* True if this is the number of a console. */
bool consoles_have(struct consoles *all, uint32_t call);
/* Takes a CONSOLE frame of any type, or a CREDIT. 0, or -EPROTO if the stream is of no more use. The number of a console that is
 * opened has been checked. */
int consoles_frame(struct consoles *all, const struct frame *frame);
/* True if the call was known: its terminal is hung up. */
bool consoles_interrupt(struct consoles *all, uint32_t call);
/* The controller is gone: all are hung up, and nobody hears how they end. */
void consoles_orphan(struct consoles *all);
/* True if the session is that of an open one. */
bool consoles_own(const struct consoles *all, pid_t session);
void consoles_reaped(struct consoles *all, pid_t pid, int status);
/* Every process is about to be killed, for this reason (a literal). */
void consoles_explain(struct consoles *all, const char *why);
/* Passes on a little of what was written. True if more can be done without waiting; data is only taken from a terminal while no other
 * frame but those of calls waits for the stream, and there is credit: whoever floods one is held up by it. */
bool consoles_step(struct consoles *all);

#endif
