/* What .gitignore files name, by git's rules: later patterns win over earlier ones, those of a folder over those above it. Patterns with
 * more than a few `**`, and lines beyond a bound, are left out. */
#ifndef HUSK_MANAGER_FILES_IGNORE_H
#define HUSK_MANAGER_FILES_IGNORE_H

#include "base/strv.h"

#define IGNORE_FILE ".gitignore"
/* Of one file; the rest is not read. */
#define IGNORE_BYTES_MAX (64u << 10)

struct ignore_rule {
	char *pattern;
	size_t base; /* so many bytes of a path are the folder of the rule */
	bool negated, folders_only;
	bool anchored; /* to its folder; otherwise it is about a name anywhere below */
};

struct ignore {
	struct ignore_rule *rules;
	size_t n;
};
void ignore_release(struct ignore *g);

/* Adds the rules of a file in a folder whose path has so many bytes, the slash behind it included. */
void ignore_add(struct ignore *g, const char *text, size_t n, size_t base);
/* Drops the rules that were added after there were n. */
void ignore_cut(struct ignore *g, size_t n);
/* path: from the top folder, without a leading slash. */
bool ignore_matches(const struct ignore *g, const char *path, bool is_folder);

#endif
