/* What somebody types: text, and keys by name in < >, such as <Ctrl-C>, <Tab> or <Up>. */
#ifndef HUSK_MANAGER_LINE_KEYS_H
#define HUSK_MANAGER_LINE_KEYS_H

#include "base/buf.h"

enum keys_target {
	KEYS_CELL, /* the answer to one question */
	KEYS_TERMINAL,
	KEYS_APPLICATION, /* a terminal whose program has asked for the other codes of the cursor keys */
};

/* Appends the bytes. At a terminal a line end is the Enter key, and Enter is pressed at the end unless the text ends with a key by
 * name (<NoEnter> is none). For a cell, keys that are no characters are left as they are written. <Lt> is "<"; a name that is none stands for itself. */
void keys_type(const char *text, size_t n, enum keys_target target, struct buf *out);

#endif
