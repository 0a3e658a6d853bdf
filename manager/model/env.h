/* Environment variables that a call or a session is to have. Values may be secrets: they are sent to PID 1 and kept nowhere else. */
#ifndef HUSK_MANAGER_MODEL_ENV_H
#define HUSK_MANAGER_MODEL_ENV_H

#include "base/fail.h"
#include "base/strv.h"

/* As NAME=value with a NUL each. */
#define ENV_BYTES_MAX (64u << 10)

struct env_var {
	const char *name;
	const char *value;
};

/* 0, or -1 with f: a name that is none (empty, with `=`, a blank or a control character, too long), or more than ENV_BYTES_MAX. */
int env_check(const struct env_var *v, size_t n, struct fail *f);
/* Adds them as NAME=value. */
void env_copy(struct strv *out, const struct env_var *v, size_t n);
/* Their names, with a blank between them, for the history; NULL for none. The caller owns it. */
char *env_names(const struct env_var *v, size_t n);

#endif
