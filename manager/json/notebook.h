/* A session as a notebook (nbformat 4.5), for `husk history --ipynb` and the API. */
#ifndef HUSK_MANAGER_JSON_NOTEBOOK_H
#define HUSK_MANAGER_JSON_NOTEBOOK_H

#include <jansson.h>

#include "manager/manager.h"

/* The caller owns the result. NULL if the session's code was not stored. */
json_t *notebook_of(const struct history *history, const char *session);

#endif
