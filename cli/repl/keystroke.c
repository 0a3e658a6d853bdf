#include "cli/repl/keystroke.h"

#define SEQUENCE_MAX 64
#define REPLY_MAX 1024
/* Ctrl-X, which begins a sequence of keys, as in Emacs. */
#define PREFIX 0x18

static size_t character_length(const char *s, size_t n)
{
	unsigned char c = (unsigned char)*s;
	size_t length = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
	for (size_t i = 1; i < MIN(length, n); i++)
		if ((s[i] & 0xc0) != 0x80)
			return 1; /* not valid UTF-8 */
	return n < length ? 0 : length;
}

static size_t control_length(const char *s, size_t n)
{
	for (size_t i = 2; i < n; i++) {
		if (s[i] >= 0x40 && s[i] <= 0x7e)
			return i + 1;
		if (s[i] < 0x20 || i > SEQUENCE_MAX)
			return i;
	}
	return 0;
}

/* Length of a reply that ends with "\033\\". */
static size_t reply_length(const char *s, size_t n)
{
	const char *end = memmem(s + 2, n - 2, "\033\\", 2);
	return end ? (size_t)(end - s) + 2 : n > REPLY_MAX ? n : 0;
}

size_t keystroke_length(const char *s, size_t n)
{
	size_t rest;
	if (n && s[0] == PREFIX) {
		rest = character_length(s + 1, n - 1);
		return n > 1 && rest ? rest + 1 : 0;
	}
	if (n == 0 || s[0] != '\033')
		return n ? character_length(s, n) : 0;
	if (n == 1)
		return 0;
	switch (s[1]) {
	case '[':
		return control_length(s, n);
	case 'O':
		return n < 3 ? 0 : 3;
	case '_': /* a reply, or Alt-_ */
		if (n > 2 && s[2] == 'G')
			return reply_length(s, n);
		return n > 2 ? 2 : 0;
	case '\033':
		return 1;
	default:
		rest = character_length(s + 1, n - 1);
		return rest ? rest + 1 : 0;
	}
}
