/* `husk history --network`: the connections of a session through the gate. */
#ifndef HUSK_CLI_CONNECTIONS_H
#define HUSK_CLI_CONNECTIONS_H

#include "cli/options.h"

int connections_run(const struct options *options);

#endif
