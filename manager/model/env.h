/* Environment variables for a call or a session. Values may be secrets: they are sent to PID 1 and kept nowhere
 * else. */
#ifndef HUSK_MANAGER_MODEL_ENV_H
#define HUSK_MANAGER_MODEL_ENV_H

#include "base/fail.h"
#include "base/strv.h"

/* Limit for all variables together, each counted as NAME=value with a NUL. */
#define ENV_BYTES_MAX (64u << 10)

struct env_var {
	const char *name;
	const char *value;
};

/* 0, or -1 with f for an invalid name (empty, too long, or with `=`, a blank or a control character) or more than
 * ENV_BYTES_MAX. */
int env_check(const struct env_var *v, size_t n, struct fail *f);
/* Adds the variables as NAME=value. */
void env_copy(struct strv *out, const struct env_var *v, size_t n);
/* The names of the variables, separated by blanks, for the history; NULL if there are none. The caller owns the
 * text. */
char *env_names(const struct env_var *v, size_t n);

#endif
