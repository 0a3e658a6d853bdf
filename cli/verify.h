/* husk history --verify: checks whether the log is unchanged, and prints lines for people or JSON. */
#ifndef HUSK_CLI_VERIFY_H
#define HUSK_CLI_VERIFY_H

#include "cli/options.h"

/* Returns the exit code: EXIT_NO if something was changed, removed or added, or if the log has no record of the
 * session. */
int verify_run(const struct options *options);

#endif
