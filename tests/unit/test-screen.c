/* base/screen: text that moves the cursor becomes the final content of a terminal. */
#include "base/screen.h"

#include "base/alloc.h"
#include "base/deadline.h"
#include "base/utf8.h"
#include "tests/unit/unit.h"

static void check(const char *in, const char *want)
{
	AUTO(buf_release) struct buf out = { 0 };
	screen_text(&out, in, strlen(in));
	assert_string_equal(buf_str(&out), want);
}

static void leaves_text_alone(void **state)
{
	check("", "");
	check("one\ntwo\n", "one\ntwo\n");
	check("  indented  \n\n\n", "  indented  \n\n\n");
	check("\x1b[31mred\x1b[0m  \n", "red  \n");
	assert_false(screen_moves("plain\ttext\n", 11));
}

static void a_carriage_return_writes_over_its_line(void **state)
{
	check("10%\r20%\r100%\n", "100%\n");
	check("\r  0%\r 50%\r100%", "100%");
	check("abcdef\rxyz\n", "xyzdef\n");
	check("working...\r          \rdone\n", "done\n");
	check("one\r\ntwo\r\n", "one\ntwo\n");
	check("last\r", "last");
	check("größe\rweite\n", "weite\n");
}

static void a_backspace_moves_back(void **state)
{
	check("|\b/\b-\b\\\n", "\\\n");
	check("abc\b\bX\n", "aXc\n");
	check("\b\b\bx", "x");
	/* Bold and underlined text in man pages. */
	check("b\bbo\bol\bld\bd _\bu\n", "bold u\n");
}

static void sequences_move_and_erase(void **state)
{
	check("downloading\r\x1b[Kdone\n", "done\n");
	check("one\x1b[2K\rtwo\n", "two\n");
	/* Several bars, like those of nested loops. */
	check("\router 0\n\rinner 0\x1b[A\router 1\n\rinner 1\x1b[A\router 2\n", "outer 2\ninner 1");
	check("a\nb\nc\n\x1b[2A\rB\n", "a\nB\nc\n");
	check("junk\n\x1b[2J\x1b[Hfirst\n\x1b[Hsecond\n", "second\n");
	check("xx\x1b[5Gy\n", "xx  y\n");
	check("\x1b[?25lhidden cursor\x1b[?25h\r*", "*idden cursor");
}

static void lines_that_scrolled_away_are_kept(void **state)
{
	AUTO(buf_release) struct buf in = { 0 }, out = { 0 };
	for (int i = 0; i < 1000; i++)
		buf_printf(&in, "line %d\n", i);
	buf_add_str(&in, "\x1b[999A\rtop\x1b[999B");
	screen_text(&out, in.data, in.len);
	assert_int_equal(strncmp(buf_str(&out), "line 0\nline 1\n", 14), 0);
	assert_non_null(strstr(buf_str(&out), "line 936\ntop"));
	assert_null(strstr(buf_str(&out), "line 937"));
	assert_non_null(strstr(buf_str(&out), "line 999\n"));
}

static void a_bar_of_many_steps_is_one_line(void **state)
{
	AUTO(buf_release) struct buf in = { 0 }, out = { 0 };
	for (int i = 0; i <= 600; i++)
		buf_printf(&in, "\r%3d%%|%-20.*s| %d/600", i / 6, i / 30, "####################", i);
	buf_add_str(&in, "\n");
	screen_text(&out, in.data, in.len);
	assert_string_equal(buf_str(&out), "100%|####################| 600/600\n");
}

static void hostile_sequences_stay_small(void **state)
{
	AUTO(buf_release) struct buf in = { 0 }, out = { 0 };
	for (int i = 0; i < 2000; i++)
		buf_add_str(&in, "\x1b[99999999999C\x1b[999999Bx\n\x1b[999999999G");
	screen_settle(&out, in.data, in.len);
	assert_true(out.len <= in.len + SCREEN_BLANKS(in.len));
	buf_reset(&out);
	screen_settle(&out, "\xff\r\xc3\xa4\xff", 5);
	assert_memory_equal(out.data, "\xc3\xa4\xff", 3);
}

static void repeat(struct buf *b, const char *s, size_t times)
{
	while (times-- > 0)
		buf_add_str(b, s);
}

/* Counts steps instead of time. In an earlier version, 400,000 letters and 100,000 erasures took 40,000 million
 * steps. */
static size_t steps_of(struct buf *in, struct buf *out)
{
	buf_reset(out);
	size_t steps = screen_settle(out, in->data, in->len);
	assert_true(out->len <= in->len + SCREEN_BLANKS(in->len));
	buf_reset(in);
	return steps;
}

/* evidence: loop-work */
static void repeated_erasing_is_cheap(void **state)
{
	AUTO(buf_release) struct buf in = { 0 }, out = { 0 };
	repeat(&in, "x", 400000);
	repeat(&in, "\x1b[1K", 100000);
	size_t n = in.len;
	assert_true(steps_of(&in, &out) < 4 * n);
	/* A letter in the first column each time, so that there is something to erase. */
	for (int i = 0; i < 20000; i++)
		buf_add_str(&in, "\rx\x1b[999C\x1b[1K");
	n = in.len;
	assert_true(steps_of(&in, &out) < 12 * n);
	repeat(&in, "\n\x1b[2J", 100000);
	n = in.len;
	assert_true(steps_of(&in, &out) < 4 * n);
	repeat(&in, "\n", 100000);
	buf_add_str(&in, "\r");
	assert_true(steps_of(&in, &out) < 4 * 100001);
	assert_int_equal(out.len, 100000);
}

/* evidence: loop-work */
static void moves_add_a_bounded_number_of_blanks(void **state)
{
	AUTO(buf_release) struct buf in = { 0 }, out = { 0 };
	repeat(&in, "\x1b[999Gx\n", 125000);
	size_t n = in.len;
	assert_true(steps_of(&in, &out) < 8 * n);
	assert_true(out.len < 2 * n + (1u << 20));
	/* The first moves are exact. */
	assert_int_equal(strspn(buf_str(&out), " "), 998);
}

static void long_lines_wrap_and_stay_whole(void **state)
{
	AUTO(buf_release) struct buf in = { 0 }, out = { 0 };
	repeat(&in, "0123456789", 1000000);
	buf_add_str(&in, "\nlast\rLAST");
	screen_settle(&out, in.data, in.len);
	assert_int_equal(out.len, 10000005);
	assert_memory_equal(out.data, in.data, 10000001);
	assert_string_equal(buf_str(&out) + 10000001, "LAST");
}

/* evidence: loop-work */
static void work_ends_at_its_deadline(void **state)
{
	AUTO(buf_release) struct buf in = { 0 }, out = { 0 };
	repeat(&in, "a line\n", 1000000);
	deadline_set(1);
	while (!deadline_passed())
		;
	screen_text(&out, in.data, in.len);
	assert_true(out.len < 200000);
	assert_non_null(strstr(buf_str(&out), "took too long"));
	buf_reset(&out);
	buf_add_str(&in, "\r");
	screen_text(&out, in.data, in.len);
	assert_true(out.len < 200000);
	assert_non_null(strstr(buf_str(&out), "took too long"));
	deadline_set(0);
	assert_false(deadline_passed());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_text_alone),
		cmocka_unit_test(a_carriage_return_writes_over_its_line),
		cmocka_unit_test(a_backspace_moves_back),
		cmocka_unit_test(sequences_move_and_erase),
		cmocka_unit_test(lines_that_scrolled_away_are_kept),
		cmocka_unit_test(a_bar_of_many_steps_is_one_line),
		cmocka_unit_test(hostile_sequences_stay_small),
		cmocka_unit_test(repeated_erasing_is_cheap),
		cmocka_unit_test(moves_add_a_bounded_number_of_blanks),
		cmocka_unit_test(long_lines_wrap_and_stay_whole),
		cmocka_unit_test(work_ends_at_its_deadline),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
