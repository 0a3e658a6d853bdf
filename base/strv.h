/* A NULL-terminated vector of owned strings: argument lists and environments. `struct strv v = { 0 }` is empty. */
#ifndef HUSK_BASE_STRV_H
#define HUSK_BASE_STRV_H

#include "base/defs.h"

struct strv {
	char **v; /* NULL-terminated once anything was added */
	size_t n;
};

void strv_release(struct strv *s);
void strv_add(struct strv *s, const char *value);
void strv_addf(struct strv *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Adds each argument up to a NULL. */
void strv_add_all(struct strv *s, ...) __attribute__((__sentinel__));
/* Adds NAME=value to an environment, replacing a variable of the same name. */
void strv_set_env(struct strv *env, const char *variable);
/* Index of a value; SIZE_MAX = not found. */
size_t strv_find(const struct strv *s, const char *value);
void strv_remove(struct strv *s, size_t at);
/* The vector in the form of execv and uv_spawn; never NULL. */
char **strv_argv(struct strv *s);

#endif
