/* `husk open`: an address on this machine for a server in a session. */
#ifndef HUSK_CLI_OPEN_H
#define HUSK_CLI_OPEN_H

#include "cli/options.h"

/* Returns an exit code. */
int open_run(const struct options *options);

#endif
