/* How something went wrong, as Jupyter's `error` has it: ename, evalue and traceback. New references. */
#ifndef HUSK_JUPYTER_FACE_TROUBLE_H
#define HUSK_JUPYTER_FACE_TROUBLE_H

#include <jansson.h>

#include "manager/manager.h"

/* Of a run that did not end well: what it raised, and what became of the interpreter. */
json_t *trouble_of_result(const struct run_result *r);
/* Nothing ran. */
json_t *trouble_of_fail(const struct fail *f);
json_t *trouble_of_text(const char *name, const char *text);

#endif
