#include "cli/repl/abilities.h"

#include <ctype.h>

int pictures_named(const char *name, enum pictures *ret)
{
	static const char *const names[] = {
		[PICTURES_UNKNOWN] = "auto", [PICTURES_SAVED] = "file",	 [PICTURES_KITTY] = "kitty",
		[PICTURES_ITERM] = "iterm",  [PICTURES_SIXEL] = "sixel",
	};
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (streq(name, names[i])) {
			*ret = (enum pictures)i;
			return 0;
		}
	}
	return -1;
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Terminals that would print an unknown query, or that claim to support more than they show well. */
static enum pictures by_program(const char *program)
{
	static const struct {
		const char *program;
		enum pictures pictures;
	} known[] = { { "iTerm.app", PICTURES_ITERM },
		      { "WezTerm", PICTURES_ITERM },
		      { "mintty", PICTURES_ITERM },
		      { "Apple_Terminal", PICTURES_SAVED },
		      { "ghostty", PICTURES_KITTY } };
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (streq(program, known[i].program))
			return known[i].pictures;
	return PICTURES_UNKNOWN;
}

static enum pictures by_type(const char *term)
{
	static const struct {
		const char *type;
		enum pictures pictures;
	} known[] = { { "xterm-kitty", PICTURES_KITTY }, { "xterm-ghostty", PICTURES_KITTY },
		      { "mlterm", PICTURES_SIXEL },	 { "foot", PICTURES_SIXEL },
		      { "dumb", PICTURES_SAVED },	 { "linux", PICTURES_SAVED } };
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (begins(term, known[i].type))
			return known[i].pictures;
	return PICTURES_UNKNOWN;
}

enum pictures abilities_by_environment(char *(*get)(const char *name))
{
	const char *term = get("TERM"), *program = get("TERM_PROGRAM"), *over_ssh = get("LC_TERMINAL");
	if (!term || !*term)
		return PICTURES_SAVED;
	/* In a multiplexer, the environment does not describe the terminal behind it. The multiplexer answers queries
	 * itself. */
	if (get("TMUX") || begins(term, "screen") || begins(term, "tmux"))
		return PICTURES_UNKNOWN;
	enum pictures p = by_type(term);
	if (p == PICTURES_UNKNOWN && program)
		p = by_program(program);
	if (p == PICTURES_UNKNOWN && over_ssh && streq(over_ssh, "iTerm2"))
		p = PICTURES_ITERM;
	return p;
}

/* Whether a number is in an answer such as "\033[?62;4;22c", where 4 means sixel. */
static bool has_attribute(const char *list, size_t n, unsigned wanted)
{
	unsigned number = 0;
	for (size_t i = 0; i < n; i++) {
		if (isdigit((unsigned char)list[i])) {
			number = number > 9999 ? number : number * 10 + (unsigned)(list[i] - '0');
			continue;
		}
		if (number == wanted)
			return true;
		number = 0;
	}
	return false;
}

bool abilities_take(struct abilities *a, const char *s, size_t n)
{
	if (n > 3 && memcmp(s, "\033_G", 3) == 0) {
		a->kitty |= memmem(s, n, ";OK", 3) != NULL;
		return true;
	}
	if (n > 3 && memcmp(s, "\033[?", 3) == 0 && s[n - 1] == 'c') {
		a->sixel |= has_attribute(s + 3, n - 3, 4);
		a->answered = true;
		return true;
	}
	return false;
}

enum pictures abilities_pictures(const struct abilities *a)
{
	return a->kitty ? PICTURES_KITTY : a->sixel ? PICTURES_SIXEL : PICTURES_SAVED;
}
