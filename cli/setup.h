/* `husk setup`: installs the engine and builds the images from the recipes of this program. */
#ifndef HUSK_CLI_SETUP_H
#define HUSK_CLI_SETUP_H

#include "cli/options.h"

/* Replaces this process with setup-docker.sh, which asks, shows its progress and sets the exit code. Returns an exit
 * code only if the script cannot be run. */
int setup_run(const struct options *options);

#endif
