/* Shared by the routes of runs. */
#ifndef HUSK_API_RUNS_H
#define HUSK_API_RUNS_H

#include "api/exchange.h"

/* Answers at once, after a wait or with a stream, as the request prefers. The exchange must have no data and no operation.
 * Callbacks and `by` of the request are set here; its text is only used during the call. */
void runs_start(struct exchange *x, struct run_request *request);
/* The number of the run in the path. Answers with 404 and returns false if it is not a number. */
bool runs_take_number(struct exchange *x, uint64_t *ret);
/* Calls fn with the record of the run, once a session of a server that ended is here. Otherwise answers with the failure. */
void runs_fetch(struct exchange *x, uint64_t number, void (*fn)(struct exchange *x, const struct run_record *record));

#endif
