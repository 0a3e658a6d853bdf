/* Prints the output of a cell: with colours and pictures at a terminal that supports them, otherwise plain. */
#ifndef HUSK_CLI_REPL_SHOW_H
#define HUSK_CLI_REPL_SHOW_H

#include "cli/repl/output.h"
#include "manager/manager.h"

struct show;

/* output must live until show_free(). */
struct show *show_new(struct output *output);
/* Accepts NULL, returns NULL. */
struct show *show_free(struct show *s);

/* Shows output as it arrives; stream is 1 or 2. */
void show_output(struct show *s, int stream, const char *text, size_t n);
void show_display(struct show *s, const struct shown_display *display);
/* Shows the value or error of the cell and how it ended, which are known only at its end. */
void show_result(struct show *s, const struct run_result *result);
/* Prints a message from husk itself on standard error, only at a terminal. */
void show_note(struct show *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The terminal has shown ^C. */
void show_interrupt(struct show *s);
/* Starts a new line if needed, so that a prompt is at the left margin. */
void show_line_start(struct show *s);
/* The coloured prompt and a blank, with \1 around escape sequences. The caller owns it. */
char *show_prompt(const struct show *s, const char *text);

#endif
