/* kernels/jupyter/spec: the kernelspec's command. */
#include "kernels/jupyter/spec.h"

#include "base/alloc.h"
#include "tests/unit/unit.h"

static char folder[] = "/tmp/husk-spec-XXXXXX";

static void write_spec(const char *text)
{
	AUTO(freep) char *path = xasprintf("%s/kernel.json", folder);
	FILE *file = fopen(path, "we");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int set_up(void **state)
{
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	AUTO(freep) char *path = xasprintf("%s/kernel.json", folder);
	return unlink(path) | rmdir(folder);
}

static void a_spec_makes_a_command(void **state)
{
	struct fail f AUTO(fail_release) = { 0 };
	struct spec s AUTO(spec_release) = { 0 };
	struct strv command AUTO(strv_release) = { 0 };
	setenv("HUSK_TEST_HOME", "/there", 1);
	write_spec(
		"{\"argv\": [\"prog\", \"{resource_dir}/x\", \"--f={connection_file}\", \"{other}\", \"{open\"],"
		" \"env\": {\"A\": \"${HUSK_TEST_HOME}/a\", \"B\": \"$ ${HUSK_TEST_NONE}\"}, \"interrupt_mode\": \"message\"}");
	assert_int_equal(spec_load(&s, folder, &f), 0);
	spec_command(&s, "/c.json", &command);
	AUTO(freep) char *resource = xasprintf("%s/x", folder);
	const char *const expected[] = { "prog", resource, "--f=/c.json", "{other}", "{open" };
	assert_int_equal(command.n, ARRAY_LEN(expected));
	for (size_t i = 0; i < ARRAY_LEN(expected); i++)
		assert_string_equal(command.v[i], expected[i]);
	assert_string_equal(s.env.v[0], "A=/there/a");
	assert_string_equal(s.env.v[1], "B=$ ${HUSK_TEST_NONE}");
	assert_true(s.interrupt_by_message);
}

static void a_bad_spec_is_rejected_with_the_reason(void **state)
{
	static const char *const bad[] = { "",
					   "[]",
					   "{}",
					   "{\"argv\": []}",
					   "{\"argv\": [1]}",
					   "{\"argv\": \"x\"}",
					   "{\"argv\": [\"x\"], \"env\": {\"A\": 1}}" };
	struct fail f AUTO(fail_release) = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct spec s AUTO(spec_release) = { 0 };
		write_spec(bad[i]);
		assert_int_equal(spec_load(&s, folder, &f), -1);
		assert_non_null(strstr(f.message, "kernel.json"));
	}
	struct spec s AUTO(spec_release) = { 0 };
	assert_int_equal(spec_load(&s, "/nonexistent", &f), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_spec_makes_a_command),
		cmocka_unit_test(a_bad_spec_is_rejected_with_the_reason),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
