/* Text made of sections, with one limit for the whole: short sections stay complete, long ones share what is left and keep their head
 * and tail with a note in between. Units are characters (code points) of valid UTF-8. */
#ifndef HUSK_MCP_TEXT_H
#define HUSK_MCP_TEXT_H

#include "base/buf.h"

#define TEXT_SECTIONS_MAX 64

struct text {
	struct {
		char *label; /* NULL = none */
		char *body;
		size_t chars;
		bool gap; /* something is missing from its middle already */
	} sections[TEXT_SECTIONS_MAX];
	size_t n;
};

void text_release(struct text *t);
/* Appends a copy without trailing newlines; an empty body adds nothing. Past TEXT_SECTIONS_MAX nothing happens. */
void text_add(struct text *t, const char *label, const char *body);
void text_addf(struct text *t, const char *label, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Marks the last section as already cut, so that a second cut does not give a wrong number. */
void text_mark_gap(struct text *t);
/* At most max_chars characters. The caller owns it. */
char *text_join(const struct text *t, size_t max_chars);
/* Head and tail of s within max_chars, with a note of what is missing. The caller owns it. */
char *text_cut(const char *s, size_t max_chars);

#endif
