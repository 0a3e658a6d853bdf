/* Tables for people: the columns of ps, history, exports and doctor. A table fits the terminal, or 80 columns in a pipe.
 * Columns are aligned by the width that a terminal gives to characters, and long values are shortened in the middle.
 * Colours and characters beyond ASCII are for terminals that show them. Programs read --json instead. */
#ifndef HUSK_CLI_COLUMNS_H
#define HUSK_CLI_COLUMNS_H

#include <stdio.h>

#include "base/buf.h"

#define COLUMNS_WIDTH 80

enum paint { PAINT_NONE, PAINT_TITLE, PAINT_FAINT, PAINT_GOOD, PAINT_WARN, PAINT_BAD };

struct style {
	size_t width; /* COLUMNS_WIDTH, or that of a wider terminal */
	bool colour;  /* a terminal, unless NO_COLOR is set or TERM is dumb or unset */
	bool unicode; /* a terminal in a UTF-8 locale: … and other marks instead of ASCII */
};
struct style style_of(int fd);
/* The sequence that switches a colour on, and the one that ends it; "" without colours. */
const char *style_paint(const struct style *s, enum paint paint);
const char *style_plain(const struct style *s, enum paint paint);

struct column {
	const char *title;
	size_t least;  /* values may be shortened to this width; 0 = they stay whole */
	unsigned rank; /* left out where there is no room, the highest rank first; 0 = always shown */
	bool right;    /* aligned to the right, as numbers are */
};

/* v is borrowed until columns_free(). Never NULL. */
struct columns *columns_new(const struct column *v, size_t n);
struct columns *columns_free(struct columns *c);
/* The next cell, row by row. The text is copied and cleaned, so it cannot control the terminal; "-" means that there is no value. */
void columns_add(struct columns *c, enum paint paint, const char *text);
void columns_addf(struct columns *c, enum paint paint, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The titles and all rows. */
void columns_print(const struct columns *c, const struct style *s, FILE *to);

/* How many columns a terminal gives to well-formed text. */
size_t columns_width(const char *text);
/* Appends well-formed text in at most `width` columns, shortened in the middle if it is longer. */
void columns_shorten(struct buf *out, const struct style *s, const char *text, size_t width);
/* Prints text in lines of the style's width, broken at blanks and ended by a line break. The first line begins at column `indent`,
 * where the cursor is; the others get as many blanks. Words that are longer than a line are shortened, unless
 * they have to be copied: `whole`. */
void columns_wrap(FILE *to, const struct style *s, const char *text, size_t indent, bool whole);

#endif
