#include "manager/line/keys.h"

#include <ctype.h>
#include <strings.h>

#define NAME_MAX_LEN 16

struct key {
	const char *name;
	const char *text;	 /* bytes for a cell; NULL = this key exists only at a terminal */
	const char *at_terminal; /* bytes at a terminal; NULL = as `text` */
	const char *application; /* bytes in application cursor mode (DECCKM); NULL = as `at_terminal` */
};

static const struct key keys[] = {
	{ "Enter", "\n", "\r", NULL },	       { "Tab", "\t", NULL, NULL },
	{ "Esc", "\x1b", NULL, NULL },	       { "Space", " ", NULL, NULL },
	{ "Backspace", "\x7f", NULL, NULL },   { "Lt", "<", NULL, NULL },
	{ "NoEnter", "", NULL, NULL },	       { "Up", NULL, "\x1b[A", "\x1bOA" },
	{ "Down", NULL, "\x1b[B", "\x1bOB" },  { "Right", NULL, "\x1b[C", "\x1bOC" },
	{ "Left", NULL, "\x1b[D", "\x1bOD" },  { "Home", NULL, "\x1b[H", "\x1bOH" },
	{ "End", NULL, "\x1b[F", "\x1bOF" },   { "Insert", NULL, "\x1b[2~", NULL },
	{ "Delete", NULL, "\x1b[3~", NULL },   { "PageUp", NULL, "\x1b[5~", NULL },
	{ "PageDown", NULL, "\x1b[6~", NULL }, { "F1", NULL, "\x1bOP", NULL },
	{ "F2", NULL, "\x1bOQ", NULL },	       { "F3", NULL, "\x1bOR", NULL },
	{ "F4", NULL, "\x1bOS", NULL },	       { "F5", NULL, "\x1b[15~", NULL },
	{ "F6", NULL, "\x1b[17~", NULL },      { "F7", NULL, "\x1b[18~", NULL },
	{ "F8", NULL, "\x1b[19~", NULL },      { "F9", NULL, "\x1b[20~", NULL },
	{ "F10", NULL, "\x1b[21~", NULL },     { "F11", NULL, "\x1b[23~", NULL },
	{ "F12", NULL, "\x1b[24~", NULL },
};

/* <Ctrl-@> to <Ctrl-_>. */
static bool control(const char *name, char *ret)
{
	int c = toupper((unsigned char)name[5]);
	if (strncasecmp(name, "Ctrl-", 5) != 0 || name[6] || c < '@' || c > '_')
		return false;
	*ret = (char)(c & 0x1f);
	return true;
}

static const char *sends(const struct key *key, enum keys_target target)
{
	if (target == KEYS_CELL)
		return key->text;
	if (target == KEYS_APPLICATION && key->application)
		return key->application;
	return key->at_terminal ? key->at_terminal : key->text;
}

static bool press(const char *name, enum keys_target target, struct buf *out)
{
	char character;
	if (control(name, &character)) {
		buf_add(out, &character, 1);
		return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const char *bytes = strcasecmp(name, keys[i].name) == 0 ? sends(&keys[i], target) : NULL;
		if (bytes)
			buf_add_str(out, bytes);
		if (bytes)
			return true;
	}
	return false;
}

/* If `at` begins with a key name in < >, appends that key's bytes and returns the length of the name with its
 * brackets; otherwise returns 0. */
static size_t press_at(const char *at, size_t n, enum keys_target target, struct buf *out)
{
	char name[NAME_MAX_LEN + 1];
	const char *end = n > 2 && *at == '<' ? memchr(at, '>', MIN(n, (size_t)NAME_MAX_LEN + 2)) : NULL;
	size_t length = end ? (size_t)(end - at) - 1 : 0;
	if (!length || length > NAME_MAX_LEN)
		return 0;
	memcpy(name, at + 1, length);
	name[length] = '\0';
	return press(name, target, out) ? length + 2 : 0;
}

void keys_type(const char *text, size_t n, enum keys_target target, struct buf *out)
{
	bool by_name = false;
	for (size_t i = 0; i < n;) {
		size_t length = press_at(text + i, n - i, target, out);
		by_name = length > 0;
		if (!length) {
			char c = target != KEYS_CELL && text[i] == '\n' ? '\r' : text[i];
			buf_add(out, &c, 1);
			length = 1;
		}
		i += length;
	}
	if (target != KEYS_CELL && !by_name)
		buf_add_str(out, "\r");
}
