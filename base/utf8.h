/* Turns program output into text: valid UTF-8 without NULs or terminal escapes, cut between characters. */
#ifndef HUSK_BASE_UTF8_H
#define HUSK_BASE_UTF8_H

#include "base/buf.h"

/* Appends n bytes as clean text. Each ill-formed sequence becomes U+FFFD, NUL becomes U+2400 (a visible mark), ANSI
 * escape sequences (CSI, OSC, charset selections) are dropped, and C0 controls other than \t \n \r \b and C1
 * controls become U+FFFD. Characters that a model reads but people do not see (bidirectional controls, zero-width,
 * filler and tag characters) are named: <U+202E>. Joiners and variation selectors stay where writing needs them. ⟦
 * ⟧ and similar brackets become [[ ]], because they mark Husk's own words. */
void utf8_clean(struct buf *out, const void *data, size_t n);
/* The same for an untrusted name, which must stay on one line: all controls become U+FFFD. */
void utf8_clean_name(struct buf *out, const char *name);
/* utf8_sequence(): length of the well-formed sequence at s (n > 0), or 0. utf8_escape(): length of the escape sequence
 * at s, which begins with ESC. Set *no_end to s before the first call on a text; each call updates it. */
size_t utf8_sequence(const uint8_t *s, size_t n);
size_t utf8_escape(const uint8_t *s, size_t n, const uint8_t **no_end);
uint32_t utf8_decode(const uint8_t *s, size_t length);
/* Returns the length of the sequence that it writes. */
size_t utf8_write(uint8_t to[static 4], uint32_t c);
/* True if the n bytes are well-formed UTF-8 (NUL allowed). */
bool utf8_valid(const void *data, size_t n);
/* Code points in well-formed text. */
size_t utf8_count(const char *s, size_t n);
/* Number of bytes in the first (last) `chars` code points of well-formed text. */
size_t utf8_head(const char *s, size_t n, size_t chars);
size_t utf8_tail(const char *s, size_t n, size_t chars);
/* Number of bytes at the end that start a sequence (0 to 3); number of bytes at the start that continue one. */
size_t utf8_partial_end(const void *data, size_t n);
size_t utf8_partial_start(const void *data, size_t n);

#endif
