/* The steps of a request before its handler: route, caller, conversation, session, parameters and body. Each step either
 * continues with the next, now or later, or answers. */
#ifndef HUSK_API_STEPS_H
#define HUSK_API_STEPS_H

#include "api/exchange.h"

void steps_begin(struct api *api, struct http_request *r);

#endif
