/* husk cp: copies files and folders into a session, and out of it. */
#ifndef HUSK_CLI_CP_H
#define HUSK_CLI_CP_H

#include "cli/options.h"

/* Returns the exit code. */
int cp_run(const struct options *options);

#endif
