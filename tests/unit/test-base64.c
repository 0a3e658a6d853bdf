#include "base/base64.h"

#include <errno.h>

#include "tests/unit/unit.h"

static void check(const char *raw, const char *text)
{
	AUTO(buf_release) struct buf out = { 0 }, back = { 0 };
	base64_encode(raw, strlen(raw), &out);
	assert_string_equal(buf_str(&out), text);
	assert_int_equal(base64_decode(text, strlen(text), &back), 0);
	assert_string_equal(buf_str(&back), raw);
}

/* RFC 4648, section 10. */
static void test_known_answers(void **state)
{
	check("", "");
	check("f", "Zg==");
	check("fo", "Zm8=");
	check("foo", "Zm9v");
	check("foob", "Zm9vYg==");
	check("fooba", "Zm9vYmE=");
	check("foobar", "Zm9vYmFy");
}

static void test_every_byte(void **state)
{
	AUTO(buf_release) struct buf out = { 0 }, back = { 0 };
	uint8_t all[256];
	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (uint8_t)(255 - i);
	for (size_t n = 0; n <= sizeof(all); n++) {
		buf_reset(&out);
		buf_reset(&back);
		base64_encode(all, n, &out);
		assert_int_equal(base64_decode((const char *)out.data, out.len, &back), 0);
		assert_int_equal(back.len, n);
		assert_true(n == 0 || memcmp(back.data, all, n) == 0);
	}
}

static void test_white_space_and_missing_padding_are_accepted(void **state)
{
	static const char *const fine[] = { "Zm9v\nYmFy\r\n", " Z m 9 v ", "Zg", "Zm8", "Zg= =" };
	static const char *const bad[] = { "Z",	       "Zm9vY", "Zg=",	"Zg===",  "====", "Zm9v=",
					   "Zm8=Zg==", "Zm9-",	"Zm9_", "Zm9v\\", "é" };
	for (size_t i = 0; i < ARRAY_LEN(fine); i++) {
		AUTO(buf_release) struct buf out = { 0 };
		assert_int_equal(base64_decode(fine[i], strlen(fine[i]), &out), 0);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		AUTO(buf_release) struct buf out = { 0 };
		assert_int_equal(base64_decode(bad[i], strlen(bad[i]), &out), -EINVAL);
		assert_int_equal(out.len, 0);
	}
}

static void test_strict_decoding_accepts_only_canonical_text(void **state)
{
	static const char *const strict[] = { "", "Zm9v", "Zm8=", "Zg==", "Zm9vYmFy", "+/+/" };
	static const char *const loose[] = { "Zg",   "Zh==",	 "Zm9=", "Zm9v\n",    "Zm 9vYmF",
					     "=m9v", "Zg==Zm9v", "Zm9-", "\xc3\xa9zz" };
	for (size_t i = 0; i < ARRAY_LEN(strict); i++)
		assert_true(base64_is_strict(strict[i], strlen(strict[i])));
	for (size_t i = 0; i < ARRAY_LEN(loose); i++)
		assert_false(base64_is_strict(loose[i], strlen(loose[i])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_answers),
		cmocka_unit_test(test_every_byte),
		cmocka_unit_test(test_white_space_and_missing_padding_are_accepted),
		cmocka_unit_test(test_strict_decoding_accepts_only_canonical_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
