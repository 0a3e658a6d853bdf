/* Completions at the cursor, and how to show several of them. */
#ifndef HUSK_CLI_REPL_MATCHES_H
#define HUSK_CLI_REPL_MATCHES_H

#include "base/strv.h"

/* The longest common prefix, in whole characters. The caller owns it. */
char *matches_common(const struct strv *matches);
/* The matches as lines of text, in columns that are filled from top to bottom. At most `rows` rows, and a line that
 * says how many matches are left out. The caller owns it. */
char *matches_columns(const struct strv *matches, size_t width, size_t rows);

/* Where the file name that ends at the cursor begins: after a quote or a blank. */
size_t matches_file_begin(const char *line, size_t cursor);
/* A command that prints the files with this prefix; folders end with a slash. The caller owns it. */
char *matches_file_command(const char *begin, size_t n);

#endif
