#include "cli/typed.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <termios.h>

static void set_echo(bool on)
{
	struct termios t;
	if (tcgetattr(STDIN_FILENO, &t) < 0)
		return;
	t.c_lflag = on ? t.c_lflag | ECHO : t.c_lflag & ~(tcflag_t)ECHO;
	(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &t);
}

/* SA_RESETHAND: the second signal ends the program. */
static void on_signal(int signo)
{
	set_echo(true);
	(void)raise(signo);
}

/* Otherwise Ctrl-C would leave a terminal that shows nothing. */
static void handle_signals(void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESETHAND };
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

/* The buffer does not grow, so no copy of a secret is left behind. */
static int read_all(bool typed, struct buf *text)
{
	for (ssize_t n = 1; n > 0 && !(typed && memchr(buf_str(text), '\n', text->len));) {
		uint8_t *at = text->data + text->len;
		size_t room = text->max - text->len;
		n = room ? read(STDIN_FILENO, at, room) : -1;
		if (n < 0 && room && errno == EINTR)
			n = 1;
		else if (n < 0)
			return -1;
		else
			text->len += (size_t)n;
	}
	return 0;
}

int typed_value(const char *name, size_t max, struct buf *ret)
{
	bool typed = isatty(STDIN_FILENO);
	/* With room for a line end, and for a byte that shows that there is more. */
	struct buf text = { .max = max + 3 };
	if (!buf_reserve(&text, text.max))
		return -1;
	if (typed) {
		fprintf(stderr, "%s: ", name);
		handle_signals(on_signal);
		set_echo(false);
	}
	int r = read_all(typed, &text);
	if (typed) {
		set_echo(true);
		handle_signals(SIG_DFL);
		fputc('\n', stderr);
	}
	while (text.len && (text.data[text.len - 1] == '\n' || text.data[text.len - 1] == '\r'))
		text.len--;
	if (text.len > max || memchr(text.data, '\0', text.len))
		r = -1;
	if (r == 0)
		*ret = text;
	else
		buf_wipe(&text);
	return r;
}
