/* Standard input, a line at a time, when it is asked for: edited on a terminal, as it comes from a pipe. */
#ifndef HUSK_CLI_REPL_PROMPT_H
#define HUSK_CLI_REPL_PROMPT_H

#include "base/loop.h"

struct prompt;

struct prompt_ops {
	/* The answer to prompt_ask(), without the line's end; what was pasted may have several lines. The next one may be asked for from
	 * inside. */
	void (*on_line)(void *ctx, const char *line, size_t n);
	/* In its place: there is no more, or Ctrl-D. */
	void (*on_end)(void *ctx);
	/* Somebody wants to know how it could go on. */
	void (*on_tab)(void *ctx, const char *line, size_t n, size_t cursor);
	/* A sequence that may be the terminal's answer to a question; true if it was. */
	bool (*on_reply)(void *ctx, const char *sequence, size_t n);
};

enum prompt_kind {
	PROMPT_CODE,
	PROMPT_ANSWER,
	PROMPT_SECRET, /* is not shown */
};

/* A terminal is edited only if both ends are one. */
struct prompt *prompt_new(struct loop *loop, const struct prompt_ops *ops, void *ctx);
/* Leaves the terminal as it was. Accepts NULL, returns NULL. */
struct prompt *prompt_free(struct prompt *p);
bool prompt_is_terminal(const struct prompt *p);

/* text is the prompt, escape sequences between \1; begun is what the line begins with. */
void prompt_ask(struct prompt *p, enum prompt_kind kind, const char *text, const char *begun);
bool prompt_is_asking(const struct prompt *p);
/* Nobody is asked any more; what was typed is forgotten, and the cursor is on a new line. */
void prompt_give_up(struct prompt *p);
/* The same for Ctrl-C, which is shown. */
void prompt_clear(struct prompt *p);

/* While a line is edited: replaces so many characters before the cursor. */
void prompt_change(struct prompt *p, size_t characters, const char *text);
/* Text of whole lines below the line, which is shown again. */
void prompt_show(struct prompt *p, const char *text);
/* The same line as on_tab() was told of, for those who answer late. */
char *prompt_line(struct prompt *p, size_t *ret_cursor);

/* For the arrow keys. */
void prompt_remember(struct prompt *p, const char *text);

/* Asks the terminal, while nobody else is asked; on_reply() gets what it says. on_done is called once, after ms at the latest, never from
 * inside; prompt_answered() makes that soon. */
void prompt_question(struct prompt *p, const char *question, uint64_t ms, void (*on_done)(void *ctx));
void prompt_answered(struct prompt *p);

#endif
