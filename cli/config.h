/* husk config: stores settings for this user, and shows where each setting in force comes from. */
#ifndef HUSK_CLI_CONFIG_H
#define HUSK_CLI_CONFIG_H

#include "cli/options.h"

int config_run(const struct options *options);

#endif
