/* Failures on stderr, with what to do next in terms of husk's verbs. */
#ifndef HUSK_CLI_REPORT_H
#define HUSK_CLI_REPORT_H

#include "cli/options.h"

/* EXIT_NO for something that does not exist, EXIT_USAGE for a user's mistake, EXIT_SYSTEM for the rest. */
int report_code(const struct fail *f);
/* Returns that exit code. */
int report_fail(const struct fail *f);
/* The same before a verb has begun: after a mistake, the usage of the verb follows. */
int report_refusal(const struct fail *f, enum verb verb);
/* Prints the installer's output. A failed install is then reported without it. */
void report_install_output(const char *text, size_t n);

#endif
