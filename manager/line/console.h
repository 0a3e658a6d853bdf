/* Consoles on a line: terminals at which a person sits, as bytes both ways. They are not replayed: a connection that breaks ends
 * them, and PID 1 hangs up by itself. Nothing is buffered here: both directions go by credit that their far ends give. */
#ifndef HUSK_MANAGER_LINE_CONSOLE_H
#define HUSK_MANAGER_LINE_CONSOLE_H

#include "manager/line/dispatch.h"

/* Embedded in its owner. */
struct console {
	/* What the terminal shows: console_taken() is to follow. */
	void (*on_bytes)(struct console *c, const void *data, size_t n);
	/* What a program with pipes writes to stderr; likewise. */
	void (*on_error_bytes)(struct console *c, const void *data, size_t n);
	/* So much of what was typed has arrived, and more may be typed. */
	void (*on_typed)(struct console *c, size_t n);
	/* Once, and last: how its program ended, or why there is none (f). */
	void (*on_end)(struct console *c, const struct wire_console_end *end, const struct fail *f);

	/* Private. */
	struct list node;
	struct dispatch *dispatch; /* NULL = not open */
	uint32_t call;
	bool abandoned;
	uint32_t typed;	   /* and not credited */
	uint32_t shown;	   /* and not taken */
	uint32_t credited; /* taken, and PID 1 does not know it yet */
};

/* -1 with f filled if there can be none now. The callbacks are set. */
int console_open(struct console *c, struct dispatch *d, const struct wire_console *wanted, struct fail *f);
/* -1, and nothing is typed, if that were more than CONSOLE_KEYS_WINDOW under way. */
int console_type(struct console *c, const void *data, size_t n);
/* The program reads to the end of what was typed, and then its input has ended. Only with pipes, like signals. */
void console_end_input(struct console *c);
/* HUP, INT, QUIT, TERM, USR1, USR2, TSTP or CONT. */
void console_signal(struct console *c, int signo);
/* n bytes of what was shown are worked off. */
void console_taken(struct console *c, size_t n);
void console_resize(struct console *c, int rows, int cols);
/* Hangs up; nothing is called back. Idempotent, also on one that was never opened. */
void console_close(struct console *c);

/* --- for the line ---------------------------------------------------------------------------------------------- */
/* True if the frame belongs to a console; *ret is then 0 or negative. */
bool consoles_on_frame(struct dispatch *d, const struct wire_frame *frame, int *ret);
/* All of them end, for this reason. */
void consoles_lost(struct dispatch *d, const struct fail *f);
/* All of them are forgotten. */
void consoles_release(struct dispatch *d);
bool consoles_busy(const struct dispatch *d);

#endif
