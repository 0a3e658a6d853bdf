/* Failures on stderr, with what to do next in terms of husk's verbs. */
#ifndef HUSK_CLI_REPORT_H
#define HUSK_CLI_REPORT_H

#include "base/fail.h"

/* Returns what to exit with: EXIT_NO for something that is not there, EXIT_USAGE for what makes no sense, EXIT_SYSTEM for the rest. */
int report_fail(const struct fail *f);

#endif
