/* Parses and evaluates in one pass, because each marker is evaluated once. Comparisons follow the `packaging` library:
 * versions are compared as PEP 440 says if the variable is a version and the other side can be one, and as strings
 * otherwise. Strings have no order: "<" and ">" are false, "<=" and ">=" mean "==".
 *
 * A value may be unknown, so there are three answers. An unknown value is an error only if the result depends on it. */
#include "cli/marker.h"

#include <ctype.h>
#include <sys/utsname.h>

#include "base/alloc.h"
#include "cli/pep440.h"

#define MARKER_MAX 4096
#define DEPTH_MAX 32
#define BLANKS " \t"
#define WORD_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_."

/* In this order, "and" is the minimum of two answers and "or" the maximum. */
enum answer { NO, MAYBE, YES };

enum kind {
	TEXT,	 /* a string that is known */
	UNKNOWN, /* known only inside the session */
	MACHINE,
	MINOR,	 /* "3.13" */
	RELEASE, /* "3.13.x" */
};

static const struct variable {
	const char *name;
	enum kind kind;
	bool version;
	const char *text;
} VARIABLES[] = {
	{ "python_version", MINOR, true, NULL },
	{ "python_full_version", RELEASE, true, NULL },
	{ "implementation_version", RELEASE, true, NULL },
	{ "implementation_name", TEXT, false, "cpython" },
	{ "platform_python_implementation", TEXT, false, "CPython" },
	{ "platform.python_implementation", TEXT, false, "CPython" },
	{ "python_implementation", TEXT, false, "CPython" },
	{ "os_name", TEXT, false, "posix" },
	{ "os.name", TEXT, false, "posix" },
	{ "sys_platform", TEXT, false, "linux" },
	{ "sys.platform", TEXT, false, "linux" },
	{ "platform_system", TEXT, false, "Linux" },
	{ "platform_machine", MACHINE, false, NULL },
	{ "platform.machine", MACHINE, false, NULL },
	{ "platform_release", UNKNOWN, true, NULL },
	{ "platform_version", UNKNOWN, false, NULL },
	{ "platform.version", UNKNOWN, false, NULL },
	{ "extra", TEXT, false, "" },
};

/* One side of a comparison: a variable or a string. */
struct side {
	const struct variable *variable;
	char *text; /* NULL for a variable */
};

struct parser {
	const char *at, *python;
	unsigned depth;
	const char *unknown; /* the last variable whose value left a comparison open; NULL = none */
	struct fail *f;
};

static void side_release(struct side *s)
{
	free(s->text);
}

/* --- comparing ----------------------------------------------------------------------------------------------------- */

/* The machine's name as Linux spells it: on a Mac, the engine runs Linux on the same processor. */
static const char *machine(struct utsname *u)
{
	if (uname(u) < 0)
		return NULL;
	return streq(u->machine, "arm64") ? "aarch64" : streq(u->machine, "amd64") ? "x86_64" : u->machine;
}

/* 1, 0, or -1 if the operator is not defined for these values. */
static int compare(const char *left, const char *op, const char *right, bool versions)
{
	int met = versions ? pep440_meets(left, op, right) : -1;
	if (met >= 0)
		return met;
	if (streq(op, "in"))
		return strstr(right, left) != NULL;
	if (streq(op, "not in"))
		return strstr(right, left) == NULL;
	if (streq(op, "!="))
		return !streq(left, right);
	if (streq(op, "==") || streq(op, "<=") || streq(op, ">="))
		return streq(left, right);
	return streq(op, "<") || streq(op, ">") ? 0 : -1;
}

static int compare_sides(const struct side *left, const char *op, const struct side *right, const char *value)
{
	const struct variable *v = left->variable ? left->variable : right->variable;
	return compare(left->text ? left->text : value, op, right->text ? right->text : value, v->version);
}

/* The patch release is unknown: MAYBE if the answer depends on it. */
static int compare_patches(const struct side *left, const char *op, const struct side *right, const char *minor)
{
	char patches[PEP440_PATCHES][PEP440_PATCH_MAX];
	const char *string = left->text ? left->text : right->text;
	pep440_patches(minor, string, patches);
	int first = compare_sides(left, op, right, patches[0]);
	if (first < 0)
		return -1;
	for (size_t i = 1; i < PEP440_PATCHES; i++)
		if (compare_sides(left, op, right, patches[i]) != first)
			return MAYBE;
	/* The string is not searched for releases: if it contains the minor version, the answer is unknown. */
	if (strstr(op, "in") && strstr(string, minor))
		return MAYBE;
	return first ? YES : NO;
}

static int answer_of(struct parser *p, const struct side *left, const char *op, const struct side *right)
{
	struct utsname u;
	const struct variable *v = left->variable ? left->variable : right->variable;
	const char *value = v->kind == TEXT ? v->text : v->kind == MACHINE ? machine(&u) : p->python;
	if (v->kind == UNKNOWN || !value) {
		p->unknown = v->name;
		/* An undefined operator is still an error. */
		return compare_sides(left, op, right, "1") < 0 ? -1 : MAYBE;
	}
	if (v->kind == RELEASE) {
		int answer = compare_patches(left, op, right, value);
		p->unknown = answer == MAYBE ? v->name : p->unknown;
		return answer;
	}
	int met = compare_sides(left, op, right, value);
	return met < 0 ? -1 : met ? YES : NO;
}

/* --- parsing ------------------------------------------------------------------------------------------------------- */

static int parse_or(struct parser *p);

static void skip_blanks(struct parser *p)
{
	p->at += strspn(p->at, BLANKS);
}

static int expected(struct parser *p, const char *what)
{
	if (!*p->at)
		return fail_set(p->f, FAIL_INVALID, "%s is expected at its end", what);
	return fail_set(p->f, FAIL_INVALID, "%s is expected at '%.40s'", what, p->at);
}

/* Takes the word if it is next. */
static bool take_word(struct parser *p, const char *word)
{
	size_t n = strlen(word);
	skip_blanks(p);
	if (strspn(p->at, WORD_CHARS) != n || strncmp(p->at, word, n) != 0)
		return false;
	p->at += n;
	return true;
}

static int take_side(struct parser *p, struct side *ret)
{
	skip_blanks(p);
	char quote = *p->at;
	size_t n = strspn(p->at, WORD_CHARS);
	if (quote == '"' || quote == '\'') {
		n = strcspn(p->at + 1, quote == '"' ? "\"" : "'");
		if (!p->at[1 + n])
			return fail_set(p->f, FAIL_INVALID, "unterminated string at '%.40s'", p->at);
		if (memchr(p->at, '\\', n + 1))
			return fail_set(p->f, FAIL_INVALID, "the string has a backslash at '%.40s'", p->at);
		ret->text = xstrndup(p->at + 1, n);
		p->at += n + 2;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(VARIABLES); i++) {
		if (strlen(VARIABLES[i].name) != n || strncmp(p->at, VARIABLES[i].name, n) != 0)
			continue;
		ret->variable = &VARIABLES[i];
		p->at += n;
		return 0;
	}
	return expected(p, "a variable or a quoted string");
}

/* NULL with f if there is no operator. */
static const char *take_operator(struct parser *p)
{
	static const char *const signs[] = { "===", "==", "~=", "!=", "<=", ">=", "<", ">" };
	skip_blanks(p);
	for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
		if (strncmp(p->at, signs[i], strlen(signs[i])) != 0)
			continue;
		p->at += strlen(signs[i]);
		return signs[i];
	}
	if (take_word(p, "in"))
		return "in";
	if (take_word(p, "not") && take_word(p, "in"))
		return "not in";
	expected(p, "an operator");
	return NULL;
}

static int parse_comparison(struct parser *p)
{
	AUTO(side_release) struct side left = { 0 }, right = { 0 };
	const char *start = p->at, *op;
	if (take_side(p, &left) < 0 || !(op = take_operator(p)) || take_side(p, &right) < 0)
		return -1;
	if (!left.variable == !right.variable)
		return fail_set(p->f, FAIL_INVALID, "a variable and a string are expected in '%.*s'",
				(int)MIN(p->at - start, 100), start);
	int answer = answer_of(p, &left, op, &right);
	return answer < 0 ? fail_set(p->f, FAIL_INVALID, "'%s' compares versions only, in '%.*s'", op,
				     (int)MIN(p->at - start, 100), start) :
			    answer;
}

static int parse_atom(struct parser *p)
{
	skip_blanks(p);
	if (*p->at != '(')
		return parse_comparison(p);
	if (++p->depth > DEPTH_MAX)
		return fail_set(p->f, FAIL_INVALID, "it has more than %d nested parentheses", DEPTH_MAX);
	p->at++;
	int answer = parse_or(p);
	if (answer < 0)
		return -1;
	skip_blanks(p);
	if (*p->at != ')')
		return expected(p, "')'");
	p->at++;
	p->depth--;
	return answer;
}

static int parse_and(struct parser *p)
{
	int answer = parse_atom(p);
	while (answer >= 0 && take_word(p, "and")) {
		int next = parse_atom(p);
		answer = MIN(answer, next);
	}
	return answer;
}

static int parse_or(struct parser *p)
{
	int answer = parse_and(p);
	while (answer >= 0 && take_word(p, "or")) {
		int next = parse_and(p);
		answer = next < 0 ? -1 : MAX(answer, next);
	}
	return answer;
}

int marker_applies(const char *marker, const char *python, struct fail *f)
{
	struct parser p = { .at = marker, .python = python, .f = f };
	if (strlen(marker) > MARKER_MAX)
		return fail_set(f, FAIL_INVALID, "the marker has more than %d bytes", MARKER_MAX);
	int answer = parse_or(&p);
	skip_blanks(&p);
	if (answer >= 0 && *p.at)
		answer = expected(&p, "'and' or 'or'");
	if (answer < 0)
		return fail_wrap(f, "cannot read the marker '%.100s'", marker + strspn(marker, BLANKS));
	if (answer != MAYBE)
		return answer == YES;
	fail_set(f, FAIL_INVALID, "the marker '%.100s' depends on %s, which is unknown before the session starts",
		 marker + strspn(marker, BLANKS), p.unknown);
	return fail_hint(f, "remove the marker or the requirement");
}
