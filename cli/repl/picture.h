/* A picture as escape sequences of a terminal. */
#ifndef HUSK_CLI_REPL_PICTURE_H
#define HUSK_CLI_REPL_PICTURE_H

#include "base/buf.h"
#include "cli/repl/abilities.h"

/* Appends what shows it. data is the file itself; type as "image/png". false if these terminals cannot show this one, and nothing was
 * appended: kitty takes PNG alone, iTerm2 whatever is no SVG, and sixel needs another program (cli/repl/sixel.h). */
bool picture_inline(struct buf *out, enum pictures how, const char *type, const void *data, size_t n);

#endif
