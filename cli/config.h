/* husk config: settings that are kept for this user, and where each one that is in force comes from. */
#ifndef HUSK_CLI_CONFIG_H
#define HUSK_CLI_CONFIG_H

#include "cli/options.h"

int config_run(const struct options *options);

#endif
