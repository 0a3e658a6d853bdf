/* husk jupyter: runs husk-jupyter-face, the program that links ZeroMQ. */
#ifndef HUSK_CLI_JUPYTER_H
#define HUSK_CLI_JUPYTER_H

#include "cli/options.h"

/* Replaces this process. Returns an exit code only if the program could not be run. */
int jupyter_run(const struct options *options);

#endif
