#include "tools/pages/man.h"

#include <ctype.h>

#define DATE "November 18, 2026"

static const char written[] =
	".\\\" Written by `make pages` from the tables in the code. Change the table, not this page.\n";

/* --- text -------------------------------------------------------------------------------------------------------- */

/* Names and paths must not be hyphenated, since people copy them. */
static bool is_name(const char *word, size_t n)
{
	for (size_t i = 0; i < n && word[i] != ' '; i++)
		if (strchr("_/`", word[i]))
			return true;
	return false;
}

/* Writes one line of text, escaped so that mdoc finds no requests or escapes in it. */
static void add_plain(struct buf *out, const char *text, size_t n)
{
	bool quoted = false;
	if (n && (*text == '.' || *text == '\''))
		buf_add_str(out, "\\&");
	for (size_t i = 0; i < n; i++) {
		if (n > 1 && (!i || text[i - 1] == ' ') && is_name(&text[i], n - i))
			buf_add_str(out, "\\%");
		if (text[i] == '\\')
			buf_add_str(out, "\\e");
		else if (text[i] == '-')
			buf_add_str(out, "\\-");
		else if (text[i] == '~')
			buf_add_str(out, "\\(ti");
		else if (text[i] == '`') {
			buf_add_str(out, quoted ? "\\(cq" : "\\(oq");
			quoted = !quoted;
		} else
			buf_add(out, &text[i], 1);
	}
}

/* An argument of a macro, in quotes, so that its words are not macros. */
static void add_argument(struct buf *out, const char *text, size_t n)
{
	buf_add_str(out, "\"");
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '"')
			buf_add_str(out, "\"\"");
		else
			add_plain(out, &text[i], 1);
	}
	buf_add_str(out, "\"");
}

/* The length of the first sentence, without the blank after it. */
static size_t sentence_length(const char *text)
{
	for (size_t i = 0; text[i]; i++)
		if (strchr(".?!", text[i]) && text[i + 1] == ' ' && isupper((unsigned char)text[i + 2]))
			return i + 1;
	return strlen(text);
}

void man_text(struct buf *out, const char *text)
{
	while (*text) {
		size_t n = sentence_length(text);
		add_plain(out, text, n);
		buf_add_str(out, "\n");
		text += n;
		text += strspn(text, " ");
	}
}

void man_paragraphs(struct buf *out, const char *const *text)
{
	for (; text && *text; text++) {
		buf_add_str(out, ".Pp\n");
		man_text(out, *text);
	}
}

/* --- parts ------------------------------------------------------------------------------------------------------- */

void man_section(struct buf *out, const char *title)
{
	buf_printf(out, ".Sh %s\n", title);
}

void man_subsection(struct buf *out, const char *title)
{
	buf_printf(out, ".Ss %s\n", title);
}

static void add_synopsis(struct buf *out, const struct help_program *p, const struct help_verb *v)
{
	for (const char *const *usage = v->usage; *usage; usage++) {
		buf_printf(out, ".Nm %s\n", p->name);
		if (v->name)
			buf_printf(out, ".Cm %s\n", v->name);
		add_plain(out, *usage, strlen(*usage));
		buf_add_str(out, "\n");
	}
}

void man_begin(struct buf *out, const struct help_program *p)
{
	buf_add_str(out, written);
	buf_add_str(out, ".Dd " DATE "\n.Dt ");
	for (const char *c = p->name; *c; c++)
		buf_printf(out, "%c", toupper((unsigned char)*c));
	buf_printf(out, " 1\n.Os Husk\n.Sh NAME\n.Nm %s\n.Nd ", p->name);
	man_text(out, p->summary);
	buf_add_str(out, ".Sh SYNOPSIS\n");
	for (size_t i = 0; i < p->n_verbs; i++)
		if (p->verbs[i].usage)
			add_synopsis(out, p, &p->verbs[i]);
}

void man_terms(struct buf *out, const char *macro, const struct help_pair *pairs)
{
	buf_add_str(out, ".Bl -tag -width Ds\n");
	for (; pairs->term; pairs++) {
		const char *note = strstr(pairs->term, " (");
		size_t n = note ? (size_t)(note - pairs->term) : strlen(pairs->term);
		buf_printf(out, ".It %s%s", macro, *macro ? " " : "");
		add_argument(out, pairs->term, n);
		if (note) {
			buf_add_str(out, " Pq ");
			add_argument(out, note + 2, strlen(note) - 3);
		}
		buf_add_str(out, "\n");
		man_text(out, pairs->text);
	}
	buf_add_str(out, ".El\n");
}

static void add_option(struct buf *out, const struct help_option *o)
{
	if (!o->text)
		return;
	buf_add_str(out, ".It ");
	if (o->letter)
		buf_printf(out, "Fl %c , ", o->letter);
	buf_printf(out, "Fl Fl %s", o->name);
	if (o->argument) {
		buf_add_str(out, " Ar ");
		add_argument(out, o->argument, strlen(o->argument));
	}
	buf_add_str(out, "\n");
	man_text(out, o->text);
}

void man_options(struct buf *out, const struct help_option *own, const struct help_option *more)
{
	if ((!own || !own->name) && !more)
		return;
	buf_add_str(out, ".Pp\nOptions:\n.Bl -tag -width Ds\n");
	for (; own && own->name; own++)
		add_option(out, own);
	for (; more && more->name; more++)
		add_option(out, more);
	buf_add_str(out, ".El\n");
}

static void add_pairs(struct buf *out, const char *title, const struct help_pair *pairs)
{
	if (!pairs)
		return;
	buf_printf(out, ".Pp\n%s:\n.Bl -tag -width Alt-Enter -compact\n", title);
	for (; pairs->term; pairs++) {
		buf_add_str(out, ".It Li ");
		add_argument(out, pairs->term, strlen(pairs->term));
		buf_add_str(out, "\n");
		man_text(out, pairs->text);
	}
	buf_add_str(out, ".El\n");
}

static void add_examples(struct buf *out, const struct help_pair *examples)
{
	for (const struct help_pair *e = examples; e && e->term; e++) {
		buf_add_str(out, e == examples ? ".Pp\nExamples:\n.Pp\n" : ".Pp\n");
		man_text(out, e->text);
		buf_add_str(out, ".Dl ");
		add_argument(out, e->term, strlen(e->term));
		buf_add_str(out, "\n");
	}
}

void man_verb(struct buf *out, const struct help_verb *v)
{
	buf_printf(out, "%s.\n", v->summary);
	man_paragraphs(out, v->text);
	add_pairs(out, "Keys", v->keys);
	man_options(out, v->options, NULL);
	add_examples(out, v->examples);
	add_pairs(out, "Exit codes", v->codes);
}
