/* The user's terminal while another terminal is shown in it: raw, and restored whenever the program ends. */
#ifndef HUSK_CLI_TTY_H
#define HUSK_CLI_TTY_H

#include "base/buf.h"

/* True if standard input is a terminal. */
bool tty_is_there(void);
/* Opens the terminal behind a standard descriptor again, so that flags such as O_NONBLOCK do not affect other
 * programs. Returns -1 with errno on failure. */
int tty_open_again(int fd);
/* The value of TERM if it looks like the name of a terminal type; else NULL. */
const char *tty_term(void);
/* The size of the terminal; 24 and 80 if it does not report a size. */
void tty_size(int *ret_rows, int *ret_cols);

/* Switches to raw mode, in which keys are delivered as they are typed. Call it again after husk was stopped by a
 * signal and continued. Returns 0 or -errno. If husk crashes, the terminal is restored. */
int tty_enter(void);
/* Restores the terminal. Idempotent. */
void tty_leave(void);

/* Modes that programs have switched on, to undo them if the programs cannot: `{ 0 }` is a terminal without such
 * modes. */
struct tty_modes {
	bool on[16];
	bool hidden; /* the cursor */
	/* Position within an escape sequence after the last bytes. */
	unsigned state, number;
	bool pending[16];
	bool pending_cursor;
};
void tty_modes_see(struct tty_modes *m, const void *data, size_t n);
/* Appends the sequences that undo all of these modes. */
void tty_modes_undo(const struct tty_modes *m, struct buf *out);

/* Finds `~.` at the beginning of a line, which leaves a terminal whose other end does not answer, as in ssh. */
struct tty_escape {
	bool in_line; /* the line already has a key */
	bool tilde;   /* the last key was a tilde, which waits for the next */
};
enum tty_escape_event { ESCAPE_NONE, ESCAPE_LEAVE, ESCAPE_HELP };
/* Appends the keys to pass on. Stops after an event; *ret_used is the number of keys that were read. */
enum tty_escape_event tty_escape_feed(struct tty_escape *e, const uint8_t *keys, size_t n, struct buf *out,
				      size_t *ret_used);

#endif
