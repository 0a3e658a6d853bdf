/* What can be asked of a session's interpreter while it is idle, and its answer: bounded, clean UTF-8. Positions count code points. */
#ifndef HUSK_MANAGER_MODEL_ASK_H
#define HUSK_MANAGER_MODEL_ASK_H

#include "base/defs.h"

enum ask_kind {
	ASK_COMPLETE,	 /* what could stand at the cursor */
	ASK_INSPECT,	 /* what is known of what stands there */
	ASK_IS_COMPLETE, /* is the code whole, or does it go on? */
	ASK_KINDS,
};

enum completeness { CODE_UNKNOWN, CODE_COMPLETE, CODE_INCOMPLETE, CODE_INVALID, CODE_COMPLETENESSES };

struct ask_answer {
	enum ask_kind kind;
	/* ASK_COMPLETE: each may stand in place of the code from start to before end. */
	char **matches;
	size_t n_matches;
	bool more; /* there are others */
	size_t start, end;
	/* ASK_INSPECT */
	bool found;
	char *text; /* NULL if nothing was found */
	char *html; /* the same, if the interpreter has it; NULL = none */
	/* ASK_IS_COMPLETE */
	enum completeness completeness;
	char *indent; /* CODE_INCOMPLETE: what the next line may begin with; never NULL */
};

void ask_answer_release(struct ask_answer *a);

/* "complete", "inspect", "is_complete". */
const char *ask_kind_name(enum ask_kind kind);
/* "unknown", "complete", "incomplete", "invalid". */
const char *completeness_name(enum completeness c);
/* CODE_UNKNOWN for any other name, and for NULL. */
enum completeness completeness_find(const char *name);

#endif
