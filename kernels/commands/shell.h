/* The state that a shell command leaves to the next one: its working directory and its exported variables. At its end
 * the shell writes both into a file that only PID 1 reads. The file consists of NUL-terminated fields: one for the
 * shell's own use, the directory, NAME=value for each variable, and an end mark. */
#ifndef HUSK_KERNELS_COMMANDS_SHELL_H
#define HUSK_KERNELS_COMMANDS_SHELL_H

#include "base/defs.h"
#include "base/strv.h"

#define SHELL_STATE_MAX (256u << 10)
#define SHELL_PATH "/bin/bash"
/* Descriptors of the shell, with numbers that scripts and bash itself do not use. */
#define SHELL_STDERR_FD 196
#define SHELL_GO_FD 197
#define SHELL_COMMAND_FD 198
#define SHELL_STATE_FD 199

struct shell_state {
	char *cwd;
	struct strv env;
};

/* The script that waits for two characters from SHELL_GO_FD, runs the command from SHELL_COMMAND_FD with
 * SHELL_STDERR_FD as its stderr, and writes the state to SHELL_STATE_FD. */
extern const char shell_wrapper[];
#define SHELL_GO_AT_ONCE "aa"
#define SHELL_GO_AFTER_A_WAIT "ww" /* also resets SECONDS, which has counted the wait */
/* The same, without the wait, for a command that is an argument of bash. Bash reads this script from SHELL_COMMAND_FD,
 * as the file that BASH_ENV names. */
extern const char shell_prelude[];
#define SHELL_PRELUDE_ENV "BASH_ENV=/proc/self/fd/198"
/* True if the command might turn on `set -x` and is short enough to be an argument. */
bool shell_may_trace(const char *command, size_t n);

/* Adds to `ret` the environment for a bash that must report how a command ended. Variables that run code in bash itself
 * (LD_PRELOAD, BASH_ENV) are renamed in it. The scripts above restore their names when the command begins. */
void shell_hold_back(struct strv *ret, const struct strv *env);

void shell_state_release(struct shell_state *s);
/* Undoes what was set for one run: in `after`, each variable of `given` and the directory get the value that they have
 * in `before`, unless the command has changed them. */
void shell_state_undo(struct shell_state *after, const struct shell_state *before, const struct shell_state *given);
/* 0 and *ret replaced, or -EINVAL (no end mark, a relative directory, invalid data) and *ret unchanged. */
int shell_state_parse(struct shell_state *ret, const char *data, size_t n);

#endif
