/* Errors in the form of Jupyter's `error` messages: ename, evalue and traceback. All return new references. */
#ifndef HUSK_JUPYTER_FACE_TROUBLE_H
#define HUSK_JUPYTER_FACE_TROUBLE_H

#include <jansson.h>

#include "manager/manager.h"

/* For a run that failed: its exception, or what happened to its interpreter. */
json_t *trouble_of_result(const struct run_result *r);
/* For a request that failed without a result. */
json_t *trouble_of_fail(const struct fail *f);
json_t *trouble_of_text(const char *name, const char *text);

#endif
