/* kernels/jupyter/spec and connection: the kernelspec's command, and the file that tells the kernel where to be. */
#include "kernels/jupyter/spec.h"

#include <sys/stat.h>

#include "base/alloc.h"
#include "kernels/jupyter/connection.h"
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

static void a_bad_spec_says_what_is_wrong(void **state)
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

static json_int_t port_of(const json_t *file, const char *name)
{
	return json_integer_value(json_object_get(file, name));
}

static void the_connection_is_ours_alone(void **state)
{
	struct fail f AUTO(fail_release) = { 0 };
	struct sender_id id;
	struct stat st;
	assert_int_equal(sender_id_make(&id), 0);
	for (int tcp = 0; tcp < 2; tcp++) {
		struct connection c;
		assert_int_equal(connection_make(&c, folder, tcp, &id, "x", &f), 0);
		assert_int_equal(stat(c.file, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
		assert_int_equal(stat(c.folder, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0700);
		json_auto_t *file = json_load_file(c.file, 0, NULL);
		assert_string_equal(json_string_value(json_object_get(file, "key")), id.key);
		assert_string_equal(json_string_value(json_object_get(file, "signature_scheme")), "hmac-sha256");
		const char *ip = json_string_value(json_object_get(file, "ip"));
		AUTO(freep) char *shell =
			xasprintf(tcp ? "tcp://%s:%lld" : "ipc://%s-%lld", ip, (long long)port_of(file, "shell_port"));
		AUTO(freep) char *heart =
			xasprintf(tcp ? "tcp://%s:%lld" : "ipc://%s-%lld", ip, (long long)port_of(file, "hb_port"));
		assert_string_equal(c.endpoints[CHANNEL_SHELL], shell);
		assert_string_equal(c.endpoints[CHANNEL_HEARTBEAT], heart);
		assert_string_not_equal(shell, heart);
		AUTO(freep) char *gone = xstrdup(c.folder);
		connection_release(&c);
		assert_int_equal(access(gone, F_OK), -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_spec_makes_a_command),
		cmocka_unit_test(a_bad_spec_says_what_is_wrong),
		cmocka_unit_test(the_connection_is_ours_alone),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
