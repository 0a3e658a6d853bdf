/* Cuts long text for a reader. Units are characters (code points) of valid UTF-8. */
#ifndef HUSK_MCP_TEXT_H
#define HUSK_MCP_TEXT_H

#include "base/buf.h"

/* Cuts s to its head and tail within max_chars, with a note between them about the number of missing characters. If s
 * already had a gap, the note has no number. The caller owns the text. */
char *text_cut(const char *s, size_t max_chars, bool gap);

#endif
