/* husk exports, husk history: the records of the store, as a table for people or as JSON for scripts. */
#ifndef HUSK_CLI_RECORDS_H
#define HUSK_CLI_RECORDS_H

#include "cli/options.h"

/* VERB_EXPORTS or VERB_HISTORY. Prints to stdout; returns the exit code. */
int records_run(const struct options *options);

#endif
