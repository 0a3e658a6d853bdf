/* Failures as HTTP: the status of a failure, and its problem details (RFC 9457). */
#ifndef HUSK_API_PROBLEM_H
#define HUSK_API_PROBLEM_H

#include <jansson.h>

#include "base/fail.h"

/* The status of an answer with this failure. */
int problem_status(const struct fail *f);
/* The value of Retry-After in seconds; 0 = the field is left out. */
unsigned problem_retry_after(const struct fail *f);
/* The body. remote: sentences that may name things of the host are replaced. New reference. */
json_t *problem_body(int status, const struct fail *f, bool remote);
/* The same for a problem of HTTP itself. hint may be NULL. */
json_t *problem_plain(int status, const char *detail, const char *hint);

#endif
