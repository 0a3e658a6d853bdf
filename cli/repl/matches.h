/* What could stand at the cursor: names, and what becomes of several. */
#ifndef HUSK_CLI_REPL_MATCHES_H
#define HUSK_CLI_REPL_MATCHES_H

#include "base/strv.h"

/* What all of them begin with, in whole characters; the caller owns it. */
char *matches_common(const struct strv *matches);
/* In columns, down and then right, lines that end; at most so many rows, and a line that says how many are left out. */
char *matches_columns(const struct strv *matches, size_t width, size_t rows);

/* Where the name of a file would begin that ends at the cursor: after a quote or a blank. */
size_t matches_file_begin(const char *line, size_t cursor);
/* A command that prints the files which begin like this, a folder with a slash; the caller owns it. */
char *matches_file_command(const char *begin, size_t n);

#endif
