/* Edits one line, with a history of earlier lines: libedit behind a narrow interface. libedit is loaded with the
 * first editor, so that other verbs do not load it. */
#ifndef HUSK_CLI_REPL_EDIT_H
#define HUSK_CLI_REPL_EDIT_H

#include "base/defs.h"

struct edit;

/* The next character typed; -1 at the end of the input. */
typedef int32_t (*edit_get)(void *ctx);

/* An editor on standard input and output, which must be a terminal. NULL if libedit is missing. */
struct edit *edit_new(edit_get get, void *ctx);
/* Accepts NULL, returns NULL. */
struct edit *edit_free(struct edit *e);

/* Shows the prompt and an empty line. libedit controls the terminal until edit_end(). \1 surrounds escape
 * sequences in the prompt. */
void edit_begin(struct edit *e, const char *prompt);
void edit_end(struct edit *e);

enum edit_event {
	EDIT_GOES_ON,
	EDIT_ENTER,
	EDIT_END, /* Ctrl-D on an empty line, or the end of the input */
	EDIT_TAB, /* Tab, with text before the cursor */
};
/* Takes one key. */
enum edit_event edit_key(struct edit *e);
/* The line so far, owned by the caller, and how many bytes of it are before the cursor; both UTF-8. */
char *edit_text(struct edit *e, size_t *ret_cursor);
/* Inserts text, which may have several lines, at the cursor. */
void edit_insert(struct edit *e, const char *text);
/* Removes this many characters before the cursor. */
void edit_delete(struct edit *e, size_t characters);
/* Shows the line again after other output, on a new line. */
void edit_redraw(struct edit *e);

/* Adds text to the history, for the arrow keys. */
void edit_remember(struct edit *e, const char *text);

#endif
