#include "base/alloc.h"
#include "manager/engine/docker/inspect.h"
#include "manager/engine/docker/quota.h"
#include "tests/unit/unit.h"

static void classify(struct fail *f, const char *text)
{
	assert_int_equal(inspect_error(f, "start the container", text, strlen(text)), -1);
}

static void test_errors_have_kind_and_next_step(void **state)
{
	static const struct {
		const char *text;
		enum fail_kind kind;
		enum cause cause;
		const char *words;
	} cases[] = {
		{ "docker: Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?\nSee 'docker run --help'.",
		  FAIL_ENGINE, CAUSE_NO_ENGINE, "no Docker engine answers" },
		{ "permission denied while trying to connect to the Docker daemon socket", FAIL_ENGINE,
		  CAUSE_ENGINE_REFUSED, "refuses this user" },
		{ "docker: Error response from daemon: No such image: husk-python:abc.", FAIL_IMAGE, CAUSE_NO_IMAGE,
		  "image does not exist" },
		{ "Error response from daemon: No such container: husk-x", FAIL_DIED, CAUSE_NO_CONTAINER,
		  "no longer exists" },
		{ "Error response from daemon: Container abc is not running", FAIL_DIED, CAUSE_NO_CONTAINER,
		  "no longer exists" },
		{ "Error response from daemon: no container with name or ID \"husk-x\" found: no such container",
		  FAIL_DIED, CAUSE_NO_CONTAINER, "no longer exists" },
		{ "docker: Error response from daemon: no such image: docker.io/library/x: image not known", FAIL_IMAGE,
		  CAUSE_NO_IMAGE, "image does not exist" },
		{ "docker: Error response from daemon: container create: unknown mount option \"uid=60946\"",
		  FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "unknown mount option" },
		{ "Failed to initialize: unable to resolve docker endpoint: context \"nope\": context not found: open /m.json",
		  FAIL_ENGINE, CAUSE_NO_ENGINE, "the docker context does not exist" },
		{ "unable to resolve docker endpoint: open /h/.docker/ca.pem: no such file or directory", FAIL_ENGINE,
		  CAUSE_NO_ENGINE, "TLS certificates are missing" },
		{ "error during connect: Get \"https://h:2376/v1.50/info\": tls: failed to verify certificate: x509: certificate signed by unknown authority",
		  FAIL_ENGINE, CAUSE_NO_ENGINE, "TLS has failed" },
		{ "something nobody has seen", FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "something nobody has seen" },
		{ "", FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "without a message" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(fail_release) struct fail f = { 0 };
		classify(&f, cases[i].text);
		assert_int_equal(f.kind, cases[i].kind);
		assert_int_equal(cause_of(&f), cases[i].cause);
		assert_non_null(strstr(f.message, cases[i].words));
		assert_null(strstr(f.message, "See 'docker"));
		assert_true(f.kind == FAIL_DIED || f.hint);
	}
}

/* evidence: input-bounds */
static void test_error_text_is_bounded_and_clean(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *text = xmalloc(100001);
	memset(text, 'x', 100000);
	text[100000] = '\0';
	memcpy(text, "\x1b[31m\xff\n", 7);
	classify(&f, text);
	assert_true(strlen(f.message) < 600);
	assert_null(strchr(f.message, '\x1b'));
	assert_null(strchr(f.message, '\n'));
}

static bool event(const char *line, struct event_text *text, struct engine_event *e)
{
	return inspect_event(line, strlen(line), text, e);
}

static void test_events(void **state)
{
	struct event_text text;
	struct engine_event e;
	assert_true(event(
		"{\"Type\":\"container\",\"Action\":\"die\",\"Actor\":{\"ID\":\"1\",\"Attributes\":{\"exitCode\":\"137\",\"name\":\"husk-a\"}}}",
		&text, &e));
	assert_int_equal(e.kind, EVENT_DIE);
	assert_int_equal(e.exit_code, 137);
	assert_string_equal(e.container, "husk-a");
	assert_string_equal(e.id, "1");
	assert_true(event("{\"Action\":\"oom\",\"Actor\":{\"Attributes\":{\"name\":\"husk-a\"}}}", &text, &e));
	assert_int_equal(e.kind, EVENT_OOM);
	assert_string_equal(e.id, "");
	assert_true(event("{\"Action\":\"remove\",\"Actor\":{\"Attributes\":{\"name\":\"husk-a\"}}}", &text, &e));
	assert_int_equal(e.kind, EVENT_DESTROY);
	assert_false(event("{\"Action\":\"start\",\"Actor\":{\"Attributes\":{\"name\":\"husk-a\"}}}", &text, &e));
	assert_false(event("{\"Action\":\"die\",\"Actor\":{\"Attributes\":{}}}", &text, &e));
	assert_false(event("{\"Action\":7}", &text, &e));
	assert_false(event("garbage", &text, &e));
	assert_false(event("[]", &text, &e));
	assert_false(event("", &text, &e));
}

static void test_the_smallest_network_id_is_first(void **state)
{
	AUTO(strv_release) struct strv ids = { 0 }, none = { 0 };
	const char *two = "b000000000000000000000000000000000000000000000000000000000000000\n"
			  "a000000000000000000000000000000000000000000000000000000000000000\n";
	inspect_network_ids(two, &ids);
	assert_int_equal(ids.n, 2);
	assert_int_equal(ids.v[0][0], 'a');
	inspect_network_ids("", &none);
	inspect_network_ids("not an id\nZ000\n", &none);
	assert_int_equal(none.n, 0);
}

static void test_deaths(void **state)
{
	AUTO(fail_release) struct fail oom = { 0 }, killed = { 0 }, other = { 0 };
	engine_death(&oom, true, 137);
	engine_death(&killed, false, 137);
	engine_death(&other, false, 3);
	assert_non_null(strstr(oom.message, "OOM-killed"));
	assert_int_equal(cause_of(&oom), CAUSE_OOM);
	assert_non_null(strstr(killed.message, "SIGKILL"));
	assert_int_equal(cause_of(&killed), CAUSE_EXITED);
	assert_string_equal(other.message, "exited with status 3 (container status: exited)");
}

/* Project quotas work on XFS only. */
static void quotas_are_found_in_the_mounts(void **state)
{
	static const struct {
		const char *mounts;
		bool likely;
	} cases[] = {
		{ "24 1 8:1 / / rw - ext4 /dev/sda1 rw,prjquota\n30 1 8:3 / /srv rw - xfs /dev/sdc1 rw,noquota\nbroken\n - xfs\n",
		  false },
		{ "36 28 8:2 / /var/lib/docker rw shared:1 - xfs /dev/sdb1 rw,attr2,prjquota\n", true },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char path[] = "/tmp/husk-mounts-XXXXXX";
		int fd = mkstemp(path);
		assert_true(fd >= 0);
		assert_true(write(fd, cases[i].mounts, strlen(cases[i].mounts)) > 0);
		close(fd);
		quota_mounts = path;
		assert_int_equal(quota_is_likely(), cases[i].likely);
		unlink(path);
	}
	quota_mounts = "/proc/self/mountinfo";
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors_have_kind_and_next_step),
		cmocka_unit_test(test_error_text_is_bounded_and_clean),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_the_smallest_network_id_is_first),
		cmocka_unit_test(test_deaths),
		cmocka_unit_test(quotas_are_found_in_the_mounts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
