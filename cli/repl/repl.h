/* `husk repl`: a prompt in a new session, or in one that is already in use. */
#ifndef HUSK_CLI_REPL_REPL_H
#define HUSK_CLI_REPL_REPL_H

#include "cli/options.h"

/* Returns the exit code. If the input is a pipe, it is the exit code of the last cell. */
int repl_run(const struct options *options);

#endif
