/* What somebody types: text, and keys by name in < >, such as <Ctrl-C>, <Tab> or <Up>. */
#ifndef HUSK_MANAGER_LINE_KEYS_H
#define HUSK_MANAGER_LINE_KEYS_H

#include "manager/line/vt.h"

/* Appends the bytes. At a terminal a line end is the Enter key, and Enter is pressed at the end unless the text ends with a key by
 * name (<NoEnter> is none). Without one (NULL: a cell) it is the answer to one question: keys that are no characters are left as
 * they are written. <Lt> is "<"; a name that is none stands for itself. */
void keys_type(const char *text, size_t n, struct vt *terminal, struct buf *out);

#endif
