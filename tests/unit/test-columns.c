/* cli/columns: the layout of tables for people. */
#include "tests/unit/unit.h"

#include "base/alloc.h"
#include "cli/columns.h"

/* Styles for a pipe, and for a terminal that shows more than ASCII. */
static const struct style plain = { .width = COLUMNS_WIDTH };
static const struct style marks = { .width = COLUMNS_WIDTH, .unicode = true };

static char *printed(const struct columns *c, const struct style *s)
{
	char text[4096] = "";
	FILE *to = fmemopen(text, sizeof(text), "w");
	columns_print(c, s, to);
	fclose(to);
	return xstrdup(text);
}

static char *wrapped(const char *text, size_t width, size_t indent, bool whole)
{
	char out[4096] = "";
	FILE *to = fmemopen(out, sizeof(out), "w");
	columns_wrap(to, &(struct style){ .width = width }, text, indent, whole);
	fclose(to);
	return xstrdup(out);
}

static char *shortened(const struct style *s, const char *text, size_t width)
{
	AUTO(buf_release) struct buf out = { 0 };
	columns_shorten(&out, s, text, width);
	return xstrdup(buf_str(&out));
}

static void assert_shortened(const struct style *s, const char *text, size_t width, const char *wanted)
{
	AUTO(freep) char *got = shortened(s, text, width);
	assert_string_equal(got, wanted);
	assert_true(columns_width(got) <= width);
}

static void long_values_are_shortened_in_the_middle(void **state)
{
	assert_shortened(&marks, "/srv/files/data.csv", 19, "/srv/files/data.csv");
	assert_shortened(&marks, "/srv/files/data.csv", 11, "/srv/…a.csv");
	assert_shortened(&plain, "/srv/files/data.csv", 11, "/srv....csv");
	assert_shortened(&plain, "abcdefgh", 4, "abcd");
	assert_shortened(&marks, "abcdefgh", 0, "");
}

static void wide_characters_take_two_columns(void **state)
{
	assert_int_equal(columns_width("data"), 4);
	assert_int_equal(columns_width("データ"), 6);
	assert_int_equal(columns_width("e\xcc\x81t"), 2); /* a combining accent takes no column */
	assert_shortened(&marks, "データデータ", 6, "デ…タ");
	/* The accent stays with the letter that it belongs to. */
	assert_shortened(&marks, "abcdefe\xcc\x81xy", 5, "ab…xy");
}

static const struct column three[] = {
	{ "NAME", .least = 6 },
	{ "SIZE", .right = true },
	{ "PLACE", .least = 8, .rank = 1 },
};

static void columns_are_aligned_by_display_width(void **state)
{
	struct columns *c = columns_new(three, ARRAY_LEN(three));
	columns_add(c, PAINT_NONE, "データ");
	columns_add(c, PAINT_GOOD, "7");
	columns_add(c, PAINT_NONE, "here");
	columns_add(c, PAINT_NONE, "a");
	columns_addf(c, PAINT_NONE, "%d", 12345);
	columns_add(c, PAINT_NONE, "-");
	AUTO(freep) char *got = printed(c, &plain);
	assert_string_equal(got, "NAME     SIZE  PLACE\n"
				 "データ      7  here\n"
				 "a       12345  -\n");
	columns_free(c);
}

static void a_cell_is_one_line_without_controls(void **state)
{
	static const struct column one[] = { { "NAME" } };
	struct columns *c = columns_new(one, ARRAY_LEN(one));
	columns_add(c, PAINT_NONE, "a\nb\033[31m\xff");
	AUTO(freep) char *got = printed(c, &plain);
	assert_null(strchr(got, '\033'));
	assert_string_equal(strchr(got, '\n') + 1, "a\xef\xbf\xbd"
						   "b\xef\xbf\xbd\n");
	columns_free(c);
}

static void colours_take_no_room(void **state)
{
	const struct style coloured = { .width = COLUMNS_WIDTH, .colour = true };
	struct columns *c = columns_new(three, ARRAY_LEN(three));
	columns_add(c, PAINT_BAD, "a");
	columns_add(c, PAINT_NONE, "1");
	columns_add(c, PAINT_NONE, "b");
	AUTO(freep) char *got = printed(c, &coloured);
	assert_string_equal(got, "\033[1mNAME\033[0m  \033[1mSIZE\033[0m  \033[1mPLACE\033[0m\n"
				 "\033[31ma\033[0m        1  b\n");
	columns_free(c);
}

static void a_table_without_rows_has_titles(void **state)
{
	struct columns *c = columns_new(three, ARRAY_LEN(three));
	AUTO(freep) char *got = printed(c, &plain);
	assert_string_equal(got, "NAME  SIZE  PLACE\n");
	columns_free(c);
}

static void the_widest_column_is_shortened_first(void **state)
{
	const struct style narrow = { .width = 26, .unicode = true };
	struct columns *c = columns_new(three, ARRAY_LEN(three));
	columns_add(c, PAINT_NONE, "short-one");
	columns_add(c, PAINT_NONE, "1");
	columns_add(c, PAINT_NONE, "abcdefghijklmnopqrstuvwxyz");
	AUTO(freep) char *got = printed(c, &narrow);
	assert_string_equal(got, "NAME       SIZE  PLACE\n"
				 "short-one     1  abcd…wxyz\n");
	columns_free(c);
}

static void columns_without_room_are_left_out_by_rank(void **state)
{
	static const struct column v[] = {
		{ "A" }, { "B", .rank = 1 }, { "C", .rank = 3 }, { "D", .rank = 2 }, { "E" },
	};
	static const char *const wanted[] = {
		[13] = "A  B  C  D  E\na  b  c  -  e\n", /* all of them */
		[12] = "A  B  C  E\na  b  c  e\n",	 /* D has no value */
		[9] = "A  B  E\na  b  e\n",		 /* C has the highest rank */
		[1] = "A  E\na  e\n",			 /* these are always shown */
	};
	struct columns *c = columns_new(v, ARRAY_LEN(v));
	for (const char *cell = "abc-e"; *cell; cell++)
		columns_addf(c, PAINT_NONE, "%c", *cell);
	for (size_t width = 0; width < ARRAY_LEN(wanted); width++) {
		if (!wanted[width])
			continue;
		AUTO(freep) char *got = printed(c, &(struct style){ .width = width });
		assert_string_equal(got, wanted[width]);
	}
	columns_free(c);
}

static void sentences_are_wrapped_at_blanks(void **state)
{
	AUTO(freep) char *lines = wrapped("one two three four", 12, 4, /* whole= */ false);
	assert_string_equal(lines, "one two\n    three\n    four\n");
	AUTO(freep) char *path = wrapped("see /a/very/long/path", 12, 2, /* whole= */ false);
	assert_string_equal(path, "see\n  /a/v...ath\n");
	AUTO(freep) char *whole = wrapped("see /a/very/long/path now", 12, 2, /* whole= */ true);
	assert_string_equal(whole, "see\n  /a/very/long/path\n  now\n");
	AUTO(freep) char *none = wrapped("", 12, 2, /* whole= */ false);
	assert_string_equal(none, "\n");
}

static void a_pipe_gets_80_columns_and_no_colours(void **state)
{
	int fds[2];
	assert_int_equal(pipe(fds), 0);
	setenv("TERM", "xterm", 1);
	struct style s = style_of(fds[1]);
	assert_int_equal(s.width, 80);
	assert_false(s.colour || s.unicode);
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_values_are_shortened_in_the_middle),
		cmocka_unit_test(wide_characters_take_two_columns),
		cmocka_unit_test(columns_are_aligned_by_display_width),
		cmocka_unit_test(a_cell_is_one_line_without_controls),
		cmocka_unit_test(colours_take_no_room),
		cmocka_unit_test(a_table_without_rows_has_titles),
		cmocka_unit_test(the_widest_column_is_shortened_first),
		cmocka_unit_test(columns_without_room_are_left_out_by_rank),
		cmocka_unit_test(sentences_are_wrapped_at_blanks),
		cmocka_unit_test(a_pipe_gets_80_columns_and_no_colours),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
