#include "cli/repl/matches.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/utf8.h"

#define GAP 2

char *matches_common(const struct strv *m)
{
	if (!m->n)
		return xstrdup("");
	size_t n = strlen(m->v[0]);
	for (size_t i = 1; i < m->n; i++) {
		size_t same = 0;
		while (same < n && m->v[i][same] == m->v[0][same])
			same++;
		n = same;
	}
	return xstrndup(m->v[0], n - utf8_partial_end(m->v[0], n));
}

static size_t width_of(const char *text)
{
	return utf8_count(text, strlen(text));
}

char *matches_columns(const struct strv *m, size_t width, size_t rows_max)
{
	AUTO(buf_release) struct buf out = { 0 };
	size_t widest = 1;
	for (size_t i = 0; i < m->n; i++)
		widest = MAX(widest, width_of(m->v[i]));
	size_t columns = MAX(width / (widest + GAP), 1), rows = (m->n + columns - 1) / columns;
	size_t shown = MIN(rows, rows_max) * columns, n = MIN(m->n, shown);
	rows = (n + columns - 1) / columns;
	for (size_t row = 0; row < rows; row++) {
		for (size_t i = row; i < n; i += rows) {
			bool last = i + rows >= n;
			buf_printf(&out, "%s%*s", m->v[i], last ? 0 : (int)(widest + GAP - width_of(m->v[i])), "");
		}
		buf_add_str(&out, "\n");
	}
	if (n < m->n)
		buf_printf(&out, "… and %zu more\n", m->n - n);
	return buf_steal_str(&out);
}

size_t matches_file_begin(const char *line, size_t cursor)
{
	size_t at = cursor;
	while (at && !strchr("\"'` \t\n(=,", line[at - 1]))
		at--;
	return at;
}

/* compgen finds the files below ~/ even in quotes, and prints names that still begin with ~/. */
char *matches_file_command(const char *begin, size_t n)
{
	AUTO(buf_release) struct buf out = { 0 };
	buf_add_str(&out, "compgen -f -- '");
	for (size_t i = 0; i < n; i++) {
		if (begin[i] == '\'')
			buf_add_str(&out, "'\\''");
		else
			buf_add(&out, begin + i, 1);
	}
	if (n == 1 && begin[0] == '~')
		buf_add_str(&out, "/");
	buf_add_str(
		&out,
		"' | sort | head -n 200 | while IFS= read -r name; do if [ -d \"${name/#\\~\\//$HOME/}\" ]; then echo \"$name/\"; else echo \"$name\"; fi; done");
	return buf_steal_str(&out);
}
