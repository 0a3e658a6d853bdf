/* Problem details (RFC 9457): the body of answers that report a failure. */
#ifndef HUSK_HTTP_PROBLEM_H
#define HUSK_HTTP_PROBLEM_H

#include "base/json.h"

/* type, title, status, detail, and two members of ours: `cause`, a word for programs, and `hint`, what to do next.
 * cause NULL = a word for the status, such as "not_found"; hint NULL = the usual one for the status. */
json_t *http_problem(int status, const char *cause, const char *detail, const char *hint);
/* The usual hint for the status; static. */
const char *http_problem_hint(int status);

#endif
