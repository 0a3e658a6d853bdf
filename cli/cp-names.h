/* The names in the arguments of husk cp. Touches no file. */
#ifndef HUSK_CLI_CP_NAMES_H
#define HUSK_CLI_CP_NAMES_H

#include "base/fail.h"

/* Splits SESSION:PATH. Returns the path, which points into the word, and the session in *ret_session, which the caller
 * frees. NULL if the word names no session: with a slash before its first colon it is a path on this machine. */
const char *cp_split(const char *word, char **ret_session);

/* The arguments of one husk cp; the last one is the destination. cp_names_take() returns -1 with f unless there are at
 * least two, and either the destination or all sources are in one session. The caller frees the session. */
struct cp_names {
	bool in; /* into the session */
	char *session;
	const char *const *sources; /* as they were written, with SESSION: if they have it */
	size_t n;
	const char *destination; /* without SESSION: */
};
int cp_names_take(const char *const *words, struct cp_names *ret, struct fail *f);

/* True for paths such as "data/." and ".", which mean the content of the folder. */
bool cp_is_content(const char *path);
/* The last part of a path; unusable if it is "", "." or "..". The caller owns it. */
char *cp_base(const char *path);
/* The path in the session for a source called `base` that is copied to `path`. content: the content of the source
 * folder is copied, not the folder itself. many: there are several sources. *ret_may_be_folder: if the session has a folder at
 * the result, the copy goes into that folder as `base`. The caller owns the result. */
char *cp_place(const char *path, const char *base, bool content, bool many, bool *ret_may_be_folder);

#endif
