/* `husk run`: runs a program in a new session, as if it ran on this machine. */
#ifndef HUSK_CLI_RUN_H
#define HUSK_CLI_RUN_H

#include "cli/options.h"

/* Returns the program's exit code if it has one, otherwise another code; docs/husk.1 has the table. */
int run_run(const struct options *options);

#endif
