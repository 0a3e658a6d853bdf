/* Failures as the callers of libhusk get them. */
#ifndef HUSK_LIBHUSK_ERROR_H
#define HUSK_LIBHUSK_ERROR_H

#include "base/fail.h"
#include "libhusk/husk.h"
#include "libhusk/pool.h"
#include "manager/manager.h"

/* Causes of this library's own, beside those of the manager. */
enum { ERROR_MISUSE = CAUSE_COUNT, ERROR_CLOSED, ERROR_FORKED, ERROR_DEADLINE, ERROR_CANCELLED };

/* The caller's to free; NULL for a failure that is none. */
struct husk_error *error_of(const struct fail *f);
/* The same as part of an answer. */
const struct husk_error *error_in(struct pool *p, const struct fail *f);

/* Sets the failure; -1. */
int error_set(struct fail *f, enum fail_kind kind, int cause, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* For a call that makes no sense. */
struct husk_error *error_misuse(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* Such as a missing argument: its name is what the header calls it. */
struct husk_error *error_missing(const char *function, const char *argument);

#endif
