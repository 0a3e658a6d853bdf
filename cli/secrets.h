/* `husk secret`: values that code of sessions can use but never see. */
#ifndef HUSK_CLI_SECRETS_H
#define HUSK_CLI_SECRETS_H

#include "cli/options.h"

/* Returns the exit code. */
int secrets_run(const struct options *options);

#endif
