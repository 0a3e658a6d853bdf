/* cli/repl/block: where a cell ends. */
#include "cli/repl/block.h"

#include "tests/unit/unit.h"

static void feed(struct block *b, const char *text)
{
	for (const char *end; *text; text = *end ? end + 1 : end) {
		end = strchrnul(text, '\n');
		block_feed(b, text, (size_t)(end - text));
	}
}

static void expect(enum syntax syntax, const char *text, bool open)
{
	struct block b = { .syntax = syntax };
	feed(&b, text);
	if (block_is_open(&b, false) != open)
		fail_msg("%s: should%s go on", text, open ? "" : " not");
}

#define GOES_ON(syntax, text) expect(SYNTAX_##syntax, text, true)
#define IS_WHOLE(syntax, text) expect(SYNTAX_##syntax, text, false)

static void python(void **state)
{
	IS_WHOLE(PYTHON, "1 + 1");
	IS_WHOLE(PYTHON, "x = (1,\n2)");
	GOES_ON(PYTHON, "x = (1,");
	GOES_ON(PYTHON, "x = {\n\n");
	GOES_ON(PYTHON, "def f():");
	GOES_ON(PYTHON, "def f():\n    return 1");
	IS_WHOLE(PYTHON, "def f():\n    return 1\n ");
	GOES_ON(PYTHON, "for i in range(3): print(i)");
	IS_WHOLE(PYTHON, "for i in range(3): print(i)\n ");
	GOES_ON(PYTHON, "match x:");
	GOES_ON(PYTHON, "@cache");
	GOES_ON(PYTHON, "class A: # comment");
	IS_WHOLE(PYTHON, "forty = 2 # for:");
	GOES_ON(PYTHON, "s = '''a\n\n");
	IS_WHOLE(PYTHON, "s = '''a\n\n'''");
	IS_WHOLE(PYTHON, "s = '(' + \"[\" # {");
	IS_WHOLE(PYTHON, "s = 'it\\'s ('");
	GOES_ON(PYTHON, "x = 1 + \\");
	IS_WHOLE(PYTHON, "x = 1 + \\\n2");
	GOES_ON(PYTHON, "s = 'one \\");
	IS_WHOLE(PYTHON, "s = 'never closed");
	IS_WHOLE(PYTHON, "x = )");
	IS_WHOLE(PYTHON, "!echo 'it is (");
	IS_WHOLE(PYTHON, "%timeit f(");
	GOES_ON(PYTHON, "%%bash\necho '(");
	IS_WHOLE(PYTHON, "%%bash\necho '(\n ");
	IS_WHOLE(PYTHON, "f\"{x[\"a\"]}\"");
}

static void a_pasted_block_needs_no_blank_line(void **state)
{
	struct block b = { .syntax = SYNTAX_PYTHON };
	feed(&b, "def f():");
	assert_true(block_is_open(&b, true));
	feed(&b, "    return 1");
	assert_false(block_is_open(&b, true));
	feed(&b, "x = [");
	assert_true(block_is_open(&b, true));
}

static void javascript(void **state)
{
	IS_WHOLE(JAVASCRIPT, "1 + 1");
	GOES_ON(JAVASCRIPT, "function f(a) {");
	IS_WHOLE(JAVASCRIPT, "function f(a) {\n  return a\n}");
	GOES_ON(JAVASCRIPT, "function f(a)");
	GOES_ON(JAVASCRIPT, "if (x)");
	IS_WHOLE(JAVASCRIPT, "if (x) y()");
	IS_WHOLE(JAVASCRIPT, "f(x)");
	GOES_ON(JAVASCRIPT, "const g = x =>");
	GOES_ON(JAVASCRIPT, "a +");
	IS_WHOLE(JAVASCRIPT, "a +\n ");
	IS_WHOLE(JAVASCRIPT, "a++");
	GOES_ON(JAVASCRIPT, "`one");
	IS_WHOLE(JAVASCRIPT, "`one\n${ {a: `}`}.a } two`");
	GOES_ON(JAVASCRIPT, "`a ${b");
	GOES_ON(JAVASCRIPT, "/* one");
	IS_WHOLE(JAVASCRIPT, "/* one\n*/ 2");
	IS_WHOLE(JAVASCRIPT, "x = '(' // {");
	IS_WHOLE(JAVASCRIPT, "x = /[/(]\\//.test(y)");
	IS_WHOLE(JAVASCRIPT, "/a(/");
	IS_WHOLE(JAVASCRIPT, "a / b");
	GOES_ON(JAVASCRIPT, "else");
	IS_WHOLE(JAVASCRIPT, "'open");
	IS_WHOLE(JAVASCRIPT, "}");
}

static void r(void **state)
{
	IS_WHOLE(R, "x <- 1");
	GOES_ON(R, "x <-");
	GOES_ON(R, "f <- function(x)");
	IS_WHOLE(R, "f <- function(x) x + 1");
	GOES_ON(R, "f <- \\(x)");
	GOES_ON(R, "f <- function(x) {");
	GOES_ON(R, "if (x > 1)");
	GOES_ON(R, "df |>");
	GOES_ON(R, "a %in%");
	IS_WHOLE(R, "a %(% b");
	IS_WHOLE(R, "s <- \"(\" # [");
	GOES_ON(R, "s <- \"one");
	IS_WHOLE(R, "s <- \"one\ntwo\"");
	GOES_ON(R, "s <- r\"--(one)-\"");
	IS_WHOLE(R, "s <- r\"--(one \" )--\"");
	IS_WHOLE(R, "`odd (name` <- 1");
	IS_WHOLE(R, "x[[1]]");
}

static void other_languages_run_each_line(void **state)
{
	IS_WHOLE(LINES, "a = (");
}

/* The cells of a text from a pipe. */
static void cut(enum syntax syntax, const char *text, const char *want)
{
	struct block b = { .syntax = syntax };
	char cells[512] = "";
	for (const char *end; *text; text = *end ? end + 1 : end) {
		end = strchrnul(text, '\n');
		if (b.lines && !block_takes(&b, text, (size_t)(end - text))) {
			strncat(cells, "|", sizeof(cells) - strlen(cells) - 1);
			block_reset(&b);
		} else if (b.lines) {
			strncat(cells, "/", sizeof(cells) - strlen(cells) - 1);
		}
		strncat(cells, text, (size_t)(end - text));
		block_feed(&b, text, (size_t)(end - text));
	}
	assert_string_equal(cells, want);
}

static void pipes_have_no_blank_line_at_the_end(void **state)
{
	cut(SYNTAX_PYTHON, "def f():\n  x = 1\n\n  return x\nf()\n", "def f():/  x = 1//  return x|f()");
	cut(SYNTAX_PYTHON, "if a:\n  b\nelse:\n  c\nd", "if a:/  b/else:/  c|d");
	cut(SYNTAX_PYTHON, "@one\n@two\ndef f(): pass\ny", "@one/@two/def f(): pass|y");
	cut(SYNTAX_PYTHON, "x = [\n1]\ny", "x = [/1]|y");
	cut(SYNTAX_JAVASCRIPT, "if (a) {\n}\nelse {\n}\nb", "if (a) {/}/else {/}|b");
	cut(SYNTAX_R, "x <-\n1\ny", "x <-/1|y");
}

static void indentation_is_suggested(void **state)
{
	static const struct {
		const char *text;
		size_t indent;
	} cases[] = { { "x", 0 },
		      { "def f():", 4 },
		      { "def f():\n    x", 4 },
		      { "def f():\n    if x:", 8 },
		      { "def f():\n    return x", 0 },
		      { "s = '''", 0 } };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct block b = { .syntax = SYNTAX_PYTHON };
		feed(&b, cases[i].text);
		assert_int_equal(block_indent(&b), cases[i].indent);
	}
}

static void brackets_in_comments_do_not_count(void **state)
{
	struct block b = { .syntax = SYNTAX_PYTHON };
	feed(&b, "# only\n\n# this");
	assert_false(b.has_code);
	feed(&b, "x");
	assert_true(b.has_code);
	assert_int_equal(syntax_of(".R"), SYNTAX_R);
	assert_int_equal(syntax_of(".go"), SYNTAX_LINES);
}

static void nesting_is_bounded(void **state)
{
	struct block b = { .syntax = SYNTAX_R };
	for (size_t i = 0; i <= BLOCK_DEPTH_MAX; i++)
		block_feed(&b, "(", 1);
	assert_false(block_is_open(&b, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(python),
		cmocka_unit_test(a_pasted_block_needs_no_blank_line),
		cmocka_unit_test(javascript),
		cmocka_unit_test(r),
		cmocka_unit_test(other_languages_run_each_line),
		cmocka_unit_test(pipes_have_no_blank_line_at_the_end),
		cmocka_unit_test(indentation_is_suggested),
		cmocka_unit_test(brackets_in_comments_do_not_count),
		cmocka_unit_test(nesting_is_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
