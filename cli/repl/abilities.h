/* How a terminal can show pictures: what its environment tells, and what it answers itself. */
#ifndef HUSK_CLI_REPL_ABILITIES_H
#define HUSK_CLI_REPL_ABILITIES_H

#include "base/defs.h"

enum pictures {
	PICTURES_UNKNOWN, /* it has to be asked */
	PICTURES_SAVED,	  /* not at all: they go into files */
	PICTURES_KITTY,
	PICTURES_ITERM,
	PICTURES_SIXEL,
};

/* "kitty", "iterm", "sixel", "file" or "auto" (PICTURES_UNKNOWN). -1 if it is none of these. */
int pictures_named(const char *name, enum pictures *ret);

/* get is getenv() but for tests. */
enum pictures abilities_by_environment(char *(*get)(const char *name));

/* Asks for kitty's protocol, then for what every terminal answers: after that no more will come. */
#define ABILITIES_QUESTION "\033_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\033\\\033[c"

struct abilities {
	bool kitty, sixel;
	bool answered; /* to the last question */
};
/* A whole escape sequence that came from the terminal; whether it was an answer, and not a key. */
bool abilities_take(struct abilities *a, const char *sequence, size_t n);
enum pictures abilities_pictures(const struct abilities *a);

#endif
