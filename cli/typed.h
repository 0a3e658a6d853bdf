/* A value that is typed or piped in, for what must not be in a list of arguments: every user of the machine can read
 * those. */
#ifndef HUSK_CLI_TYPED_H
#define HUSK_CLI_TYPED_H

#include "base/buf.h"

/* Reads standard input, up to the end of the line at a terminal, without showing what is typed. The value has no final
 * line ends. 0, or -1 if it is longer than max, has a NUL or cannot be read. The caller wipes *ret. */
int typed_value(const char *name, size_t max, struct buf *ret);

#endif
