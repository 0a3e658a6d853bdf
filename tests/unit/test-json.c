/* base/json prints and parses the same text as jansson. */
#include "base/json.h"

#include "base/alloc.h"
#include "tests/unit/unit.h"

static void check(const json_t *value)
{
	AUTO(buf_release) struct buf text = { 0 };
	AUTO(freep) char *wanted = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
	json_print(&text, value);
	assert_string_equal(buf_str(&text), wanted);
	assert_true(json_print_size(value) >= strlen(wanted));
}

static void prints_as_jansson_does(void **state)
{
	static const char *const texts[] = {
		"{}",
		"[]",
		"[[],{},[{}]]",
		"{\"b\":1,\"a\":[true,false,null,-5,0,9223372036854775807,-9223372036854775807],\"c\":{\"d\":\"\"}}",
		"[0.1,1e300,-2.5,1e-7,3.0]",
		"{\"a \\\"name\\\"\\n\":\"\\u0001\\b\\f\\r\\t\\\\ / \\u007f \\u00e9 \\ud83d\\ude00\"}",
		"\"text\"",
		"7",
	};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		json_auto_t *value = json_loads(texts[i], JSON_DECODE_ANY, NULL);
		assert_non_null(value);
		check(value);
	}
}

static void numbers_have_no_superfluous_digits(void **state)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = {
		{ 0.1, "0.1" },
		{ 1e300, "1e300" },
		{ -2, "-2.0" },
		{ 2.0 / 3, "0.6666666666666666" },
		{ 0.1 + 0.2, "0.30000000000000004" },
		{ 5e-324, "4.94065645841247e-324" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(buf_release) struct buf out = { 0 };
		json_auto_t *value = json_real(cases[i].value);
		json_print(&out, value);
		assert_string_equal(buf_str(&out), cases[i].text);
		assert_true(strtod(buf_str(&out), NULL) == cases[i].value);
	}
}

/* Each byte is tested at each position within eight bytes, and next to every other byte. */
static void check_every_byte(size_t size)
{
	char text[100];
	for (size_t at = 0; at < 24; at++) {
		for (int byte = 1; byte < 0x80; byte++) {
			memset(text, 'x', size);
			text[size] = '\0';
			text[at] = (char)byte;
			text[at + 1] = (char)(0x80 - byte);
			memcpy(text + at + 3, "\xc3\xa9", 2);
			json_auto_t *value = json_string(text);
			assert_non_null(value);
			check(value);
		}
	}
}

static void every_byte_is_escaped_at_every_position(void **state)
{
	check_every_byte(40);
	check_every_byte(99);
}

static void members_are_appended_one_by_one(void **state)
{
	AUTO(buf_release) struct buf out = { 0 };
	json_auto_t *list = json_pack("[i]", 7);
	buf_add_str(&out, "{");
	json_put_int(&out, "a", -1);
	json_put_text(&out, "b", "x\"\0y", 4);
	json_put(&out, "c\n", list);
	buf_add_str(&out, "}");
	assert_string_equal(buf_str(&out), "{\"a\":-1,\"b\":\"x\\\"\\u0000y\",\"c\\n\":[7]}");
}

/* Mutates valid texts a byte at a time. Both parsers must agree on what is valid, and on the value. */
static void parses_as_jansson_does(void **state)
{
	static const char *const texts[] = {
		"{\"a\":[1,-2,0,123456789012345678,1234567890123456789,9223372036854775808],\"b\":{\"a\":null}}",
		" [true,false,null , 0.5,-1e3,1E+2,\"\\u00e9\\ud83d\\ude00\\\"\\\\\\/\\b\\f\\n\\r\\t\"] ",
		"{\"k\\u0041\":\"\\u0000\",\"kA\":2,\"\xc3\xa9\":\"\xf0\x9f\x98\x80 plain text that is long\"}",
		"[[[{}],[]],{\"x\":[]}]",
		"-0",
		"\"text\"",
	};
	static const char bytes[] = "{}[]:,\"\\u0019-+.eE tfn\n\x01\x80\xc3\xff";
	static const size_t flags[] = { 0, JSON_REJECT_DUPLICATES, JSON_ALLOW_NUL | JSON_DECODE_ANY };
	char text[128];
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		size_t n = strlen(texts[i]);
		for (size_t k = 0; k < n * (sizeof(bytes) - 1) * 3; k++) {
			size_t at = k / 3 % n, len = n;
			char byte = bytes[k / 3 / n];
			memcpy(text, texts[i], n);
			switch (k % 3) {
			case 0:
				text[at] = byte;
				break;
			case 1: /* insert */
				memcpy(text + at + 1, texts[i] + at, n - at);
				text[at] = byte;
				len++;
				break;
			case 2: /* cut */
				len = at;
				break;
			}
			for (size_t f = 0; f < ARRAY_LEN(flags); f++) {
				json_auto_t *ours = json_parse(text, len, flags[f]);
				json_auto_t *theirs = json_loadb(text, len, flags[f], NULL);
				if (ours && theirs ? !json_equal(ours, theirs) : ours || theirs)
					fail_msg("%.*s", (int)len, text);
			}
		}
	}
}

static void depth_is_limited(void **state)
{
	char text[6000];
	memset(text, '[', sizeof(text));
	assert_null(json_parse(text, sizeof(text), 0));
	memset(text + 2000, ']', 2000);
	json_auto_t *value = json_parse(text, 4000, 0);
	assert_non_null(value);
	memset(text + 3000, ']', 3000);
	memset(text, '[', 3000);
	assert_null(json_parse(text, sizeof(text), 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prints_as_jansson_does),
		cmocka_unit_test(numbers_have_no_superfluous_digits),
		cmocka_unit_test(every_byte_is_escaped_at_every_position),
		cmocka_unit_test(members_are_appended_one_by_one),
		cmocka_unit_test(parses_as_jansson_does),
		cmocka_unit_test(depth_is_limited),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
