/* Converts failures to the errors that callers of libhusk get. */
#ifndef HUSK_LIBHUSK_ERROR_H
#define HUSK_LIBHUSK_ERROR_H

#include "base/fail.h"
#include "libhusk/husk.h"
#include "libhusk/pool.h"
#include "manager/manager.h"

/* Causes of this library, in addition to the manager's. */
enum { ERROR_MISUSE = CAUSE_COUNT, ERROR_CLOSED, ERROR_FORKED, ERROR_DEADLINE, ERROR_CANCELLED };

/* The caller frees it; NULL if f is not a failure. */
struct husk_error *error_of(const struct fail *f);
/* Likewise, but the error is allocated from an answer's pool and freed with it. */
const struct husk_error *error_in(struct pool *p, const struct fail *f);

/* Sets the failure and returns -1. */
int error_set(struct fail *f, enum fail_kind kind, int cause, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* For a call with invalid arguments. */
struct husk_error *error_misuse(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* For a missing argument, which is named as in husk.h. */
struct husk_error *error_missing(const char *function, const char *argument);

#endif
