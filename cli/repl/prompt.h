/* Reads standard input line by line, on request: edited at a terminal, unchanged from a pipe. */
#ifndef HUSK_CLI_REPL_PROMPT_H
#define HUSK_CLI_REPL_PROMPT_H

#include "base/loop.h"

struct prompt;

struct prompt_ops {
	/* The line that prompt_start() requested, without its line end. Pasted text may have several lines. on_line
	 * may call prompt_start() again. */
	void (*on_line)(void *ctx, const char *line, size_t n);
	/* Called instead of on_line at the end of the input, or after Ctrl-D. */
	void (*on_end)(void *ctx);
	/* Tab was pressed. */
	void (*on_tab)(void *ctx, const char *line, size_t n, size_t cursor);
	/* A sequence that may be the terminal's answer to a query; true if it was. */
	bool (*on_reply)(void *ctx, const char *sequence, size_t n);
};

enum prompt_kind {
	PROMPT_CODE,
	PROMPT_ANSWER,
	PROMPT_SECRET, /* the typed text is not shown */
};

/* Lines are edited only if standard input and output are both a terminal. */
struct prompt *prompt_new(struct loop *loop, const struct prompt_ops *ops, void *ctx);
/* Restores the terminal. Accepts NULL, returns NULL. */
struct prompt *prompt_free(struct prompt *p);
bool prompt_is_terminal(const struct prompt *p);

/* text is the prompt, with \1 around escape sequences. begun is the initial text of the line. */
void prompt_start(struct prompt *p, enum prompt_kind kind, const char *text, const char *begun);
bool prompt_is_active(const struct prompt *p);
/* Stops reading the line: the text is dropped, and the cursor is on a new line. */
void prompt_give_up(struct prompt *p);
/* The same after Ctrl-C, which is shown as ^C. */
void prompt_clear(struct prompt *p);

/* While a line is edited: replaces this many characters before the cursor with text. */
void prompt_change(struct prompt *p, size_t characters, const char *text);
/* Prints whole lines of text below the line, and shows the line again. */
void prompt_show(struct prompt *p, const char *text);
/* The line that is being edited, which may have changed since on_tab(), and the cursor. The caller owns it. */
char *prompt_line(struct prompt *p, size_t *ret_cursor);

/* Adds text to the history, for the arrow keys. */
void prompt_remember(struct prompt *p, const char *text);

/* Queries the terminal while no line is read; on_reply() gets the answers. on_done is called once, from the loop: after
 * ms milliseconds, or soon after prompt_answered(). */
void prompt_query_terminal(struct prompt *p, const char *query, uint64_t ms, void (*on_done)(void *ctx));
void prompt_answered(struct prompt *p);

#endif
