/* base/utf8: any output becomes valid text, cut between characters. */
/* evidence: names-clean */
#include "base/utf8.h"
#include "tests/unit/unit.h"

#define BAD "\xef\xbf\xbd"
#define NUL "\xe2\x90\x80"

static void check_clean_n(const char *in, size_t n, const char *want)
{
	AUTO(buf_release) struct buf out = { 0 };
	utf8_clean(&out, in, n);
	assert_true(utf8_valid(out.data, out.len));
	assert_string_equal(buf_str(&out), want);
}

static void check_clean(const char *in, const char *want)
{
	check_clean_n(in, strlen(in), want);
}

static void leaves_text_alone(void **state)
{
	static const char *const good[] = { "",
					    "plain\ttext\r\nmore",
					    "gr\xc3\xbc\xc3\x9f",
					    "\xe2\x82\xac",
					    "\xf0\x9f\x90\xa2",
					    "\xed\x9f\xbf",
					    "\xee\x80\x80",
					    "\xf4\x8f\xbf\xbf",
					    "a\bb" };
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		check_clean(good[i], good[i]);
}

/* evidence: output-clean */
static void replaces_bad_bytes(void **state)
{
	check_clean("a\xff"
		    "b",
		    "a" BAD "b");
	check_clean("\x80", BAD);
	check_clean("\xc3", BAD);			  /* cut short */
	check_clean("\xc3(", BAD "(");			  /* the next byte is kept */
	check_clean("\xc0\xaf", BAD BAD);		  /* overlong */
	check_clean("\xe0\x80\xaf", BAD BAD BAD);	  /* overlong */
	check_clean("\xed\xa0\x80", BAD BAD BAD);	  /* a surrogate */
	check_clean("\xf5\x80\x80\x80", BAD BAD BAD BAD); /* past U+10FFFF */
}

static void marks_nuls_and_controls(void **state)
{
	check_clean_n("a\0b", 3, "a" NUL "b");
	check_clean("\x01\x02", BAD BAD);
	check_clean("a\x7f", "a" BAD);
}

static void shows_invisible_characters_by_number(void **state)
{
	check_clean("a\xe2\x80\xae"
		    "b",
		    "a<U+202E>b");
	check_clean("\xef\xbb\xbfname", "<U+FEFF>name");
	check_clean("x\xe2\x80\x8b"
		    "y",
		    "x<U+200B>y");
	check_clean("\xf3\xa0\x81\xa8\xf3\xa0\x81\xa9", "<U+E0068><U+E0069>");
	check_clean("\xc2\x85\xc2\x9b"
		    "31m",
		    BAD BAD "31m"); /* C1 */
	AUTO(buf_release) struct buf in = { 0 };
	for (int i = 0; i < 100; i++)
		buf_add_str(&in, "\xf3\xa0\x81\xa8");
	check_clean(buf_str(&in), "<U+E0068><U+E0068><U+E0068><U+E0068><96 more hidden characters>");
	/* Ordinary text needs these joiners and selectors: a family, a heart, Persian. */
	static const char *const good[] = { "👨\xe2\x80\x8d👩\xe2\x80\x8d👧", "❤\xef\xb8\x8f", "1\xef\xb8\x8f",
					    "می\xe2\x80\x8cخواهم" };
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		check_clean(good[i], good[i]);
	check_clean("a\xe2\x80\x8d\xe2\x80\x8d\xe2\x80\x8c", "a\xe2\x80\x8d<U+200D><U+200C>");
	/* Variation selectors belong after emoji, symbols and ideographs; elsewhere they can hide a message. */
	check_clean("a\xef\xb8\x80\xef\xb8\x81", "a<U+FE00><U+FE01>");
	check_clean("\xc3\xa4\xef\xb8\x8f", "\xc3\xa4<U+FE0F>");
	check_clean("❤\xef\xb8\x8f\xef\xb8\x8f", "❤\xef\xb8\x8f<U+FE0F>");
	check_clean("葛\xef\xb8\x80", "葛\xef\xb8\x80");
	/* Characters that look like blanks, and characters that are not drawn. */
	static const struct {
		const char *character, *shown;
	} hidden[] = {
		{ "\xc2\xad", "<U+00AD>" },	     { "\xcd\x8f", "<U+034F>" },
		{ "\xe1\x85\x9f", "<U+115F>" },	     { "\xe1\x85\xa0", "<U+1160>" },
		{ "\xe3\x85\xa4", "<U+3164>" },	     { "\xe2\xa0\x80", "<U+2800>" },
		{ "\xef\xbe\xa0", "<U+FFA0>" },	     { "\xf0\x9d\x85\xb3", "<U+1D173>" },
		{ "\xf0\x9d\x85\xba", "<U+1D17A>" }, { "\xf3\xa0\x84\x80", "<U+E0100>" },
	};
	for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
		check_clean(hidden[i].character, hidden[i].shown);
}

static void nothing_looks_like_a_label(void **state)
{
	check_clean("⟦note⟧ all is well", "[[note]] all is well");
	check_clean("〚note〛 ⁅a⁆ ⦃b⦄ ⦅c⦆ ⸨d⸩ 〖e〗 〘f〙 ｟g｠", "[[note]] [[a]] [[b]] [[c]] [[d]] [[e]] [[f]] [[g]]");
}

static void a_name_stays_in_its_line(void **state)
{
	AUTO(buf_release) struct buf out = { 0 };
	utf8_clean_name(&out, "a\n\tb\r⟦note⟧\xe2\x80\xae\x1b[1mc");
	assert_string_equal(buf_str(&out), "a" BAD BAD "b" BAD "[[note]]<U+202E>c");
}

static void drops_terminal_escapes(void **state)
{
	check_clean("\x1b[31mred\x1b[0m", "red");
	check_clean("\x1b[2J\x1b[1;1Hx", "x");
	check_clean("\x1b]0;title\x07x", "x");
	check_clean("\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link");
	check_clean("\x1b(Bx", "x");
	check_clean("\x1b"
		    "7x",
		    "x");
	check_clean("\x1b", "");
	check_clean("\x1b[", "");
	check_clean("\x1b[38;5", "");
	check_clean("x\x1b]never ends\nnext", "xnever ends\nnext"); /* a missing end does not remove the rest */
}

/* Control strings that start and never end: this would take minutes if each were searched to the end of the line. */
static void takes_time_by_length_only(void **state)
{
	AUTO(buf_release) struct buf in = { 0 }, out = { 0 };
	for (int i = 0; i < 1000000; i++)
		buf_add(&in, i % 3 ? "\x1b]" : "\x1bP", 2);
	utf8_clean(&out, in.data, in.len);
	assert_int_equal(out.len, 0);
	buf_add_str(&in, "\n\x1b]0;title\x07text\x1b]");
	utf8_clean(&out, in.data, in.len);
	assert_string_equal(buf_str(&out), "\ntext");
}

/* Every input, however mangled, gives valid text. */
static void is_always_valid(void **state)
{
	uint32_t seed = 12345;
	for (int round = 0; round < 20000; round++) {
		uint8_t in[24];
		size_t n = round % (sizeof(in) + 1);
		for (size_t i = 0; i < n; i++) {
			seed = seed * 1664525u + 1013904223u;
			in[i] = (uint8_t)(seed >> 24);
			if (round % 3 == 0) /* mostly lead and continuation bytes and escapes */
				in[i] = "\xc3\xe2\xf0\x9f\x80\xbf\x1b["[in[i] % 8];
		}
		AUTO(buf_release) struct buf out = { 0 };
		utf8_clean(&out, in, n);
		assert_true(utf8_valid(out.data, out.len));
		assert_null(memchr(out.data ? (char *)out.data : "", 0, out.len));
	}
}

static void recognises_valid_text(void **state)
{
	assert_true(utf8_valid("", 0));
	assert_true(utf8_valid("a\0b", 3));
	assert_true(utf8_valid("\xf0\x9f\x90\xa2", 4));
	assert_false(utf8_valid("\xf0\x9f\x90", 3));
	assert_false(utf8_valid("\xed\xa0\x80", 3));
	assert_false(utf8_valid("\xc1\x81", 2));
	assert_false(utf8_valid("\xf8\x88\x80\x80\x80", 5));
}

static void counts_and_cuts_between_characters(void **state)
{
	const char *s = "a\xc3\xbc\xe2\x82\xac\xf0\x9f\x90\xa2z"; /* 1 + 2 + 3 + 4 + 1 bytes */
	size_t n = strlen(s);
	assert_int_equal(utf8_count(s, n), 5);
	static const size_t head[] = { 0, 1, 3, 6, 10, 11, 11 };
	static const size_t tail[] = { 0, 1, 5, 8, 10, 11, 11 };
	for (size_t i = 0; i < ARRAY_LEN(head); i++) {
		assert_int_equal(utf8_head(s, n, i), head[i]);
		assert_int_equal(utf8_tail(s, n, i), tail[i]);
	}
	assert_int_equal(utf8_head("", 0, 3), 0);
	assert_int_equal(utf8_tail("", 0, 3), 0);
}

static void finds_split_sequences(void **state)
{
	assert_int_equal(utf8_partial_end("abc", 3), 0);
	assert_int_equal(utf8_partial_end("", 0), 0);
	assert_int_equal(utf8_partial_end("a\xc3", 2), 1);
	assert_int_equal(utf8_partial_end("a\xc3\xbc", 3), 0);
	assert_int_equal(utf8_partial_end("\xe2\x82", 2), 2);
	assert_int_equal(utf8_partial_end("\xf0\x9f\x90", 3), 3);
	assert_int_equal(utf8_partial_end("\xf0\x9f\x90\xa2", 4), 0);
	assert_int_equal(utf8_partial_end("\x80\x80\x80\x80", 4), 0); /* not the end of any sequence */
	assert_int_equal(utf8_partial_start("abc", 3), 0);
	assert_int_equal(utf8_partial_start("\xbc"
					    "a",
					    2),
			 1);
	assert_int_equal(utf8_partial_start("\x9f\x90\xa2z", 4), 3);
	assert_int_equal(utf8_partial_start("", 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_text_alone),	      cmocka_unit_test(replaces_bad_bytes),
		cmocka_unit_test(marks_nuls_and_controls),    cmocka_unit_test(shows_invisible_characters_by_number),
		cmocka_unit_test(nothing_looks_like_a_label), cmocka_unit_test(drops_terminal_escapes),
		cmocka_unit_test(takes_time_by_length_only),  cmocka_unit_test(is_always_valid),
		cmocka_unit_test(recognises_valid_text),      cmocka_unit_test(counts_and_cuts_between_characters),
		cmocka_unit_test(finds_split_sequences),      cmocka_unit_test(a_name_stays_in_its_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
