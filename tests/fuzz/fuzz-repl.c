/* Text at a prompt: typed or piped lines in each language, and names that an interpreter offers to complete them. */
#include "base/alloc.h"
#include "cli/repl/block.h"
#include "cli/repl/matches.h"
#include "tests/fuzz/fuzz.h"

static void check_matches(const struct strv *lines)
{
	AUTO(freep) char *common = matches_common(lines);
	AUTO(freep) char *columns = matches_columns(lines, 80, 10);
	size_t rows = 0;
	for (size_t i = 0; i < lines->n; i++)
		CHECK(strncmp(lines->v[i], common, strlen(common)) == 0);
	CHECK(utf8_valid(common, strlen(common)) && utf8_valid(columns, strlen(columns)));
	for (const char *c = columns; *c; c++)
		rows += *c == '\n';
	CHECK(rows <= 11);
}

static void check_block(enum syntax syntax, const struct strv *lines)
{
	struct block b = { .syntax = syntax };
	for (size_t i = 0; i < lines->n; i++) {
		const char *line = lines->v[i];
		if (b.lines && !block_takes(&b, line, strlen(line)))
			block_reset(&b);
		block_feed(&b, line, strlen(line));
		(void)block_is_open(&b, i & 1);
		(void)block_may_take(&b);
		CHECK(b.depth <= BLOCK_DEPTH_MAX && b.syntax == syntax);
		CHECK(block_indent(&b) <= strlen(line) + 8 || b.indent);
	}
}

int fuzz_one(const uint8_t *data, size_t n)
{
	AUTO(buf_release) struct buf clean = { 0 };
	AUTO(strv_release) struct strv lines = { 0 };
	utf8_clean(&clean, data, n);
	AUTO(freep) char *text = buf_steal_str(&clean);
	size_t len = strlen(text);
	AUTO(freep) char *command = matches_file_command(text, MIN(len, matches_file_begin(text, len)));
	CHECK(command);
	for (char *rest = text, *line; (line = strsep(&rest, "\n"));)
		strv_add(&lines, line);
	for (enum syntax syntax = SYNTAX_LINES; syntax <= SYNTAX_R; syntax++)
		check_block(syntax, &lines);
	check_matches(&lines);
	return 0;
}
