/* JSON with its long strings left out. A picture is one string of a megabyte in a message of a few words: to parse it as part
 * of a tree, and to print it again, costs more than all else that is done with it. Here it is checked, and stays where it is. */
#ifndef HUSK_BASE_OUTLINE_H
#define HUSK_BASE_OUTLINE_H

#include "base/buf.h"

/* From here on a string costs less to leave out than to parse. */
#define OUTLINE_MIN 2048u

struct outline {
	struct buf text; /* the JSON, in which a mark stands for each string that was left out */
	struct outline_string {
		const char *at; /* in the JSON: what is between the quotes */
		size_t len;
	} * strings;
	size_t n;
	const char *mark;
};

/* Leaves out values (not names) of at least min bytes that are valid. Anything that is not is left in for the parser to
 * refuse. Without a mark, "" stands for all of them, also for such with escapes in them; with one, a string that begins with it
 * stands for each, and only strings without escapes are left out. Nothing from outside may know the mark. The JSON and the mark
 * must outlive the outline. */
void outline_make(struct outline *o, const void *json, size_t n, size_t min, const char *mark);
void outline_release(struct outline *o);

/* The string that a value of the parsed text stands for, or NULL if it is just a string. */
const struct outline_string *outline_find(const struct outline *o, const char *value);

/* How many bytes from s on are ASCII that a JSON string holds as it is; it may stop up to seven too early. */
size_t outline_plain_run(const uint8_t *s, size_t n);

#endif
