/* Finds the end of one key in the bytes that a terminal sends. */
#ifndef HUSK_CLI_REPL_KEYSTROKE_H
#define HUSK_CLI_REPL_KEYSTROKE_H

#include "base/defs.h"

#define PASTE_BEGIN "\033[200~"
#define PASTE_END "\033[201~"

/* Number of bytes in the first key or sequence; 0 if it is incomplete. A lone escape is never complete: it is a
 * prefix, like Ctrl-X. */
size_t keystroke_length(const char *s, size_t n);

#endif
