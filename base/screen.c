/* Each input byte costs a bounded number of steps, whatever the bytes are. Blanks left by cursor moves and cells
 * visited by erasures use up a budget that is fixed before the first byte is read. Once it is used up, moves and
 * erasures have no effect. Rows wrap, so memory does not depend on the length of a line. */
#include "base/screen.h"

#include "base/alloc.h"
#include "base/deadline.h"
#include "base/utf8.h"

#define ESC 0x1b
/* A byte that is not UTF-8, as a cell. */
#define RAW_BYTE 0x80000000u
/* Bytes between two checks of the deadline. */
#define CHECK_EVERY (64u << 10)

struct row {
	uint32_t *cells;
	size_t n, cap;
	size_t blank; /* number of cells at its start that are known to be blank */
	bool moved;   /* overwritten or erased in part, so blanks at its end only covered older text */
	bool wrapped; /* its line continues in the next row */
};

struct screen {
	struct buf *out;
	bool clean;		      /* text appended to `out` is cleaned */
	struct buf piece;	      /* one row before cleaning */
	struct row rows[SCREEN_ROWS]; /* a ring */
	size_t first;		      /* index of the top row */
	size_t n_rows;		      /* at least 1 */
	size_t row, column;
	size_t blanks_left, erasures_left, steps;
	bool cleared; /* the first row is the top of the screen */
};

static struct row *row_at(struct screen *s, size_t i)
{
	return &s->rows[(s->first + i) % SCREEN_ROWS];
}

static void put_cell(struct buf *out, uint32_t c)
{
	uint8_t *s = buf_reserve(out, 4);
	size_t n = 1;
	if (c & RAW_BYTE)
		*s = (uint8_t)c;
	else
		n = utf8_write(s, c);
	out->len += n;
}

static void put_row(struct screen *s, const struct row *r)
{
	size_t n = r->n;
	struct buf *to = s->clean ? &s->piece : s->out;
	s->steps += r->n;
	while (r->moved && !r->wrapped && n && r->cells[n - 1] == ' ')
		n--;
	for (size_t i = 0; i < n; i++)
		put_cell(to, r->cells[i]);
	if (!s->clean)
		return;
	utf8_clean(s->out, s->piece.data, s->piece.len);
	buf_reset(&s->piece);
}

static void empty_row(struct row *r)
{
	r->n = r->blank = 0;
	r->wrapped = false;
}

static void next_row(struct screen *s)
{
	s->column = 0;
	if (++s->row < s->n_rows)
		return;
	if (s->n_rows == SCREEN_ROWS) {
		/* The first row can no longer be reached; its memory is reused for the last. */
		put_row(s, row_at(s, 0));
		if (!row_at(s, 0)->wrapped)
			buf_add_str(s->out, "\n");
		row_at(s, 0)->moved = false;
		s->first++;
		s->n_rows--;
		s->row--;
	}
	empty_row(row_at(s, s->n_rows++));
}

static struct row *row_with_room(struct screen *s)
{
	struct row *r = row_at(s, s->row);
	size_t need = MAX(r->n, s->column + 1);
	if (need > r->cap) {
		r->cap = MIN(MAX(need, r->cap ? 2 * r->cap : 128), (size_t)SCREEN_WIDTH);
		r->cells = xrealloc(r->cells, r->cap * sizeof(*r->cells));
	}
	return r;
}

static void write_cell(struct screen *s, uint32_t c)
{
	if (s->column == SCREEN_WIDTH) {
		row_at(s, s->row)->wrapped = true;
		next_row(s);
	}
	struct row *r = row_at(s, s->row);
	size_t gap = s->column > r->n ? s->column - r->n : 0;
	if (gap > s->blanks_left) {
		s->column = r->n;
		gap = 0;
	}
	r = row_with_room(s);
	s->blanks_left -= gap;
	s->steps += gap + 1;
	while (r->n < s->column)
		r->cells[r->n++] = ' ';
	r->moved |= s->column < r->n;
	r->blank = MIN(r->blank, s->column);
	r->cells[s->column++] = c;
	r->n = MAX(r->n, s->column);
}

/* Returns `otherwise` for a missing parameter. */
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

static void erase_start(struct screen *s, struct row *r)
{
	size_t end = MIN(r->n, s->column + 1), visited = end > r->blank ? end - r->blank : 0;
	if (visited > s->erasures_left)
		return;
	s->erasures_left -= visited;
	s->steps += visited;
	for (; r->blank < end; r->blank++)
		r->cells[r->blank] = ' ';
}

static void erase_line(struct screen *s, size_t how)
{
	struct row *r = row_at(s, s->row);
	r->moved = true;
	if (how == 2)
		empty_row(r);
	else if (how == 0)
		r->n = MIN(r->n, s->column);
	else if (how == 1)
		erase_start(s, r);
	r->blank = MIN(r->blank, r->n);
}

static void erase_screen(struct screen *s, size_t how)
{
	if (how >= 2) {
		for (size_t i = 0; i < s->n_rows; i++)
			empty_row(row_at(s, i));
		s->steps += s->n_rows;
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
	/* Fast path for long text without control characters. */
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

static size_t play(struct screen *s, const uint8_t *bytes, size_t n)
{
	const uint8_t *no_end = bytes;
	size_t i = 0, check_at = CHECK_EVERY;
	s->n_rows = 1;
	s->blanks_left = SCREEN_BLANKS(n);
	s->erasures_left = SCREEN_ERASURES(n);
	while (i < n && (i < check_at || !deadline_passed())) {
		check_at = i < check_at ? check_at : i + CHECK_EVERY;
		i += show(s, bytes + i, n - i, &no_end);
	}
	for (size_t row = 0; row < s->n_rows; row++) {
		if (row > 0 && !row_at(s, row - 1)->wrapped)
			buf_add_str(s->out, "\n");
		put_row(s, row_at(s, row));
	}
	for (size_t row = 0; row < SCREEN_ROWS; row++)
		free(s->rows[row].cells);
	buf_release(&s->piece);
	if (i < n)
		deadline_note(s->out, n - i);
	return s->steps + i;
}

size_t screen_settle(struct buf *out, const void *data, size_t n)
{
	struct screen s = { .out = out };
	return play(&s, data, n);
}

/* Line by line, so that the deadline is checked in between. Cleaning never spans a line break. */
static void clean(struct buf *out, const uint8_t *s, size_t n)
{
	while (n > CHECK_EVERY) {
		const uint8_t *end = memchr(s + CHECK_EVERY - 1, '\n', n - CHECK_EVERY + 1);
		size_t piece = end ? (size_t)(end - s) + 1 : n;
		utf8_clean(out, s, piece);
		s += piece;
		n -= piece;
		if (n && deadline_passed()) {
			deadline_note(out, n);
			return;
		}
	}
	utf8_clean(out, s, n);
}

void screen_text(struct buf *out, const void *data, size_t n)
{
	if (!screen_moves(data, n)) {
		clean(out, data, n);
		return;
	}
	struct screen s = { .out = out, .clean = true };
	(void)play(&s, data, n);
}
