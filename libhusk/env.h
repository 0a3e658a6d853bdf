/* Splits the caller's "NAME=value" lists. */
#ifndef HUSK_LIBHUSK_ENV_H
#define HUSK_LIBHUSK_ENV_H

#include "base/strv.h"
#include "libhusk/error.h"

struct env_list {
	struct strv text;
	struct env_var *v;
	size_t n;
};

/* `pairs` ends with NULL; if it is NULL, the list is empty. */
struct husk_error *env_take(struct env_list *ret, const char *function, const char *const *pairs);
void env_release(struct env_list *list);

#endif
