/* `husk run`: a program in a fresh session, as if it ran here. */
#ifndef HUSK_CLI_RUN_H
#define HUSK_CLI_RUN_H

#include "cli/options.h"

/* Returns the exit code: that of the program if it has one; docs/husk.1 has the table. */
int run_run(const struct options *options);

#endif
