/* What a person at a terminal does about a failure, in terms of husk's verbs. It follows the manager's own hint. */
#ifndef HUSK_CLI_NEXT_STEP_H
#define HUSK_CLI_NEXT_STEP_H

#include "base/fail.h"

/* By the failure's cause; NULL if the hint says it all. */
const char *next_step_for_person(const struct fail *f);

#endif
