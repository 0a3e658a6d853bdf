/* husk doctor: what manager/doctor finds, as lines for a person or as JSON. */
#ifndef HUSK_CLI_DOCTOR_H
#define HUSK_CLI_DOCTOR_H

#include "base/defs.h"

struct doctor_options {
	const char *env_file;
	bool json;
	bool try_sessions;
};

/* Blocks until all is checked. Returns the exit code: 0, or 1 if something has to be done before Husk works as it should. */
int doctor_run(const struct doctor_options *options);

#endif
