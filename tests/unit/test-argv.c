/* manager/engine/docker/argv against tests/golden/argv: one argument per line. HUSK_UPDATE_GOLDEN=1 rewrites the
 * files. Read the difference before you commit it, since these flags isolate the session. */
#include "base/alloc.h"
#include "base/buf.h"
#include "manager/engine/docker/argv.h"
#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

static struct container_spec defaults(void)
{
	return (struct container_spec){
		.name = "husk-abcdefghijklmnopqrstuvwxyz",
		.image = "husk-python:0123456789ab",
		.store = "store-1",
		.owner = "owner-1",
		.mark = "mark-1",
		.memory = 2048ull << 20,
		.cpu_quota = 200000,
		.pids = 512,
		.tmpfs = 200ull << 20,
		.uid = 60706,
		.home = 4096ull << 20,
		.disk_floor = 1024ull << 20,
		.lease = 300,
	};
}

static char *golden_path(const char *name)
{
	const char *root = getenv("HUSK_SOURCE_ROOT");
	return xasprintf("%s/tests/golden/argv/%s.txt", root ? root : ".", name);
}

static void update(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* Compares the vector with its file, and releases it. */
static void check(const char *name, struct strv *argv)
{
	AUTO(buf_release) struct buf got = { 0 }, want = { 0 };
	AUTO(freep) char *path = golden_path(name);
	for (size_t i = 0; i < argv->n; i++) {
		assert_null(strchr(argv->v[i], '\n'));
		buf_printf(&got, "%s\n", argv->v[i]);
	}
	assert_null(strv_argv(argv)[argv->n]);
	strv_release(argv);
	if (getenv("HUSK_UPDATE_GOLDEN"))
		update(path, buf_str(&got));
	scratch_read(path, &want);
	assert_string_equal(buf_str(&got), buf_str(&want));
}

/* evidence: container-flags */
static void run_default(void **state)
{
	struct strv argv = { 0 };
	struct container_spec spec = defaults();
	argv_run(&argv, "docker", &spec, "ignored");
	check("run-default", &argv);
}

static void run_with_a_runtime(void **state)
{
	struct strv argv = { 0 };
	struct container_spec spec = defaults();
	spec.runtime = "runsc";
	argv_run(&argv, "docker", &spec, "ignored");
	check("run-runtime", &argv);
	argv_open_ports(&argv, "docker", &spec);
	check("open-ports", &argv);
}

static void run_with_quotas(void **state)
{
	struct strv argv = { 0 };
	struct container_spec spec = defaults();
	spec.install = true;
	spec.quota = 5 << 20;
	argv_run(&argv, "docker", &spec, "ignored");
	check("run-quota", &argv);
}

/* evidence: installs */
static void run_install(void **state)
{
	struct strv argv = { 0 };
	struct container_spec spec = defaults();
	spec.image = "husk-python:0123456789ab";
	spec.install = true;
	spec.uid = 0;
	spec.home = 0;
	argv_run(&argv, "docker", &spec, "ignored");
	check("run-install", &argv);
}

static void run_with_a_line(void **state)
{
	struct strv argv = { 0 };
	struct container_spec spec = defaults();
	spec.line_dir = "/var/lib/husk/lines/husk-abcdefghijklmnopqrstuvwxyz";
	argv_run(&argv, "docker", &spec, "ignored");
	check("run-line", &argv);
}

/* evidence: installs */
static void bake(void **state)
{
	struct strv argv = { 0 }, labels = { 0 };
	struct bake_spec spec = {
		.container = "husk-abcdefghijklmnopqrstuvwxyz",
		.path = "/opt/husk/deps",
		.base = "husk-python:0123456789ab",
		.image = "husk-deps:0123456789abcdef0123456789abcdef",
		.scratch = "husk-zyxwvutsrqponmlkjihgfedcba",
		.store = "store-1",
		.labels = &labels,
	};
	strv_add_all(&labels, "husk.deps=key", "husk.versions={\"six\":\"1.16.0\"}", NULL);
	argv_bake_create(&argv, "docker", &spec);
	argv_bake_read(&argv, "docker", &spec);
	argv_bake_write(&argv, "docker", &spec);
	argv_bake_commit(&argv, "docker", &spec);
	argv_image_remove(&argv, "docker", spec.image);
	argv_image_prune(&argv, "docker");
	check("bake", &argv);
	strv_release(&labels);
}

/* evidence: container-images */
static void fit(void **state)
{
	struct strv argv = { 0 }, labels = { 0 };
	struct bake_spec spec = {
		.container = "husk-abcdefghijklmnopqrstuvwxyz",
		.source = "husk-python:0123456789ab",
		.path = "/opt",
		.base = "my-tools:1",
		.image = "husk-fit:0123456789abcdef0123456789abcdef",
		.scratch = "husk-zyxwvutsrqponmlkjihgfedcba",
		.store = "store-1",
		.labels = &labels,
		.program = "/opt/husk/husk-fit",
	};
	strv_add(&labels, "husk.fit=key");
	argv_bake_source(&argv, "docker", &spec);
	argv_bake_create(&argv, "docker", &spec);
	argv_bake_read(&argv, "docker", &spec);
	argv_bake_write(&argv, "docker", &spec);
	argv_bake_run(&argv, "docker", &spec);
	argv_bake_commit(&argv, "docker", &spec);
	check("fit", &argv);
	strv_release(&labels);
}

static void run_network_on(void **state)
{
	struct strv argv = { 0 };
	struct container_spec spec = defaults();
	spec.network = true;
	spec.ca_bundle = "/etc/ssl/certs/ca-certificates.crt";
	argv_run(&argv, "docker", &spec, "4f2cnetworkid");
	check("run-network", &argv);
}

/* A session with a gate has no network, but verifies the hosts that it reaches. */
static void a_ca_bundle_is_mounted_with_a_network_or_a_gate(void **state)
{
	struct strv argv = { 0 };
	struct container_spec spec = defaults();
	spec.ca_bundle = "/etc/ssl/certs/ca-certificates.crt";
	argv_run(&argv, "docker", &spec, NULL);
	check("run-default", &argv);
	spec.gated = true;
	argv_run(&argv, "docker", &spec, NULL);
	check("run-ca", &argv);
}

static void run_proxies_kept(void **state)
{
	struct strv argv = { 0 };
	struct container_spec spec = defaults();
	spec.network = spec.keep_proxies = true;
	argv_run(&argv, "docker", &spec, "husk");
	check("run-proxies", &argv);
}

static void run_small_limits(void **state)
{
	struct strv argv = { 0 };
	struct container_spec spec = defaults();
	spec.memory = 448ull << 20;
	spec.cpu_quota = 50000; /* half a CPU still means one thread */
	spec.pids = 64;
	spec.tmpfs = 64ull << 20;
	spec.lease = 2;
	argv_run(&argv, "podman-docker", &spec, NULL);
	check("run-small", &argv);
}

/* The same container, with the options that Podman knows. */
static void run_podman(void **state)
{
	struct strv argv = { 0 };
	struct container_spec spec = defaults();
	spec.podman = spec.no_terminals = true;
	argv_run(&argv, "docker", &spec, NULL);
	check("run-podman", &argv);
}

static void attach(void **state)
{
	struct strv argv = { 0 };
	argv_attach(&argv, "docker", "husk-abc");
	check("attach", &argv);
}

static void removal(void **state)
{
	struct strv argv = { 0 };
	argv_remove(&argv, "docker", "husk-abc");
	check("remove", &argv);
	argv_remove_ended(&argv, "docker", "husk-abc");
	check("remove-ended", &argv);
}

static void network_prune(void **state)
{
	struct strv argv = { 0 };
	argv_network_prune(&argv, "docker", 300);
	check("network-prune", &argv);
}

static void watch(void **state)
{
	struct strv argv = { 0 };
	argv_watch(&argv, "docker", "store-1");
	check("watch", &argv);
}

static void network(void **state)
{
	struct strv argv = { 0 };
	argv_network_list(&argv, "docker");
	check("network-list", &argv);
	argv_network_create(&argv, "docker");
	check("network-create", &argv);
}

static void fence(void **state)
{
	struct strv argv = { 0 }, openings = { 0 };
	strv_add_all(&openings, "10.1.0.0/16", "fd00::1/128,8080", NULL);
	struct fence_spec spec = {
		.image = "husk-python:1", .owner = "server-1", .openings = &openings, .seconds = 1080
	};
	argv_fence(&argv, "docker", &spec, "husk-abc");
	check("fence", &argv);
	spec.check_only = true;
	argv_fence(&argv, "docker", &spec, "husk-abc");
	check("fence-check", &argv);
	argv_fence_prune(&argv, "docker", 300);
	check("fence-prune", &argv);
	strv_release(&openings);
}

/* evidence: container-flags */
/* Options that every golden file must have, whatever else changes. */
static void every_container_has_all_restrictions(void **state)
{
	static const char *const always[] = { "--rm",	      "--read-only", "--cap-drop",  "no-new-privileges:true",
					      "--pids-limit", "--memory",    "--cpu-quota", "60706:65532" };
	static const char *const never[] = { "--privileged", "--cap-add", "--volume",  "-v",
					     "--device",     "--pid",	  "--publish", "-p" };
	for (int network_on = 0; network_on < 2; network_on++) {
		AUTO(strv_release) struct strv argv = { 0 };
		struct container_spec spec = defaults();
		spec.network = network_on;
		argv_run(&argv, "docker", &spec, "husk");
		for (size_t a = 0; a < ARRAY_LEN(always); a++) {
			size_t found = 0;
			for (size_t i = 0; i < argv.n; i++)
				found += streq(argv.v[i], always[a]);
			assert_true(found > 0);
		}
		for (size_t i = 0; i < argv.n; i++) {
			for (size_t a = 0; a < ARRAY_LEN(never); a++)
				assert_string_not_equal(argv.v[i], never[a]);
			assert_null(strstr(argv.v[i], "docker.sock"));
			assert_null(strstr(argv.v[i], "unconfined"));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(run_default),
		cmocka_unit_test(run_install),
		cmocka_unit_test(run_with_a_runtime),
		cmocka_unit_test(run_with_quotas),
		cmocka_unit_test(run_with_a_line),
		cmocka_unit_test(bake),
		cmocka_unit_test(fit),
		cmocka_unit_test(run_network_on),
		cmocka_unit_test(a_ca_bundle_is_mounted_with_a_network_or_a_gate),
		cmocka_unit_test(run_proxies_kept),
		cmocka_unit_test(run_small_limits),
		cmocka_unit_test(run_podman),
		cmocka_unit_test(attach),
		cmocka_unit_test(removal),
		cmocka_unit_test(watch),
		cmocka_unit_test(network_prune),
		cmocka_unit_test(network),
		cmocka_unit_test(fence),
		cmocka_unit_test(every_container_has_all_restrictions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
