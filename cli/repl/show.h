/* What a cell leaves, on standard output and error: with colours and pictures where a terminal has them, plain elsewhere. */
#ifndef HUSK_CLI_REPL_SHOW_H
#define HUSK_CLI_REPL_SHOW_H

#include "cli/repl/output.h"
#include "manager/manager.h"

struct show;

/* The output must outlive it. */
struct show *show_new(struct output *output);
/* Accepts NULL, returns NULL. */
struct show *show_free(struct show *s);

/* As it comes; stream is 1 or 2. */
void show_output(struct show *s, int stream, const char *text, size_t n);
void show_display(struct show *s, const struct shown_display *display);
/* What does not come before the end: the value, the error, how it ended. */
void show_result(struct show *s, const struct run_result *result);
/* A line of our own, on standard error, and only on a terminal. */
void show_note(struct show *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The terminal has shown ^C. */
void show_interrupt(struct show *s);
/* So that a prompt stands at the left. */
void show_line_start(struct show *s);
/* The prompt in its colour and a blank, escape sequences between \1; the caller owns it. */
char *show_prompt(const struct show *s, const char *text);

#endif
