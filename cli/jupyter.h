/* husk jupyter: a session for Jupyter's clients, by the program that knows ZeroMQ. */
#ifndef HUSK_CLI_JUPYTER_H
#define HUSK_CLI_JUPYTER_H

#include "cli/options.h"

/* Returns an exit code only if that program could not be run: it takes the place of this one. */
int jupyter_run(const struct options *options);

#endif
