/* Decodes arguments once, at the edge: a table describes how a JSON object becomes a plain struct. The published
 * JSON schema comes from the same table, so the two cannot drift apart. All problems are reported together, each
 * with the field's name and an example.
 *
 *	static const struct arg stop_args[] = {
 *		{ "session_id", ARG_STRING, offsetof(struct stop_args, session_id), .flags = ARG_REQUIRED,
 *		  .description = "…", .example = "\"4f2k…\"" },
 *		{ 0 }
 *	};
 * */
#ifndef HUSK_BASE_ARGS_H
#define HUSK_BASE_ARGS_H

#include <jansson.h>

#include "base/defs.h"

enum arg_type {
	ARG_STRING,  /* const char *: borrowed from the JSON, without NULs */
	ARG_INT,     /* int64_t */
	ARG_BOOL,    /* bool */
	ARG_OBJECT,  /* json_t *: borrowed */
	ARG_LIST,    /* json_t *: borrowed; a non-empty list of objects that match the table `item` */
	ARG_NUMBER,  /* double: above 0 */
	ARG_SIZE,    /* uint64_t: bytes, above 0, from "4g", "512m" or a plain number of bytes */
	ARG_STRINGS, /* json_t *: borrowed; a list of at most `max` strings without NULs */
	ARG_SWITCH,  /* struct arg_switch: true, false, or a list of at most `max` strings without NULs */
	ARG_TEXTS,   /* json_t *: borrowed; an object whose values are strings without NULs, or null for "" */
};

struct arg_switch {
	bool on;
	json_t *list; /* borrowed; NULL = none was given */
};

enum arg_flags {
	ARG_REQUIRED = 1,
	ARG_NONEMPTY = 2, /* strings: neither "" nor only white space */
	ARG_BLANK = 8,	  /* strings: not empty, but white space alone is accepted */
	ARG_HIDDEN = 4,	  /* accepted, but in neither the schema nor the lists of known names */
	ARG_ABSENT = 16, /* the schema states no default, because models should omit the argument unless they need it */
};

struct arg {
	const char *name; /* NULL ends the table */
	enum arg_type type;
	size_t offset;
	unsigned flags;
	int64_t min, max; /* integers: the range, if max > min; strings: max bytes, if max > 0; lists: max entries */
	const char *description;
	const char *example; /* as JSON text, for error messages */
	/* Strings: the i-th canonical value, NULL past the last. Published as an enum. The caller decides whether
	 * a value is one of them or an alias. NULL if any value is accepted. */
	const char *(*choice)(size_t i);
	/* Lists: the table for an entry, and the size of the struct that it is decoded into. */
	const struct arg *item;
	size_t item_size;
};

/* Fills *out, which already holds the defaults, from `args` (an object, or NULL for no arguments; must outlive *out).
 * If an optional argument is null, its default is kept. Unambiguous slips are accepted: "30" for 30, 30.0 for 30,
 * "true" for true. Returns NULL on success, else a list of { type, loc, msg, input? } that the caller owns. */
json_t *args_decode(const struct arg *table, json_t *args, void *out);
/* All messages of such a list as one text that the caller owns. */
char *args_problems_text(const json_t *problems);
/* The JSON schema: flat, with no additional properties. Defaults are read from *defaults. The caller owns the
 * result. */
json_t *args_schema(const struct arg *table, const void *defaults);

#endif
