#include "cli/tty.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "base/alloc.h"

static struct termios before;
static volatile sig_atomic_t entered;

bool tty_is_there(void)
{
	return isatty(STDIN_FILENO);
}

int tty_open_again(int fd)
{
	AUTO(freep) char *path = xasprintf("/proc/self/fd/%d", fd);
	int flags = fd == STDIN_FILENO ? O_RDONLY : O_WRONLY;
	int again = isatty(fd) ? open(path, flags | O_NOCTTY | O_CLOEXEC) : -1;
	return again >= 0 ? again : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

void tty_size(int *ret_rows, int *ret_cols)
{
	struct winsize size = { 0 };
	bool told = ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col;
	*ret_rows = told ? size.ws_row : 24;
	*ret_cols = told ? size.ws_col : 80;
}

/* --- raw ----------------------------------------------------------------------------------------------------------- */

void tty_leave(void)
{
	if (entered)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
	entered = false;
}

/* SA_RESETHAND has removed this handler, so raise() has the signal's default effect. */
static void on_crash(int signo)
{
	if (entered)
		tcsetattr(STDIN_FILENO, TCSANOW, &before);
	raise(signo);
}

static void watch_crashes(void)
{
	static const int crashes[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGQUIT };
	struct sigaction action = { .sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND };
	for (size_t i = 0; i < ARRAY_LEN(crashes); i++)
		sigaction(crashes[i], &action, NULL);
}

int tty_enter(void)
{
	struct termios raw;
	if (!entered && tcgetattr(STDIN_FILENO, &before) < 0)
		return -errno;
	raw = before;
	cfmakeraw(&raw);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	if (!entered)
		watch_crashes();
	entered = true;
	return tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) < 0 ? -errno : 0;
}

/* --- modes that programs switch on --------------------------------------------------------------------------------- */

/* The alternate screen comes last, because the modes before it are undone on that screen. */
static const unsigned modes[] = { 1, 66, 1000, 1002, 1003, 1004, 1005, 1006, 1015, 2004, 47, 1047, 1049 };
#define CURSOR 25
_Static_assert(ARRAY_LEN(modes) <= ARRAY_LEN(((struct tty_modes *)NULL)->on), "each has a place");

enum { STATE_TEXT, STATE_ESC, STATE_BRACKET, STATE_NUMBER };

static void note_number(struct tty_modes *m)
{
	for (size_t i = 0; i < ARRAY_LEN(modes); i++)
		m->pending[i] |= modes[i] == m->number;
	m->pending_cursor |= m->number == CURSOR;
	m->number = 0;
}

static void apply(struct tty_modes *m, bool on)
{
	for (size_t i = 0; i < ARRAY_LEN(modes); i++)
		if (m->pending[i])
			m->on[i] = on;
	if (m->pending_cursor)
		m->hidden = !on;
}

static void in_numbers(struct tty_modes *m, uint8_t c)
{
	if (c >= '0' && c <= '9') {
		m->number = MIN(m->number * 10 + (c - '0'), 100000u);
		return;
	}
	note_number(m);
	if (c == ';')
		return;
	if (c == 'h' || c == 'l')
		apply(m, c == 'h');
	m->state = STATE_TEXT;
}

void tty_modes_see(struct tty_modes *m, const void *data, size_t n)
{
	const uint8_t *at = data;
	for (size_t i = 0; i < n; i++) {
		uint8_t c = at[i];
		if (c == 0x1b) {
			m->state = STATE_ESC;
		} else if (m->state == STATE_ESC) {
			m->state = c == '[' ? STATE_BRACKET : STATE_TEXT;
		} else if (m->state == STATE_BRACKET) {
			m->state = c == '?' ? STATE_NUMBER : STATE_TEXT;
			m->number = 0;
			memset(m->pending, 0, sizeof(m->pending));
			m->pending_cursor = false;
		} else if (m->state == STATE_NUMBER) {
			in_numbers(m, c);
		}
	}
}

void tty_modes_undo(const struct tty_modes *m, struct buf *out)
{
	buf_add_str(out, "\033[0m");
	if (m->hidden)
		buf_printf(out, "\033[?%dh", CURSOR);
	for (size_t i = 0; i < ARRAY_LEN(modes); i++)
		if (m->on[i])
			buf_printf(out, "\033[?%ul", modes[i]);
}

/* --- escape keys --------------------------------------------------------------------------------------------------- */

/* True if the key must not be passed on. */
static bool after_tilde(struct tty_escape *e, uint8_t key, struct buf *out, enum tty_escape_event *event)
{
	e->tilde = false;
	if (key == '.' || key == '?') {
		*event = key == '.' ? ESCAPE_LEAVE : ESCAPE_HELP;
		return true;
	}
	buf_add(out, "~", 1);
	e->in_line = true;
	return key == '~';
}

enum tty_escape_event tty_escape_feed(struct tty_escape *e, const uint8_t *keys, size_t n, struct buf *out,
				      size_t *ret_used)
{
	enum tty_escape_event event = ESCAPE_NONE;
	size_t i = 0;
	while (i < n && event == ESCAPE_NONE) {
		uint8_t key = keys[i++];
		if (e->tilde && after_tilde(e, key, out, &event))
			continue;
		if (key == '~' && !e->in_line) {
			e->tilde = true;
			continue;
		}
		e->in_line = key != '\r' && key != '\n';
		buf_add(out, &key, 1);
	}
	*ret_used = i;
	return event;
}

const char *tty_term(void)
{
	const char *term = getenv("TERM");
	size_t n = term ? strlen(term) : 0;
	bool sane = n > 0 && n <= 64 &&
		    strspn(term, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+") == n;
	return sane && !streq(term, "dumb") ? term : NULL;
}
