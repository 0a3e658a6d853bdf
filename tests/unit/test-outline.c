/* base/outline: a message without its long strings has the same structure, and text that was not JSON stays
 * invalid. */
#include "base/outline.h"

#include <jansson.h>

#include "base/alloc.h"
#include "tests/unit/unit.h"

#define MARK "0123456789abcdef:"

/* Replaces the marks by their strings. */
static json_t *restore(const struct outline *o, json_t *value)
{
	const char *name;
	json_t *member;
	size_t i;
	const struct outline_string *s = json_is_string(value) ? outline_find(o, json_string_value(value)) : NULL;
	if (s)
		return json_stringn(s->at, s->len);
	if (json_is_array(value))
		json_array_foreach(value, i, member)
			json_array_set_new(value, i, restore(o, member));
	if (json_is_object(value))
		json_object_foreach(value, name, member)
			json_object_set_new(value, name, restore(o, member));
	return json_incref(value);
}

static void check(const char *text)
{
	size_t n = strlen(text);
	json_auto_t *whole = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
	for (int marked = 0; marked < 2; marked++) {
		AUTO(outline_release) struct outline o;
		outline_make(&o, text, n, 8, marked ? MARK : NULL);
		json_auto_t *short_one =
			json_loadb((const char *)o.text.data, o.text.len, JSON_REJECT_DUPLICATES, NULL);
		if (!whole != !short_one)
			fail_msg("%s is %s, its outline %.*s is not", text, whole ? "JSON" : "none", (int)o.text.len,
				 (const char *)o.text.data);
		json_auto_t *again = short_one && marked ? restore(&o, short_one) : NULL;
		if (again)
			assert_true(json_equal(whole, again));
	}
}

static void an_outline_parses_like_its_text(void **state)
{
	static const char *const texts[] = {
		"{\"op\":\"display\",\"data\":{\"image/png\":\"iVBORw0KGgoAAAANSUhEUg\",\"text/plain\":\"x\"}}",
		"{\"a\":[\"aaaaaaaaaaaaaaaaaaaaa\",\"bbbbbbbbbbbbbbbbbbbbbb\",{\"c\":\"cccccccccccccccccccccc\"}]}",
		"{\"a name that is long\":1,\"another long one\" : \"a value that is long\"}",
		"[\"with \\n \\u00e9 and \\\" escapes\"]",
		"[\"\\ud83d\\ude00 a pair of surrogates\"]",
		"[\"a lone one \\ud83d in the middle\"]",
		"[\"a nul \\u0000 in the middle\"]",
		"[\"d\\u00fcnn \xc3\xbc und \xf0\x9f\x98\x80 lang\"]",
		"[\"broken \xc3 in the middle of it\"]",
		"[\"broken \xff in the middle of it\"]",
		"[\"a line\nbreak in the middle\"]",
		"[\"a tab\tin the middle of it\"]",
		"[\"no end of the string",
		"[\"an escape at the end\\",
		"[\"no such escape: \\x in it\"]",
		"[\"no such escape: \\u12g4 in it\"]",
		"{\"data\":\"aaaaaaaaaaaaaaaa\",\"data\":\"bbbbbbbbbbbbbbbbbbbb\"}",
		"{\"data\":\"aaaaaaaaaaaaaaaa\" \"bbbbbbbbbbbbbbbbbbbb\"}",
		"{\"data\":\"aaaaaaaaaaaaaaaa\"",
		"[\"aaaaaaaaaaaaaaaa\"]]",
		"[\"0123456789abcdef:0\"]",
		"[\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\", \"0123456789abcdef\"]",
		"\"\"",
		"",
	};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		check(texts[i]);
}

static void long_values_are_left_out(void **state)
{
	static const char text[] =
		"{\"long name of it\":\"short\",\"b\":\"0123456789 long\",\"c\":\"long \\n escaped\"}";
	struct outline o;
	outline_make(&o, text, strlen(text), 8, MARK);
	assert_string_equal(buf_str(&o.text),
			    "{\"long name of it\":\"short\",\"b\":\"" MARK "0\",\"c\":\"long \\n escaped\"}");
	assert_int_equal(o.n, 1);
	assert_ptr_equal(outline_find(&o, MARK "0"), &o.strings[0]);
	assert_int_equal(o.strings[0].len, strlen("0123456789 long"));
	assert_ptr_equal(o.strings[0].at, strstr(text, "0123456789"));
	assert_null(outline_find(&o, MARK "1"));
	assert_null(outline_find(&o, MARK));
	assert_null(outline_find(&o, MARK "0x"));
	assert_null(outline_find(&o, "0"));
	outline_release(&o);
	outline_make(&o, text, strlen(text), 8, NULL);
	assert_string_equal(buf_str(&o.text), "{\"long name of it\":\"short\",\"b\":\"\",\"c\":\"\"}");
	outline_release(&o);
}

/* The parser reads eight bytes at a time, so a string is made to end at each position within eight bytes. */
static void strings_end_at_every_position_of_a_word(void **state)
{
	for (size_t at = 0; at < 40; at++) {
		static const char *const bad[] = {
			"\"", "\\", "\n", "\x01", "\x1f", "\x80", "\xc3", "\x7f", "\xc3\xa9"
		};
		for (size_t k = 0; k < ARRAY_LEN(bad); k++) {
			AUTO(freep) char *text =
				xasprintf("[\"%.*s%s%s\"]", (int)at, "0123456789012345678901234567890123456789", bad[k],
					  "01234567");
			check(text);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_outline_parses_like_its_text),
		cmocka_unit_test(long_values_are_left_out),
		cmocka_unit_test(strings_end_at_every_position_of_a_word),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
