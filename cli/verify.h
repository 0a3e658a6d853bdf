/* husk history --verify: whether the log is what was written, as lines for a person or as JSON. */
#ifndef HUSK_CLI_VERIFY_H
#define HUSK_CLI_VERIFY_H

#include "cli/options.h"

/* Returns the exit code: EXIT_NO if something was changed, removed or added, or if nothing is recorded of the session. */
int verify_run(const struct options *options);

#endif
