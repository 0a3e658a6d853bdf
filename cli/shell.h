/* husk shell: a terminal in a session, here. */
#ifndef HUSK_CLI_SHELL_H
#define HUSK_CLI_SHELL_H

#include "cli/options.h"

/* Returns an exit code. */
int shell_run(const struct options *options);

#endif
