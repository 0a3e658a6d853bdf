/* cli/tty: the keys that leave a terminal that hangs, and the modes to undo. */
#include "cli/tty.h"
#include "tests/unit/unit.h"

/* Types one key after the other, or all at once. Checks the keys that are passed on, and the event. */
static void check(const char *keys, const char *passed, enum tty_escape_event expected)
{
	for (size_t piece = 1; piece <= strlen(keys); piece += strlen(keys)) {
		struct tty_escape e = { 0 };
		AUTO(buf_release) struct buf out = { 0 };
		enum tty_escape_event event = ESCAPE_NONE;
		size_t used;
		for (size_t at = 0; at < strlen(keys) && event == ESCAPE_NONE; at += used) {
			size_t n = piece == 1 ? 1 : strlen(keys) - at;
			event = tty_escape_feed(&e, (const uint8_t *)keys + at, n, &out, &used);
		}
		assert_string_equal(buf_str(&out), passed);
		assert_int_equal(event, expected);
	}
}

static void a_tilde_on_a_new_line_starts_an_escape(void **state)
{
	check("~.", "", ESCAPE_LEAVE);
	check("ls\r~.", "ls\r", ESCAPE_LEAVE);
	check("ls\n~?x", "ls\n", ESCAPE_HELP);
	check("cd ~.", "cd ~.", ESCAPE_NONE);
	check("~~.", "~.", ESCAPE_NONE);
	check("~/bin\r", "~/bin\r", ESCAPE_NONE);
	check("~\r~.", "~\r", ESCAPE_LEAVE);
}

static void see(struct tty_modes *m, const char *text)
{
	for (; *text; text++)
		tty_modes_see(m, text, 1);
}

static void modes_that_are_on_are_undone(void **state)
{
	struct tty_modes m = { 0 };
	AUTO(buf_release) struct buf undo = { 0 };
	tty_modes_undo(&m, &undo);
	assert_string_equal(buf_str(&undo), "\033[0m");
	see(&m,
	    "a\033[?1049h\033[22;0;0t\033[?25;2004h\033[?1000;1006h\033[31mtext\033[?25l\033[?9999h\033]0;?47h\007");
	see(&m, "\033[?1000l\033[?\033[?2004l");
	buf_reset(&undo);
	tty_modes_undo(&m, &undo);
	assert_string_equal(buf_str(&undo), "\033[0m\033[?25h\033[?1006l\033[?1049l");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tilde_on_a_new_line_starts_an_escape),
		cmocka_unit_test(modes_that_are_on_are_undone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
