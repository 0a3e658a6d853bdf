/* line/vt and line/keys: the screen of a terminal, and keys. */
#include "manager/line/vt.h"

#include "base/alloc.h"
#include "manager/line/keys.h"
#include "tests/unit/unit.h"

static struct vt *t;

static int set_up(void **state)
{
	t = vt_new(4, 20);
	return 0;
}

static int tear_down(void **state)
{
	vt_free(t);
	return 0;
}

static void shows(const char *bytes, const char *want)
{
	vt_feed(t, bytes, strlen(bytes));
	AUTO(freep) char *text = vt_take(t);
	assert_string_equal(text, want);
}

static void expect_prompt(const char *want)
{
	AUTO(freep) char *text = vt_prompt(t);
	assert_string_equal(text, want);
}

static void only_new_lines_are_returned(void **state)
{
	shows("", "");
	shows("one\r\nName? ", "one\nName?\n");
	expect_prompt("Name?");
	shows("", "");
	shows("Bob\r\nhi Bob\r\n", "Name? Bob\nhi Bob\n");
	expect_prompt("");
	shows("1\r\n2\r\n3\r\n4\r\n5\r\n", "1\n2\n3\n4\n5\n");
	shows("\x1b[31mred\x1b[0m \xe6\x97\xa5\xe6\x9c\xac\r", "red \xe6\x97\xa5\xe6\x9c\xac\n");
	shows("\x1b[2Kgone", "gone\n");
}

static void a_full_screen_program_returns_the_whole_screen(void **state)
{
	shows("before\r\n", "before\n");
	shows("\x1b[?1049h\x1b[H\x1b[2Jtop\x1b[4;1Hbottom", "top\n\n\nbottom\n");
	shows("\x1b[1;5Hx", "top x\n\n\nbottom\n");
	shows("\x1b[?1049l", "before\n");
}

static void a_feed_is_bounded_in_time(void **state)
{
	AUTO(buf_release) struct buf bytes = { 0 };
	struct vt *large = vt_new(200, 500);
	for (int i = 0; i < 100000; i++)
		buf_add_str(&bytes, "\x1b#8");
	buf_add_str(&bytes, "\x1b[2J\x1b[Hthe end");
	vt_feed(large, bytes.data, bytes.len);
	AUTO(freep) char *text = vt_take(large);
	assert_non_null(strstr(text, "bytes left out"));
	assert_non_null(strstr(text, "the end"));
	vt_free(large);
}

static void scrolled_lines_are_bounded(void **state)
{
	for (int i = 0; i < 100; i++) {
		AUTO(buf_release) struct buf bytes = { 0 };
		for (int line = 0; line < 2000; line++)
			buf_add_str(&bytes, "12345678901234567\r\n");
		vt_feed(t, bytes.data, bytes.len);
	}
	AUTO(freep) char *text = vt_take(t);
	assert_true(strlen(text) < (1u << 20) + 1000);
	assert_non_null(strstr(text, "bytes left out"));
}

static void types_at(enum keys_target target, const char *text, const char *want)
{
	AUTO(buf_release) struct buf typed = { 0 };
	keys_type(text, strlen(text), target, &typed);
	assert_string_equal(buf_str(&typed), want);
}

static void keys_have_names(void **state)
{
	types_at(KEYS_TERMINAL, "yes", "yes\r");
	types_at(KEYS_TERMINAL, "", "\r");
	types_at(KEYS_TERMINAL, "a\nb", "a\rb\r");
	types_at(KEYS_TERMINAL, "<Ctrl-C>", "\x03");
	types_at(KEYS_TERMINAL, "<ctrl-d>", "\x04");
	types_at(KEYS_TERMINAL, "q<NoEnter>", "q");
	types_at(KEYS_TERMINAL, "<Esc>:wq<Enter>", "\x1b:wq\r");
	types_at(KEYS_TERMINAL, "<Tab><Backspace><Space>", "\t\x7f ");
	types_at(KEYS_TERMINAL, "a <b> <Lt>Tab> <", "a <b> <Tab> <\r");
	types_at(KEYS_TERMINAL, "<Up><F1><Delete>", "\x1b[A\x1bOP\x1b[3~");
	types_at(KEYS_TERMINAL, "<Home><End><F5><f12>", "\x1b[H\x1b[F\x1b[15~\x1b[24~");
	types_at(KEYS_APPLICATION, "<Up><Insert>", "\x1bOA\x1b[2~");
	types_at(KEYS_APPLICATION, "<Enter>", "\r");
	types_at(KEYS_TERMINAL, "<Ctrl-1><Ctrl-AB><F13><>", "<Ctrl-1><Ctrl-AB><F13><>\r");
}

static void application_mode_changes_the_cursor_keys(void **state)
{
	assert_false(vt_application_keys(t));
	shows("\x1b[?1h", "");
	assert_true(vt_application_keys(t));
	shows("\x1b[?1l", "");
	assert_false(vt_application_keys(t));
}

/* libvterm hangs if there is no character to repeat. */
static void a_character_is_repeated_if_there_is_one(void **state)
{
	shows("\x1b[b", "");
	shows("\x1b(B\x1b[5b", "");
	shows("\x1b]0;title\x1b[3b", "");
	shows("x\x1b[3b", "xxxx\n");
	shows("\r\nab\x1b[0m\x1b[2b!", "ab!\n");
	shows("\x1b[2J\x1b[H\xcc\x81\x1b[b", "\xcc\x81\n");
}

/* libvterm would write beyond its array of parameters. */
static void too_many_parameters_are_left_out(void **state)
{
	AUTO(buf_release) struct buf many = { 0 };
	buf_add_str(&many, "\x1b[");
	for (int i = 0; i < 5000; i++)
		buf_add_str(&many, "1;");
	buf_add_str(&many, "99999999999999999999999mx");
	shows(buf_str(&many), "x\n");
	shows("\x1b[5Gy", "x   y\n");
}

static void cells_get_lines_instead_of_keys(void **state)
{
	types_at(KEYS_CELL, "yes", "yes");
	types_at(KEYS_CELL, "a\nb<Ctrl-D>", "a\nb\x04");
	types_at(KEYS_CELL, "<Up>", "<Up>");
	types_at(KEYS_CELL, "a<Enter>b", "a\nb");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(only_new_lines_are_returned),
		TEST(a_full_screen_program_returns_the_whole_screen),
		TEST(a_feed_is_bounded_in_time),
		TEST(scrolled_lines_are_bounded),
		TEST(keys_have_names),
		TEST(application_mode_changes_the_cursor_keys),
		TEST(a_character_is_repeated_if_there_is_one),
		TEST(too_many_parameters_are_left_out),
		TEST(cells_get_lines_instead_of_keys),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
