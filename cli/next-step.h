/* Next steps for a person at a terminal, in terms of husk's verbs. They are printed after the manager's own hint. */
#ifndef HUSK_CLI_NEXT_STEP_H
#define HUSK_CLI_NEXT_STEP_H

#include "base/fail.h"

/* Chosen by the cause of the failure; NULL if the manager's hint is enough. */
const char *next_step_for_person(const struct fail *f);

#endif
