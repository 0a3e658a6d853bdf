/* `husk demo`: a tour of the real server, as one of its clients. */
#ifndef HUSK_CLI_DEMO_H
#define HUSK_CLI_DEMO_H

#include "cli/options.h"

/* Runs the tour and prints to stdout; a failure and its next step go to stderr. Returns the exit code. */
int demo_run(const struct options *options);

#endif
