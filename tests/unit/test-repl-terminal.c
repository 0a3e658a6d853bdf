/* cli/repl: keys of terminals, their capabilities, and pictures in their protocols. */
#include "tests/unit/unit.h"

#include "cli/repl/abilities.h"
#include "cli/repl/keystroke.h"
#include "cli/repl/picture.h"

static void key(const char *bytes, size_t length)
{
	size_t got = keystroke_length(bytes, strlen(bytes));
	if (got != length)
		fail_msg("%s: %zu, not %zu", bytes + (*bytes == '\033'), got, length);
}

static void the_end_of_a_key_is_found(void **state)
{
	key("", 0);
	key("ab", 1);
	key("é!", 2);
	key("\xe2\x82", 0);
	key("\xe2x", 1);
	key("\xff", 0);
	key("\xffx", 1);
	key("\033", 0);
	key("\033b", 2);
	key("\033[", 0);
	key("\033[A", 3);
	key("\033[1;5Cx", 6);
	key("\033[200~text", 6);
	key("\033[?62;4c", 8);
	key("\033O", 0);
	key("\033OA", 3);
	key("\033\033[A", 1);
	key("\033_", 0);
	key("\033_x", 2);
	key("\033_Gi=31;OK", 0);
	key("\033_Gi=31;OK\033\\x", 12);
	key("\033[1\r", 3); /* incomplete */
	key("\030", 0);
	key("\030\030x", 2);
}

static const char *const *environment;

static char *get(const char *name)
{
	for (size_t i = 0; environment[i]; i += 2)
		if (streq(environment[i], name))
			return (char *)environment[i + 1];
	return NULL;
}

#define ENVIRONMENT(...)                                                                                               \
	(environment = (const char *const[]){ __VA_ARGS__ __VA_OPT__(, ) NULL }, abilities_by_environment(get))

static void some_terminals_are_known_by_their_environment(void **state)
{
	assert_int_equal(ENVIRONMENT(), PICTURES_SAVED);
	assert_int_equal(ENVIRONMENT("TERM", "dumb"), PICTURES_SAVED);
	assert_int_equal(ENVIRONMENT("TERM", "xterm-256color"), PICTURES_UNKNOWN);
	assert_int_equal(ENVIRONMENT("TERM", "xterm-kitty"), PICTURES_KITTY);
	assert_int_equal(ENVIRONMENT("TERM", "xterm-256color", "TERM_PROGRAM", "iTerm.app"), PICTURES_ITERM);
	assert_int_equal(ENVIRONMENT("TERM", "xterm-256color", "LC_TERMINAL", "iTerm2"), PICTURES_ITERM);
	assert_int_equal(ENVIRONMENT("TERM", "xterm-256color", "TERM_PROGRAM", "Apple_Terminal"), PICTURES_SAVED);
	assert_int_equal(ENVIRONMENT("TERM", "foot"), PICTURES_SIXEL);
	/* Behind a multiplexer the terminal is unknown. */
	assert_int_equal(ENVIRONMENT("TERM", "tmux-256color", "LC_TERMINAL", "iTerm2"), PICTURES_UNKNOWN);
	assert_int_equal(ENVIRONMENT("TERM", "xterm-kitty", "TMUX", "x"), PICTURES_UNKNOWN);
}

static bool take(struct abilities *a, const char *sequence)
{
	return abilities_take(a, sequence, strlen(sequence));
}

static void answers_of_terminals_are_read(void **state)
{
	struct abilities a = { 0 };
	assert_false(take(&a, "\033[A"));
	assert_false(take(&a, "\033[?25h"));
	assert_true(take(&a, "\033[?64;1;2c"));
	assert_true(a.answered);
	assert_int_equal(abilities_pictures(&a), PICTURES_SAVED);
	assert_true(take(&a, "\033[?62;4;22c"));
	assert_int_equal(abilities_pictures(&a), PICTURES_SIXEL);
	assert_true(take(&a, "\033_Gi=31;EINVAL\033\\"));
	assert_int_equal(abilities_pictures(&a), PICTURES_SIXEL);
	assert_true(take(&a, "\033_Gi=31;OK\033\\"));
	assert_int_equal(abilities_pictures(&a), PICTURES_KITTY);
	a = (struct abilities){ 0 };
	assert_true(take(&a, "\033[?62;14;99999999999999999999c"));
	assert_false(a.sixel);
}

static void pictures_are_chosen_by_name(void **state)
{
	enum pictures p = PICTURES_KITTY;
	assert_int_equal(pictures_named("file", &p), 0);
	assert_int_equal(p, PICTURES_SAVED);
	assert_int_equal(pictures_named("auto", &p), 0);
	assert_int_equal(p, PICTURES_UNKNOWN);
	assert_int_equal(pictures_named("gif", &p), -1);
}

static void kitty_gets_chunks(void **state)
{
	AUTO(buf_release) struct buf out = { 0 };
	uint8_t png[4000] = { 0x89 };
	assert_true(picture_inline(&out, PICTURES_KITTY, "image/png", "abc", 3));
	assert_string_equal(buf_str(&out), "\033_Ga=T,f=100,q=2,m=0;YWJj\033\\\n");
	buf_reset(&out);
	assert_true(picture_inline(&out, PICTURES_KITTY, "image/png", png, sizeof(png)));
	const char *text = buf_str(&out), *first = strstr(text, "m=1;"), *second = strstr(text, "\033_Gm=0;");
	assert_non_null(first);
	assert_non_null(second);
	assert_int_equal(second - first, 4 + 4096 + 2);
	buf_reset(&out);
	assert_false(picture_inline(&out, PICTURES_KITTY, "image/jpeg", "abc", 3));
	assert_int_equal(out.len, 0);
}

static void iterm_gets_files(void **state)
{
	AUTO(buf_release) struct buf out = { 0 };
	assert_true(picture_inline(&out, PICTURES_ITERM, "image/jpeg", "abc", 3));
	assert_string_equal(buf_str(&out), "\033]1337;File=inline=1;size=3;preserveAspectRatio=1:YWJj\007\n");
	buf_reset(&out);
	assert_false(picture_inline(&out, PICTURES_ITERM, "image/svg+xml", "abc", 3));
	assert_false(picture_inline(&out, PICTURES_ITERM, "image/png", "", 0));
	assert_false(picture_inline(&out, PICTURES_SAVED, "image/png", "abc", 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_end_of_a_key_is_found),
		cmocka_unit_test(some_terminals_are_known_by_their_environment),
		cmocka_unit_test(answers_of_terminals_are_read),
		cmocka_unit_test(pictures_are_chosen_by_name),
		cmocka_unit_test(kitty_gets_chunks),
		cmocka_unit_test(iterm_gets_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
