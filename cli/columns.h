/* Tables for people, printed by ps, history, exports and doctor. A table fits 80 columns, or a wider terminal.
 * Columns are aligned by the width that a terminal gives to characters, and long values are shortened in the middle.
 * Colours and non-ASCII characters are used only on terminals that show them. Programs read --json instead. */
#ifndef HUSK_CLI_COLUMNS_H
#define HUSK_CLI_COLUMNS_H

#include <stdio.h>

#include "base/buf.h"

#define COLUMNS_WIDTH 80

enum paint { PAINT_NONE, PAINT_TITLE, PAINT_FAINT, PAINT_GOOD, PAINT_WARN, PAINT_BAD };

struct style {
	size_t width; /* COLUMNS_WIDTH, or the terminal's width if that is larger */
	bool colour;  /* a terminal, unless NO_COLOR is set or TERM is dumb or unset */
	bool unicode; /* a terminal in a UTF-8 locale: … and other marks instead of ASCII */
};
struct style style_of(int fd);
/* The sequences that switch a colour on and off; "" without colours. */
const char *style_paint(const struct style *s, enum paint paint);
const char *style_plain(const struct style *s, enum paint paint);

struct column {
	const char *title;
	size_t least;  /* values may be shortened to this width; 0 = they stay whole */
	unsigned rank; /* left out where there is no room, the highest rank first; 0 = always shown */
	bool right;    /* aligned to the right, as numbers are */
};

/* v must live until columns_free(). Never returns NULL. */
struct columns *columns_new(const struct column *v, size_t n);
struct columns *columns_free(struct columns *c);
/* Adds the next cell, row by row. The text is copied and cleaned, so it cannot control the terminal. "-" means that
 * there is no value. */
void columns_add(struct columns *c, enum paint paint, const char *text);
void columns_addf(struct columns *c, enum paint paint, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Prints the titles and all rows. */
void columns_print(const struct columns *c, const struct style *s, FILE *to);

/* How many columns a terminal gives to well-formed text. */
size_t columns_width(const char *text);
/* Appends well-formed text in at most `width` columns, shortened in the middle if it is longer. */
void columns_shorten(struct buf *out, const struct style *s, const char *text, size_t width);
/* Prints text in lines of the style's width, broken at blanks and ended by a line break. The first line begins at the
 * cursor, which is in column `indent`; the other lines are indented to this column. Words that are longer than a line
 * are shortened unless `whole` is set, for text that people copy. */
void columns_wrap(FILE *to, const struct style *s, const char *text, size_t indent, bool whole);

#endif
