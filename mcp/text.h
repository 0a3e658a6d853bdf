/* Cuts long text for a reader. Units are characters (code points) of valid UTF-8. */
#ifndef HUSK_MCP_TEXT_H
#define HUSK_MCP_TEXT_H

#include "base/buf.h"

/* Head and tail of s within max_chars, with a note of what is missing; without a number if something was missing
 * before (gap). The caller owns it. */
char *text_cut(const char *s, size_t max_chars, bool gap);

#endif
