/* `husk gate`: which hosts a session reaches, and changes to that. */
#ifndef HUSK_CLI_GATE_H
#define HUSK_CLI_GATE_H

#include "cli/options.h"

/* Returns the exit code. */
int gate_run(const struct options *options);

#endif
