#include "cli/columns.h"

#include <langinfo.h>
#include <locale.h>
#include <sys/ioctl.h>
#include <wchar.h>

#include "base/alloc.h"
#include "base/utf8.h"

#define GAP 2

struct cell {
	char *text; /* well-formed, in one line */
	size_t width;
	enum paint paint;
};

struct columns {
	const struct column *v;
	size_t n;
	struct cell *cells; /* row by row */
	size_t n_cells, cap;
};

/* --- style ------------------------------------------------------------------------------------------------------- */

/* Whether the user's locale is UTF-8. The process's own locale is not changed. */
static bool is_utf8(void)
{
	locale_t own = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	bool utf8 = own && streq(nl_langinfo_l(CODESET, own), "UTF-8");
	if (own)
		freelocale(own);
	return utf8;
}

struct style style_of(int fd)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	bool terminal = isatty(fd);
	struct winsize size;
	struct style s = { .width = COLUMNS_WIDTH };
	s.unicode = terminal && is_utf8();
	s.colour = terminal && term && *term && !streq(term, "dumb") && !(no_color && *no_color);
	if (terminal && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > s.width)
		s.width = size.ws_col;
	return s;
}

const char *style_paint(const struct style *s, enum paint paint)
{
	static const char *const codes[] = {
		[PAINT_NONE] = "",	   [PAINT_TITLE] = "\033[1m", [PAINT_FAINT] = "\033[2m",
		[PAINT_GOOD] = "\033[32m", [PAINT_WARN] = "\033[33m", [PAINT_BAD] = "\033[31m",
	};
	return s->colour ? codes[paint] : "";
}

const char *style_plain(const struct style *s, enum paint paint)
{
	return s->colour && paint != PAINT_NONE ? "\033[0m" : "";
}

/* --- text -------------------------------------------------------------------------------------------------------- */

/* The C locale has no widths beyond ASCII, so widths are taken from C.UTF-8, whatever the user's locale is. */
static size_t width_of(uint32_t character)
{
	static locale_t utf8;
	if (character < 0x80)
		return 1;
	if (!utf8)
		utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	if (!utf8)
		return 1;
	locale_t before = uselocale(utf8);
	int width = wcwidth((wchar_t)character);
	uselocale(before);
	return width < 0 ? 1 : (size_t)width;
}

/* Width of the character at s, and its length in bytes. */
static size_t width_at(const char *s, size_t *ret_length)
{
	size_t n = utf8_sequence((const uint8_t *)s, strlen(s));
	*ret_length = n ? n : 1;
	return n ? width_of(utf8_decode((const uint8_t *)s, n)) : 1;
}

size_t columns_width(const char *text)
{
	size_t width = 0;
	for (size_t length; *text; text += length)
		width += width_at(text, &length);
	return width;
}

/* Bytes at the beginning of text that take at most `width` columns. */
static size_t head_length(const char *text, size_t width)
{
	size_t at = 0;
	for (size_t length, used = 0; text[at]; at += length) {
		used += width_at(text + at, &length);
		if (used > width)
			break;
	}
	return at;
}

/* The longest end of text that takes at most `width` columns. It never begins with a mark that combines with the
 * character before it. */
static const char *tail_of(const char *text, size_t width)
{
	size_t left = columns_width(text), length;
	while (*text && left > width) {
		left -= width_at(text, &length);
		text += length;
	}
	while (*text && width_at(text, &length) == 0)
		text += length;
	return text;
}

void columns_shorten(struct buf *out, const struct style *s, const char *text, size_t width)
{
	const char *mark = s->unicode ? "…" : "...";
	size_t mark_width = s->unicode ? 1 : 3;
	if (columns_width(text) <= width) {
		buf_add_str(out, text);
		return;
	}
	if (width < mark_width + 2) {
		buf_add(out, text, head_length(text, width));
		return;
	}
	size_t tail = (width - mark_width) / 2;
	buf_add(out, text, head_length(text, width - mark_width - tail));
	buf_add_str(out, mark);
	buf_add_str(out, tail_of(text, tail));
}

void columns_wrap(FILE *to, const struct style *s, const char *text, size_t indent, bool whole)
{
	size_t room = s->width > indent ? s->width - indent : 1, used = 0;
	for (text += strspn(text, " \n"); *text; text += strspn(text, " \n")) {
		size_t n = strcspn(text, " \n");
		AUTO(freep) char *word = xstrndup(text, n);
		AUTO(buf_release) struct buf shown = { 0 };
		columns_shorten(&shown, s, word, whole ? SIZE_MAX : room);
		size_t width = columns_width(buf_str(&shown));
		if (used && used + 1 + width > room) {
			fprintf(to, "\n%*s", (int)indent, "");
			used = 0;
		}
		fprintf(to, "%s%s", used ? " " : "", buf_str(&shown));
		used += width + (used > 0);
		text += n;
	}
	fputc('\n', to);
}

/* --- cells ------------------------------------------------------------------------------------------------------- */

struct columns *columns_new(const struct column *v, size_t n)
{
	struct columns *c = new0(struct columns);
	c->v = v;
	c->n = n;
	return c;
}

struct columns *columns_free(struct columns *c)
{
	if (!c)
		return NULL;
	for (size_t i = 0; i < c->n_cells; i++)
		free(c->cells[i].text);
	free(c->cells);
	free(c);
	return NULL;
}

void columns_add(struct columns *c, enum paint paint, const char *text)
{
	AUTO(buf_release) struct buf clean = { 0 };
	utf8_clean_name(&clean, text);
	if (c->n_cells == c->cap) {
		c->cap = c->cap ? 2 * c->cap : 64;
		c->cells = xrealloc(c->cells, c->cap * sizeof(*c->cells));
	}
	struct cell *cell = &c->cells[c->n_cells++];
	*cell = (struct cell){ .text = xstrdup(buf_str(&clean)), .paint = paint };
	cell->width = columns_width(cell->text);
}

void columns_addf(struct columns *c, enum paint paint, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	AUTO(freep) char *text = xvasprintf(fmt, ap);
	va_end(ap);
	columns_add(c, paint, text);
}

/* --- layout ------------------------------------------------------------------------------------------------------ */

struct layout {
	size_t width; /* 0 = left out */
	size_t least;
	bool empty; /* no row has a value */
};

static void measure(const struct columns *c, struct layout *l)
{
	for (size_t i = 0; i < c->n; i++)
		l[i] = (struct layout){ .width = strlen(c->v[i].title), .empty = true };
	for (size_t i = 0; i < c->n_cells; i++) {
		struct layout *column = &l[i % c->n];
		column->width = c->cells[i].width > column->width ? c->cells[i].width : column->width;
		column->empty = column->empty && streq(c->cells[i].text, "-");
	}
	for (size_t i = 0; i < c->n; i++)
		l[i].least = c->v[i].least && c->v[i].least < l[i].width ? c->v[i].least : l[i].width;
}

static size_t total(const struct columns *c, const struct layout *l, bool least)
{
	size_t sum = 0;
	for (size_t i = 0; i < c->n; i++)
		if (l[i].width)
			sum += (sum ? GAP : 0) + (least ? l[i].least : l[i].width);
	return sum;
}

/* The column to leave out next: one without values, otherwise the one with the highest rank. NULL if all must stay. */
static struct layout *dispensable(const struct columns *c, struct layout *l)
{
	size_t found = c->n;
	for (size_t i = 0; i < c->n; i++) {
		if (!l[i].width || !c->v[i].rank)
			continue;
		bool better = found == c->n || l[i].empty > l[found].empty ||
			      (l[i].empty == l[found].empty && c->v[i].rank > c->v[found].rank);
		found = better ? i : found;
	}
	return found < c->n ? &l[found] : NULL;
}

/* The widest of the columns that can still be shortened. */
static struct layout *widest(const struct columns *c, struct layout *l)
{
	struct layout *found = NULL;
	for (size_t i = 0; i < c->n; i++)
		if (l[i].width > l[i].least && (!found || l[i].width > found->width))
			found = &l[i];
	return found;
}

/* Leaves out columns until the others fit at their least widths, then shortens the widest column until all fit. */
static void lay_out(const struct columns *c, size_t width, struct layout *l)
{
	struct layout *column;
	measure(c, l);
	while (total(c, l, /* least= */ true) > width && (column = dispensable(c, l)))
		column->width = 0;
	while (total(c, l, /* least= */ false) > width && (column = widest(c, l)))
		column->width--;
}

/* --- print ------------------------------------------------------------------------------------------------------- */

static void print_cell(const struct columns *c, const struct style *s, const struct layout *l, size_t i,
		       const struct cell *cell, FILE *to)
{
	AUTO(buf_release) struct buf text = { 0 };
	bool first = true, last = true;
	columns_shorten(&text, s, cell->text, l[i].width);
	int blanks = (int)(l[i].width - columns_width(buf_str(&text)));
	for (size_t k = 0; k < c->n; k++) {
		first = first && !(k < i && l[k].width);
		last = last && !(k > i && l[k].width);
	}
	fprintf(to, "%*s%s%s%s", (first ? 0 : GAP) + (c->v[i].right ? blanks : 0), "", style_paint(s, cell->paint),
		buf_str(&text), style_plain(s, cell->paint));
	if (!last && !c->v[i].right)
		fprintf(to, "%*s", blanks, "");
}

void columns_print(const struct columns *c, const struct style *s, FILE *to)
{
	struct layout *l = xcalloc(c->n, sizeof(*l));
	lay_out(c, s->width, l);
	for (size_t i = 0; i < c->n; i++) {
		struct cell title = { .text = (char *)c->v[i].title, .paint = PAINT_TITLE };
		if (l[i].width)
			print_cell(c, s, l, i, &title, to);
	}
	fputc('\n', to);
	for (size_t i = 0; i < c->n_cells; i++) {
		if (l[i % c->n].width)
			print_cell(c, s, l, i % c->n, &c->cells[i], to);
		if (i % c->n == c->n - 1)
			fputc('\n', to);
	}
	free(l);
}
