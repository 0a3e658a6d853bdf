/* How a terminal can show pictures, by its environment and by its answers to queries. */
#ifndef HUSK_CLI_REPL_ABILITIES_H
#define HUSK_CLI_REPL_ABILITIES_H

#include "base/defs.h"

enum pictures {
	PICTURES_UNKNOWN, /* the terminal has to be queried */
	PICTURES_SAVED,	  /* it cannot show pictures: they are saved as files */
	PICTURES_KITTY,
	PICTURES_ITERM,
	PICTURES_SIXEL,
};

/* Parses "kitty", "iterm", "sixel", "file" or "auto" (PICTURES_UNKNOWN). -1 for any other word. */
int pictures_named(const char *name, enum pictures *ret);

/* get is getenv(), except in tests. */
enum pictures abilities_by_environment(char *(*get)(const char *name));

/* Two queries: one for kitty's protocol, then one that every terminal answers. The second answer is the last. */
#define ABILITIES_QUERY "\033_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\033\\\033[c"

struct abilities {
	bool kitty, sixel;
	bool answered; /* the last query was answered */
};
/* Takes a whole escape sequence from the terminal. True if it was an answer and not a key. */
bool abilities_take(struct abilities *a, const char *sequence, size_t n);
enum pictures abilities_pictures(const struct abilities *a);

#endif
