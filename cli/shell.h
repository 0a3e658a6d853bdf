/* husk shell: shows a session's terminal in the user's terminal. */
#ifndef HUSK_CLI_SHELL_H
#define HUSK_CLI_SHELL_H

#include "cli/options.h"

/* Returns an exit code. */
int shell_run(const struct options *options);

#endif
