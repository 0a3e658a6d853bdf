/* Program output becomes text here: valid UTF-8 without NULs or terminal escapes, cut between characters. */
#ifndef HUSK_BASE_UTF8_H
#define HUSK_BASE_UTF8_H

#include "base/buf.h"

/* Appends the text of n bytes: each ill-formed sequence becomes U+FFFD, NUL becomes U+2400 (a visible mark), ANSI escape
 * sequences (CSI, OSC, charset selections) are dropped, C0 controls other than \t \n \r \b become U+FFFD. */
void utf8_clean(struct buf *out, const void *data, size_t n);
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
