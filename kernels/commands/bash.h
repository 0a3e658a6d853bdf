/* A bash that runs one command, from its start until it has read the command. It may be started before there is a
 * command: then its start-up is already done when the command arrives, and it waits in `read` on a pipe to which only
 * PID 1 writes. A bash that is started for a command finds the command there and behaves the same otherwise.
 *
 * While a bash waits, its stderr is a file of PID 1. Messages that bash prints when it starts (for example about a
 * locale that does not exist) become output of the command that it gets, if it gets one. */
#ifndef HUSK_KERNELS_COMMANDS_BASH_H
#define HUSK_KERNELS_COMMANDS_BASH_H

#include <sys/types.h>

#include "kernels/commands/shell.h"
#include "kernels/runs/pipes.h"

struct bash {
	pid_t pid;	     /* 0 = none */
	struct pipes *pipes; /* for its output */
	int go_fd;	     /* PID 1's end of the pipe */
	int command_fd;
	int state_fd; /* the state for the next command (shell.h) */
	int early_fd; /* -1 = its stderr is the pipe from the start */
	size_t early_reported;
};
#define BASH_NONE ((struct bash){ .go_fd = -1, .command_fd = -1, .state_fd = -1, .early_fd = -1 })

struct bash_spec {
	struct pipes *pipes;
	const struct strv *env;
	const char *cwd;
	int tty_fd; /* 0 = none */
};

/* Starts a bash that runs this command. If `command` is NULL, the bash waits for bash_give(). `ret` is BASH_NONE and
 * stays so on failure. 0, or -errno (-EAGAIN: process limit reached). */
int bash_start(struct bash *ret, const struct bash_spec *spec, const char *command, size_t n);
/* True if a waiting bash behaves exactly like one that is started now with the same variables: it is alive and not
 * stopped, and the path still leads to its working directory. */
bool bash_waits_in(const struct bash *b, const char *cwd);
/* False if no bash may be started in advance with these variables: their effect would come too early or reveal how long
 * bash waited. */
bool bash_may_wait_with(const struct strv *env);
/* Gives a waiting bash its command. 0 or -errno; on failure the command has not begun and never will. */
int bash_give(struct bash *b, const char *command, size_t n);
/* True if bash has begun its command. If bash is dead and this is false, the command did not run. Once this is true,
 * every signal sent before bash_give() has had its effect. */
bool bash_has_begun(const struct bash *b);
/* Kills a bash that was stopped before it began, since it would never begin. */
void bash_end_stopped(const struct bash *b);
/* Adds the early messages of bash to the output of the run. */
void bash_pass_early(struct bash *b, struct run *run);
/* Kills bash if it is not reaped; it ends without printing anything. */
void bash_drop(struct bash *b);
/* Closes PID 1's descriptors; bash keeps running or is reaped. */
void bash_release(struct bash *b);

/* A file in memory with this content. Returns a descriptor at offset 0, or -errno. */
int bash_text_file(const char *text, size_t n);

#endif
