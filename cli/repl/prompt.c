#include "cli/repl/prompt.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <termios.h>

#include "base/alloc.h"
#include "base/ready.h"
#include "base/stream.h"
#include "base/utf8.h"
#include "cli/repl/edit.h"
#include "cli/repl/keystroke.h"

/* Larger than a cell may be, so that a line that was not read to its end is rejected as too long. */
#define BYTES_MAX (9u << 20)
#define ESCAPE 27
#define BELL 7
#define PASTE_ON "\033[?2004h"
#define PASTE_OFF "\033[?2004l"

struct prompt {
	const struct prompt_ops *ops;
	void *ctx;
	struct edit *edit;     /* NULL = lines are read without an editor */
	struct ready *ready;   /* if the input is a terminal */
	struct stream *stream; /* if the input is not a terminal */
	struct timer *soon, *patience;
	void (*on_terminal)(void *ctx); /* set while the terminal is queried; called at the end of the query */
	struct buf bytes;		/* read, and not yet taken */
	bool terminal;
	bool active, editing, secret;
	bool ended;
	struct termios shown; /* the terminal's modes before a secret or a query */
};

static void say(const char *text)
{
	fputs(text, stdout);
	fflush(stdout);
}

/* --- reading ------------------------------------------------------------------------------------------------------- */

static void read_more(struct prompt *p)
{
	uint8_t *at = buf_reserve(&p->bytes, 4096);
	ssize_t n = at ? read(STDIN_FILENO, at, 4096) : 0;
	if (n > 0)
		p->bytes.len += (size_t)n;
	else if (n == 0 || (errno != EINTR && errno != EAGAIN))
		p->ended = true;
}

/* libedit is called only when a key has arrived. A command of libedit that asks for another key would block the loop,
 * so it gets a key without meaning. */
static int32_t get_character(void *ctx)
{
	struct prompt *p = ctx;
	const uint8_t *data = p->bytes.data;
	size_t n = p->bytes.len, length = n ? utf8_sequence(data, n) : 0;
	if (n == 0)
		return p->ended ? -1 : BELL;
	int32_t c = length ? (int32_t)utf8_decode(data, length) : 0xfffd;
	buf_consume(&p->bytes, length ? length : 1);
	return c;
}

/* --- the end of a line --------------------------------------------------------------------------------------------- */

static void watch(struct prompt *p, bool on)
{
	if (p->ready)
		ready_watch(p->ready, on ? READY_READ : 0);
	else if (p->stream)
		stream_pause(p->stream, !on);
}

static void stop(struct prompt *p)
{
	p->active = false;
	watch(p, false);
	timer_stop(p->soon);
	if (p->editing) {
		say(PASTE_OFF);
		edit_end(p->edit);
	}
	if (p->secret)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &p->shown);
	if (p->editing || p->secret)
		say("\n");
	p->editing = p->secret = false;
}

static void tell_line(struct prompt *p, const char *line, size_t n)
{
	stop(p);
	p->ops->on_line(p->ctx, line, n);
}

static void tell_end(struct prompt *p)
{
	bool new_line = p->terminal && !p->editing && !p->secret;
	stop(p);
	if (new_line)
		say("\n");
	p->ops->on_end(p->ctx);
}

/* --- editing ------------------------------------------------------------------------------------------------------- */

/* True if the input begins with a paste. *ret_whole is false if the paste is incomplete; it is then not taken yet. */
static bool take_paste(struct prompt *p, bool *ret_whole)
{
	static const char begin[] = PASTE_BEGIN, end[] = PASTE_END;
	const char *data = (const char *)p->bytes.data;
	size_t n = strlen(begin);
	if (p->bytes.len < n || memcmp(data, begin, n) != 0)
		return false;
	const char *at = memmem(data + n, p->bytes.len - n, end, strlen(end));
	*ret_whole = at != NULL;
	if (!at)
		return true;
	AUTO(buf_release) struct buf text = { 0 };
	for (const char *c = data + n; c < at; c++) {
		if (*c == '\r')
			buf_add_str(&text, c + 1 < at && c[1] == '\n' ? "" : "\n");
		else if (*c == '\t')
			buf_add_str(&text, "    ");
		else if (*c == '\n' || (unsigned char)*c >= ' ')
			buf_add(&text, c, 1);
	}
	buf_consume(&p->bytes, (size_t)(at - data) + strlen(end));
	while (text.len && text.data[text.len - 1] == '\n')
		text.len--;
	edit_insert(p->edit, buf_str(&text));
	return true;
}

static void tell_tab(struct prompt *p)
{
	size_t cursor = 0;
	AUTO(freep) char *line = edit_text(p->edit, &cursor);
	if (p->ops->on_tab)
		p->ops->on_tab(p->ctx, line, strlen(line), cursor);
}

static void take_key(struct prompt *p)
{
	size_t cursor;
	AUTO(freep) char *line = NULL;
	switch (edit_key(p->edit)) {
	case EDIT_GOES_ON:
		return;
	case EDIT_TAB:
		tell_tab(p);
		return;
	case EDIT_END:
		tell_end(p);
		return;
	case EDIT_ENTER:
		line = edit_text(p->edit, &cursor);
		tell_line(p, line, strlen(line));
		return;
	}
}

static bool take_reply(struct prompt *p, size_t n)
{
	const char *data = (const char *)p->bytes.data;
	if (n < 3 || data[0] != ESCAPE || !p->ops->on_reply || !p->ops->on_reply(p->ctx, data, n))
		return false;
	buf_consume(&p->bytes, n);
	return true;
}

static void take_keys(struct prompt *p)
{
	while (p->editing && p->bytes.len) {
		size_t n = keystroke_length((const char *)p->bytes.data, p->bytes.len);
		bool whole = true;
		if (n == 0)
			break;
		if (take_paste(p, &whole)) {
			if (!whole)
				break;
		} else if (!take_reply(p, n)) {
			take_key(p);
		}
	}
	if (p->editing && p->ended)
		tell_end(p);
}

/* --- lines without an editor --------------------------------------------------------------------------------------- */

static void take_line(struct prompt *p)
{
	const char *data = (const char *)p->bytes.data, *end = p->bytes.len ? memchr(data, '\n', p->bytes.len) : NULL;
	if (!end && !p->ended)
		return;
	if (!end && !p->bytes.len) {
		tell_end(p);
		return;
	}
	size_t n = end ? (size_t)(end - data) : p->bytes.len, shown = n;
	if (shown && data[shown - 1] == '\r')
		shown--;
	AUTO(freep) char *line = xstrndup(data, shown);
	buf_consume(&p->bytes, n + (end != NULL));
	tell_line(p, line, strlen(line));
}

/* Bytes that are not an answer stay for the next line. */
static void take_replies(struct prompt *p)
{
	for (size_t at = 0; at < p->bytes.len;) {
		const char *data = (const char *)p->bytes.data + at;
		size_t n = keystroke_length(data, p->bytes.len - at);
		if (n == 0)
			return;
		if (n > 2 && data[0] == ESCAPE && p->ops->on_reply(p->ctx, data, n)) {
			memmove(p->bytes.data + at, p->bytes.data + at + n, p->bytes.len - at - n);
			p->bytes.len -= n;
		} else {
			at += n;
		}
	}
}

static void take(struct prompt *p)
{
	if (p->on_terminal)
		take_replies(p);
	else if (p->editing)
		take_keys(p);
	else if (p->active)
		take_line(p);
}

static void on_ready(void *ctx, int events UNUSED)
{
	struct prompt *p = ctx;
	read_more(p);
	take(p);
}

static void on_soon(void *ctx)
{
	take(ctx);
}

static void on_data(void *ctx, const void *data, size_t n)
{
	struct prompt *p = ctx;
	if (buf_add(&p->bytes, data, n) < 0)
		p->ended = true; /* the line is longer than BYTES_MAX */
	take(p);
}

static void on_eof(void *ctx, int error UNUSED)
{
	struct prompt *p = ctx;
	p->ended = true;
	take(p);
}

/* --- prompts ------------------------------------------------------------------------------------------------------- */

static void hide(struct prompt *p)
{
	struct termios hidden;
	if (tcgetattr(STDIN_FILENO, &p->shown) < 0)
		return;
	hidden = p->shown;
	hidden.c_lflag &= ~(tcflag_t)ECHO;
	p->secret = tcsetattr(STDIN_FILENO, TCSADRAIN, &hidden) == 0;
}

static void show_plain(const char *text)
{
	bool hidden = false;
	for (; *text; text++) {
		if (*text == '\1')
			hidden = !hidden;
		else if (!hidden)
			fputc(*text, stdout);
	}
	fflush(stdout);
}

void prompt_start(struct prompt *p, enum prompt_kind kind, const char *text, const char *begun)
{
	p->active = true;
	if (p->terminal && p->edit && kind != PROMPT_SECRET) {
		p->editing = true;
		edit_begin(p->edit, text);
		say(PASTE_ON);
		if (*begun)
			edit_insert(p->edit, begun);
	} else if (p->terminal) {
		/* Hide the input before the prompt appears, because the user may then type immediately. */
		if (kind == PROMPT_SECRET)
			hide(p);
		show_plain(text);
	}
	watch(p, true);
	if (p->bytes.len || p->ended)
		timer_start(p->soon, 0, 0);
}

bool prompt_is_active(const struct prompt *p)
{
	return p->active;
}

void prompt_give_up(struct prompt *p)
{
	if (!p->active)
		return;
	bool new_line = p->terminal && !p->editing && !p->secret;
	buf_reset(&p->bytes);
	stop(p);
	if (new_line)
		say("\n");
}

void prompt_clear(struct prompt *p)
{
	if (p->editing)
		say("^C"); /* while editing, the terminal does not echo it */
	prompt_give_up(p);
}

void prompt_change(struct prompt *p, size_t characters, const char *text)
{
	if (!p->editing)
		return;
	if (characters)
		edit_delete(p->edit, characters);
	edit_insert(p->edit, text);
}

void prompt_show(struct prompt *p, const char *text)
{
	if (!p->editing)
		return;
	say("\n");
	say(text);
	edit_redraw(p->edit);
}

char *prompt_line(struct prompt *p, size_t *ret_cursor)
{
	*ret_cursor = 0;
	return p->editing ? edit_text(p->edit, ret_cursor) : xstrdup("");
}

void prompt_remember(struct prompt *p, const char *text)
{
	if (p->edit)
		edit_remember(p->edit, text);
}

/* --- queries to the terminal --------------------------------------------------------------------------------------- */

static void end_query(struct prompt *p)
{
	if (!p->on_terminal)
		return;
	timer_stop(p->patience);
	watch(p, p->active);
	tcsetattr(STDIN_FILENO, TCSADRAIN, &p->shown);
	take_ptr(p->on_terminal)(p->ctx);
}

static void on_impatient(void *ctx)
{
	end_query(ctx);
}

void prompt_query_terminal(struct prompt *p, const char *query, uint64_t ms, void (*on_done)(void *ctx))
{
	struct termios raw;
	p->on_terminal = on_done;
	timer_start(p->patience, ms, 0);
	if (!p->terminal || tcgetattr(STDIN_FILENO, &p->shown) < 0)
		return;
	raw = p->shown;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
	say(query);
	watch(p, true);
}

void prompt_answered(struct prompt *p)
{
	if (p->on_terminal)
		timer_start(p->patience, 0, 0);
}

/* --- life ---------------------------------------------------------------------------------------------------------- */

static void open_terminal(struct prompt *p, struct loop *loop)
{
	const char *type = getenv("TERM");
	/* Watching a descriptor makes it non-blocking, which would also affect standard output on the same terminal. */
	int flags = fcntl(STDIN_FILENO, F_GETFL);
	p->ready = ready_new(loop, STDIN_FILENO, on_ready, p);
	fcntl(STDIN_FILENO, F_SETFL, flags);
	if (p->terminal && type && !streq(type, "dumb"))
		p->edit = edit_new(get_character, p);
}

struct prompt *prompt_new(struct loop *loop, const struct prompt_ops *ops, void *ctx)
{
	static const struct stream_ops stream_ops = { .on_data = on_data, .on_eof = on_eof };
	struct prompt *p = xcalloc(1, sizeof(*p));
	*p = (struct prompt){ .ops = ops, .ctx = ctx, .bytes = { .max = BYTES_MAX } };
	p->soon = timer_new(loop, on_soon, p);
	p->patience = timer_new(loop, on_impatient, p);
	p->terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	if (isatty(STDIN_FILENO))
		open_terminal(p, loop);
	else
		p->stream = stream_new(loop, fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), -1, &stream_ops, p);
	p->ended = !p->ready && !p->stream;
	watch(p, false);
	return p;
}

struct prompt *prompt_free(struct prompt *p)
{
	if (!p)
		return NULL;
	if (p->on_terminal)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &p->shown);
	if (p->active)
		stop(p);
	ready_free(p->ready);
	stream_free(p->stream);
	timer_free(p->soon);
	timer_free(p->patience);
	edit_free(p->edit);
	if (p->bytes.data)
		explicit_bzero(p->bytes.data, p->bytes.cap);
	buf_release(&p->bytes);
	free(p);
	return NULL;
}

bool prompt_is_terminal(const struct prompt *p)
{
	return p->terminal;
}
