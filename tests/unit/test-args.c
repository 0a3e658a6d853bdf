/* base/args: arguments that models send, how they are converted, and the error texts. */
#include "tests/unit/unit.h"

#include "base/alloc.h"
#include "base/args.h"

struct sample {
	const char *name;
	const char *kind;
	int64_t count;
	bool flag;
	json_t *extra;
	double share;
	uint64_t room;
};

static const char *kinds(size_t i)
{
	static const char *const names[] = { "red", "green" };
	return i < ARRAY_LEN(names) ? names[i] : NULL;
}

static const struct arg table[] = {
	{ "name", ARG_STRING, offsetof(struct sample, name), ARG_REQUIRED | ARG_NONEMPTY, .max = 10,
	  .example = "\"Ann\"" },
	{ "kind", ARG_STRING, offsetof(struct sample, kind), .choice = kinds },
	{ "count", ARG_INT, offsetof(struct sample, count), .min = 1, .max = 300, .example = "30",
	  .description = "How many." },
	{ "flag", ARG_BOOL, offsetof(struct sample, flag) },
	{ "share", ARG_NUMBER, offsetof(struct sample, share), ARG_HIDDEN, .example = "2" },
	{ "room", ARG_SIZE, offsetof(struct sample, room), ARG_HIDDEN, .example = "\"4g\"" },
	{ "extra", ARG_OBJECT, offsetof(struct sample, extra), ARG_HIDDEN },
	{ 0 },
};

static json_t *root;

/* Decodes `text` and returns the problems as text, "" if there are none. */
static char *decode(const char *text, struct sample *out)
{
	json_decref(root);
	root = json_loads(text, JSON_ALLOW_NUL, NULL);
	assert_non_null(root);
	*out = (struct sample){ .kind = "red", .count = 7 };
	json_auto_t *problems = args_decode(table, root, out);
	return problems ? args_problems_text(problems) : xstrdup("");
}

static void expect_ok(const char *text, struct sample *out)
{
	AUTO(freep) char *problems = decode(text, out);
	assert_string_equal(problems, "");
}

static void expect_problem(const char *text, const char *want)
{
	struct sample s;
	AUTO(freep) char *problems = decode(text, &s);
	assert_string_equal(problems, want);
}

static void decodes_all_fields(void **state)
{
	struct sample s;
	expect_ok("{\"name\":\"a\"}", &s);
	assert_string_equal(s.name, "a");
	assert_string_equal(s.kind, "red");
	assert_int_equal(s.count, 7);
	assert_false(s.flag);
	expect_ok("{\"name\":\"a\",\"kind\":\"green\",\"count\":300,\"flag\":true,\"extra\":{\"x\":1}}", &s);
	assert_string_equal(s.kind, "green");
	assert_int_equal(s.count, 300);
	assert_true(s.flag);
	assert_int_equal(json_object_size(s.extra), 1);
}

static void converts_text_numbers_and_booleans(void **state)
{
	struct sample s;
	expect_ok("{\"name\":\"a\",\"count\":\"30\",\"flag\":\"True\"}", &s);
	assert_int_equal(s.count, 30);
	assert_true(s.flag);
	expect_ok("{\"name\":\"a\",\"count\":30.0,\"flag\":null,\"kind\":null,\"extra\":null}", &s);
	assert_int_equal(s.count, 30);
	expect_ok("{\"name\":\"a\",\"count\":null}", &s);
	assert_int_equal(s.count, 7);
}

static void problems_name_field_and_value(void **state)
{
	expect_problem("{}", "name is required: a non-empty string, e.g. \"Ann\"");
	expect_problem("{\"name\":null}", "name must be a non-empty string, e.g. \"Ann\"; got null");
	expect_problem("{\"name\":\" \\n\"}", "name must be a non-empty string, e.g. \"Ann\"; got \" \\n\"");
	expect_problem("{\"name\":5}", "name must be a non-empty string, e.g. \"Ann\"; got 5");
	expect_problem("{\"name\":[1]}", "name must be a non-empty string, e.g. \"Ann\"; got a list");
	expect_problem("{\"name\":\"a\\u0000b\"}", "name must not contain NUL characters (\\u0000)");
	expect_problem("{\"name\":\"12345678901\"}", "name must be at most 10 bytes; got 11");
	expect_problem("{\"name\":\"a\",\"count\":0}", "count must be an integer from 1 to 300, e.g. 30; got 0");
	expect_problem("{\"name\":\"a\",\"count\":\"301\"}",
		       "count must be an integer from 1 to 300, e.g. 30; got \"301\"");
	expect_problem("{\"name\":\"a\",\"count\":1.5}", "count must be an integer from 1 to 300, e.g. 30; got 1.5");
	expect_problem("{\"name\":\"a\",\"count\":\"-\"}",
		       "count must be an integer from 1 to 300, e.g. 30; got \"-\"");
	expect_problem("{\"name\":\"a\",\"count\":1e300}",
		       "count must be an integer from 1 to 300, e.g. 30; got 1e300");
	expect_problem("{\"name\":\"a\",\"flag\":1}", "flag must be true or false; got 1");
	expect_problem("{\"name\":\"a\",\"extra\":[]}", "extra must be an object; got a list");
	expect_problem("{\"name\":\"a\",\"nmae\":1}", "unknown argument 'nmae'; known: name, kind, count, flag");
	expect_problem(
		"{\"name\":\"a\",\"count\":\"x\",\"flag\":\"y\"}",
		"count must be an integer from 1 to 300, e.g. 30; got \"x\"; flag must be true or false; got \"y\"");
}

static void reads_numbers_and_sizes(void **state)
{
	static const char *const four[] = { "\"4g\"",	 "\"4G\"",     "\"4GB\"",	"\"4 GiB\"",
					    "\"4096m\"", "4294967296", "\"4294967296\"" };
	struct sample s;
	for (size_t i = 0; i < ARRAY_LEN(four); i++) {
		AUTO(freep) char *text = xasprintf("{\"name\":\"a\",\"room\":%s,\"share\":0.5}", four[i]);
		expect_ok(text, &s);
		assert_true(s.room == 4ull << 30 && s.share == 0.5);
	}
	expect_ok("{\"name\":\"a\",\"share\":\"1.5\",\"room\":null}", &s);
	assert_true(s.share == 1.5 && s.room == 0);
	static const char *const sizes[] = { "0",
					     "\"0g\"",
					     "\"lots\"",
					     "-1",
					     "\"-1g\"",
					     "1.5",
					     "\"1e3\"",
					     "\"\"",
					     "\"b\"",
					     "true",
					     "\"99999999999999999999g\"" };
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		AUTO(freep) char *text = xasprintf("{\"name\":\"a\",\"room\":%s}", sizes[i]);
		AUTO(freep) char *want =
			xasprintf("room must be a size above 0 with its unit, m or g, e.g. \"4g\"; got %s", sizes[i]);
		expect_problem(text, want);
	}
	expect_problem("{\"name\":\"a\",\"share\":0}", "share must be a number above 0, e.g. 2; got 0");
	expect_problem("{\"name\":\"a\",\"share\":\"two\"}", "share must be a number above 0, e.g. 2; got \"two\"");
	expect_problem("{\"name\":\"a\",\"share\":-1}", "share must be a number above 0, e.g. 2; got -1");
}

static void problems_are_bounded(void **state)
{
	json_auto_t *args = json_object();
	struct sample s = { 0 };
	for (int i = 0; i < 10000; i++) {
		AUTO(freep) char *key = xasprintf("k%d", i);
		json_object_set_new(args, key, json_integer(i));
	}
	json_auto_t *problems = args_decode(table, args, &s);
	assert_true(json_array_size(problems) <= 25);
	const json_t *first = json_array_get(problems, 0);
	assert_string_equal(json_string_value(json_object_get(first, "type")), "missing");
	assert_string_equal(json_string_value(json_array_get(json_object_get(first, "loc"), 0)), "name");
}

static void schema_matches_the_table(void **state)
{
	struct sample defaults = { .kind = "red", .count = 7 };
	json_auto_t *schema = args_schema(table, &defaults);
	AUTO(freep) char *text = json_dumps(schema, JSON_COMPACT);
	assert_string_equal(
		text,
		"{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"maxLength\":10},\"kind\":{\"type\":\"string\",\"enum\":[\"red\",\"green\"],\"default\":\"red\"},"
		"\"count\":{\"type\":\"integer\",\"description\":\"How many.\",\"minimum\":1,\"maximum\":300,\"default\":7},\"flag\":{\"type\":\"boolean\",\"default\":false}},"
		"\"required\":[\"name\"],\"additionalProperties\":false}");
}

static int done(void **state)
{
	json_decref(root);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decodes_all_fields),
		cmocka_unit_test(converts_text_numbers_and_booleans),
		cmocka_unit_test(problems_name_field_and_value),
		cmocka_unit_test(reads_numbers_and_sizes),
		cmocka_unit_test(problems_are_bounded),
		cmocka_unit_test(schema_matches_the_table),
	};
	return cmocka_run_group_tests(tests, NULL, done);
}
