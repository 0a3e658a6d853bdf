/* The names in the arguments of husk cp. Touches no file. */
#ifndef HUSK_CLI_CP_NAMES_H
#define HUSK_CLI_CP_NAMES_H

#include "base/fail.h"

/* SESSION:PATH; a word with a slash before its first colon is a path of this machine. Returns the path in the session, which points into
 * the word, and the session in *ret_session, which is the caller's; NULL if the word names no session. */
const char *cp_split(const char *word, char **ret_session);

/* The arguments of one husk cp, the destination last. -1 with f if there are fewer than two. The caller owns the
 * session. */
struct cp_names {
	bool in; /* into the session */
	char *session;
	const char *const *sources; /* as they were written, with SESSION: if they have it */
	size_t n;
	const char *destination; /* without SESSION: */
};
int cp_names_take(const char *const *words, struct cp_names *ret, struct fail *f);

/* "data/." and "." mean the content of the folder. */
bool cp_is_content(const char *path);
/* The last part of a path; unusable if it is "", "." or "..". The caller owns it. */
char *cp_base(const char *path);
/* The path in the session of a source called `base` that is copied to `path`. content: the source means the
 * content of its folder. many: there are several sources. The caller owns the result. */
char *cp_place(const char *path, const char *base, bool content, bool many);

#endif
