/* The user's terminal while another one is shown in it: raw, and as it was on every way out of the program. */
#ifndef HUSK_CLI_TTY_H
#define HUSK_CLI_TTY_H

#include "base/buf.h"

/* Standard input is one. */
bool tty_is_there(void);
/* A descriptor of its own for a standard one, where it is a terminal: what is set on it (O_NONBLOCK) is not seen by others. -1 and
 * errno. */
int tty_open_again(int fd);
/* What TERM says, if that looks like the name of a kind of terminal; else NULL. */
const char *tty_term(void);
/* 24 and 80 where it does not say. */
void tty_size(int *ret_rows, int *ret_cols);

/* From here on keys come as they are typed; also again, after the program was stopped. 0 or -errno. If the program crashes it is
 * left. */
int tty_enter(void);
/* As it was. Idempotent. */
void tty_leave(void);

/* What programs have switched on in a terminal, to be undone if they cannot do it themselves: `{ 0 }` is a terminal as it was. */
struct tty_modes {
	bool on[16];
	bool hidden; /* the cursor */
	/* Where in a sequence the last bytes ended. */
	unsigned state, number;
	bool pending[16];
	bool pending_cursor;
};
void tty_modes_see(struct tty_modes *m, const void *data, size_t n);
/* Appends what undoes all of them. */
void tty_modes_undo(const struct tty_modes *m, struct buf *out);

/* How to leave a terminal whose other end does not answer, as ssh has it: `~.` on a new line. */
struct tty_escape {
	bool in_line; /* something stands before the next key */
	bool tilde;   /* it was a tilde, which waits for the next */
};
enum tty_escape_event { ESCAPE_NONE, ESCAPE_LEAVE, ESCAPE_HELP };
/* Appends what is to be passed on. Stops behind an event; *ret_used tells where. */
enum tty_escape_event tty_escape_feed(struct tty_escape *e, const uint8_t *keys, size_t n, struct buf *out,
				      size_t *ret_used);

#endif
