#include "manager/line/vt.h"

#include <limits.h>
#include <time.h>
#include <vterm.h>

#include "base/alloc.h"
#include "base/utf8.h"

/* Lines that have left the screen and were not taken; later ones are counted only. */
#define SCROLLED_MAX (1u << 20)
/* A few bytes can have a whole screen redrawn. After so much time the rest is left out, but for its end. */
#define FEED_STEP 512
#define FEED_LAST 4096
#define FEED_MS 100

struct vt {
	VTerm *vterm;
	VTermScreen *screen;
	int rows, cols;
	bool alternate; /* the program draws on the whole screen */
	VTermPos cursor;
	/* Lines are counted from the first that ever was; the screen begins at `pushed`. */
	long pushed, changed; /* LONG_MAX = none */
	struct buf scrolled;
	size_t left_out;
};

static void put(struct buf *out, uint32_t c)
{
	char utf8[4];
	size_t n = 0;
	if (c < 0x80) {
		utf8[n++] = (char)c;
	} else if (c < 0x800) {
		utf8[n++] = (char)(0xc0 | c >> 6);
	} else if (c < 0x10000) {
		utf8[n++] = (char)(0xe0 | c >> 12);
		utf8[n++] = (char)(0x80 | (c >> 6 & 0x3f));
	} else {
		utf8[n++] = (char)(0xf0 | (c >> 18 & 7));
		utf8[n++] = (char)(0x80 | (c >> 12 & 0x3f));
		utf8[n++] = (char)(0x80 | (c >> 6 & 0x3f));
	}
	if (c >= 0x80)
		utf8[n++] = (char)(0x80 | (c & 0x3f));
	(void)buf_add(out, utf8, n);
}

static void put_cell(struct buf *out, const VTermScreenCell *cell)
{
	if (cell->chars[0] == UINT32_MAX)
		return; /* the right half of a wide one */
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

/* --- what libvterm tells ----------------------------------------------------------------------------------------- */

static int on_damage(VTermRect rect, void *user)
{
	struct vt *t = user;
	t->changed = MIN(t->changed, t->pushed + rect.start_row);
	return 1;
}

/* All rows up by some: those that left were pushed. Anything else is told as damage instead. */
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

/* --- in ---------------------------------------------------------------------------------------------------------- */

static uint64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void vt_feed(struct vt *t, const void *data, size_t n)
{
	const char *at = data, *end = at + n;
	uint64_t until = now_ms() + FEED_MS;
	char answer[64];
	while (at < end) {
		if (end - at > FEED_LAST && now_ms() >= until) {
			t->left_out += (size_t)(end - at) - FEED_LAST;
			at = end - FEED_LAST;
			until = UINT64_MAX;
		}
		size_t step = MIN((size_t)(end - at), (size_t)FEED_STEP);
		vterm_input_write(t->vterm, at, step);
		at += step;
		/* What the program asks its terminal is not answered: by now it has given up. */
		while (vterm_output_read(t->vterm, answer, sizeof(answer)))
			;
	}
	vterm_screen_flush_damage(t->screen);
}

void vt_press(struct vt *t, enum vt_key key, struct buf *out)
{
	static const VTermKey keys[] = {
		[VT_UP] = VTERM_KEY_UP,		 [VT_DOWN] = VTERM_KEY_DOWN,
		[VT_LEFT] = VTERM_KEY_LEFT,	 [VT_RIGHT] = VTERM_KEY_RIGHT,
		[VT_INSERT] = VTERM_KEY_INS,	 [VT_DELETE] = VTERM_KEY_DEL,
		[VT_HOME] = VTERM_KEY_HOME,	 [VT_END] = VTERM_KEY_END,
		[VT_PAGE_UP] = VTERM_KEY_PAGEUP, [VT_PAGE_DOWN] = VTERM_KEY_PAGEDOWN,
	};
	char bytes[32];
	vterm_keyboard_key(t->vterm, key >= VT_F1 ? (VTermKey)VTERM_KEY_FUNCTION((int)(key - VT_F1) + 1) : keys[key],
			   VTERM_MOD_NONE);
	for (size_t n; (n = vterm_output_read(t->vterm, bytes, sizeof(bytes)));)
		buf_add(out, bytes, n);
}

/* --- out --------------------------------------------------------------------------------------------------------- */

/* Rows up to the last that has something on it. */
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
