/* Reports failures on stderr, with the next step in terms of husk's verbs. */
#ifndef HUSK_CLI_REPORT_H
#define HUSK_CLI_REPORT_H

#include "cli/options.h"

/* The exit code: EXIT_NO if something does not exist, EXIT_USAGE for a user's mistake, EXIT_SYSTEM for the rest. */
int report_code(const struct fail *f);
/* Prints the failure and returns its exit code. */
int report_fail(const struct fail *f);
/* The next step in terms of husk's verbs, which report_fail() prints after the manager's hint. NULL if that hint is
 * enough. */
const char *report_next_step(const struct fail *f);
/* Like report_fail(), before a verb has started: after a user's mistake, it also prints the verb's usage. */
int report_refusal(const struct fail *f, enum verb verb);
/* Prints the installer's output. A failed install is then reported without it. */
void report_install_output(const char *text, size_t n);

#endif
