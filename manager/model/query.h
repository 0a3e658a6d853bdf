/* A query to a session's idle interpreter, and its answer: bounded, clean UTF-8. Positions count code points. */
#ifndef HUSK_MANAGER_MODEL_QUERY_H
#define HUSK_MANAGER_MODEL_QUERY_H

#include "base/defs.h"

enum query_kind {
	QUERY_COMPLETE,	   /* completions at the cursor */
	QUERY_INSPECT,	   /* help on the name at the cursor */
	QUERY_IS_COMPLETE, /* whether the code is complete */
	QUERY_KINDS,
};

enum completeness { CODE_UNKNOWN, CODE_COMPLETE, CODE_INCOMPLETE, CODE_INVALID, CODE_COMPLETENESSES };

struct query_answer {
	enum query_kind kind;
	/* QUERY_COMPLETE: each match can replace the code from `start` up to, but not including, `end`. */
	char **matches;
	size_t n_matches;
	bool more; /* there are more matches */
	size_t start, end;
	/* QUERY_INSPECT */
	bool found;
	char *text; /* NULL if nothing was found */
	char *html; /* the same as HTML, if the interpreter has it; NULL = none */
	/* QUERY_IS_COMPLETE */
	enum completeness completeness;
	char *indent; /* CODE_INCOMPLETE: indentation of the next line; never NULL */
};

void query_answer_release(struct query_answer *a);

/* "complete", "inspect", "is_complete". */
const char *query_kind_name(enum query_kind kind);
/* "unknown", "complete", "incomplete", "invalid". */
const char *completeness_name(enum completeness c);
/* CODE_UNKNOWN for any other name, and for NULL. */
enum completeness completeness_find(const char *name);

#endif
