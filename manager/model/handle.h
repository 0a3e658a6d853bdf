/* What people and models call a session: its id, any prefix of the id that only one session has, or its name. */
#ifndef HUSK_MANAGER_MODEL_HANDLE_H
#define HUSK_MANAGER_MODEL_HANDLE_H

#include "base/fail.h"

/* Shorter than an id, so that neither can be taken for the other. */
#define HANDLE_NAME_MAX 25

struct handle {
	const char *id;
	const char *name; /* NULL = it has none */
	bool live;
};

/* Letters, digits, '.', '_' and '-', a letter first, at most HANDLE_NAME_MAX. */
bool handle_name_is_valid(const char *name);
/* The session that `word` means: by id, by the name of a live one, by a prefix of a live one's id, or by a prefix of another's. -1
 * with f if there is none (CAUSE_NO_SESSION), or if several match: the message lists them. */
int handle_find(const struct handle *v, size_t n, const char *word, size_t *ret, struct fail *f);

#endif
