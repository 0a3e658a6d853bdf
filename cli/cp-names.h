/* Which names the words of husk cp mean. Touches no file. */
#ifndef HUSK_CLI_CP_NAMES_H
#define HUSK_CLI_CP_NAMES_H

#include "base/fail.h"

/* SESSION:PATH; a word with a slash before its first colon is a path of this machine. Returns the path in the session, which points into
 * the word, and the session in *ret_session, which is the caller's; NULL if the word names no session. */
const char *cp_split(const char *word, char **ret_session);

/* The words of one call, the destination last; at least two, or f says so. The session is the caller's. */
struct cp_names {
	bool in; /* into the session */
	char *session;
	const char *const *sources; /* as they were written, with SESSION: in front if they are in one */
	size_t n;
	const char *destination; /* without SESSION: */
};
int cp_names_take(const char *const *words, struct cp_names *ret, struct fail *f);

/* "data/." and "." mean what the folder holds. */
bool cp_is_content(const char *path);
/* The last part of a path, of no use if it is "", "." or "..". The caller's. */
char *cp_base(const char *path);
/* The place in the session of what is called `base`, if `path` is where it is copied to; content: of what the folder holds. `many` = it is
 * one of several. The caller's. */
char *cp_place(const char *path, const char *base, bool content, bool many);

#endif
