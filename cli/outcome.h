/* Reports the end of a run as if it were a local program. */
#ifndef HUSK_CLI_OUTCOME_H
#define HUSK_CLI_OUTCOME_H

#include "manager/manager.h"

/* True if a cell called exit(). */
bool outcome_is_exit(const struct run_result *result);
/* The exit code of a run, whether or not it called exit(). */
int outcome_code(const struct run_result *result);
/* The error that a cell raised, with all of its lines. The caller owns it. */
char *outcome_error(const struct run_result *result);
/* The position of the message in the text of an error; NULL if the text does not contain it. */
const char *outcome_find_message(const char *text, const char *message);
/* Prints on standard error what a local program would print at its end. */
void outcome_explain(const struct run_result *result);

#endif
