#include "base/help.h"

#include <string.h>

#define INDENT 2
/* Column of the options' text. Longer terms have their text on the next line. */
#define TEXT_COLUMN 22
#define WORD_MAX 64

/* --- layout ------------------------------------------------------------------------------------------------------ */

/* Breaks text at blanks; the first line begins at `column`, the others after `indent` blanks. */
static void wrap(FILE *to, const char *text, size_t column, size_t indent)
{
	bool first = true;
	while (*text) {
		size_t n = strcspn(text, " ");
		if (!first && column + 1 + n > HELP_WIDTH) {
			fprintf(to, "\n%*s", (int)indent, "");
			column = indent;
			first = true;
		}
		fprintf(to, "%s%.*s", first ? "" : " ", (int)n, text);
		column += n + !first;
		first = false;
		text += n;
		text += strspn(text, " ");
	}
	fputc('\n', to);
}

/* "  term      text", with the text on a line of its own if the term is long. */
static void print_term(FILE *to, const char *term, const char *text, size_t text_column)
{
	size_t n = INDENT + strlen(term);
	fprintf(to, "%*s%s", INDENT, "", term);
	if (n + 2 > text_column) {
		fputc('\n', to);
		n = 0;
	}
	fprintf(to, "%*s", (int)(text_column - n), "");
	wrap(to, text, text_column, text_column);
}

static void print_paragraphs(FILE *to, const char *const *text)
{
	for (; text && *text; text++) {
		fputc('\n', to);
		wrap(to, *text, 0, 0);
	}
}

static void print_pairs(FILE *to, const char *title, const struct help_pair *pairs)
{
	size_t column = 0;
	if (!pairs)
		return;
	for (const struct help_pair *p = pairs; p->term; p++)
		column = strlen(p->term) > column ? strlen(p->term) : column;
	fprintf(to, "\n%s:\n", title);
	for (; pairs->term; pairs++)
		print_term(to, pairs->term, pairs->text, INDENT + column + 2);
}

static void print_examples(FILE *to, const struct help_pair *examples)
{
	if (!examples)
		return;
	fputs("\nExamples:\n", to);
	for (; examples->term; examples++) {
		fprintf(to, "%*s%s\n%*s", INDENT, "", examples->term, 3 * INDENT, "");
		wrap(to, examples->text, 3 * INDENT, 3 * INDENT);
	}
}

/* --- parts ------------------------------------------------------------------------------------------------------- */

static void print_option(FILE *to, const struct help_option *o)
{
	char term[HELP_WIDTH + 1], letter[] = "-x, ";
	if (!o->text)
		return;
	letter[1] = o->letter;
	snprintf(term, sizeof(term), "%s--%s%s%s", o->letter ? letter : "", o->name, o->argument ? " " : "",
		 o->argument ? o->argument : "");
	print_term(to, term, o->text, TEXT_COLUMN);
}

static void print_options(FILE *to, const struct help_option *options)
{
	for (; options && options->name; options++)
		print_option(to, options);
}

static void print_usage_lines(FILE *to, const struct help_program *p, const struct help_verb *v)
{
	for (size_t i = 0; v->usage[i]; i++) {
		int n = fprintf(to, "%s %s%s%s ", i ? "      " : "usage:", p->name, v->name ? " " : "",
				v->name ? v->name : "");
		wrap(to, v->usage[i], (size_t)n, (size_t)n);
	}
}

/* --- help -------------------------------------------------------------------------------------------------------- */

void help_print(FILE *to, const struct help_program *p)
{
	fprintf(to, "usage: %s VERB [OPTION]... [ARGUMENT]...\n       %s VERB --help\n", p->name, p->name);
	print_paragraphs(to, p->text);
	for (size_t group = 0; p->groups[group]; group++) {
		fprintf(to, "\n%s:\n", p->groups[group]);
		for (size_t i = 0; i < p->n_verbs; i++)
			if (p->verbs[i].name && p->verbs[i].group == group)
				fprintf(to, "  %-8s  %s\n", p->verbs[i].name, p->verbs[i].summary);
	}
	fputs("\nOptions:\n", to);
	print_options(to, p->options);
}

void help_print_verb(FILE *to, const struct help_program *p, const struct help_verb *v)
{
	print_usage_lines(to, p, v);
	fprintf(to, "\n%s.\n", v->summary);
	print_paragraphs(to, v->text);
	print_pairs(to, "Keys", v->keys);
	fputs("\nOptions:\n", to);
	print_options(to, v->options);
	print_options(to, p->options);
	print_examples(to, v->examples);
	print_pairs(to, "Exit codes", v->codes);
}

void help_print_usage(FILE *to, const struct help_program *p, const struct help_verb *v)
{
	if (v)
		print_usage_lines(to, p, v);
	else
		fprintf(to, "usage: %s VERB [OPTION]... [ARGUMENT]...\n", p->name);
}

void help_print_pointer(FILE *to, const struct help_program *p, const struct help_verb *v)
{
	if (v && v->name)
		fprintf(to, "%s %s --help explains the options.\n", p->name, v->name);
	else
		fprintf(to, "%s --help lists the %s.\n", p->name, p->groups ? "verbs" : "options");
}

/* --- names ------------------------------------------------------------------------------------------------------- */

const struct help_verb *help_find_verb(const struct help_program *p, const char *name)
{
	for (size_t i = 0; i < p->n_verbs; i++)
		if (p->verbs[i].name && streq(p->verbs[i].name, name))
			return &p->verbs[i];
	return NULL;
}

static const struct help_option *find_in(const struct help_option *options, const char *name)
{
	for (; options && options->name; options++)
		if (streq(options->name, name))
			return options;
	return NULL;
}

const struct help_option *help_find_option(const struct help_program *p, const struct help_verb *v, const char *name)
{
	const struct help_option *own = v ? find_in(v->options, name) : NULL;
	return own ? own : find_in(p->options, name);
}

void help_long_options(const struct help_option *options, int first, struct option *ret)
{
	for (; options->name; options++)
		*ret++ = (struct option){ options->name, options->argument ? required_argument : no_argument, NULL,
					  first++ };
	*ret = (struct option){ 0 };
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t help_distance(const char *a, const char *b, size_t most)
{
	size_t rows[3][WORD_MAX + 1], n = strlen(a), m = strlen(b);
	if (n > WORD_MAX || m > WORD_MAX)
		return most;
	for (size_t j = 0; j <= m; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t *now = rows[i % 3], *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];
		now[0] = i;
		for (size_t j = 1; j <= m; j++) {
			now[j] = least(least(before[j], now[j - 1]) + 1, before[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = least(now[j], earlier[j - 2] + 1);
		}
	}
	return least(rows[n % 3][m], most);
}

/* A candidate is near if at most a third of the word is wrong, or if it begins with the word. */
struct nearest {
	const char *word;
	const char *found;
	size_t distance;
};

static struct nearest nearest_to(const char *word)
{
	return (struct nearest){ .word = word, .distance = least(strlen(word) / 3, 3) + 1 };
}

static void consider(struct nearest *n, const char *candidate)
{
	size_t length = strlen(n->word);
	size_t distance = length > 1 && strncmp(candidate, n->word, length) == 0 ?
				  0 :
				  help_distance(n->word, candidate, n->distance);
	if (distance < n->distance) {
		n->found = candidate;
		n->distance = distance;
	}
}

const char *help_nearest_verb(const struct help_program *p, const char *name)
{
	struct nearest n = nearest_to(name);
	for (size_t i = 0; i < p->n_verbs; i++)
		if (p->verbs[i].name)
			consider(&n, p->verbs[i].name);
	return n.found;
}

static void consider_all(struct nearest *n, const struct help_option *options)
{
	for (; options && options->name; options++)
		if (options->text)
			consider(n, options->name);
}

const char *help_nearest_option(const struct help_program *p, const struct help_verb *v, const char *name)
{
	struct nearest n = nearest_to(name);
	if (v)
		consider_all(&n, v->options);
	consider_all(&n, p->options);
	return n.found;
}
