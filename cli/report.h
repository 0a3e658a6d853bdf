/* Failures on stderr, with what to do next in terms of husk's verbs. */
#ifndef HUSK_CLI_REPORT_H
#define HUSK_CLI_REPORT_H

#include "base/fail.h"

/* Returns the exit code: EXIT_NO for something that does not exist, EXIT_USAGE for a bad request, EXIT_SYSTEM for the rest. */
int report_fail(const struct fail *f);

#endif
