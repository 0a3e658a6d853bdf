/* jupyter/connection: writing and reading a connection file. */
#include "jupyter/connection.h"

#include <sys/stat.h>

#include "base/alloc.h"
#include "tests/unit/unit.h"

static char folder[] = "/tmp/husk-connection-XXXXXX";

static int set_up(void **state)
{
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	return rmdir(folder);
}

static json_int_t port_of(const json_t *file, const char *name)
{
	return json_integer_value(json_object_get(file, name));
}

static void only_the_owner_can_read_the_connection_file(void **state)
{
	struct fail f AUTO(fail_release) = { 0 };
	struct sender_id id = { 0 };
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

static void a_written_file_can_be_read(void **state)
{
	for (int tcp = 0; tcp < 2; tcp++) {
		struct sender_id id = { 0 }, read_id;
		struct fail f AUTO(fail_release) = { 0 };
		struct connection made AUTO(connection_release) = { 0 }, found AUTO(connection_release) = { 0 };
		assert_int_equal(sender_id_make(&id), 0);
		assert_int_equal(connection_make(&made, folder, tcp, &id, "x", &f), 0);
		assert_int_equal(connection_read(&found, made.file, &read_id, &f), 0);
		assert_string_equal(read_id.key, id.key);
		assert_string_not_equal(read_id.session, id.session);
		assert_null(found.folder);
		for (int i = 0; i < CHANNELS; i++)
			assert_string_equal(found.endpoints[i], made.endpoints[i]);
	}
}

#define PORTS "\"shell_port\":1,\"iopub_port\":2,\"stdin_port\":3,\"control_port\":4,\"hb_port\":5"

/* evidence: jupyter-face */
static void a_bad_file_is_rejected_with_the_reason(void **state)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "", "not a connection file" },
		{ "[]", "not a connection file" },
		{ "{\"key\":\"k\"}", "has no shell_port" },
		{ "{\"key\":\"k\"," PORTS ",\"ip\":\"0.0.0.0\"}", "only on 127.0.0.1" },
		{ "{\"key\":\"k\"," PORTS ",\"transport\":\"pgm\"}", "transport 'pgm'" },
		{ "{\"key\":\"\"," PORTS "}", "has no key" },
		{ "{\"key\":\"k\",\"signature_scheme\":\"hmac-md5\"," PORTS "}", "hmac-md5" },
	};
	AUTO(freep) char *path = xasprintf("%s/c.json", folder);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct sender_id id;
		struct fail f AUTO(fail_release) = { 0 };
		struct connection c AUTO(connection_release) = { 0 };
		FILE *file = fopen(path, "we");
		assert_non_null(file);
		fputs(bad[i].text, file);
		fclose(file);
		assert_int_equal(connection_read(&c, path, &id, &f), -1);
		assert_int_equal(f.kind, FAIL_INVALID);
		assert_non_null(strstr(f.message, bad[i].why));
	}
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_owner_can_read_the_connection_file),
		cmocka_unit_test(a_written_file_can_be_read),
		cmocka_unit_test(a_bad_file_is_rejected_with_the_reason),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
