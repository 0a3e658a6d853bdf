/* Failures on stderr, with what to do next in terms of husk's verbs. */
#ifndef HUSK_CLI_REPORT_H
#define HUSK_CLI_REPORT_H

#include "cli/options.h"

/* Returns the exit code: EXIT_NO for something that does not exist, EXIT_USAGE for a bad request, EXIT_SYSTEM for the rest. */
int report_fail(const struct fail *f);
/* The same before a verb has begun: a bad request is followed by the line that says how it is used. */
int report_refusal(const struct fail *f, enum verb verb);

#endif
