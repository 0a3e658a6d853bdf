/* The OpenAPI 3.1 description, made from the table of routes. */
#ifndef HUSK_API_OPENAPI_H
#define HUSK_API_OPENAPI_H

#include <jansson.h>

/* New reference. */
json_t *openapi_describe(void);

#endif
