#include "base/screen.h"

#include "base/alloc.h"
#include "base/utf8.h"

#define ESC 0x1b
/* A byte that is no UTF-8, as a cell. */
#define RAW_BYTE 0x80000000u
#define PARAMETERS_MAX 4

struct row {
	uint32_t *cells;
	size_t n, cap;
	bool moved; /* written to anew: blanks at its end only covered something */
};

struct screen {
	struct buf *out;
	struct row rows[SCREEN_ROWS];
	size_t n_rows; /* at least 1 */
	size_t row, column;
	bool cleared; /* the first row is the top of the screen */
};

static void put_cell(struct buf *out, uint32_t c)
{
	uint8_t s[4];
	size_t n = 0;
	if (c & RAW_BYTE || c < 0x80) {
		s[n++] = (uint8_t)c;
	} else if (c < 0x800) {
		s[n++] = (uint8_t)(0xc0 | c >> 6);
		s[n++] = (uint8_t)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		s[n++] = (uint8_t)(0xe0 | c >> 12);
		s[n++] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
		s[n++] = (uint8_t)(0x80 | (c & 0x3f));
	} else {
		s[n++] = (uint8_t)(0xf0 | c >> 18);
		s[n++] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
		s[n++] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
		s[n++] = (uint8_t)(0x80 | (c & 0x3f));
	}
	buf_add(out, s, n);
}

static void put_row(struct screen *s, const struct row *r)
{
	size_t n = r->n;
	while (r->moved && n && r->cells[n - 1] == ' ')
		n--;
	for (size_t i = 0; i < n; i++)
		put_cell(s->out, r->cells[i]);
}

static void next_row(struct screen *s)
{
	s->column = 0;
	if (++s->row < s->n_rows)
		return;
	if (s->n_rows < SCREEN_ROWS) {
		s->rows[s->n_rows++].n = 0;
		return;
	}
	/* The first one can no longer be reached; its memory serves the last. */
	struct row first = s->rows[0];
	put_row(s, &first);
	buf_add_str(s->out, "\n");
	memmove(s->rows, s->rows + 1, (SCREEN_ROWS - 1) * sizeof(*s->rows));
	first.n = 0;
	first.moved = false;
	s->rows[SCREEN_ROWS - 1] = first;
	s->row = SCREEN_ROWS - 1;
}

static void write_cell(struct screen *s, uint32_t c)
{
	struct row *r = &s->rows[s->row];
	size_t need = MAX(r->n, s->column + 1);
	if (need > r->cap) {
		r->cap = MAX(need, r->cap ? 2 * r->cap : 128);
		r->cells = xrealloc(r->cells, r->cap * sizeof(*r->cells));
	}
	while (r->n < s->column)
		r->cells[r->n++] = ' ';
	r->moved |= s->column < r->n;
	r->cells[s->column++] = c;
	r->n = MAX(r->n, s->column);
}

/* What was not given is `otherwise`. */
static size_t parameter(const uint8_t *s, size_t n, size_t which, size_t otherwise)
{
	size_t value = 0, at = 0;
	bool given = false;
	for (size_t i = 2; i + 1 < n && at <= which; i++) {
		if (s[i] == ';') {
			at++;
		} else if (s[i] >= '0' && s[i] <= '9' && at == which) {
			value = MIN(value * 10 + (size_t)(s[i] - '0'), (size_t)SCREEN_COLUMNS);
			given = true;
		}
	}
	return given ? value : otherwise;
}

static void erase_line(struct screen *s, size_t how)
{
	struct row *r = &s->rows[s->row];
	r->moved = true;
	if (how == 2)
		r->n = 0;
	else if (how == 0)
		r->n = MIN(r->n, s->column);
	for (size_t i = 0; how == 1 && i < MIN(r->n, s->column + 1); i++)
		r->cells[i] = ' ';
}

static void erase_screen(struct screen *s, size_t how)
{
	if (how >= 2) {
		for (size_t i = 0; i < s->n_rows; i++)
			s->rows[i].n = 0;
		s->n_rows = 1;
		s->row = s->column = 0;
		s->cleared = true;
	} else if (how == 0) {
		erase_line(s, 0);
		s->n_rows = s->row + 1;
	}
}

static void move(struct screen *s, const uint8_t *seq, size_t n)
{
	size_t count = MAX(parameter(seq, n, 0, 1), (size_t)1);
	switch (seq[n - 1]) {
	case 'A':
		s->row -= MIN(s->row, count);
		break;
	case 'B':
		s->row = MIN(s->row + count, s->n_rows - 1);
		break;
	case 'C':
		s->column = MIN(s->column + count, MAX(s->column, (size_t)SCREEN_COLUMNS));
		break;
	case 'D':
		s->column -= MIN(s->column, count);
		break;
	case 'E':
	case 'F':
		s->column = 0;
		s->row = seq[n - 1] == 'E' ? MIN(s->row + count, s->n_rows - 1) : s->row - MIN(s->row, count);
		break;
	case 'G':
		s->column = count - 1;
		break;
	case 'H':
		if (s->cleared && count == 1 && parameter(seq, n, 1, 1) <= 1)
			s->row = s->column = 0;
		break;
	case 'J':
		erase_screen(s, parameter(seq, n, 0, 0));
		break;
	case 'K':
		erase_line(s, parameter(seq, n, 0, 0));
		break;
	default:
		break;
	}
}

static bool is_csi(const uint8_t *s, size_t n)
{
	return n >= 3 && s[1] == '[' && s[2] != '?' && s[n - 1] >= 0x40 && s[n - 1] <= 0x7e;
}

bool screen_moves(const void *data, size_t n)
{
	const uint8_t *s = data, *no_end = s;
	/* As most text: long, and without any of these. */
	if (!n || (!memchr(s, '\r', n) && !memchr(s, '\b', n) && !memchr(s, ESC, n)))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '\r' || s[i] == '\b')
			return true;
		if (s[i] != ESC)
			continue;
		size_t length = utf8_escape(s + i, n - i, &no_end);
		uint8_t final = s[i + length - 1];
		if (is_csi(s + i, length) && final >= 'A' && final <= 'K')
			return true;
		i += length - 1;
	}
	return false;
}

static size_t show(struct screen *s, const uint8_t *at, size_t n, const uint8_t **no_end)
{
	size_t length = utf8_sequence(at, n);
	switch (at[0]) {
	case '\n':
		next_row(s);
		return 1;
	case '\r':
		s->column = 0;
		return 1;
	case '\b':
		s->column -= s->column > 0;
		return 1;
	case ESC:
		length = utf8_escape(at, n, no_end);
		if (is_csi(at, length))
			move(s, at, length);
		return length;
	default:
		write_cell(s, length ? utf8_decode(at, length) : RAW_BYTE | at[0]);
		return length ? length : 1;
	}
}

void screen_settle(struct buf *out, const void *data, size_t n)
{
	const uint8_t *bytes = data, *no_end = bytes;
	struct screen s = { .out = out, .n_rows = 1 };
	for (size_t i = 0; i < n;)
		i += show(&s, bytes + i, n - i, &no_end);
	for (size_t i = 0; i < s.n_rows; i++) {
		if (i > 0)
			buf_add_str(out, "\n");
		put_row(&s, &s.rows[i]);
	}
	for (size_t i = 0; i < SCREEN_ROWS; i++)
		free(s.rows[i].cells);
}

void screen_text(struct buf *out, const void *data, size_t n)
{
	AUTO(buf_release) struct buf settled = { 0 };
	if (!screen_moves(data, n)) {
		utf8_clean(out, data, n);
		return;
	}
	screen_settle(&settled, data, n);
	utf8_clean(out, settled.data, settled.len);
}
