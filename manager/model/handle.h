/* How people and models refer to a session: its id, a unique prefix of the id, or its name. */
#ifndef HUSK_MANAGER_MODEL_HANDLE_H
#define HUSK_MANAGER_MODEL_HANDLE_H

#include "base/fail.h"

/* Shorter than an id, so that a name cannot be mistaken for an id. */
#define HANDLE_NAME_MAX 25

struct handle {
	const char *id;
	const char *name; /* NULL = unnamed */
	bool live;
};

/* Letters, digits, '.', '_' and '-', a letter first, at most HANDLE_NAME_MAX. */
bool handle_name_is_valid(const char *name);
/* True if the word can be a name or the beginning of an id: 1 to HANDLE_NAME_MAX of the characters above. */
bool handle_is_word(const char *word);
/* Finds the session that `word` refers to. It is compared, in this order, with ids, names of live sessions,
 * prefixes of live sessions' ids, and prefixes of ended sessions' ids. -1 with f if there is none
 * (CAUSE_NO_SESSION), or if several match; the message lists them. */
int handle_find(const struct handle *v, size_t n, const char *word, size_t *ret, struct fail *f);

#endif
