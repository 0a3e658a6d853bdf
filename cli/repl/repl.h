/* `husk repl`: a prompt to a fresh session, or to one that is in use. */
#ifndef HUSK_CLI_REPL_REPL_H
#define HUSK_CLI_REPL_REPL_H

#include "cli/options.h"

/* Returns the exit code; in a pipe, that of the last cell. */
int repl_run(const struct options *options);

#endif
