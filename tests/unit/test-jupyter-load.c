/* jupyter/load: JSON as kernels write it. */
#include "jupyter/load.h"

#include "base/alloc.h"
#include "tests/unit/unit.h"

static char *loaded(const char *text, size_t n)
{
	json_auto_t *value = load_object(text, n);
	return value ? json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
}

static void assert_loads(const char *text, const char *as)
{
	AUTO(freep) char *got = loaded(text, strlen(text));
	assert_non_null(got);
	assert_string_equal(got, as);
}

static void good_json_is_left_alone(void **state)
{
	assert_loads("{}", "{}");
	assert_loads("{\"a\": [1, -2.5, true, null, \"\\u00e4\\ud83c\\udf88\"]}", "{\"a\":[1,-2.5,true,null,\"ä🎈\"]}");
	assert_loads("{\"a\":1,\"a\":2}", "{\"a\":2}");
	assert_loads("null", "{}");
}

static void json_as_python_writes_it_is_repaired(void **state)
{
	assert_loads("{\"a\":[NaN,Infinity,-Infinity,1]}", "{\"a\":[null,null,null,1]}");
	assert_loads("{\"a\":123456789012345678901234567890}", "{\"a\":1.2345678901234568e29}");
	assert_loads("{\"a\":1e999,\"b\":-9223372036854775808}", "{\"a\":null,\"b\":-9.2233720368547758e18}");
	assert_loads("{\"a\":\"x\\ud800y\\udc00\\ud83c\\udf88\"}", "{\"a\":\"x\xef\xbf\xbdy\xef\xbf\xbd🎈\"}");
	assert_loads("{\"a\":NaN,\"NaN\":\"NaN\"}", "{\"NaN\":\"NaN\",\"a\":null}");
}

static void invalid_text_is_repaired(void **state)
{
	assert_loads("{\"a\":\"x\xff\xc3(\xe2\x82\"}",
		     "{\"a\":\"x\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd\"}");
	assert_loads("{\"a\":\"two\nlines\x1b[0m\"}", "{\"a\":\"two\\nlines\\u001B[0m\"}");
}

static void a_string_may_hold_nul(void **state)
{
	static const char text[] = "{\"a\":\"x\\u0000y\"}";
	json_auto_t *value = load_object(text, sizeof(text) - 1);
	assert_int_equal(json_string_length(json_object_get(value, "a")), 3);
}

static void json_that_is_not_an_object_is_rejected(void **state)
{
	static const char *const bad[] = { "",	      "[]",	   "1",		  "\"x\"",	    "{",
					   "{\"a\":", "{\"a\":\"", "{\"a\":\"\\", "{\"a\":\"\\u12", "{a:1}",
					   "nul" };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_null(load_object(bad[i], strlen(bad[i])));
}

static void too_large_json_is_rejected(void **state)
{
	size_t depth = LOAD_DEPTH_MAX + 1;
	AUTO(freep) char *deep = xcalloc(depth + 8, 1);
	memcpy(deep, "{\"a\":", 5);
	memset(deep + 5, '[', depth);
	assert_null(load_object(deep, depth + 5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_json_is_left_alone),
		cmocka_unit_test(json_as_python_writes_it_is_repaired),
		cmocka_unit_test(invalid_text_is_repaired),
		cmocka_unit_test(a_string_may_hold_nul),
		cmocka_unit_test(json_that_is_not_an_object_is_rejected),
		cmocka_unit_test(too_large_json_is_rejected),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
