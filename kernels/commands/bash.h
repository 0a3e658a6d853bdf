/* A bash that runs one command, from its start until it has the command. It may be started before there is one: then it has
 * done its start-up when a command comes, and waits in `read` on a pipe to which only PID 1 writes. One that is started for a command
 * finds it there, and is the same in all else.
 *
 * Its stderr until it begins is a file of PID 1's own, if it waits: what it says at its start (a locale that does not exist) belongs to
 * the command that it gets, or to none. */
#ifndef HUSK_KERNELS_COMMANDS_BASH_H
#define HUSK_KERNELS_COMMANDS_BASH_H

#include <sys/types.h>

#include "kernels/commands/shell.h"
#include "kernels/runs/pipes.h"

struct bash {
	pid_t pid;	     /* 0 = none */
	struct pipes *pipes; /* that it writes to */
	int go_fd;	     /* the pipe */
	int command_fd;
	int state_fd; /* what it leaves to the next (shell.h) */
	int early_fd; /* -1 = its stderr is the pipe from the start */
	size_t early_told;
};
#define BASH_NONE ((struct bash){ .go_fd = -1, .command_fd = -1, .state_fd = -1, .early_fd = -1 })

struct bash_spec {
	struct pipes *pipes;
	const struct strv *env;
	const char *cwd;
	int tty_fd; /* 0 = none */
};

/* With a command, or NULL: then it waits for bash_give(). `ret` is BASH_NONE and stays so on failure. 0, or -errno (-EAGAIN: the process
 * limit). */
int bash_start(struct bash *ret, const struct bash_spec *spec, const char *command, size_t n);
/* True if nobody could tell one that waits from one that is started now with the same variables: it is alive and not stopped, and the
 * path leads to the directory in which it is. */
bool bash_waits_in(const struct bash *b, const char *cwd);
/* False with variables for which no bash is started before it is needed: what they do would happen too early, or shows how long it
 * waited. */
bool bash_may_wait_with(const struct strv *env);
/* 0 or -errno; then the command has not begun, and never will. */
int bash_give(struct bash *b, const char *command, size_t n);
/* False if it has not got to what it was given; if it is dead, the command was not run. A signal from before bash_give() has had its
 * effect when it has. */
bool bash_has_begun(const struct bash *b);
/* One that was stopped before it has begun is killed: it will not come to that. */
void bash_end_stopped(const struct bash *b);
/* What it has said before it began, as output of the run. */
void bash_pass_early(struct bash *b, struct run *run);
/* It is killed, if it was not reaped; it ends without a word. */
void bash_drop(struct bash *b);
/* It lives on, or is reaped: closes what is ours. */
void bash_release(struct bash *b);

/* A file in memory with this content; a descriptor at its start, or -errno. */
int bash_text_file(const char *text, size_t n);

#endif
