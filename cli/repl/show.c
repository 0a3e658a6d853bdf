#include "cli/repl/show.h"

#include <stdarg.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "cli/columns.h"
#include "cli/outcome.h"

#define PLAIN "\033[0m"
#define PROMPT_COLOUR "\033[1;32m"
#define STDERR_COLOUR "\033[33m"
#define ERROR_COLOUR "\033[1;31m"
#define NOTE_COLOUR "\033[2m"

struct show {
	struct output *output;
	bool colour[3]; /* by the number of the stream */
	bool terminal;
	bool mid_line;
};

struct show *show_new(struct output *output)
{
	struct show *s = new0(struct show);
	s->output = output;
	s->colour[1] = style_of(STDOUT_FILENO).colour;
	s->colour[2] = style_of(STDERR_FILENO).colour;
	s->terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	return s;
}

struct show *show_free(struct show *s)
{
	free(s);
	return NULL;
}

/* --- text ---------------------------------------------------------------------------------------------------------- */

static void put(struct show *s, int stream, const char *colour, const char *text, size_t n)
{
	AUTO(buf_release) struct buf bytes = { 0 };
	bool coloured = colour && s->colour[stream];
	if (!n)
		return;
	if (coloured)
		buf_add_str(&bytes, colour);
	buf_add(&bytes, text, n);
	if (coloured)
		buf_add_str(&bytes, PLAIN);
	output_text(s->output, stream, bytes.data, bytes.len);
	if (isatty(stream))
		s->mid_line = text[n - 1] != '\n';
}

void show_output(struct show *s, int stream, const char *text, size_t n)
{
	put(s, stream, stream == 2 ? STDERR_COLOUR : NULL, text, n);
}

void show_interrupt(struct show *s)
{
	s->mid_line |= s->terminal;
}

void show_line_start(struct show *s)
{
	if (s->mid_line)
		put(s, 1, NULL, "\n", 1);
}

/* Values come from a session, so their escape sequences must not reach the terminal. */
static void put_lines(struct show *s, int stream, const char *colour, const char *text, size_t n)
{
	AUTO(buf_release) struct buf clean = { 0 };
	if (isatty(stream))
		utf8_clean(&clean, text, n);
	else
		buf_add(&clean, text, n);
	while (clean.len && clean.data[clean.len - 1] == '\n')
		clean.len--;
	if (!clean.len)
		return;
	show_line_start(s);
	put(s, stream, colour, (const char *)clean.data, clean.len);
	put(s, stream, NULL, "\n", 1);
}

void show_note(struct show *s, const char *fmt, ...)
{
	AUTO(buf_release) struct buf text = { 0 };
	va_list args;
	char *line = NULL;
	if (!s->terminal)
		return;
	va_start(args, fmt);
	if (vasprintf(&line, fmt, args) >= 0)
		put_lines(s, 2, NOTE_COLOUR, line, strlen(line));
	va_end(args);
	free(line);
}

/* The blank comes last: libedit shows a sequence with the character that follows it. */
char *show_prompt(const struct show *s, const char *text)
{
	return s->colour[1] ? xasprintf("\1" PROMPT_COLOUR "\1%s\1" PLAIN "\1 ", text) : xasprintf("%s ", text);
}

/* --- pictures and values ------------------------------------------------------------------------------------------- */

/* The best text of a bundle, or NULL. */
static const struct mime_part *text_of(const struct mime_bundle *b)
{
	static const char *const types[] = { "text/plain", "text/markdown", "text/latex", "application/json" };
	for (size_t t = 0; t < ARRAY_LEN(types); t++)
		for (size_t i = 0; i < b->n; i++)
			if (streq(b->parts[i].type, types[t]))
				return &b->parts[i];
	return NULL;
}

static void show_bundle(struct show *s, const struct mime_bundle *b)
{
	AUTO(picture_release) struct picture picture = { 0 };
	const struct mime_part *text = text_of(b);
	if (picture_take(b, &picture)) {
		show_line_start(s);
		output_picture(s->output, &picture);
	} else if (text) {
		put_lines(s, 1, NULL, text->data, text->len);
	} else if (b->n) { /* nothing that a terminal could show */
		show_note(s, "<%s, %zu bytes>", b->parts[0].type, b->parts[0].len);
	}
}

/* --- ends ---------------------------------------------------------------------------------------------------------- */

/* Finds the line with the message, which is coloured because readers look for it first. */
static void find_message(const char *text, size_t n, const char *message, size_t *ret_begin, size_t *ret_end)
{
	const char *at = outcome_find_message(text, message);
	const char *begin = at ? memrchr(text, '\n', (size_t)(at - text)) : memrchr(text, '\n', n);
	*ret_begin = begin ? (size_t)(begin - text) + 1 : 0;
	const char *end = memchr(text + *ret_begin, '\n', n - *ret_begin);
	*ret_end = end ? (size_t)(end - text) : n;
}

static void show_error(struct show *s, const struct run_result *r)
{
	if (outcome_is_exit(r)) {
		outcome_explain(r);
		return;
	}
	AUTO(freep) char *text = outcome_error(r);
	size_t n = strlen(text), begin, end;
	while (n && text[n - 1] == '\n')
		n--;
	find_message(text, n, r->error_message ? r->error_message : "", &begin, &end);
	put_lines(s, 2, NULL, text, begin);
	put_lines(s, 2, ERROR_COLOUR, text + begin, end - begin);
	if (end < n)
		put_lines(s, 2, NULL, text + end + 1, n - end - 1);
}

void show_display(struct show *s, const struct shown_display *display)
{
	AUTO(picture_release) struct picture picture = { 0 };
	/* A printed line cannot be changed, and each change of a picture would print a new one. */
	if (display->clear || (display->update && picture_take(display->bundle, &picture)))
		return;
	show_bundle(s, display->bundle);
}

void show_result(struct show *s, const struct run_result *r)
{
	for (size_t i = 0; i < r->n_parts; i++) {
		if (r->parts[i].kind == PART_RESULT)
			show_bundle(s, &r->result);
		else if (r->parts[i].kind == PART_ERROR)
			show_error(s, r);
	}
	if (r->displays_dropped)
		show_note(s, "%llu displays are left out", (unsigned long long)r->displays_dropped);
	bool told = r->ending == ENDING_OK || r->ending == ENDING_ERROR || r->ending == ENDING_RUNNING ||
		    r->ending == ENDING_WAITING || (r->ending == ENDING_INTERRUPTED && r->error_type);
	if (!told) {
		const char *text = r->detail ? r->detail : ending_name(r->ending);
		put_lines(s, 2, ERROR_COLOUR, text, strlen(text));
		if (r->lost) {
			AUTO(freep) char *lost = xasprintf("Lost variables: %s.", r->lost);
			put_lines(s, 2, ERROR_COLOUR, lost, strlen(lost));
		}
	}
	if (r->notice)
		show_note(s, "%s", r->notice);
}
