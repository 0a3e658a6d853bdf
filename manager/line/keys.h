/* Parses typed input: text, and keys by name in < >, such as <Ctrl-C>, <Tab> or <Up>. */
#ifndef HUSK_MANAGER_LINE_KEYS_H
#define HUSK_MANAGER_LINE_KEYS_H

#include "base/buf.h"

enum keys_target {
	KEYS_CELL, /* the reply to one prompt of a cell */
	KEYS_TERMINAL,
	KEYS_APPLICATION, /* a terminal in application cursor mode */
};

/* Appends the bytes. At a terminal a line end is the Enter key, and Enter is added at the end unless the text ends
 * with a key name (<NoEnter> adds nothing). For a cell, keys without a character stay as written. <Lt> is "<".
 * Unknown names stay as written. */
void keys_type(const char *text, size_t n, enum keys_target target, struct buf *out);

#endif
