/* Prints the tour, with colours only at a terminal that has them (cli/columns.h). */
#ifndef HUSK_CLI_DEMO_PRINT_H
#define HUSK_CLI_DEMO_PRINT_H

#include "base/defs.h"

void demo_print_title(void);
/* Announces the next step. tool and text may be NULL. */
void demo_print_step(size_t number, size_t of, const char *say, const char *tool, const char *text);
void demo_print_time(uint64_t ms);
void demo_print_answer(const char *text);
void demo_print_picture(const char *path, size_t bytes);
/* Prints to stderr. next is NULL if `what` already contains the next step. */
void demo_print_failure(const char *what, const char *next);
/* Prints how to add the program at `self` to a client. */
void demo_print_end(uint64_t ms, const char *self);

#endif
