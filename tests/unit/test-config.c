/* manager/model/config: environment, then one file, then defaults; every bad value is refused by its name. */
#include <sys/stat.h>

#include "base/alloc.h"
#include "manager/model/config.h"
#include "tests/unit/unit.h"

static char scratch[] = "/tmp/husk-test-config-XXXXXX";

/* Sets up an environment that names only the test's own empty folders. */
static int fresh(void **state)
{
	clearenv();
	AUTO(freep) char *config = xasprintf("%s/config", scratch);
	setenv("HOME", scratch, 1);
	setenv("XDG_CONFIG_HOME", config, 1);
	AUTO(freep) char *file = xasprintf("%s/husk/.env", config);
	unlink(file);
	return 0;
}

static int make_scratch(void **state)
{
	assert_non_null(mkdtemp(scratch));
	AUTO(freep) char *config = xasprintf("%s/config", scratch), *husk = xasprintf("%s/config/husk", scratch);
	mkdir(config, 0700);
	mkdir(husk, 0700);
	return 0;
}

static int drop_scratch(void **state)
{
	static const char *const below[] = { "config/husk/.env", "config/husk", "config", "other.env", ".env", "" };
	for (size_t i = 0; i < ARRAY_LEN(below); i++) {
		AUTO(freep) char *path = xasprintf("%s/%s", scratch, below[i]);
		remove(path);
	}
	return 0;
}

static char *write_file(const char *name, const char *text)
{
	char *path = xasprintf("%s/%s", scratch, name);
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	return path;
}

static void load(struct config *c)
{
	AUTO(fail_release) struct fail f = { 0 };
	if (config_load(c, NULL, &f) < 0)
		fail_msg("config_load: %s", f.message);
}

static void defaults_are_the_reference_s(void **state)
{
	AUTO(config_release) struct config c;
	load(&c);
	assert_int_equal(c.memory_limit, 2048ull << 20);
	assert_int_equal(c.cpu_quota, 200000);
	assert_int_equal(c.pids_limit, 512);
	assert_int_equal(c.tmpfs_size, 200ull << 20);
	assert_int_equal(c.orphan_min_age, 300);
	assert_int_equal(c.execution_timeout, 30);
	assert_int_equal(c.max_sessions, 5);
	assert_int_equal(c.max_sessions_per_thread, 3);
	assert_true(c.network_enabled);
	assert_false(c.proxy_enabled);
	assert_int_equal(c.lease, 300);
	assert_int_equal(c.idle_ttl, 1800);
	assert_int_equal(c.max_lifetime, 7200);
	assert_int_equal(c.gc_interval, 60);
	assert_int_equal(c.max_active_threads, 10);
	assert_int_equal(c.max_stdout_chars, 50000);
	assert_int_equal(c.max_stderr_chars, 120000);
	assert_int_equal(c.max_result_chars, 30000);
	assert_int_equal(c.max_traceback_chars, 8000);
	assert_false(c.structured_content);
	assert_null(c.thread_id);
	assert_string_equal(c.docker, "docker");
	assert_int_equal(c.import_allowed_dirs.n, 0);
}

static void the_environment_wins_over_the_file(void **state)
{
	AUTO(freep) char *path =
		write_file("config/husk/.env", "CONTAINER_PIDS_LIMIT=100\nCONTAINER_CPU_QUOTA=50000\n");
	setenv("CONTAINER_PIDS_LIMIT", "200", 1);
	AUTO(config_release) struct config c;
	load(&c);
	assert_int_equal(c.pids_limit, 200);
	assert_int_equal(c.cpu_quota, 50000);
	assert_string_equal(config_lookup(&c, "CONTAINER_PIDS_LIMIT"), "200");
	assert_string_equal(config_lookup(&c, "CONTAINER_CPU_QUOTA"), "50000");
	assert_null(config_lookup(&c, "CONTAINER_CPU"));
	assert_null(config_lookup(&c, "HUSK_IMAGE_PYTHON"));
}

static void a_blank_value_is_unset(void **state)
{
	AUTO(freep) char *path = write_file("config/husk/.env", "CONTAINER_PIDS_LIMIT=100\nMAX_STDOUT_CHARS=\n");
	setenv("CONTAINER_PIDS_LIMIT", "", 1);
	AUTO(config_release) struct config c;
	load(&c);
	assert_int_equal(c.pids_limit, 100);
	assert_int_equal(c.max_stdout_chars, 50000);
}

static void ceilings_of_sessions(void **state)
{
	AUTO(config_release) struct config none, set;
	AUTO(fail_release) struct fail f = { 0 };
	load(&none);
	assert_true(!none.memory_max && !none.cpus_max && !none.disk_max);
	setenv("CONTAINER_MEMORY_MAX", "6g", 1);
	setenv("CONTAINER_CPUS_MAX", "2.5", 1);
	setenv("CONTAINER_DISK_MAX", "20g", 1);
	load(&set);
	assert_true(set.memory_max == 6ull << 30 && set.cpus_max == 250000 && set.disk_max == 20ull << 30);
	struct config bad;
	setenv("CONTAINER_CPUS_MAX", "1", 1);
	assert_int_equal(config_load(&bad, NULL, &f), -1);
	assert_non_null(strstr(f.message, "CONTAINER_CPUS_MAX and CONTAINER_CPU_QUOTA"));
	setenv("CONTAINER_CPUS_MAX", "many", 1);
	fail_release(&f);
	assert_int_equal(config_load(&bad, NULL, &f), -1);
	assert_non_null(strstr(f.message, "CONTAINER_CPUS_MAX: 'many' is not a number of CPUs"));
	unsetenv("CONTAINER_MEMORY_MAX");
	unsetenv("CONTAINER_CPUS_MAX");
	unsetenv("CONTAINER_DISK_MAX");
}

static void the_file_format_is_the_usual_one(void **state)
{
	AUTO(freep) char *path = write_file("other.env", "# a comment\n"
							 "\n"
							 "  CONTAINER_PIDS_LIMIT = 100  \n"
							 "export CONTAINER_CPU_QUOTA=150000 # half of three\n"
							 "STORAGE_DIR=\"/var/lib/a b # c\"\r\n"
							 "API_BASE_URL='http://127.0.0.1:8000'\n"
							 "MAX_STDOUT_CHARS=1\n"
							 "SOMETHING_ELSE=is fine\n"
							 "HUSK_IMAGE_PYTHON=mine:1");
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(config_release) struct config c;
	assert_int_equal(config_load(&c, path, &f), 0);
	assert_int_equal(c.pids_limit, 100);
	assert_int_equal(c.cpu_quota, 150000);
	assert_string_equal(c.storage_dir, "/var/lib/a b # c");
	assert_string_equal(c.api_base_url, "http://127.0.0.1:8000");
	assert_int_equal(c.max_stdout_chars, 1);
	assert_string_equal(config_lookup(&c, "HUSK_IMAGE_PYTHON"), "mine:1");
}

static void a_named_file_replaces_the_default_one(void **state)
{
	AUTO(freep) char *usual = write_file("config/husk/.env", "CONTAINER_PIDS_LIMIT=100\n");
	AUTO(freep) char *named = write_file("other.env", "CONTAINER_CPU_QUOTA=50000\n");
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(config_release) struct config c;
	assert_int_equal(config_load(&c, named, &f), 0);
	assert_int_equal(c.pids_limit, 512);
	assert_int_equal(c.cpu_quota, 50000);
}

static void a_named_file_must_exist(void **state)
{
	struct fail f = { 0 };
	struct config c;
	AUTO(freep) char *missing = xasprintf("%s/missing.env", scratch);
	assert_int_equal(config_load(&c, missing, &f), -1);
	assert_int_equal(f.kind, FAIL_INVALID);
	assert_non_null(strstr(f.message, missing));
	fail_release(&f);
	assert_int_equal(config_load(&c, scratch, &f), -1); /* a folder is not a file */
	fail_release(&f);
}

static void a_broken_line_is_reported_by_number(void **state)
{
	AUTO(freep) char *path = write_file("other.env", "A=1\n\nnonsense\n");
	AUTO(fail_release) struct fail f = { 0 };
	struct config c;
	assert_int_equal(config_load(&c, path, &f), -1);
	assert_non_null(strstr(f.message, "line 3"));
}

/* evidence: secrets */
static void files_in_the_working_directory_are_ignored(void **state)
{
	AUTO(freep) char *path = write_file(".env", "CONTAINER_PIDS_LIMIT=100\nCONTAINER_EXECUTE_AS_ROOT=true\n");
	char *before = getcwd(NULL, 0);
	assert_int_equal(chdir(scratch), 0);
	unsetenv("XDG_CONFIG_HOME");
	AUTO(config_release) struct config c;
	load(&c);
	assert_int_equal(chdir(before), 0);
	free(before);
	assert_int_equal(c.pids_limit, 512);
}

static void bad_values_are_refused_by_name(void **state)
{
	static const struct {
		const char *name, *value;
	} bad[] = {
		{ "CONTAINER_MEMORY_LIMIT", "lots" },
		{ "CONTAINER_MEMORY_LIMIT", "1m" },
		{ "CONTAINER_MEMORY_LIMIT", "-1" },
		{ "CONTAINER_CPU_QUOTA", "0" },
		{ "CONTAINER_CPU_QUOTA", "1.5" },
		{ "CONTAINER_PIDS_LIMIT", "0" },
		{ "CONTAINER_PIDS_LIMIT", "-1" },
		{ "CONTAINER_PIDS_LIMIT", "many" },
		{ "CONTAINER_TMPFS_SIZE", "200mb" },
		{ "CONTAINER_TMPFS_SIZE", "1" },
		{ "CONTAINER_ORPHAN_MIN_AGE_SECONDS", "soon" },
		{ "CONTAINER_EXECUTION_TIMEOUT_SECONDS", "0" },
		{ "CONTAINER_EXECUTION_TIMEOUT_SECONDS", "301" },
		{ "CONTAINER_MAX_SESSIONS", "0" },
		{ "CONTAINER_MAX_SESSIONS_PER_THREAD", "none" },
		{ "CONTAINER_EXECUTE_AS_ROOT", "maybe" },
		{ "CONTAINER_EXECUTE_AS_ROOT", "true" },
		{ "CONTAINER_EXECUTE_AS_ROOT", "1" },
		{ "CONTAINER_NETWORK_ENABLED", "sometimes" },
		{ "CONTAINER_PROXY_ENABLED", "2" },
		{ "CONTAINER_ENGINE", "pool" },
		{ "KUBERNETES_NAMESPACE", "a/b" },
		{ "HUSK_ADVERTISE", "10.0.0.1" },
		{ "HUSK_ADVERTISE", "a server:1" },
		{ "CONTAINER_REGISTRY", "host/" },
		{ "CONTAINER_REGISTRY", "-host" },
		{ "CONTAINER_ENGINE", "moby" },
		{ "CONTAINER_RUNTIME", "run sc" },
		{ "CONTAINER_RUNTIME", "--privileged" },
		{ "CONTAINER_CA_BUNDLE", "/nonexistent/bundle.crt" },
		{ "SESSION_LEASE_SECONDS", "0" },
		{ "SESSION_IDLE_TTL_SECONDS", "x" },
		{ "SESSION_MAX_LIFETIME_SECONDS", "1h" },
		{ "SESSION_GC_INTERVAL_SECONDS", "0" },
		{ "SESSION_MAX_ACTIVE_THREADS", "0" },
		{ "MAX_STDOUT_CHARS", "-5" },
		{ "MAX_STDERR_CHARS", "all" },
		{ "MAX_RESULT_CHARS", "99999999999999999999999" },
		{ "MAX_TRACEBACK_CHARS", "0x10" },
		{ "MCP_STRUCTURED_CONTENT", "perhaps" },
		{ "POSTGRES_PORT", "65536" },
		{ "HUSK_THREAD_ID", "a/../b" },
		{ "HUSK_THREAD_ID", "white space" },
		{ "HUSK_LOG", "loud" },
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		fresh(state);
		setenv(bad[i].name, bad[i].value, 1);
		AUTO(fail_release) struct fail f = { 0 };
		struct config c;
		if (config_load(&c, NULL, &f) == 0)
			fail_msg("%s=%s was accepted", bad[i].name, bad[i].value);
		assert_int_equal(f.kind, FAIL_INVALID);
		assert_non_null(strstr(f.message, bad[i].name));
	}
}

/* evidence: container-user */
static void root_is_refused_with_an_explanation(void **state)
{
	setenv("CONTAINER_EXECUTE_AS_ROOT", "true", 1);
	AUTO(fail_release) struct fail f = { 0 };
	struct config c;
	assert_int_equal(config_load(&c, NULL, &f), -1);
	assert_non_null(strstr(f.message, "root"));
	assert_non_null(f.hint);
	setenv("CONTAINER_EXECUTE_AS_ROOT", "false", 1);
	load(&c);
	config_release(&c);
}

static void tmpfs_must_fit_into_memory(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct config c;
	setenv("CONTAINER_MEMORY_LIMIT", "512m", 1);
	assert_int_equal(config_load(&c, NULL, &f), -1); /* 2 x 200m + 256m */
	assert_non_null(strstr(f.message, "CONTAINER_TMPFS_SIZE"));
	assert_non_null(strstr(f.message, "CONTAINER_MEMORY_LIMIT"));
	assert_non_null(f.hint);
	setenv("CONTAINER_TMPFS_SIZE", "64m", 1);
	load(&c); /* 2 x 64m + 256m = 384m */
	config_release(&c);
	setenv("CONTAINER_MEMORY_LIMIT", "384m", 1);
	load(&c); /* exactly */
	config_release(&c);
	setenv("CONTAINER_MEMORY_LIMIT", "383m", 1);
	assert_int_equal(config_load(&c, NULL, &f), -1);
	setenv("CONTAINER_TMPFS_SIZE", "16777215m", 1);
	assert_int_equal(config_load(&c, NULL, &f), -1);
}

static void limits_of_characters_may_be_zero(void **state)
{
	setenv("MAX_STDOUT_CHARS", "0", 1);
	AUTO(config_release) struct config c;
	load(&c);
	assert_int_equal(c.max_stdout_chars, 0);
}

static void places_follow_xdg(void **state)
{
	setenv("XDG_DATA_HOME", "/data", 1);
	setenv("XDG_STATE_HOME", "relative/is/invalid", 1);
	setenv("STORAGE_DIR", "./storage", 1);
	AUTO(config_release) struct config c;
	load(&c);
	AUTO(freep) char *state_dir = xasprintf("%s/.local/state/husk", scratch);
	assert_string_equal(c.state_dir, state_dir);
	assert_string_equal(c.storage_dir, "/data/husk/storage");
}

static void allowed_folders_are_checked_when_they_are_set(void **state)
{
	static const char *const bad[] = { "~/data", ".", "data", "/no/such/folder", "/etc/passwd", "/,~" };
	AUTO(freep) char *good = xasprintf("/, %s ,,", scratch);
	setenv("IMPORT_ALLOWED_DIRS", good, 1);
	AUTO(config_release) struct config c;
	load(&c);
	assert_int_equal(c.import_allowed_dirs.n, 2);
	assert_string_equal(c.import_allowed_dirs.v[0], "/");
	assert_string_equal(c.import_allowed_dirs.v[1], scratch);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		AUTO(fail_release) struct fail f = { 0 };
		struct config refused;
		setenv("IMPORT_ALLOWED_DIRS", bad[i], 1);
		assert_int_equal(config_load(&refused, NULL, &f), -1);
		assert_non_null(strstr(f.message, "IMPORT_ALLOWED_DIRS"));
	}
}

static void the_bundle_can_be_switched_off(void **state)
{
	setenv("CONTAINER_CA_BUNDLE", "none", 1);
	AUTO(config_release) struct config c;
	load(&c);
	assert_null(c.ca_bundle);
}

static void a_chosen_bundle_is_read_for_pods(void **state)
{
	static const struct {
		const char *engine, *content, *found;
	} cases[] = { { "docker", "PEM\n", NULL }, { "kubernetes", "PEM\n", "PEM\n" }, { "kubernetes", "\xff", NULL } };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(freep) char *path = write_file("other.env", cases[i].content);
		setenv("CONTAINER_ENGINE", cases[i].engine, 1);
		setenv("CONTAINER_CA_BUNDLE", path, 1);
		AUTO(fail_release) struct fail f = { 0 };
		AUTO(config_release) struct config c = { 0 };
		int r = config_load(&c, NULL, &f);
		assert_int_equal(r, *cases[i].content == 'P' ? 0 : -1);
		if (cases[i].found)
			assert_string_equal(c.certificates, cases[i].found);
		else
			assert_null(c.certificates);
	}
}

static void a_pool_is_a_list_of_numbers(void **state)
{
	AUTO(config_release) struct config usual;
	load(&usual);
	assert_int_equal(usual.warm_pool.n, 1);
	assert_string_equal(usual.warm_pool.v[0].runtime->name, "python");
	assert_int_equal(usual.warm_pool.v[0].min, 0);
	assert_int_equal(usual.warm_pool.v[0].max, 3);
	setenv("WARM_POOL", "OFF", 1);
	AUTO(config_release) struct config off;
	load(&off);
	assert_int_equal(off.warm_pool.n, 0);
	setenv("WARM_POOL", "python:1, js:0-2", 1);
	AUTO(config_release) struct config c;
	load(&c);
	assert_int_equal(c.warm_pool.n, 2);
	assert_int_equal(c.warm_pool.v[0].min, 1);
	assert_int_equal(c.warm_pool.v[0].max, 1);
	assert_string_equal(c.warm_pool.v[1].runtime->name, "node");
	assert_int_equal(c.warm_pool.v[1].max, 2);
	config_release(&c);
	static const char *const bad[] = { "python",	    "python:",	  "python:1-", "python:-1",
					   "python:2-1",    "python:101", "perl:1",    ":1",
					   "python:1,py:1", "python:1x",  "on" };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		AUTO(fail_release) struct fail f = { 0 };
		setenv("WARM_POOL", bad[i], 1);
		assert_int_equal(config_load(&c, NULL, &f), -1);
		assert_non_null(strstr(f.message, "WARM_POOL"));
		assert_non_null(strstr(f.hint, "python:1"));
	}
}

static void every_setting_is_listed_with_its_effective_value(void **state)
{
	static const char *const listed[] = { "WARM_POOL",     "HUSK_LOG",	  "IMPORT_ALLOWED_DIRS",
					      "PIP_INDEX_URL", "R_REPOS",	  "NPM_CONFIG_REGISTRY",
					      "HUSK_IMAGE_R",  "HUSK_IMAGE_NODE", "CONTAINER_EXECUTE_AS_ROOT" };
	AUTO(strv_release) struct strv names = { 0 };
	AUTO(config_release) struct config c;
	config_names(&names);
	for (size_t i = 0; i < ARRAY_LEN(listed); i++)
		assert_true(strv_find(&names, listed[i]) != SIZE_MAX);
	for (size_t i = 0; i < names.n; i++)
		assert_true(config_knows(names.v[i]));
	setenv("STORAGE_DIR", "./files", 1);
	setenv("XDG_DATA_HOME", "/data", 1);
	setenv("HUSK_IMAGE_NODE", "mine:1", 1);
	load(&c);
	assert_string_equal(config_effective(&c, "WARM_POOL"), "python:0-3");
	assert_string_equal(config_effective(&c, "HUSK_LOG"), "warning");
	assert_string_equal(config_effective(&c, "HUSK_DOCKER"), "docker");
	assert_string_equal(config_effective(&c, "STORAGE_DIR"), "/data/husk/files");
	assert_string_equal(config_effective(&c, "HUSK_IMAGE_NODE"), "mine:1");
	assert_string_equal(config_effective(&c, "HUSK_IMAGE_R"), runtime_find("r")->image);
	assert_string_equal(config_effective(&c, "CONTAINER_EXECUTE_AS_ROOT"), "false");
	assert_null(config_effective(&c, "PIP_INDEX_URL"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(defaults_are_the_reference_s, fresh),
		cmocka_unit_test_setup(the_environment_wins_over_the_file, fresh),
		cmocka_unit_test_setup(a_blank_value_is_unset, fresh),
		cmocka_unit_test_setup(ceilings_of_sessions, fresh),
		cmocka_unit_test_setup(the_file_format_is_the_usual_one, fresh),
		cmocka_unit_test_setup(a_named_file_replaces_the_default_one, fresh),
		cmocka_unit_test_setup(a_named_file_must_exist, fresh),
		cmocka_unit_test_setup(a_broken_line_is_reported_by_number, fresh),
		cmocka_unit_test_setup(files_in_the_working_directory_are_ignored, fresh),
		cmocka_unit_test_setup(bad_values_are_refused_by_name, fresh),
		cmocka_unit_test_setup(root_is_refused_with_an_explanation, fresh),
		cmocka_unit_test_setup(tmpfs_must_fit_into_memory, fresh),
		cmocka_unit_test_setup(limits_of_characters_may_be_zero, fresh),
		cmocka_unit_test_setup(places_follow_xdg, fresh),
		cmocka_unit_test_setup(allowed_folders_are_checked_when_they_are_set, fresh),
		cmocka_unit_test_setup(the_bundle_can_be_switched_off, fresh),
		cmocka_unit_test_setup(a_chosen_bundle_is_read_for_pods, fresh),
		cmocka_unit_test_setup(a_pool_is_a_list_of_numbers, fresh),
		cmocka_unit_test_setup(every_setting_is_listed_with_its_effective_value, fresh),
	};
	return cmocka_run_group_tests(tests, make_scratch, drop_scratch);
}
