/* manager/engine/info and the verdicts of manager/doctor. In tests/golden/info, v1 and unreachable were recorded
 * (docker 28 client, 20.10 engine). v2 and rootless are v1 with the values of other engines. */
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "manager/doctor/doctor-private.h"
#include "manager/engine/docker/info.h"
#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

static void sample(const char *name, struct buf *text)
{
	const char *root = getenv("HUSK_SOURCE_ROOT");
	AUTO(freep) char *path = xasprintf("%s/tests/golden/info/%s.json", root ? root : ".", name);
	scratch_read(path, text);
}

static void read_sample(const char *name, struct engine_answer *ret)
{
	AUTO(buf_release) struct buf text = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	sample(name, &text);
	assert_int_equal(info_read(ret, buf_str(&text), text.len, &f), 0);
}

static const struct check *find(const struct checks *c, const char *name)
{
	for (size_t i = 0; i < c->n; i++)
		if (streq(c->v[i].name, name))
			return &c->v[i];
	fail_msg("no check '%s'", name);
	return NULL;
}

static void expect(const struct checks *c, const char *name, enum check_status status, const char *words)
{
	const struct check *check = find(c, name);
	if (check->status != status || !strstr(check->detail, words))
		fail_msg("%s: status %d, '%s'", name, (int)check->status, check->detail);
	assert_true(status != CHECK_FAIL || check->fix);
}

/* --- docker info ------------------------------------------------------------------------------------------------- */

static void test_info_v1(void **state)
{
	AUTO(engine_answer_release) struct engine_answer answer = { .kind = ENGINE_QUERY_INFO };
	AUTO(checks_release) struct checks c = { 0 };
	read_sample("v1", &answer);
	assert_string_equal(answer.info.version, "20.10.24+dfsg1");
	assert_string_equal(answer.info.seccomp, "default");
	assert_int_equal(answer.info.cpus, 2);
	assert_int_equal(answer.info.memory, 25274793984);
	doctor_judge_info(&c, &answer.info, "x86_64");
	expect(&c, "cgroups", CHECK_WARN, "v1, driver cgroupfs: kernel memory");
	expect(&c, "seccomp", CHECK_OK, "default profile");
	struct kernel_facts old = { .is_ours = true, .bridge_filter = SUPPORT_NO, .landlock = 1 };
	doctor_judge_kernel(&c, &answer.info, &old);
	expect(&c, "apparmor", CHECK_WARN, "off");
	expect(&c, "rootless", CHECK_OK, "no");
	expect(&c, "user namespaces", CHECK_WARN, "not used");
	expect(&c, "landlock", CHECK_WARN, "missing"); /* PID 1 does not use version 1 */
	expect(&c, "br_netfilter", CHECK_FAIL, "reach each other");
	expect(&c, "storage driver", CHECK_OK, "overlay2");
	expect(&c, "process limit", CHECK_OK, "supported");
}

static void test_info_v2(void **state)
{
	AUTO(engine_answer_release) struct engine_answer answer = { .kind = ENGINE_QUERY_INFO };
	AUTO(checks_release) struct checks c = { 0 };
	read_sample("v2", &answer);
	doctor_judge_info(&c, &answer.info, "x86_64");
	for (size_t i = 0; i < c.n; i++)
		assert_int_equal(c.v[i].status, CHECK_OK);
	doctor_judge_kernel(&c, &answer.info,
			    &(struct kernel_facts){ .is_ours = true, .bridge_filter = SUPPORT_YES, .landlock = 4 });
	expect(&c, "cgroups", CHECK_OK, "v2, driver systemd");
	expect(&c, "apparmor", CHECK_OK, "on");
	expect(&c, "landlock", CHECK_OK, "version 4");
	expect(&c, "br_netfilter", CHECK_OK, "on");
}

static void test_info_rootless_without_cgroups(void **state)
{
	AUTO(engine_answer_release) struct engine_answer answer = { .kind = ENGINE_QUERY_INFO };
	AUTO(checks_release) struct checks c = { 0 };
	read_sample("rootless", &answer);
	doctor_judge_info(&c, &answer.info, "x86_64");
	expect(&c, "cgroups", CHECK_FAIL, "have no limits");
	doctor_judge_kernel(&c, &answer.info, &(struct kernel_facts){ 0 });
	expect(&c, "rootless", CHECK_OK, "yes");
	expect(&c, "user namespaces", CHECK_OK, "a rootless engine");
	expect(&c, "landlock", CHECK_WARN, "this machine's kernel");
	expect(&c, "br_netfilter", CHECK_WARN, "unknown");
	AUTO(checks_release) struct checks gvisor = { 0 };
	doctor_judge_kernel(&gvisor, &answer.info,
			    &(struct kernel_facts){ .is_ours = true, .landlock = 4, .is_gvisor = true });
	expect(&gvisor, "landlock", CHECK_WARN, "gVisor does not support it");
	AUTO(checks_release) struct checks few = { 0 }, many = { 0 };
	doctor_judge_kernel(&few, &answer.info, &(struct kernel_facts){ .is_ours = true, .ptys = 4, .ptys_max = 3072 });
	expect(&few, "pseudo-terminals", CHECK_OK, "4 in use, of 3072");
	doctor_judge_kernel(&many, &answer.info,
			    &(struct kernel_facts){ .is_ours = true, .ptys = 2400, .ptys_max = 3072 });
	expect(&many, "pseudo-terminals", CHECK_WARN, "2400 in use");
	expect(&c, "memory limit", CHECK_FAIL, "not supported");
	expect(&c, "process limit", CHECK_FAIL, "not supported");
	expect(&c, "swap limit", CHECK_WARN, "not supported");
	expect(&c, "cpu limit", CHECK_WARN, "not supported");
}

static void test_info_other_machines(void **state)
{
	AUTO(engine_answer_release) struct engine_answer answer = { .kind = ENGINE_QUERY_INFO };
	AUTO(checks_release) struct checks foreign = { 0 }, windows = { 0 };
	read_sample("v2", &answer);
	doctor_judge_info(&foreign, &answer.info, "aarch64");
	expect(&foreign, "system", CHECK_FAIL, "images are for aarch64");
	memcpy(answer.info.os_type, "winds", 6);
	doctor_judge_info(&windows, &answer.info, "x86_64");
	expect(&windows, "system", CHECK_FAIL, "containers");
}

static void judge_security(const char *options, enum check_status status, const char *words)
{
	AUTO(engine_answer_release) struct engine_answer answer = { .kind = ENGINE_QUERY_INFO };
	AUTO(checks_release) struct checks c = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *text =
		xasprintf("{\"ServerVersion\":\"27\",\"OSType\":\"linux\",\"SecurityOptions\":%s}", options);
	assert_int_equal(info_read(&answer, text, strlen(text), &f), 0);
	doctor_judge_info(&c, &answer.info, "x86_64");
	expect(&c, "seccomp", status, words);
	expect(&c, "memory limit", CHECK_WARN, "does not report");
}

static void test_seccomp(void **state)
{
	judge_security("[\"name=seccomp,profile=builtin\"]", CHECK_OK, "default");
	judge_security("[\"seccomp\"]", CHECK_OK, "default");
	judge_security("[\"name=seccomp,profile=unconfined\"]", CHECK_FAIL, "off");
	judge_security("[\"name=seccomp,profile=/etc/own.json\"]", CHECK_WARN, "/etc/own.json");
	judge_security("[]", CHECK_FAIL, "off");
	judge_security("null", CHECK_FAIL, "off");
	judge_security("[1,{},\"\",\"name=\",\"name=seccompx\"]", CHECK_FAIL, "off");
}

static void test_info_garbage(void **state) /* evidence: input-bounds */
{
	static const char *const garbage[] = {
		"",
		"null",
		"[]",
		"{}",
		"\"x\"",
		"{\"ServerVersion\":7}",
		"{\"ServerVersion\":\"1\"",
		"\033[31m\xff\xfe",
		"{\"ServerVersion\":\"\",\"OSType\":\"\"}",
		"{\"ServerErrors\":[\"Cannot connect\"]}",
		"{\"ServerVersion\":\"1\",\"OSType\":[]}",
	};
	for (size_t i = 0; i < ARRAY_LEN(garbage); i++) {
		AUTO(fail_release) struct fail f = { 0 };
		struct engine_answer answer = { .kind = ENGINE_QUERY_INFO };
		assert_int_equal(info_read(&answer, garbage[i], strlen(garbage[i]), &f), -1);
		assert_non_null(f.message);
		assert_null(answer.info.version);
	}
	AUTO(buf_release) struct buf text = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	struct engine_answer answer = { .kind = ENGINE_QUERY_INFO };
	sample("unreachable", &text);
	assert_int_equal(info_read(&answer, buf_str(&text), text.len, &f), -1);
}

/* Every truncated answer is either read or rejected. */
static void test_info_cut_anywhere(void **state)
{
	AUTO(buf_release) struct buf text = { 0 };
	sample("v1", &text);
	for (size_t n = 0; n < text.len - 2; n++) {
		AUTO(fail_release) struct fail f = { 0 };
		AUTO(engine_answer_release) struct engine_answer answer = { .kind = ENGINE_QUERY_INFO };
		assert_int_equal(info_read(&answer, buf_str(&text), n, &f), -1);
	}
}

/* --- the smaller answers ----------------------------------------------------------------------------------------- */

static void judge_client(const char *text, enum check_status status, const char *words)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(checks_release) struct checks c = { 0 };
	struct engine_answer client = { .kind = ENGINE_QUERY_CLIENT };
	assert_int_equal(info_read(&client, text, strlen(text), &f), 0);
	doctor_judge_client(&c, "/bin/docker", &client.client);
	engine_answer_release(&client);
	expect(&c, "docker client", status, words);
}

static void test_client(void **state)
{
	static const char *const garbage[] = { "",
					       "\n",
					       "Docker",
					       "Docker version ",
					       "Docker version x.y",
					       " version 1.2",
					       "Docker version 1",
					       "Docker version 99999999999999999999.1" };
	judge_client("Docker version 28.2.2, build e6534b4\n", CHECK_OK, "/bin/docker, 28.2.2");
	judge_client("Docker version 20.10.24+dfsg1, build 297e128", CHECK_OK, "20.10.24+dfsg1");
	judge_client("Docker version 19.03.15, build 99e3ed8919", CHECK_FAIL, "too old");
	judge_client("Docker version 20.9-x", CHECK_FAIL, "too old");
	judge_client("podman version 4.9.3", CHECK_WARN, "not Docker's client");
	for (size_t i = 0; i < ARRAY_LEN(garbage); i++) {
		AUTO(fail_release) struct fail f = { 0 };
		struct engine_answer client = { .kind = ENGINE_QUERY_CLIENT };
		assert_int_equal(info_read(&client, garbage[i], strlen(garbage[i]), &f), -1);
	}
}

static void test_place_and_engine(void **state)
{
	static const char place_text[] = "[\"default\",\"unix:///var/run/docker.sock\"]\n";
	static const char remote_text[] = "[\"lab\",\"ssh://lab\"]";
	static const char engine_text[] =
		"{\"Client\":{},\"Server\":{\"Version\":\"20.10.24\",\"ApiVersion\":\"1.41\",\"Components\":[{\"Name\":\"Engine\"}]}}";
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(checks_release) struct checks c = { 0 };
	struct engine_answer place = { .kind = ENGINE_QUERY_PLACE };
	struct engine_answer engine = { .kind = ENGINE_QUERY_VERSION };
	unsetenv("DOCKER_HOST");
	assert_int_equal(info_read(&place, place_text, strlen(place_text), &f), 0);
	doctor_judge_place(&c, &place.place);
	assert_true(place.place.is_local);
	engine_answer_release(&place);
	expect(&c, "endpoint", CHECK_OK, "unix:///var/run/docker.sock (context default)");
	assert_int_equal(info_read(&place, remote_text, strlen(remote_text), &f), 0);
	assert_false(place.place.is_local);
	engine_answer_release(&place);
	assert_int_equal(info_read(&engine, engine_text, strlen(engine_text), &f), 0);
	doctor_judge_engine(&c, "docker", &engine.version);
	engine_answer_release(&engine);
	expect(&c, "engine", CHECK_OK, "Docker 20.10.24, API 1.41");
	assert_int_equal(info_read(&place, "[1,2]", 5, &f), -1);
	assert_int_equal(info_read(&place, "[\"a\",\"\"]", 8, &f), -1);
	assert_int_equal(info_read(&engine, "{\"Server\":null}", 15, &f), -1);
}

static void judge_age(const char *component, const char *version, const char *build, enum check_status status,
		      const char *words)
{
	AUTO(engine_answer_release) struct engine_answer engine = { .kind = ENGINE_QUERY_VERSION };
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(checks_release) struct checks c = { 0 };
	bool own = streq(component, "engine");
	const char *name = own ? "engine age" : component;
	AUTO(freep) char *text = xasprintf(
		"{\"Server\":{\"Version\":\"%s\",\"ApiVersion\":\"1.41\",\"Components\":[{\"Name\":\"Engine\"},1,{},"
		"{\"Name\":\"%s\",\"Version\":\"%s\",\"Details\":{\"GitCommit\":\"%s\"}}]}}",
		own ? version : "27.3.1", component, version, build);
	assert_int_equal(info_read(&engine, text, strlen(text), &f), 0);
	doctor_judge_age(&c, &engine.version);
	expect(&c, name, status, words);
}

static void test_known_escapes(void **state)
{
	judge_age("runc", "1.3.3", "v1.3.3-0-gd842d771", CHECK_OK, "all known escapes are fixed");
	judge_age("runc", "1.2.8", "", CHECK_OK, "all known escapes are fixed");
	judge_age("runc", "1.2.7", "v1.2.7-0-g1234", CHECK_FAIL, "CVE-2025-31133");
	judge_age("runc", "1.3.2", "", CHECK_FAIL, "CVE-2025-52881");
	judge_age("runc", "1.10.0", "", CHECK_OK, "all known escapes are fixed");
	judge_age("runc", "2.0.0", "", CHECK_OK, "all known escapes are fixed");
	judge_age("runc", "1.1.12", "", CHECK_FAIL, "older than the fix for CVE-2025-31133");
	judge_age("runc", "1.1.5+ds1", "1.1.5+ds1-1+deb12u1", CHECK_WARN, "CVE-2024-21626");
	judge_age("runc", "1.0.0-rc5", "", CHECK_FAIL, "CVE-2019-5736");
	judge_age("runc", "1.0.0-rc7", "", CHECK_FAIL, "older than the fix for CVE-2021-30465");
	judge_age("runc", "1.0.0~rc95+ds1", "", CHECK_WARN, "older than the fix for CVE-2024-21626");
	judge_age("runc", "1.4.0-rc.2", "", CHECK_FAIL, "CVE-2025-31133");
	judge_age("runc", "1.4.0-rc.3", "", CHECK_OK, "all known escapes are fixed");
	judge_age("runc", "1.4.0", "", CHECK_OK, "all known escapes are fixed");
	judge_age("runc", "0.1.1", "", CHECK_FAIL, "CVE-2019-5736");
	judge_age("runc", "devel", "", CHECK_WARN, "does not report");
	judge_age("containerd", "1.6.20~ds1", "", CHECK_OK, "1.6.20");
	judge_age("containerd", "1.2.13", "", CHECK_FAIL, "CVE-2020-15257");
	judge_age("containerd", "1.3.9", "", CHECK_OK, "1.3.9");
	judge_age("containerd", "1.4.2", "", CHECK_FAIL, "CVE-2020-15257");
	judge_age("engine", "29.3.1", "", CHECK_OK, "29.3.1");
	judge_age("engine", "27.3.1", "", CHECK_WARN, "older than the fix for CVE-2026-34040");
	judge_age("engine", "26.1.4", "", CHECK_WARN, "CVE-2024-41110");
	judge_age("engine", "20.10.8", "", CHECK_FAIL, "CVE-2021-41091");
	judge_age("engine", "18.09.9", "", CHECK_FAIL, "older than the fix for CVE-2021-41091");
	judge_age("engine", "20.10.24+dfsg1", "", CHECK_WARN, "CVE-2024-41110");
	judge_age("engine", "19.03.0", "", CHECK_FAIL, "CVE-2019-14271");
}

static void test_runtime(void **state)
{
	AUTO(engine_answer_release) struct engine_answer answer = { .kind = ENGINE_QUERY_INFO };
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(checks_release) struct checks usual = { 0 }, chosen = { 0 }, gvisor = { 0 }, missing = { 0 };
	struct config config = { 0 };
	const char *text = "{\"ServerVersion\":\"27\",\"OSType\":\"linux\",\"DefaultRuntime\":\"runc\","
			   "\"Runtimes\":{\"runc\":{\"path\":\"runc\"},\"runsc\":1}}";
	assert_int_equal(info_read(&answer, text, strlen(text), &f), 0);
	doctor_judge_runtime(&usual, &config, &answer.info);
	expect(&usual, "runtime", CHECK_OK, "runc, the engine's default");
	config.runtime = (char *)"runc";
	doctor_judge_runtime(&chosen, &config, &answer.info);
	expect(&chosen, "runtime", CHECK_OK, "runc (CONTAINER_RUNTIME)");
	config.runtime = (char *)"runsc";
	doctor_judge_runtime(&gvisor, &config, &answer.info);
	expect(&gvisor, "runtime", CHECK_OK, "have their own kernel");
	config.runtime = (char *)"kata";
	doctor_judge_runtime(&missing, &config, &answer.info);
	expect(&missing, "runtime", CHECK_FAIL, "not a runtime of the engine: runc, runsc");
}

#define IMAGE "[516941405,\"amd64\",{\"a\":\"b=c\",\"n\":1}]"

static void test_image(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(checks_release) struct checks c = { 0 };
	size_t n;
	const struct runtime *runtime = runtime_list(&n);
	AUTO(freep) char *name = xasprintf("image %s", runtime->name);
	struct engine_answer image = { .kind = ENGINE_QUERY_IMAGE };
	assert_int_equal(info_read(&image, IMAGE, strlen(IMAGE), &f), 0);
	assert_int_equal(image.image.labels.n, 1);
	assert_string_equal(image.image.labels.v[0], "a=b=c");
	doctor_judge_image(&c, runtime, "husk-x:1", true, &image.image);
	doctor_judge_listed_image(&c, "tools", "my-tools:1", &image.image);
	expect(&c, "image tools", CHECK_OK, "my-tools:1, 516 MB (CONTAINER_IMAGES)");
	engine_answer_release(&image);
	expect(&c, name, CHECK_OK, "husk-x:1, 516 MB");
	checks_release(&c);
	doctor_judge_image(&c, runtime, "husk-x:1", true, NULL);
	expect(&c, name, CHECK_FAIL, "does not exist");
	doctor_judge_listed_image(&c, "tools", "my-tools:1", NULL);
	expect(&c, "image tools", CHECK_WARN, "my-tools:1 (CONTAINER_IMAGES) does not exist");
	assert_non_null(strstr(c.v[0].fix, "husk setup"));
	assert_int_equal(info_read(&image, "[-1,\"amd64\"]", 12, &f), -1);
	assert_int_equal(info_read(&image, "[\"1\",\"amd64\"]", 13, &f), -1);
	assert_int_equal(info_read(&image, "", 0, &f), -1);
}

static void judge_network(const char *text, enum check_status status, const char *words)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(checks_release) struct checks c = { 0 };
	struct engine_answer network = { .kind = ENGINE_QUERY_NETWORK };
	assert_int_equal(info_read(&network, text, strlen(text), &f), 0);
	doctor_judge_network(&c, &network.network);
	engine_answer_release(&network);
	expect(&c, "network", status, words);
}

static void test_network(void **state)
{
	AUTO(checks_release) struct checks c = { 0 };
	doctor_judge_network(&c, &(struct engine_network){ 0 });
	expect(&c, "network", CHECK_OK, "does not exist yet");
#define ICC(value) "\"Options\":{\"com.docker.network.bridge.enable_icc\":" value "}"
	judge_network("{\"Driver\":\"bridge\",\"Options\":{\"com.docker.network.bridge.enable_icc\":\"false\","
		      "\"com.docker.network.bridge.name\":\"husk0\"}}",
		      CHECK_OK, "cannot reach each other");
	judge_network("{\"Driver\":\"bridge\"," ICC("\"false\"") "}", CHECK_WARN, "older Husk");
	judge_network("{\"Driver\":\"bridge\"," ICC("\"true\"") "}", CHECK_FAIL, "not off");
	judge_network("{\"Driver\":\"bridge\"," ICC("false") "}", CHECK_FAIL, "not off");
	judge_network("{\"Driver\":\"bridge\",\"Options\":null}", CHECK_FAIL, "not off");
	judge_network("{\"Driver\":\"macvlan\"," ICC("\"false\"") "}", CHECK_FAIL, "macvlan");
	judge_network("{\"Driver\":\"bridge\",\"Internal\":true," ICC("\"false\"") "}", CHECK_WARN, "internal");
}

static void test_fence(void **state)
{
	AUTO(checks_release) struct checks c = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	struct config config = { .network_fence = FENCE_AUTO };
	cause_set(&f, FAIL_ENGINE, CAUSE_NOT_SUPPORTED, "cannot set the firewall rules");
	doctor_judge_fence(&c, &config, FENCE_STOOD);
	doctor_judge_fence(&c, &config, FENCE_NOT_SET);
	doctor_judge_fence(&c, &config, FENCE_NOT_OURS);
	doctor_judge_no_fence(&c, &config, &f);
	config.network_fence = FENCE_REQUIRE;
	doctor_judge_no_fence(&c, &config, &f);
	static const struct {
		enum check_status status;
		const char *words;
	} want[] = { { CHECK_OK, "public addresses only" },
		     { CHECK_OK, "not set yet" },
		     { CHECK_WARN, "were changed" },
		     { CHECK_WARN, "reach private addresses" },
		     { CHECK_FAIL, "no session gets a network" } };
	assert_int_equal(c.n, ARRAY_LEN(want));
	for (size_t i = 0; i < c.n; i++) {
		assert_int_equal(c.v[i].status, want[i].status);
		assert_non_null(strstr(c.v[i].detail, want[i].words));
	}
}

static void test_containers(void **state)
{
	static const char text[] = "husk-a\tUp 5 minutes\t2026-11-16 01:00:00 +0000 UTC\towner-1\n"
				   "husk-b\tExited (0) 2 hours ago\t2026-11-16 01:00:00 +0000 UTC\towner-1\n"
				   "husk-c\tCreated\t2026-11-16 02:59:59 +0000 UTC\towner-1\n"
				   "husk-d\tUp 6 hours (Paused)\t2026-11-15 22:00:00 +0100 CET\towner-2\r\n"
				   "husk-e\tCreated\t2026-11-16 01:00:00 +0000 UTC\t\n";
	const uint64_t now = 1794798000; /* 03:00 UTC */
	const struct config config = { .orphan_min_age = 300, .max_lifetime = 7200, .dependency_timeout = 600 };
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(checks_release) struct checks c = { 0 };
	AUTO(engine_answer_release) struct engine_answer found = { .kind = ENGINE_QUERY_CONTAINERS };
	assert_int_equal(info_read(&found, text, strlen(text), &f), 0);
	assert_int_equal(found.containers.n, 5);
	assert_string_equal(found.containers.v[3].name, "husk-d");
	assert_string_equal(found.containers.v[3].owner, "owner-2");
	assert_true(found.containers.v[3].running);
	assert_int_equal(found.containers.v[3].created, now - 6 * 3600);
	doctor_judge_containers(&c, &config, &found.containers, now);
	expect(&c, "leftovers", CHECK_WARN, "3 containers without a server, 2 running");
	assert_string_equal(c.v[0].fix, "docker rm --force husk-b husk-d husk-e");
	struct engine_answer none = { .kind = ENGINE_QUERY_CONTAINERS };
	assert_int_equal(info_read(&none, "", 0, &f), 0);
	assert_int_equal(none.containers.n, 0);
	static const char *const garbage[] = { "husk-a",
					       "a\tb\tc\t",
					       "a b\tUp\t2026-11-16 01:00:00 +0000 UTC\t",
					       "a\tUp\tnow\t",
					       "a;rm\tCreated\t2026-11-16 01:00:00 +0000 UTC\t",
					       "\t\t\t",
					       "a\tUp\t2026-11-16 01:00:00 +0000 UTC\to\tmore" };
	for (size_t i = 0; i < ARRAY_LEN(garbage); i++)
		assert_int_equal(info_read(&none, garbage[i], strlen(garbage[i]), &f), -1);
}

static void test_container(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct engine_answer a = { .kind = ENGINE_QUERY_CONTAINER };
	assert_int_equal(info_read(&a, "[false,137,true]", 16, &f), 0);
	assert_true(a.container.is_there && !a.container.running && a.container.oom);
	assert_int_equal(a.container.exit_code, 137);
	static const char *const garbage[] = { "", "[]", "[1,2,3]", "[true,\"0\",false]", "{}" };
	for (size_t i = 0; i < ARRAY_LEN(garbage); i++)
		assert_int_equal(info_read(&a, garbage[i], strlen(garbage[i]), &f), -1);
}

static void test_stats(void **state)
{
	static const char text[] =
		"husk-a\t43.16MiB / 2GiB\nx y\t1MiB / 2GiB\nhusk-b\tmuch\nhusk-c\t512B / 1GiB\nusk-d\t1KiB / 1GiB\n";
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(engine_answer_release) struct engine_answer a = { .kind = ENGINE_QUERY_STATS };
	assert_int_equal(info_read(&a, text, strlen(text), &f), 0);
	assert_int_equal(a.stats.n, 3);
	assert_int_equal(a.stats.v[0].memory, (uint64_t)(43.16 * 1048576));
	assert_string_equal(a.stats.v[1].name, "husk-c");
	assert_string_equal(a.stats.v[2].name, "husk-d"); /* Podman */
}

static void test_limits(void **state)
{
	struct config config = {
		.memory_limit = 2ull << 30, .cpu_quota = 200000, .pids_limit = 512, .max_sessions = 5
	};
	struct engine_info info = { .memory = 1ull << 30, .cpus = 1 };
	AUTO(checks_release) struct checks small = { 0 }, enough = { 0 }, unknown = { 0 };
	doctor_judge_limits(&small, &config, &info);
	expect(&small, "limits", CHECK_FAIL, "only 1.0 GiB");
	info.memory = 4ull << 30;
	doctor_judge_limits(&enough, &config, &info);
	expect(&enough, "limits", CHECK_OK, "4.0 GiB");
	doctor_judge_limits(&unknown, &config, NULL);
	expect(&unknown, "limits", CHECK_OK, "2.0 GiB, 2.0 CPUs, 512 processes");
}

/* --- command lines, files, settings ------------------------------------------------------------------------------ */

static void test_queries_are_argument_vectors(void **state)
{
	for (int q = ENGINE_QUERY_CLIENT; q <= ENGINE_QUERY_STATS; q++) {
		AUTO(strv_release) struct strv argv = { 0 };
		info_argv(&argv, "docker", (enum engine_query_kind)q, "--rm");
		assert_string_equal(argv.v[0], "docker");
		assert_non_null(info_doing((enum engine_query_kind)q));
		/* A subject never becomes an option. */
		if (streq(argv.v[argv.n - 1], "--rm"))
			assert_string_equal(argv.v[argv.n - 2], "--");
	}
}

static void test_texts_are_one_clean_line(void **state)
{
	AUTO(checks_release) struct checks c = { 0 };
	AUTO(freep) char *endless = xmalloc(10001);
	memset(endless, 'x', 10000);
	endless[10000] = '\0';
	checks_add(&c, "a\nb", CHECK_WARN, "do\r\nthis", "\033[31mred\033[0m\tand \xff%s", endless);
	assert_string_equal(c.v[0].name, "a b");
	assert_string_equal(c.v[0].fix, "do  this");
	assert_memory_equal(c.v[0].detail, "red and \xef\xbf\xbdxx", 13);
	assert_true(strlen(c.v[0].detail) < 700);
}

static char folder[] = "/tmp/husk-test-doctor-XXXXXX";

static int make_folder(void **state)
{
	clearenv();
	assert_non_null(mkdtemp(folder));
	setenv("HOME", folder, 1);
	return 0;
}

static int remove_folder(void **state)
{
	AUTO(freep) char *file = xasprintf("%s/env", folder);
	unlink(file);
	return rmdir(folder);
}

static void folder_is(const char *path, enum check_status status, const char *words)
{
	AUTO(checks_release) struct checks c = { 0 };
	doctor_check_folder(&c, "folder", path);
	expect(&c, "folder", status, words);
}

static void store_is(const struct config *config, const struct fail *f, enum check_status status, const char *words)
{
	AUTO(checks_release) struct checks c = { 0 };
	doctor_judge_store(&c, config, f);
	expect(&c, "store", status, words);
}

static void test_store(void **state)
{
	struct config config = { .state_dir = folder };
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *database = xasprintf("%s/husk.db", folder), *key = xasprintf("%s/settings.key", folder);
	AUTO(freep) char *url = xstrdup("postgresql+psycopg://u:hunter2@db.example:5433/x");
	store_is(&config, NULL, CHECK_OK, "created when needed");
	fclose(fopen(database, "we"));
	store_is(&config, NULL, CHECK_OK, "answers");
	fclose(fopen(key, "we"));
	chmod(key, 0644);
	store_is(&config, NULL, CHECK_FAIL, key);
	unlink(key);
	unlink(database);
	fail_set(&f, FAIL_STORE, "it is locked");
	store_is(&config, &f, CHECK_FAIL, "it is locked");
	config.database_url = url;
	store_is(&config, NULL, CHECK_OK, "Postgres at db.example:5433 (DATABASE_URL), answers");
	AUTO(freep) char *broken = xstrdup("hunter2 is no url");
	config.database_url = broken;
	store_is(&config, NULL, CHECK_OK, "an address that cannot be parsed (DATABASE_URL)");
}

static void test_folders(void **state)
{
	AUTO(freep) char *below = xasprintf("%s/a/b/c", folder);
	struct stat st;
	folder_is(folder, CHECK_OK, folder);
	folder_is(below, CHECK_OK, "created when needed");
	assert_int_equal(stat(below, &st), -1);
	folder_is("/dev/null/x", CHECK_WARN, "/dev/null");
	folder_is("relative", CHECK_WARN, "relative");
	chmod(folder, 0777);
	folder_is(folder, CHECK_FAIL, "every user");
	chmod(folder, 0700);
	/* access() always succeeds for root. */
	folder_is("/proc/husk", geteuid() ? CHECK_WARN : CHECK_OK, "/proc/husk");
}

static void write_settings(const char *path, const char *text, mode_t mode)
{
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	chmod(path, mode);
}

static void check_file(const char *path, struct checks *c)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct config config;
	checks_release(c);
	int r = config_load(&config, path, &f);
	doctor_check_settings_file(c, path, r < 0 ? NULL : &config);
	doctor_check_settings(c, &config, r < 0 ? &f : NULL);
	config_release(&config);
	for (size_t i = 0; i < c->n; i++) {
		assert_null(strstr(c->v[i].detail, "geheim"));
		assert_true(!c->v[i].fix || !strstr(c->v[i].fix, "geheim"));
	}
}

static void test_settings(void **state) /* evidence: secrets */
{
	AUTO(checks_release) struct checks c = { 0 };
	AUTO(freep) char *path = xasprintf("%s/env", folder);
	check_file(path, &c);
	expect(&c, "settings file", CHECK_FAIL, "does not exist");
	expect(&c, "settings", CHECK_FAIL, path);
	write_settings(path, "CONTAINER_MEMORY_LIMIT=2g\n", 0600);
	check_file(path, &c);
	expect(&c, "settings file", CHECK_OK, path);
	expect(&c, "settings", CHECK_OK, "all at their defaults");
	write_settings(path, "CONTAINER_MEMORY_LIMIT=3g\nPOSTGRES_PASSWORD=geheim\nCONTAINER_NETWORK_ENABLED=no\n",
		       0644);
	check_file(path, &c);
	expect(&c, "settings file", CHECK_WARN, "secrets");
	expect(&c, "settings", CHECK_OK,
	       "changed: CONTAINER_MEMORY_LIMIT=3g, CONTAINER_NETWORK_ENABLED=no, POSTGRES_PASSWORD (set)");
	write_settings(path, "CONTAINER_MEMORY_LIMT=3g\nDATABASE_URL=postgres://u:geheim@h/d\nHUSK_IMAGE_PYTHON=x\n",
		       0622);
	check_file(path, &c);
	expect(&c, "settings file", CHECK_FAIL, "other users can change it");
	expect(&c, "settings", CHECK_WARN, "CONTAINER_MEMORY_LIMT");
	assert_null(strstr(find(&c, "settings")->detail, "HUSK_IMAGE"));
	write_settings(path, "CONTAINER_PIDS_LIMIT=many\n", 0600);
	check_file(path, &c);
	expect(&c, "settings", CHECK_FAIL, "CONTAINER_PIDS_LIMIT");
	write_settings(path, "WARM_POOL=python:1,perl:1\n", 0600);
	check_file(path, &c);
	expect(&c, "settings", CHECK_FAIL, "'perl:1' names an unknown runtime");
	write_settings(path, "WARM_POOL=python:1\n", 0600);
	check_file(path, &c);
	expect(&c, "settings", CHECK_OK, "changed: WARM_POOL=python:1");
}

static void test_warm_pool(void **state)
{
	AUTO(checks_release) struct checks c = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	struct config config = { .max_sessions = 3 };
	doctor_check_warm_pool(&c, &config);
	expect(&c, "warm pool", CHECK_OK, "off");
	checks_release(&c);
	assert_int_equal(warm_pool_parse(&config.warm_pool, "python:1,node:0-1", &f), 0);
	doctor_check_warm_pool(&c, &config);
	expect(&c, "warm pool", CHECK_OK, "python: 1 to 1, node: 0 to 1");
	checks_release(&c);
	config.max_sessions = 2;
	doctor_check_warm_pool(&c, &config);
	expect(&c, "warm pool", CHECK_WARN, "of 2 sessions");
}

static void test_programs(void **state)
{
	AUTO(freep) char *sh = doctor_find_program("sh"), *full = doctor_find_program("/bin/sh");
	assert_non_null(sh);
	assert_int_equal(*sh, '/');
	assert_string_equal(full, "/bin/sh");
	assert_null(doctor_find_program("no-such-program"));
	assert_null(doctor_find_program("/etc"));
	assert_null(doctor_find_program("/etc/passwd"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_info_v1),
		cmocka_unit_test(test_info_v2),
		cmocka_unit_test(test_info_rootless_without_cgroups),
		cmocka_unit_test(test_info_other_machines),
		cmocka_unit_test(test_seccomp),
		cmocka_unit_test(test_info_garbage),
		cmocka_unit_test(test_info_cut_anywhere),
		cmocka_unit_test(test_client),
		cmocka_unit_test(test_place_and_engine),
		cmocka_unit_test(test_known_escapes),
		cmocka_unit_test(test_runtime),
		cmocka_unit_test(test_image),
		cmocka_unit_test(test_network),
		cmocka_unit_test(test_fence),
		cmocka_unit_test(test_containers),
		cmocka_unit_test(test_container),
		cmocka_unit_test(test_stats),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_queries_are_argument_vectors),
		cmocka_unit_test(test_texts_are_one_clean_line),
		cmocka_unit_test_setup_teardown(test_folders, make_folder, NULL),
		cmocka_unit_test(test_store),
		cmocka_unit_test_setup_teardown(test_settings, NULL, remove_folder),
		cmocka_unit_test(test_warm_pool),
		cmocka_unit_test(test_programs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
