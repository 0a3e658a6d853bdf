/* One line being typed, and those that were typed before: libedit behind a narrow interface. It is loaded when the first one is made,
 * so that nobody else pays for it. */
#ifndef HUSK_CLI_REPL_EDIT_H
#define HUSK_CLI_REPL_EDIT_H

#include "base/defs.h"

struct edit;

/* The next character typed; -1 when there will be no more. */
typedef int32_t (*edit_get)(void *ctx);

/* On standard input and output, which are a terminal. NULL if there is no libedit. */
struct edit *edit_new(edit_get get, void *ctx);
/* Accepts NULL, returns NULL. */
struct edit *edit_free(struct edit *e);

/* Shows the prompt and an empty line; the terminal is libedit's until edit_end(). Escape sequences in the prompt stand between \1. */
void edit_begin(struct edit *e, const char *prompt);
void edit_end(struct edit *e);

enum edit_event {
	EDIT_GOES_ON,
	EDIT_ENTER,
	EDIT_END, /* Ctrl-D on an empty line, or there is nobody any more */
	EDIT_TAB, /* after something */
};
/* Takes one key. */
enum edit_event edit_key(struct edit *e);
/* The line so far, owned by the caller, and how many bytes of it are before the cursor; both UTF-8. */
char *edit_text(struct edit *e, size_t *ret_cursor);
/* At the cursor; may have several lines. */
void edit_insert(struct edit *e, const char *text);
/* Removes so many characters before the cursor. */
void edit_delete(struct edit *e, size_t characters);
/* After something else was written, on a new line. */
void edit_redraw(struct edit *e);

/* For the arrow keys. */
void edit_remember(struct edit *e, const char *text);

#endif
