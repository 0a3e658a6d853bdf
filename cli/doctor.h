/* husk doctor: prints the findings of manager/doctor as lines for people or as JSON. */
#ifndef HUSK_CLI_DOCTOR_H
#define HUSK_CLI_DOCTOR_H

#include "cli/options.h"

/* Returns the exit code: EXIT_NO if something has to be done before Husk works properly. */
int doctor_run(const struct options *options);

#endif
