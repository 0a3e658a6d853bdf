#include "manager/line/keys.h"

#include <ctype.h>
#include <strings.h>

#define NAME_MAX_LEN 16

struct key {
	const char *name;
	const char *text; /* NULL = the terminal says what it sends */
	enum vt_key key;
};

static const struct key keys[] = {
	{ "Enter", "\r", 0 },
	{ "Tab", "\t", 0 },
	{ "Esc", "\x1b", 0 },
	{ "Space", " ", 0 },
	{ "Backspace", "\x7f", 0 },
	{ "Lt", "<", 0 },
	{ "NoEnter", "", 0 },
	{ "Up", NULL, VT_UP },
	{ "Down", NULL, VT_DOWN },
	{ "Left", NULL, VT_LEFT },
	{ "Right", NULL, VT_RIGHT },
	{ "Insert", NULL, VT_INSERT },
	{ "Delete", NULL, VT_DELETE },
	{ "Home", NULL, VT_HOME },
	{ "End", NULL, VT_END },
	{ "PageUp", NULL, VT_PAGE_UP },
	{ "PageDown", NULL, VT_PAGE_DOWN },
};

/* <Ctrl-A> to <Ctrl-_>. */
static bool control(const char *name, char *ret)
{
	int c = toupper((unsigned char)name[5]);
	if (strncasecmp(name, "Ctrl-", 5) != 0 || name[6] || c < '@' || c > '_')
		return false;
	*ret = (char)(c & 0x1f);
	return true;
}

static bool function_key(const char *name, enum vt_key *ret)
{
	char *end;
	long number = toupper((unsigned char)name[0]) == 'F' && isdigit((unsigned char)name[1]) ?
			      strtol(name + 1, &end, 10) :
			      0;
	if (number < 1 || number > 12 || *end)
		return false;
	*ret = (enum vt_key)(VT_F1 + number - 1);
	return true;
}

static bool press(const char *name, struct vt *terminal, struct buf *out)
{
	char character;
	enum vt_key function;
	if (control(name, &character)) {
		buf_add(out, &character, 1);
		return true;
	}
	if (terminal && function_key(name, &function)) {
		vt_press(terminal, function, out);
		return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		if (strcasecmp(name, keys[i].name) != 0 || (!keys[i].text && !terminal))
			continue;
		if (!keys[i].text)
			vt_press(terminal, keys[i].key, out);
		else
			buf_add_str(out, !terminal && streq(keys[i].text, "\r") ? "\n" : keys[i].text);
		return true;
	}
	return false;
}

/* The length of the key at `at`, which is pressed; 0 if there is none. */
static size_t press_at(const char *at, size_t n, struct vt *terminal, struct buf *out)
{
	char name[NAME_MAX_LEN + 1];
	const char *end = n > 2 && *at == '<' ? memchr(at, '>', MIN(n, (size_t)NAME_MAX_LEN + 2)) : NULL;
	size_t length = end ? (size_t)(end - at) - 1 : 0;
	if (!length || length > NAME_MAX_LEN)
		return 0;
	memcpy(name, at + 1, length);
	name[length] = '\0';
	return press(name, terminal, out) ? length + 2 : 0;
}

void keys_type(const char *text, size_t n, struct vt *terminal, struct buf *out)
{
	bool by_name = false;
	for (size_t i = 0; i < n;) {
		size_t length = press_at(text + i, n - i, terminal, out);
		by_name = length > 0;
		if (!length) {
			char c = terminal && text[i] == '\n' ? '\r' : text[i];
			buf_add(out, &c, 1);
			length = 1;
		}
		i += length;
	}
	if (terminal && !by_name)
		buf_add_str(out, "\r");
}
