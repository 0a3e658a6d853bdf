/* Consoles on a line: terminals for people, as bytes in both directions. They are not replayed: a broken connection
 * ends them, and PID 1 hangs up by itself. Nothing is buffered here, because each end sends only as much as the
 * other has granted credit for. */
#ifndef HUSK_MANAGER_LINE_CONSOLE_H
#define HUSK_MANAGER_LINE_CONSOLE_H

#include "manager/line/dispatch.h"

/* Embedded in its owner. */
struct console {
	/* Terminal output. The owner calls console_taken() afterwards. */
	void (*on_bytes)(struct console *c, const void *data, size_t n);
	/* Standard error of a program with pipes. The owner calls console_taken() afterwards. */
	void (*on_error_bytes)(struct console *c, const void *data, size_t n);
	/* PID 1 has received n typed bytes, so n more may be typed. */
	void (*on_typed)(struct console *c, size_t n);
	/* Called once, as the last callback: `end` says how the program ended, or f why it did not start or was
	 * lost. */
	void (*on_end)(struct console *c, const struct wire_console_end *end, const struct fail *f);

	/* Private. */
	struct list node;
	struct dispatch *dispatch; /* NULL = not open */
	uint32_t call;
	bool abandoned;
	uint32_t typed;	   /* bytes typed that PID 1 has not credited yet */
	uint32_t shown;	   /* bytes of output that the owner has not processed yet */
	uint32_t credited; /* bytes processed, but not reported to PID 1 yet */
};

/* Set the callbacks first. -1 with f if no console can be opened now. */
int console_open(struct console *c, struct dispatch *d, const struct wire_console *wanted, struct fail *f);
/* -1, and nothing is typed, if more than CONSOLE_KEYS_WINDOW bytes would be unacknowledged. */
int console_type(struct console *c, const void *data, size_t n);
/* Ends the program's input after everything typed so far. Only for programs with pipes, like console_signal(). */
void console_end_input(struct console *c);
/* Sends the program HUP, INT, QUIT, TERM, USR1, USR2, TSTP or CONT. */
void console_signal(struct console *c, int signo);
/* Reports that n bytes of output have been processed. */
void console_taken(struct console *c, size_t n);
void console_resize(struct console *c, int rows, int cols);
/* Hangs up without any callback. Idempotent; a console that was never opened is accepted. */
void console_close(struct console *c);

/* --- for the line ---------------------------------------------------------------------------------------------- */
/* True if the frame belongs to a console; *ret is then 0 or negative. */
bool consoles_on_frame(struct dispatch *d, const struct wire_frame *frame, int *ret);
/* Ends all consoles with this failure. */
void consoles_lost(struct dispatch *d, const struct fail *f);
/* Drops all consoles without callbacks. */
void consoles_release(struct dispatch *d);
bool consoles_busy(const struct dispatch *d);

#endif
