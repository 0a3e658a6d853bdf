/* Parses JSON without its long strings. A picture is one string of a megabyte in a short message. Parsing that string
 * into a tree and printing it again would cost more than all other work on the message. An outline only checks the
 * string and leaves it where it is. */
#ifndef HUSK_BASE_OUTLINE_H
#define HUSK_BASE_OUTLINE_H

#include "base/buf.h"

/* From this length on, leaving a string out is cheaper than parsing it. */
#define OUTLINE_MIN 2048u

struct outline {
	struct buf text; /* the JSON, with a mark for each string that was left out */
	struct outline_string {
		const char *at; /* position in the JSON, between the quotes */
		size_t len;
	} * strings;
	size_t n;
	const char *mark;
};

/* Leaves out valid string values (not names) of at least min bytes. Invalid ones stay in for the parser to reject.
 * Without a mark, each is replaced by "", even if it contains escapes. With a mark, each is replaced by a string that
 * begins with the mark, and strings with escapes stay in. Peers must not know the mark. The JSON and the mark must
 * outlive the outline. */
void outline_make(struct outline *o, const void *json, size_t n, size_t min, const char *mark);
void outline_release(struct outline *o);

/* The string that a value of the parsed text replaces, or NULL if it is an ordinary string. */
const struct outline_string *outline_find(const struct outline *o, const char *value);

/* How many bytes from s on are ASCII that needs no escape in JSON; may stop up to seven bytes early. */
size_t outline_plain_run(const uint8_t *s, size_t n);

#endif
