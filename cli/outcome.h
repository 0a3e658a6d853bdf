/* Describes the end of a run like that of a local program. */
#ifndef HUSK_CLI_OUTCOME_H
#define HUSK_CLI_OUTCOME_H

#include "manager/manager.h"

/* True if the program called exit(). *ret is its exit code, or 1 if it gave a text instead. */
bool outcome_is_exit(const struct run_result *result, int *ret);
/* The exit code, also of a program that did not call exit(). */
int outcome_code(const struct run_result *result);
/* The error that a cell raised, with all of its lines. The caller owns it. */
char *outcome_error(const struct run_result *result);
/* The position of the message in such a text; NULL if the text does not contain it. */
const char *outcome_find_message(const char *text, const char *message);
/* Prints on standard error what a local program would print at its end. */
void outcome_explain(const struct run_result *result);

#endif
