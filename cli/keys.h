/* `husk keys`: the keys of programs that use the API over TCP. */
#ifndef HUSK_CLI_KEYS_H
#define HUSK_CLI_KEYS_H

#include "cli/options.h"

/* Returns the exit code. */
int keys_run(const struct options *options);

#endif
