/* The pure parts of manager/engine/kubernetes/: pods, statuses and lines of a watch. */
#include "base/alloc.h"
#include "base/json.h"
#include "manager/engine/kubernetes/feed.h"
#include "manager/engine/kubernetes/status.h"
#include "tests/unit/unit.h"

static struct pod pod_of(const char *status, const char *node)
{
	struct pod pod;
	json_auto_t *object = json_pack("{s:{s:s, s:s}, s:{s:s}, s:o}", "metadata", "name", "husk-a", "uid", "u",
					"spec", "nodeName", node, "status", json_loads(status, 0, NULL));
	assert_true(pod_read(object, &pod));
	return pod;
}

static void a_death_names_its_reason_and_node(void **state)
{
	static const struct {
		const char *status;
		enum cause cause;
		const char *says;
	} deaths[] = {
		{ "{\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"terminated\":"
		  "{\"exitCode\":137,\"reason\":\"OOMKilled\"}}}]}",
		  CAUSE_OOM, "OOM-killed" },
		{ "{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"terminated\":"
		  "{\"exitCode\":139,\"reason\":\"Error\"}}}]}",
		  CAUSE_EXITED, "segmentation fault" },
		{ "{\"phase\":\"Failed\",\"reason\":\"Evicted\",\"message\":\"The node was low on memory\"}",
		  CAUSE_NODE, "Evicted: The node was low on memory" },
		{ "{\"phase\":\"Running\",\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":\"True\",\"reason\":"
		  "\"DeletionByTaintManager\",\"message\":\"gone\"}]}",
		  CAUSE_NODE, "DeletionByTaintManager: gone" },
		{ "{\"phase\":\"Succeeded\"}", CAUSE_EXITED, "status 0" },
	};
	for (size_t i = 0; i < ARRAY_LEN(deaths); i++) {
		AUTO(fail_release) struct fail f = { 0 };
		struct pod pod = pod_of(deaths[i].status, "n7");
		assert_true(pod_is_over(&pod));
		assert_int_equal(pod_death(&pod, &f), -1);
		assert_int_equal(f.kind, FAIL_DIED);
		assert_int_equal(cause_of(&f), deaths[i].cause);
		assert_non_null(strstr(f.message, deaths[i].says));
		assert_non_null(strstr(f.message, "'n7'"));
	}
}

static void a_living_pod_is_not_over(void **state)
{
	static const char *const alive[] = {
		"{}",
		"{\"phase\":\"Pending\"}",
		"{\"phase\":\"Running\",\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":\"False\"}]}",
		"{\"phase\":\"Running\",\"reason\":\"x\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"}]}",
		/* Only the session's container counts. */
		"{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"attach\",\"state\":{\"terminated\":{}}},"
		"{\"name\":\"main\",\"state\":{\"running\":{}}}]}",
		"{\"phase\":\"Unknown\"}",
	};
	for (size_t i = 0; i < ARRAY_LEN(alive); i++) {
		struct pod pod = pod_of(alive[i], "");
		assert_false(pod_is_over(&pod));
	}
}

static void a_pod_that_does_not_start_says_why(void **state)
{
	static const struct {
		const char *status, *node;
		enum cause cause;
		const char *says;
		bool stuck;
	} troubles[] = {
		{ "{\"phase\":\"Pending\",\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"waiting\":{\"reason\":"
		  "\"ErrImagePull\",\"message\":\"no such manifest\"}}}]}",
		  "n1", CAUSE_NO_IMAGE, "no such manifest", true },
		{ "{\"phase\":\"Pending\",\"containerStatuses\":[{\"name\":\"attach\",\"state\":{\"waiting\":{\"reason\":"
		  "\"CreateContainerError\",\"message\":\"bad mount\"}}}]}",
		  "n1", CAUSE_ENGINE_REFUSED, "bad mount", true },
		{ "{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\",\"reason\":"
		  "\"Unschedulable\",\"message\":\"0/2 nodes are available: 2 Insufficient memory.\"}]}",
		  "", CAUSE_NO_NODE, "Insufficient memory", false },
		{ "{\"phase\":\"Pending\",\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"waiting\":{\"reason\":"
		  "\"ContainerCreating\"}}}]}",
		  "n1", CAUSE_ENGINE_SILENT, "'n1' did not start", false },
		{ "{\"phase\":\"Pending\"}", "", CAUSE_ENGINE_SILENT, "no node was chosen", false },
	};
	for (size_t i = 0; i < ARRAY_LEN(troubles); i++) {
		AUTO(fail_release) struct fail f = { 0 };
		struct pod pod = pod_of(troubles[i].status, troubles[i].node);
		assert_int_equal(pod.stuck, troubles[i].stuck);
		assert_int_equal(pod_trouble(&pod, "husk", &f), -1);
		assert_int_equal(cause_of(&f), troubles[i].cause);
		assert_non_null(strstr(f.message, troubles[i].says));
		assert_non_null(strstr(f.hint, "kubectl"));
	}
}

static void hostile_reports_are_bounded_and_clean(void **state)
{
	struct pod pod;
	AUTO(freep) char *status = xasprintf(
		"{\"phase\":[],\"message\":\"%0*d\",\"reason\":\"a\\u001b[31m\\nb\",\"containerStatuses\":[7,null,{\"name\":"
		"\"main\",\"state\":{\"terminated\":{\"exitCode\":\"x\"}}}],\"conditions\":{}}",
		5000, 1);
	pod = pod_of(status, "n\\u0000");
	assert_int_equal(pod.phase, POD_UNKNOWN);
	assert_int_equal(strlen(pod.message), POD_TEXT - 1);
	assert_null(strpbrk(pod.reason, "\n\033"));
	assert_true(pod.ended);
	json_auto_t *nothing = json_array();
	assert_false(pod_read(nothing, &pod));
	assert_false(pod_read(NULL, &pod));
}

static void a_status_becomes_a_cause_with_a_command(void **state)
{
	static const struct status_place place = { "start the pod", "create", "pods", "team" };
	static const struct {
		int status;
		const char *body;
		enum fail_kind kind;
		enum cause cause;
		const char *says, *hints;
	} cases[] = {
		{ 401, "{\"message\":\"Unauthorized\"}", FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "login", "whoami" },
		{ 403, "{\"message\":\"pods is forbidden: User \\\"x\\\" cannot create\"}", FAIL_ENGINE,
		  CAUSE_ENGINE_REFUSED, "no right to create pods", "can-i create pods -n team" },
		{ 403, "{\"message\":\"pods \\\"a\\\" is forbidden: exceeded quota: sessions\"}", FAIL_ENGINE,
		  CAUSE_ENGINE_REFUSED, "quota of the namespace 'team' is full", "describe quota -n team" },
		{ 403, "{\"message\":\"pods \\\"a\\\" is forbidden: violates PodSecurity \\\"restricted\\\"\"}",
		  FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "violates PodSecurity", "get namespace team" },
		{ 404, "{\"message\":\"namespaces \\\"team\\\" not found\"}", FAIL_ENGINE, CAUSE_ENGINE_REFUSED,
		  "no namespace 'team'", "apply -k" },
		{ 404, "{\"message\":\"pods \\\"a\\\" not found\"}", FAIL_DIED, CAUSE_NO_CONTAINER, "not found", NULL },
		{ 400, "{\"message\":\"cannot exec into a container in a completed pod; current phase is Succeeded\"}",
		  FAIL_DIED, CAUSE_NO_CONTAINER, "completed pod", NULL },
		{ 409, "{\"message\":\"exists\"}", FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "409", "get events" },
		{ 422, "not JSON", FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "not JSON", "get events" },
		{ 429, "", FAIL_ENGINE, CAUSE_ENGINE_SILENT, "overloaded", "again" },
		{ 500, "{\"message\":7}", FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "500", "get events" },
		{ 502, "Error trying to reach service", FAIL_ENGINE, CAUSE_NO_ENGINE, "does not answer", "get pods" },
		{ 503, "\n\n", FAIL_ENGINE, CAUSE_NO_ENGINE, "does not answer", "get pods" },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(fail_release) struct fail f = { 0 };
		assert_int_equal(status_fail(&f, &place, cases[i].status, cases[i].body, strlen(cases[i].body)), -1);
		assert_int_equal(f.kind, cases[i].kind);
		assert_int_equal(cause_of(&f), cases[i].cause);
		assert_non_null(strstr(f.message, cases[i].says));
		if (cases[i].hints)
			assert_non_null(strstr(f.hint, cases[i].hints));
	}
}

static void lines_of_a_watch_are_read(void **state)
{
	static const struct {
		const char *line;
		enum feed_line kind;
		const char *version;
	} lines[] = {
		{ "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"12\"}}}",
		  FEED_POD, "12" },
		{ "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"13\"}}}",
		  FEED_GONE, "13" },
		{ "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"14\"}}}", FEED_BOOKMARK,
		  "14" },
		{ "{\"type\":\"ERROR\",\"object\":{\"code\":410}}", FEED_OUTDATED, "7" },
		{ "{\"type\":\"ERROR\",\"object\":{\"code\":500}}", FEED_ERROR, "7" },
		{ "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}", FEED_UNKNOWN, "7" },
		{ "{\"type\":\"NEW\",\"object\":{}}", FEED_UNKNOWN, "7" },
		/* A version is a part of the next address. */
		{ "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"1&x=2\"}}}", FEED_BOOKMARK,
		  "7" },
		{ "{\"type\":", FEED_UNKNOWN, "7" },
		{ "", FEED_UNKNOWN, "7" },
	};
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		struct pod pod;
		char version[64] = "7";
		assert_int_equal(feed_read_line(lines[i].line, strlen(lines[i].line), &pod, version), lines[i].kind);
		assert_string_equal(version, lines[i].version);
	}
}

/* --- the pod of a session -------------------------------------------------------------------------------------------- */

static const struct container_spec plain = { .name = "husk-a",
					     .store = "s",
					     .owner = "o",
					     .mark = "m",
					     .uid = 60710,
					     .memory = 2ull << 30,
					     .cpu_quota = 150000,
					     .pids = 512,
					     .tmpfs = 200 << 20,
					     .home = 4ull << 30,
					     .lease = 300 };

static const char *text_at(const json_t *object, const char *path)
{
	AUTO(freep) char *copy = xstrdup(path);
	char *rest = copy;
	for (char *word; object && (word = strsep(&rest, "/"));)
		object = json_is_array(object) ? json_array_get(object, strtoul(word, NULL, 10)) :
						 json_object_get(object, word);
	static char text[32];
	snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(object));
	return json_is_string(object)  ? json_string_value(object) :
	       json_is_integer(object) ? text :
	       json_is_true(object)    ? "true" :
	       json_is_false(object)   ? "false" :
					 NULL;
}

/* evidence: kubernetes-hardening */
static void a_pod_is_hardened(void **state)
{
	static const char *const wanted[][2] = {
		{ "spec/automountServiceAccountToken", "false" },
		{ "spec/enableServiceLinks", "false" },
		{ "spec/restartPolicy", "Never" },
		{ "spec/dnsPolicy", "None" },
		{ "spec/dnsConfig/nameservers/0", "127.0.0.1" },
		{ "spec/securityContext/sysctls/0/name", "net.ipv4.ip_unprivileged_port_start" },
		{ "spec/securityContext/sysctls/0/value", "0" },
		{ "spec/tolerations/1/tolerationSeconds", "300" },
		{ "spec/containers/0/securityContext/runAsUser", "60710" },
		{ "spec/containers/1/securityContext/runAsUser", "65531" },
		{ "spec/containers/0/args/10", "512" },
		{ "spec/containers/0/resources/limits/memory", "2147483648" },
		{ "spec/containers/0/resources/limits/cpu", "1500m" },
		{ "spec/volumes/0/emptyDir/sizeLimit", "209715200" },
		{ "metadata/labels/husk.network", "off" },
		{ "metadata/labels/husk.id", "m" },
	};
	json_auto_t *pod = pod_make(&plain, "r/husk-python:1");
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
		const char *found = text_at(pod, wanted[i][0]);
		if (!found || !streq(found, wanted[i][1]))
			fail_msg("%s is %s", wanted[i][0], found);
	}
	size_t i;
	json_t *c;
	json_array_foreach(json_object_get(json_object_get(pod, "spec"), "containers"), i, c) {
		assert_string_equal(text_at(c, "securityContext/runAsNonRoot"), "true");
		assert_string_equal(text_at(c, "securityContext/allowPrivilegeEscalation"), "false");
		assert_string_equal(text_at(c, "securityContext/readOnlyRootFilesystem"), "true");
		assert_string_equal(text_at(c, "securityContext/capabilities/drop/0"), "ALL");
		assert_string_equal(text_at(c, "securityContext/seccompProfile/type"), "RuntimeDefault");
		/* No user of the container can enter this folder. */
		assert_int_equal(strncmp(text_at(c, "terminationMessagePath"), "/root", 5), 0);
	}
}

static void a_pod_follows_its_spec(void **state)
{
	struct container_spec spec = plain;
	AUTO(strv_release) struct strv env = { 0 };
	strv_add_all(&env, "A=b=c", "broken", NULL);
	spec.network = spec.install = true;
	spec.runtime = "gvisor";
	spec.env = &env;
	json_auto_t *pod = pod_make(&spec, "r/husk-python:1");
	assert_string_equal(text_at(pod, "spec/runtimeClassName"), "gvisor");
	assert_string_equal(text_at(pod, "metadata/labels/husk.network"), "on");
	assert_null(text_at(pod, "spec/dnsPolicy"));
	assert_null(text_at(pod, "spec/securityContext/sysctls/0/name"));
	assert_string_equal(text_at(pod, "spec/containers/0/args/1"), "--install");
	assert_string_equal(text_at(pod, "spec/containers/0/env/5/value"), "b=c");
	assert_null(text_at(pod, "spec/containers/0/env/6/value"));
	/* Packages may be larger than the memory. */
	assert_string_equal(text_at(pod, "spec/volumes/2/name"), "packages");
	assert_null(text_at(pod, "spec/volumes/2/emptyDir/medium"));
	json_auto_t *trial = pod_make_trial(&plain, "r/husk-python:1", "exit 0");
	assert_string_equal(text_at(trial, "metadata/labels/husk.network"), "off");
	assert_string_equal(text_at(trial, "spec/containers/0/command/2"), "exit 0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_death_names_its_reason_and_node),
		cmocka_unit_test(a_living_pod_is_not_over),
		cmocka_unit_test(a_pod_that_does_not_start_says_why),
		cmocka_unit_test(hostile_reports_are_bounded_and_clean),
		cmocka_unit_test(a_status_becomes_a_cause_with_a_command),
		cmocka_unit_test(lines_of_a_watch_are_read),
		cmocka_unit_test(a_pod_is_hardened),
		cmocka_unit_test(a_pod_follows_its_spec),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
