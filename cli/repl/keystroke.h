/* Where one key ends in what a terminal sends. */
#ifndef HUSK_CLI_REPL_KEYSTROKE_H
#define HUSK_CLI_REPL_KEYSTROKE_H

#include "base/defs.h"

#define PASTE_BEGIN "\033[200~"
#define PASTE_END "\033[201~"

/* Bytes of the first key or sequence, 0 if more have to come. A lone escape is never whole: it is a prefix, as Ctrl-X is. */
size_t keystroke_length(const char *s, size_t n);

#endif
