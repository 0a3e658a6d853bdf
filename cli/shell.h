/* husk shell: shows a terminal of a session in this one. */
#ifndef HUSK_CLI_SHELL_H
#define HUSK_CLI_SHELL_H

#include "cli/options.h"

/* Returns an exit code. */
int shell_run(const struct options *options);

#endif
