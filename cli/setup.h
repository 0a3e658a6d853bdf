/* `husk setup`: the engine and the images, by the recipes that came with this program. */
#ifndef HUSK_CLI_SETUP_H
#define HUSK_CLI_SETUP_H

#include "cli/options.h"

/* Becomes setup-docker.sh, so that it asks, shows its progress and ends as that does; returns an exit code if it cannot. */
int setup_run(const struct options *options);

#endif
