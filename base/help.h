/* The verbs and options of a program in one table: --help prints it, tools/pages writes the man page from it, and a
 * verb's options are checked against it. All strings are static ASCII; lists end with an entry that is all NULL. */
#ifndef HUSK_BASE_HELP_H
#define HUSK_BASE_HELP_H

#include <getopt.h>
#include <stdio.h>

#include "base/defs.h"

/* Help is laid out for a terminal of 80 columns. */
#define HELP_WIDTH 79

struct help_option {
	const char *name;     /* without the dashes */
	const char *argument; /* NULL = takes none */
	const char *text;     /* NULL = internal: in neither the help nor the man page */
	char letter;	      /* its short form; 0 = none */
};

/* An exit code or a key and its meaning; an example and what it does. */
struct help_pair {
	const char *term, *text;
};

struct help_verb {
	const char *name;		   /* NULL: the program itself, which has no verbs */
	size_t group;			   /* of help_program.groups */
	const char *summary;		   /* one line that begins with an imperative */
	const char *const *usage;	   /* what follows the name, one line for each form */
	const char *const *text;	   /* paragraphs; may be NULL, like those below */
	const struct help_pair *keys;	   /* what can be typed while it runs */
	const struct help_option *options; /* in addition to those of help_program */
	const struct help_pair *examples;
	const struct help_pair *codes;
};

struct help_program {
	const char *name, *summary;
	const char *const *text;
	const char *const *groups; /* titles */
	const struct help_verb *verbs;
	size_t n_verbs;
	const struct help_option *options; /* that all verbs take */
};

/* The verbs in their groups, one line each. */
void help_print(FILE *to, const struct help_program *p);
/* Usage, description, options, examples and exit codes of one verb. */
void help_print_verb(FILE *to, const struct help_program *p, const struct help_verb *v);
/* Printed after a mistake: the usage of the verb, and a line that says how to get its help. v NULL = the program. */
void help_print_usage(FILE *to, const struct help_program *p, const struct help_verb *v);
void help_print_pointer(FILE *to, const struct help_program *p, const struct help_verb *v);

/* NULL if there is none. Options of the program belong to every verb; v may be NULL. */
const struct help_verb *help_find_verb(const struct help_program *p, const char *name);
const struct help_option *help_find_option(const struct help_program *p, const struct help_verb *v, const char *name);
/* The verb or option that was probably meant; NULL if none is near. */
const char *help_nearest_verb(const struct help_program *p, const char *name);
const char *help_nearest_option(const struct help_program *p, const struct help_verb *v, const char *name);

/* Fills *ret for getopt_long(): one entry per option and an empty one at the end. Values are numbered from `first`
 * on. */
void help_long_options(const struct help_option *options, int first, struct option *ret);

/* How many letters must be added, removed, changed or swapped with a neighbour to turn a into b. The result is at most
 * `most`, which is also returned for words of more than 64 letters. */
size_t help_distance(const char *a, const char *b, size_t most);

#endif
