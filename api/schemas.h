/* The JSON schemas of the API's answers, by name, for the description. */
#ifndef HUSK_API_SCHEMAS_H
#define HUSK_API_SCHEMAS_H

#include <jansson.h>

/* All of them as an object for OpenAPI's components.schemas. New reference. */
json_t *schemas_all(void);

#endif
