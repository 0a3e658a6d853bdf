/* How a run ended, in terms of a program that was started here. */
#ifndef HUSK_CLI_OUTCOME_H
#define HUSK_CLI_OUTCOME_H

#include "manager/manager.h"

/* Whether the program ended itself; *ret is its exit code, 1 where it gave a text instead. */
bool outcome_is_exit(const struct run_result *result, int *ret);
/* The exit code, of one that did not too. */
int outcome_code(const struct run_result *result);
/* The error that a cell raised, in as many lines as it has; the caller owns it. */
char *outcome_error(const struct run_result *result);
/* Where in such a text the message is; NULL = nowhere. */
const char *outcome_find_message(const char *text, const char *message);
/* Says on standard error what a program would have said there at its end. */
void outcome_explain(const struct run_result *result);

#endif
