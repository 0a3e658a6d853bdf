#include "manager/line/vt.h"

#include <limits.h>
#include <time.h>
#include <vterm.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "manager/line/emulator-protocol.h"

/* Limit for the bytes of lines that scrolled off and were not taken yet; further lines are only counted. */
#define SCROLLED_MAX (1u << 20)
/* A few bytes can redraw a whole screen. After FEED_MS of CPU time the rest is left out, except the last FEED_LAST
 * bytes. */
#define FEED_STEP 512
#define FEED_LAST 4096
#define FEED_MS 50

/* Limits of a control sequence. libvterm 0.1.4 has room for 16 parameters but does not check their number, and
 * large values overflow. */
#define SEPARATORS_MAX 15
#define DIGITS_MAX 5

/* Where in the byte stream we are, exact enough to know which character precedes a REP. */
enum place {
	PLACE_TEXT,
	PLACE_ESCAPE, /* after ESC and intermediate bytes */
	PLACE_CSI,    /* in a control sequence */
	PLACE_STRING, /* in a string that ends with BEL or ST */
};

struct vt {
	VTerm *vterm;
	VTermScreen *screen;
	int rows, cols;
	bool alternate; /* the alternate screen, which full-screen programs use */
	VTermPos cursor;
	/* Line numbers count from the first line ever shown. The screen begins at line `pushed`; the first changed
	 * line is `changed`. */
	long pushed, changed; /* LONG_MAX = none */
	struct buf scrolled;
	size_t left_out;
	enum place place;
	bool plain;		/* the last byte was a printed ASCII character */
	bool repeats;		/* the control sequence began right after such a character */
	int separators, digits; /* in the control sequence so far, and in its last parameter */
};

static void put(struct buf *out, uint32_t c)
{
	uint8_t utf8[4];
	(void)buf_add(out, utf8, utf8_write(utf8, c));
}

static void put_cell(struct buf *out, const VTermScreenCell *cell)
{
	if (cell->chars[0] == UINT32_MAX)
		return; /* the right half of a wide character */
	if (!cell->chars[0])
		put(out, ' ');
	for (int i = 0; i < VTERM_MAX_CHARS_PER_CELL && cell->chars[i]; i++)
		put(out, cell->chars[i]);
}

static void trim(struct buf *line)
{
	while (line->len && line->data[line->len - 1] == ' ')
		line->len--;
}

static void read_row(const struct vt *t, int row, int cols, struct buf *line)
{
	VTermScreenCell cell;
	for (int col = 0; col < cols; col++)
		if (vterm_screen_get_cell(t->screen, (VTermPos){ .row = row, .col = col }, &cell))
			put_cell(line, &cell);
}

/* --- callbacks of libvterm --------------------------------------------------------------------------------------- */

static int on_damage(VTermRect rect, void *user)
{
	struct vt *t = user;
	t->changed = MIN(t->changed, t->pushed + rect.start_row);
	return 1;
}

/* True if all rows moved up: on_pushline() receives the lines that leave the screen. libvterm reports any other
 * move as damage. */
static int on_moverect(VTermRect dest, VTermRect src, void *user)
{
	const struct vt *t = user;
	return !t->alternate && dest.start_row == 0 && src.start_row > 0 && src.end_row == t->rows &&
	       dest.start_col == 0 && dest.end_col == t->cols;
}

static int on_movecursor(VTermPos pos, VTermPos old UNUSED, int visible UNUSED, void *user)
{
	((struct vt *)user)->cursor = pos;
	return 1;
}

static int on_settermprop(VTermProp prop, VTermValue *value, void *user)
{
	struct vt *t = user;
	if (prop != VTERM_PROP_ALTSCREEN)
		return 1;
	t->alternate = value->boolean;
	t->changed = MIN(t->changed, t->pushed);
	return 1;
}

static int on_pushline(int cols, const VTermScreenCell *cells, void *user)
{
	struct vt *t = user;
	AUTO(buf_release) struct buf line = { 0 };
	if (t->pushed++ < t->changed)
		return 1;
	for (int i = 0; i < cols; i++)
		put_cell(&line, &cells[i]);
	trim(&line);
	put(&line, '\n');
	if (buf_add(&t->scrolled, line.data, line.len) < 0)
		t->left_out += line.len;
	return 1;
}

struct vt *vt_new(int rows, int cols)
{
	static const VTermScreenCallbacks callbacks = { .damage = on_damage,
							.moverect = on_moverect,
							.movecursor = on_movecursor,
							.settermprop = on_settermprop,
							.sb_pushline = on_pushline };
	struct vt *t = new0(struct vt);
	t->rows = rows;
	t->cols = cols;
	t->vterm = vterm_new(rows, cols);
	t->screen = vterm_obtain_screen(t->vterm);
	vterm_set_utf8(t->vterm, 1);
	vterm_screen_enable_altscreen(t->screen, 1);
	vterm_screen_set_callbacks(t->screen, &callbacks, t);
	vterm_screen_reset(t->screen, /* hard= */ 1);
	t->changed = LONG_MAX;
	t->scrolled.max = SCROLLED_MAX;
	return t;
}

struct vt *vt_free(struct vt *t)
{
	if (t) {
		vterm_free(t->vterm);
		buf_release(&t->scrolled);
		free(t);
	}
	return NULL;
}

/* --- input ------------------------------------------------------------------------------------------------------- */

static uint64_t spent_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static enum place after_escape(char c)
{
	if (c == '[')
		return PLACE_CSI;
	if (strchr("]PX^_", c))
		return PLACE_STRING;
	return c < '0' ? PLACE_ESCAPE : PLACE_TEXT;
}

/* Returns the byte, or NUL if it would exceed a limit; libvterm ignores NULs. */
static char bound_parameter(struct vt *t, char c)
{
	if (c == ';' || c == ':') {
		if (t->separators == SEPARATORS_MAX)
			return '\0';
		t->separators++;
		t->digits = 0;
	} else if (c >= '0' && c <= '9') {
		if (t->digits == DIGITS_MAX)
			return '\0';
		t->digits++;
	}
	return c;
}

/* libvterm 0.1.4 repeats a character (REP, CSI b) until the cursor has moved. That never happens if the last
 * character has no width or there is none. So REP is passed on only right after a printed ASCII character;
 * otherwise its last byte becomes one that libvterm ignores. */
static char filter(struct vt *t, char c)
{
	bool plain = t->plain;
	t->plain = false;
	if (c == '\x1b') {
		t->repeats = plain && t->place == PLACE_TEXT;
		t->place = PLACE_ESCAPE;
	} else if (c == '\x18' || c == '\x1a') {
		t->place = PLACE_TEXT;
	} else if (t->place == PLACE_STRING) {
		t->place = c == '\a' ? PLACE_TEXT : PLACE_STRING;
	} else if ((unsigned char)c >= ' ' && (unsigned char)c < 0x7f && t->place == PLACE_TEXT) {
		t->plain = true;
	} else if ((unsigned char)c >= ' ' && c != 0x7f && t->place == PLACE_ESCAPE) {
		t->repeats &= c == '[';
		t->place = after_escape(c);
		t->separators = t->digits = 0;
	} else if ((unsigned char)c >= '@' && c != 0x7f && t->place == PLACE_CSI) {
		t->place = PLACE_TEXT;
		return c == 'b' && !t->repeats ? 'y' : c;
	} else if (t->place != PLACE_TEXT) {
		t->repeats &= (unsigned char)c >= '0'; /* a parameter */
		return t->place == PLACE_CSI ? bound_parameter(t, c) : c;
	}
	return c;
}

static void feed_step(struct vt *t, const char *data, size_t n)
{
	char bytes[FEED_STEP], answer[64];
	for (size_t i = 0; i < n; i++)
		bytes[i] = filter(t, data[i]);
	vterm_input_write(t->vterm, bytes, n);
	/* Replies to terminal queries are discarded: by now the program has given up waiting for them. */
	while (vterm_output_read(t->vterm, answer, sizeof(answer)))
		continue;
}

void vt_feed(struct vt *t, const void *data, size_t n)
{
	const char *at = data, *end = at + n;
	uint64_t until = spent_ms() + FEED_MS;
	while (at < end) {
		if (end - at > FEED_LAST && spent_ms() >= until) {
			t->left_out += (size_t)(end - at) - FEED_LAST;
			at = end - FEED_LAST;
			until = UINT64_MAX;
		}
		size_t step = MIN((size_t)(end - at), (size_t)FEED_STEP);
		feed_step(t, at, step);
		at += step;
	}
	vterm_screen_flush_damage(t->screen);
}

void vt_leave_out(struct vt *t, size_t n)
{
	t->left_out += n;
}

bool vt_application_keys(struct vt *t)
{
	/* libvterm does not report the mode, only what a key sends. */
	char bytes[32];
	vterm_keyboard_key(t->vterm, VTERM_KEY_UP, VTERM_MOD_NONE);
	size_t n = vterm_output_read(t->vterm, bytes, sizeof(bytes));
	return n == 3 && bytes[1] == 'O';
}

/* --- output ------------------------------------------------------------------------------------------------------ */

/* Appends the rows from `first` up to the last one that is not empty. */
static void add_rows(const struct vt *t, int first, struct buf *text)
{
	size_t empty = 0;
	for (int row = first; row < t->rows; row++) {
		AUTO(buf_release) struct buf line = { 0 };
		read_row(t, row, t->cols, &line);
		trim(&line);
		if (!line.len) {
			empty++;
			continue;
		}
		for (; empty; empty--)
			put(text, '\n');
		buf_add(text, line.data, line.len);
		put(text, '\n');
	}
}

char *vt_take(struct vt *t)
{
	AUTO(buf_release) struct buf text = { 0 }, clean = { 0 };
	buf_add(&text, t->scrolled.data, t->scrolled.len);
	if (t->left_out)
		buf_printf(&text, "[… %zu bytes left out …]\n", t->left_out);
	if (t->alternate && t->changed != LONG_MAX)
		add_rows(t, 0, &text);
	else if (t->changed != LONG_MAX)
		add_rows(t, (int)MAX(0, MIN(t->changed - t->pushed, (long)t->rows)), &text);
	t->changed = LONG_MAX;
	t->left_out = 0;
	buf_release(&t->scrolled);
	t->scrolled.max = SCROLLED_MAX;
	utf8_clean(&clean, text.data, text.len);
	return buf_steal_str(&clean);
}

char *vt_prompt(struct vt *t)
{
	AUTO(buf_release) struct buf line = { 0 }, clean = { 0 };
	read_row(t, t->cursor.row, t->cursor.col, &line);
	trim(&line);
	utf8_clean(&clean, line.data, line.len);
	return buf_steal_str(&clean);
}

/* --- the answer of husk-emulator --------------------------------------------------------------------------------- */

static void add_text(struct buf *out, uint8_t type, uint32_t call, const char *text, size_t max)
{
	size_t n = strlen(text);
	if (n > max)
		n = max - utf8_partial_end(text, max);
	frame_append(out, type, call, text, n);
}

void vt_answer(struct vt *t, const struct frame *feed, struct buf *out)
{
	vt_leave_out(t, feed->header.call);
	vt_feed(t, feed->payload, feed->header.length);
	AUTO(freep) char *text = vt_take(t), *prompt = vt_prompt(t);
	add_text(out, EMULATOR_TEXT, 0, text, EMULATOR_TEXT_MAX);
	add_text(out, EMULATOR_STATE, vt_application_keys(t) ? EMULATOR_APPLICATION_KEYS : EMULATOR_CURSOR_KEYS, prompt,
		 EMULATOR_PROMPT_MAX);
}
