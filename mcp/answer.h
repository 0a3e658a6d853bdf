/* The text of a run's answer, as a model reads it: first the ending, unless it is ok; then all output in the order in
 * which it was produced, printed text unchanged and the rest under labels; then notes. Pure.
 *
 * Programs cannot print ⟦ ⟧ (base/utf8.h), so labels in these brackets always come from Husk. */
#ifndef HUSK_MCP_ANSWER_H
#define HUSK_MCP_ANSWER_H

#include "manager/manager.h"
#include "mcp/display.h"

struct run_context {
	const char *session_id;
	bool terminal;	/* a command, not a cell */
	bool restarted; /* a later run restarted the kernel, and the same answer reports it */
	uint64_t timeout_seconds;
	bool structured;   /* add structuredContent */
	bool user_answers; /* the client's user answers the prompt, so the model needs no hint about it */
	bool app;	   /* the client shows the document of MCP Apps */
	bool interleaved;  /* text, picture, text, … instead of one text and then the pictures */
	size_t max_chars;  /* limit of the text; 0 = ANSWER_CHARS */
};

#define ANSWER_CHARS 20000

/* The pictures must have been collected from this run and chosen (display.h). The caller owns the text. */
char *answer_text(const struct run_result *run, const struct run_context *ctx, const struct pictures *pictures);
/* The next step for the model; NULL if there is none. The caller owns it. */
char *answer_hint(const struct run_result *run, const struct run_context *ctx);

/* Finds the mark of a picture in an answer's text, with its end and number; NULL if there is none. */
const char *answer_mark(const char *text, const char **ret_end, unsigned *ret_number);

#endif
