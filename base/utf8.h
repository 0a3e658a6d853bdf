/* Program output becomes text here: valid UTF-8 without NULs or terminal escapes, cut between characters. */
#ifndef HUSK_BASE_UTF8_H
#define HUSK_BASE_UTF8_H

#include "base/buf.h"

/* Appends the text of n bytes: each ill-formed sequence becomes U+FFFD, NUL becomes U+2400 (a visible mark), ANSI escape
 * sequences (CSI, OSC, charset selections) are dropped, C0 controls other than \t \n \r \b and C1 controls become U+FFFD.
 * What a reader does not see but a model reads (bidirectional controls, zero-width, filler and tag characters) is named: <U+202E>.
 * Joiners and variation selectors stay where writing needs them. ⟦ ⟧ and brackets that look like them become [[ ]]: they mark what
 * Husk itself says. */
void utf8_clean(struct buf *out, const void *data, size_t n);
/* The same for a name, which somebody else has chosen: it stays in its line, so all controls become U+FFFD. */
void utf8_clean_name(struct buf *out, const char *name);
/* Length of the well-formed sequence at s (n > 0), or 0; and of the escape sequence at s, whose first byte is ESC. *no_end is s
 * at the first call for a text and belongs to the callee from then on. */
size_t utf8_sequence(const uint8_t *s, size_t n);
size_t utf8_escape(const uint8_t *s, size_t n, const uint8_t **no_end);
uint32_t utf8_decode(const uint8_t *s, size_t length);
/* True if the n bytes are well-formed UTF-8 (NUL allowed). */
bool utf8_valid(const void *data, size_t n);
/* Code points in well-formed text. */
size_t utf8_count(const char *s, size_t n);
/* Bytes that the first (last) `chars` code points of well-formed text take. */
size_t utf8_head(const char *s, size_t n, size_t chars);
size_t utf8_tail(const char *s, size_t n, size_t chars);
/* How many bytes at the end are the start of a sequence (0 to 3); how many at the start are the rest of one. */
size_t utf8_partial_end(const void *data, size_t n);
size_t utf8_partial_start(const void *data, size_t n);

#endif
