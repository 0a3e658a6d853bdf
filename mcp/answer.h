/* The text of a run's answer, as a model reads it: how it ended, unless ok; then everything in the order it was produced, what
 * was printed as it is, the rest under labels; then notes. Pure.
 *
 * Labels are in ⟦ ⟧, which no program can print (base/utf8.h): what is in them is Husk's own word. */
#ifndef HUSK_MCP_ANSWER_H
#define HUSK_MCP_ANSWER_H

#include "manager/manager.h"
#include "mcp/display.h"

struct run_context {
	const char *session_id;
	bool terminal; /* a command, not a cell */
	uint64_t timeout_seconds;
	bool structured;   /* add structuredContent */
	bool user_answers; /* a prompt goes to the client's user: no hint how to answer it */
	bool interleaved;  /* text, picture, text, … instead of one text and then the pictures */
	size_t max_chars;  /* of the text; 0 = ANSWER_CHARS */
};

#define ANSWER_CHARS 20000

/* The pictures must have been collected from this run and chosen from. The caller owns the text. */
char *answer_text(const struct run_result *run, const struct run_context *ctx, const struct pictures *pictures);
/* What to do next; NULL if there is nothing to say. The caller owns it. */
char *answer_hint(const struct run_result *run, const struct run_context *ctx);

/* Where the mark of a picture begins in a text of ours, with its end and its number; NULL if there is none. */
const char *answer_mark(const char *text, const char **ret_end, unsigned *ret_number);

#endif
