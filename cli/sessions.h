/* `husk ps`, `husk stop` and `husk gc`: the sessions of all servers of this user. */
#ifndef HUSK_CLI_SESSIONS_H
#define HUSK_CLI_SESSIONS_H

#include "cli/options.h"

/* Returns the exit code. */
int sessions_run(const struct options *options);

#endif
