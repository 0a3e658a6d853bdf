#include "cli/repl/edit.h"

#include <histedit.h>
#include <langinfo.h>
#include <locale.h>
#include <termios.h>

#include "base/alloc.h"
#include "base/library.h"
#include "base/utf8.h"

#define REMEMBERED 1000
/* The key that get_key() returns to make libedit call do_change(): Ctrl-_, which does nothing when it is typed. */
#define CHANGE_KEY L'\037'

/* ---- the library */

#define FUNCTIONS(X)                                                                                                   \
	X(el_init)                                                                                                     \
	X(el_end)                                                                                                      \
	X(el_source)                                                                                                   \
	X(el_resize)                                                                                                   \
	X(el_cursor)                                                                                                   \
	X(el_deletestr)                                                                                                \
	X(el_winsertstr)                                                                                               \
	X(el_wgets)                                                                                                    \
	X(el_wline)                                                                                                    \
	X(el_wset)                                                                                                     \
	X(el_wget)                                                                                                     \
	X(history_winit)                                                                                               \
	X(history_wend)                                                                                                \
	X(history_w)

static struct {
	FUNCTIONS(LIBRARY_POINTER)
} lib;

static struct library libedit =
	LIBRARY(FUNCTIONS, "libhusk-edit.so.2", "libedit.so.2", "libedit.so.0", "libedit.3.dylib");

/* ---- wide characters, which are code points here */

static wchar_t *widen(const char *text)
{
	size_t n = strlen(text), length = 0;
	wchar_t *wide = xcalloc(n + 1, sizeof(*wide));
	for (size_t i = 0; i < n;) {
		size_t one = utf8_sequence((const uint8_t *)text + i, n - i);
		wide[length++] = one ? (wchar_t)utf8_decode((const uint8_t *)text + i, one) : L'\ufffd';
		i += one ? one : 1;
	}
	return wide;
}

static void add_narrow(struct buf *out, wchar_t wide)
{
	uint32_t c = (uint32_t)wide;
	char s[4];
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const uint8_t lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	for (size_t i = n; i-- > 1; c >>= 6)
		s[i] = (char)(0x80 | (c & 0x3f));
	s[0] = (char)(lead[n] | c);
	buf_add(out, s, n);
}

/* ---- the editor */

struct edit {
	EditLine *line;
	HistoryW *history;
	edit_get get;
	void *ctx;
	wchar_t *prompt;
	wchar_t *insertion; /* what a change inserts */
	size_t deletion;
	bool changing, change_is_due;
	bool ended; /* the input has ended */
	enum edit_event event;
};

static struct edit *edit_of(EditLine *line)
{
	void *e = NULL;
	lib.el_wget(line, EL_CLIENTDATA, &e);
	return e;
}

static int get_key(EditLine *line, wchar_t *ret)
{
	struct edit *e = edit_of(line);
	if (e->changing) {
		e->changing = false;
		e->change_is_due = true;
		*ret = CHANGE_KEY;
		return 1;
	}
	int32_t c = e->get(e->ctx);
	e->ended = c < 0;
	*ret = (wchar_t)c;
	return c < 0 ? 0 : 1;
}

static wchar_t *get_prompt(EditLine *line)
{
	return edit_of(line)->prompt;
}

/* Moves the cursor to the end of the text, so that output can follow below it. */
static unsigned char on_enter(EditLine *line, int c UNUSED)
{
	const LineInfoW *info = lib.el_wline(line);
	lib.el_cursor(line, (int)(info->lastchar - info->cursor));
	edit_of(line)->event = EDIT_ENTER;
	return CC_REFRESH;
}

static unsigned char on_newline(EditLine *line, int c UNUSED)
{
	lib.el_winsertstr(line, L"\n");
	return CC_REFRESH;
}

static unsigned char on_end(EditLine *line, int c UNUSED)
{
	const LineInfoW *info = lib.el_wline(line);
	const wchar_t *at = info->buffer;
	while (at < info->lastchar && *at == L' ') /* the line may be indented */
		at++;
	if (at == info->lastchar) {
		edit_of(line)->event = EDIT_END;
		return CC_NORM;
	}
	if (info->cursor < info->lastchar) {
		lib.el_cursor(line, 1);
		lib.el_deletestr(line, 1);
	}
	return CC_REFRESH;
}

/* Indents if only blanks are before the cursor on its line. */
static unsigned char on_tab(EditLine *line, int c UNUSED)
{
	const LineInfoW *info = lib.el_wline(line);
	const wchar_t *at = info->cursor;
	while (at > info->buffer && at[-1] == L' ')
		at--;
	if (at == info->buffer || at[-1] == L'\n') {
		lib.el_winsertstr(line, L"    ");
		return CC_REFRESH;
	}
	edit_of(line)->event = EDIT_TAB;
	return CC_NORM;
}

static unsigned char do_change(EditLine *line, int c UNUSED)
{
	struct edit *e = edit_of(line);
	if (!e->change_is_due)
		return CC_NORM;
	e->change_is_due = false;
	if (e->deletion)
		lib.el_deletestr(line, (int)e->deletion);
	if (e->insertion)
		lib.el_winsertstr(line, e->insertion);
	return CC_REFRESH;
}

static void bind_keys(EditLine *line)
{
	static const struct {
		const wchar_t *name;
		unsigned char (*fn)(EditLine *, int);
		const wchar_t *keys[2];
	} bindings[] = {
		{ L"husk-enter", on_enter, { L"^M", L"^J" } },
		{ L"husk-newline", on_newline, { L"\\e^M", L"\\e^J" } },
		{ L"husk-end", on_end, { L"^D" } },
		{ L"husk-tab", on_tab, { L"^I" } },
		{ L"husk-change", do_change, { L"^_" } },
	};
	for (size_t i = 0; i < ARRAY_LEN(bindings); i++) {
		lib.el_wset(line, EL_ADDFN, bindings[i].name, L"", bindings[i].fn);
		for (size_t k = 0; k < ARRAY_LEN(bindings[i].keys) && bindings[i].keys[k]; k++)
			lib.el_wset(line, EL_BIND, bindings[i].keys[k], bindings[i].name, NULL);
	}
	/* libedit's search and its quoting of keys block until the next key, which would block the loop. */
	lib.el_wset(line, EL_BIND, L"^R", L"ed-search-prev-history", NULL);
	lib.el_wset(line, EL_BIND, L"^S", L"ed-search-next-history", NULL);
	lib.el_wset(line, EL_BIND, L"-r", L"^V", NULL);
	lib.el_wset(line, EL_BIND, L"-r", L"^Q", NULL);
}

/* Sessions use UTF-8, whatever the locale of this machine is. */
static void use_utf8(void)
{
	setlocale(LC_CTYPE, "");
	if (!streq(nl_langinfo(CODESET), "UTF-8"))
		setlocale(LC_CTYPE, "C.UTF-8");
}

struct edit *edit_new(edit_get get, void *ctx)
{
	HistEventW event;
	if (!library_load(&libedit))
		return NULL;
	use_utf8();
	struct edit *e = xcalloc(1, sizeof(*e));
	*e = (struct edit){ .get = get, .ctx = ctx, .prompt = widen("") };
	e->line = lib.el_init("husk", stdin, stdout, stderr);
	e->history = lib.history_winit();
	if (!e->line || !e->history)
		return edit_free(e);
	lib.el_wset(e->line, EL_CLIENTDATA, e);
	lib.el_wset(e->line, EL_SIGNAL, 0);
	lib.el_wset(e->line, EL_PROMPT_ESC, get_prompt, L'\1');
	lib.el_wset(e->line, EL_EDITOR, L"emacs");
	lib.history_w(e->history, &event, H_SETSIZE, REMEMBERED);
	lib.history_w(e->history, &event, H_SETUNIQUE, 1);
	lib.el_wset(e->line, EL_HIST, lib.history_w, e->history);
	lib.el_source(e->line, NULL); /* ~/.editrc */
	lib.el_wset(e->line, EL_GETCFN, get_key);
	bind_keys(e->line);
	return e;
}

struct edit *edit_free(struct edit *e)
{
	if (!e)
		return NULL;
	if (e->line)
		lib.el_end(e->line);
	if (e->history)
		lib.history_wend(e->history);
	free(e->prompt);
	free(e->insertion);
	free(e);
	return NULL;
}

/* Ctrl-Z at a prompt would return to the shell with the terminal in our mode. */
static void keep_in_foreground(void)
{
	struct termios t;
	if (tcgetattr(STDIN_FILENO, &t) < 0)
		return;
	t.c_cc[VSUSP] = t.c_cc[VQUIT] = _POSIX_VDISABLE;
	tcsetattr(STDIN_FILENO, TCSADRAIN, &t);
}

void edit_begin(struct edit *e, const char *prompt)
{
	free(e->prompt);
	e->prompt = widen(prompt);
	lib.el_wset(e->line, EL_UNBUFFERED, 1);
	keep_in_foreground();
}

void edit_end(struct edit *e)
{
	lib.el_wset(e->line, EL_UNBUFFERED, 0);
}

enum edit_event edit_key(struct edit *e)
{
	int n = 0;
	e->event = EDIT_GOES_ON;
	lib.el_resize(e->line);
	lib.el_wgets(e->line, &n);
	return e->ended ? EDIT_END : e->event;
}

char *edit_text(struct edit *e, size_t *ret_cursor)
{
	AUTO(buf_release) struct buf text = { 0 };
	const LineInfoW *info = lib.el_wline(e->line);
	for (const wchar_t *at = info->buffer; at < info->lastchar; at++) {
		if (at == info->cursor)
			*ret_cursor = text.len;
		add_narrow(&text, *at);
	}
	if (info->cursor == info->lastchar)
		*ret_cursor = text.len;
	return buf_steal_str(&text);
}

/* Makes the change through a key, so that libedit draws only what has changed. */
static void change(struct edit *e)
{
	int n = 0;
	e->changing = true;
	lib.el_wgets(e->line, &n);
}

void edit_insert(struct edit *e, const char *text)
{
	free(e->insertion);
	e->insertion = widen(text);
	e->deletion = 0;
	change(e);
}

void edit_delete(struct edit *e, size_t characters)
{
	free(take_ptr(e->insertion));
	e->deletion = characters;
	change(e);
}

void edit_redraw(struct edit *e)
{
	lib.el_wset(e->line, EL_REFRESH, NULL);
}

void edit_remember(struct edit *e, const char *text)
{
	HistEventW event;
	AUTO(freep) wchar_t *wide = widen(text);
	lib.history_w(e->history, &event, H_ENTER, wide);
}
