/* kernels/cells/manifest: runtime.json, good and bad. */
#include <signal.h>

#include "kernels/cells/manifest.h"
#include "tests/unit/unit.h"

static int parse(const char *text, struct manifest *m)
{
	struct fail f AUTO(fail_release) = { 0 };
	int r = manifest_parse(m, text, strlen(text), &f);
	if (r < 0)
		assert_non_null(strstr(f.message, "runtime manifest"));
	return r;
}

static void reads_known_fields(void **state)
{
	AUTO(manifest_release) struct manifest m;
	assert_int_equal(
		parse("{\"name\":\"r\",\"title\":\"R\",\"kernel\":[\"/usr/bin/R\",\"-s\"],\"link\":\"tcp:8765\",\"interrupt\":\"SIGUSR1\",\"env\":{\"A\":\"1\",\"B\":\"\"}}",
		      &m),
		0);
	assert_string_equal(m.name, "r");
	assert_int_equal(m.kernel.n, 2);
	assert_string_equal(m.kernel.v[1], "-s");
	assert_int_equal(m.tcp_port, 8765);
	assert_int_equal(m.interrupt, SIGUSR1);
	assert_string_equal(m.env.v[0], "A=1");
	assert_string_equal(m.env.v[1], "B=");
}

static void has_defaults(void **state)
{
	AUTO(manifest_release) struct manifest m;
	assert_int_equal(parse("{\"name\":\"x\",\"kernel\":[\"/k\"]}", &m), 0);
	assert_int_equal(m.tcp_port, 0);
	assert_int_equal(m.interrupt, SIGINT);
	assert_int_equal(m.env.n, 0);
}

static void refuses_nonsense(void **state)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{}",
		"{\"name\":\"x\"}",
		"{\"name\":1,\"kernel\":[\"/k\"]}",
		"{\"name\":\"x\",\"kernel\":[]}",
		"{\"name\":\"x\",\"kernel\":[\"python\"]}",
		"{\"name\":\"x\",\"kernel\":[\"/k\",1]}",
		"{\"name\":\"x\",\"kernel\":[\"/k\"],\"link\":\"tcp:80\"}",
		"{\"name\":\"x\",\"kernel\":[\"/k\"],\"link\":\"tcp:x\"}",
		"{\"name\":\"x\",\"kernel\":[\"/k\"],\"interrupt\":\"SIGKILL\"}",
		"{\"name\":\"x\",\"kernel\":[\"/k\"],\"env\":{\"A\":1}}",
		"{\"name\":\"x\",\"kernel\":[\"/k\"],\"env\":{\"A=B\":\"\"}}",
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct manifest m;
		assert_int_equal(parse(bad[i], &m), -1);
		assert_null(m.name);
	}
}

static void names_the_missing_file(void **state)
{
	struct fail f AUTO(fail_release) = { 0 };
	struct manifest m;
	assert_int_equal(manifest_load(&m, "/nonexistent/runtime.json", &f), -1);
	assert_non_null(strstr(f.message, "/nonexistent/runtime.json"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_known_fields),
		cmocka_unit_test(has_defaults),
		cmocka_unit_test(refuses_nonsense),
		cmocka_unit_test(names_the_missing_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
