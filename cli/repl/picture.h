/* A picture as escape sequences of a terminal. */
#ifndef HUSK_CLI_REPL_PICTURE_H
#define HUSK_CLI_REPL_PICTURE_H

#include "base/buf.h"
#include "cli/repl/abilities.h"

/* Appends the sequences that show the picture. data is the file itself; type is like "image/png". False if the
 * terminal cannot show it, and nothing is appended: kitty takes only PNG, iTerm2 everything except SVG, and sixel
 * needs another program (cli/repl/sixel.h). */
bool picture_inline(struct buf *out, enum pictures how, const char *type, const void *data, size_t n);

#endif
