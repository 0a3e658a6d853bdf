/* Finds the files that .gitignore files exclude, by git's rules: later patterns override earlier ones, and those of
 * a folder override those of the folders above it. Patterns with more than a few `**`, and lines beyond a limit,
 * have no effect. */
#ifndef HUSK_MANAGER_FILES_IGNORE_H
#define HUSK_MANAGER_FILES_IGNORE_H

#include "base/strv.h"

#define IGNORE_FILE ".gitignore"
/* Limit for one file; the rest is not read. */
#define IGNORE_BYTES_MAX (64u << 10)

struct ignore_rule {
	char *pattern;
	size_t base; /* length of the path of the rule's folder */
	bool negated, folders_only;
	bool anchored; /* it matches paths relative to its folder; otherwise names anywhere below */
};

struct ignore {
	struct ignore_rule *rules;
	size_t n;
};
void ignore_release(struct ignore *g);

/* Adds the rules of a file in a folder whose path has this length, including the trailing slash. */
void ignore_add(struct ignore *g, const char *text, size_t n, size_t base);
/* Drops all rules but the first n. */
void ignore_cut(struct ignore *g, size_t n);
/* path: relative to the top folder, without a leading slash. */
bool ignore_matches(const struct ignore *g, const char *path, bool is_folder);

#endif
