/* Checks of what the engine reports about itself. */
#include "base/alloc.h"
#include "base/buf.h"
#include "manager/doctor/doctor-private.h"

/* The first version of the client with `docker run --pull never`. */
#define CLIENT_MAJOR_MIN 20
#define CLIENT_MINOR_MIN 10
#define NAMES_SHOWN 5
/* How long a container may exist after its maximum lifetime: PID 1 has a grace period, and an install may still be
 * stored as an image. */
#define OVERDUE_MARGIN_SECONDS 1200

static const char *or_unknown(const char *s)
{
	return s ? s : "unknown";
}

static double gib(uint64_t bytes)
{
	return (double)bytes / (1 << 30);
}

void doctor_judge_client(struct checks *c, const char *path, const struct engine_client *client)
{
	static const char name[] = "docker client";
	bool old = client->major < CLIENT_MAJOR_MIN ||
		   (client->major == CLIENT_MAJOR_MIN && client->minor < CLIENT_MINOR_MIN);
	if (streq(client->name, "kubectl"))
		checks_add(c, client->name, CHECK_OK, NULL, "%s, %s", path, client->version);
	else if (!strcasestr(client->name, "docker"))
		checks_add(c, name, CHECK_WARN, "if sessions fail, set HUSK_DOCKER to a docker client",
			   "%s, %s %s: not Docker's client; Husk is not tested with it", path, client->name,
			   client->version);
	else if (old)
		checks_add(c, name, CHECK_FAIL, "install docker 20.10 or newer", "%s, %s: too old", path,
			   client->version);
	else
		checks_add(c, name, CHECK_OK, NULL, "%s, %s", path, client->version);
}

void doctor_judge_place(struct checks *c, const struct engine_place *place)
{
	const char *host = getenv("DOCKER_HOST");
	bool chosen = host && *host;
	checks_add(c, "endpoint", CHECK_OK, NULL, "%s (%s%s)%s", place->host, chosen ? "" : "context ",
		   chosen ? "DOCKER_HOST" : place->context,
		   place->is_local ? "" : ", not this machine: CONTAINER_CA_BUNDLE has no effect");
}

void doctor_judge_cluster(struct checks *c, const struct config *config, const struct engine_place *place)
{
	checks_add(c, "endpoint", CHECK_OK, NULL, "%s (%s%s), namespace '%s'; %s", place->host,
		   *place->context ? "context " : "the pod's service account", place->context,
		   config->kubernetes_namespace,
		   config->registry ? "images from CONTAINER_REGISTRY" :
				      "no CONTAINER_REGISTRY: the nodes must have the images");
}

/* New sessions go to the hosts that answer. */
void doctor_judge_hosts(struct checks *c, const struct engine_hosts *hosts)
{
	size_t up = 0;
	for (size_t i = 0; i < hosts->n; i++)
		up += !hosts->v[i].failure;
	for (size_t i = 0; i < hosts->n; i++) {
		const struct engine_host *h = &hosts->v[i];
		AUTO(freep) char *title = xasprintf("host %s", h->name);
		if (h->failure)
			checks_add(c, title, up ? CHECK_WARN : CHECK_FAIL,
				   "check its endpoint in CONTAINER_POOL, and that `docker ps` answers there", "%s",
				   h->failure);
		else
			checks_add(c, title, CHECK_OK, NULL, "answers, %.1f GiB of memory", gib(h->memory));
	}
}

void doctor_judge_engine(struct checks *c, const char *wanted, const struct engine_version *engine)
{
	bool docker = !*engine->name || streq(engine->name, "Engine"), podman = streq(engine->name, "Podman Engine");
	if (streq(engine->name, "Kubernetes")) {
		checks_add(c, "engine", CHECK_OK, NULL, "%s %s", engine->name, engine->version);
		return;
	}
	if (podman && streq(wanted, "docker")) {
		checks_add(c, "engine", CHECK_FAIL, "set CONTAINER_ENGINE=podman (docs/podman.md)",
			   "%s %s, but CONTAINER_ENGINE is docker: Podman needs other options", engine->name,
			   engine->version);
		return;
	}
	if (podman) {
		checks_add(c, "engine", CHECK_OK, NULL, "%s %s, API %s", engine->name, engine->version, engine->api);
		return;
	}
	if (streq(wanted, "podman")) {
		checks_add(c, "engine", CHECK_FAIL,
			   "set DOCKER_HOST to Podman's socket, or unset CONTAINER_ENGINE (docs/podman.md)",
			   "Docker %s, but CONTAINER_ENGINE is podman", engine->version);
		return;
	}
	checks_add(c, "engine", docker ? CHECK_OK : CHECK_WARN, NULL, "%s %s, API %s%s",
		   docker ? "Docker" : engine->name, engine->version, engine->api,
		   docker ? "" : ": Husk is not tested with it");
}

/* --- docker info ------------------------------------------------------------------------------------------------- */

static void judge_system(struct checks *c, const struct engine_info *info, const char *machine)
{
	static const char name[] = "system";
	const char *os = or_unknown(info->os), *kernel = or_unknown(info->kernel), *arch = or_unknown(info->arch);
	if (!streq(info->os_type, "linux"))
		checks_add(c, name, CHECK_FAIL, "switch the engine to Linux containers", "%s containers (%s)",
			   info->os_type, os);
	else if (info->arch && !engine_same_arch(info->arch, machine))
		checks_add(c, name, CHECK_FAIL, "build Husk on a machine like the engine's, or use another engine",
			   "%s, kernel %s, %s: this build's images are for %s", os, kernel, arch, machine);
	else
		checks_add(c, name, CHECK_OK, NULL, "%s, kernel %s, %s", os, kernel, arch);
}

static void judge_storage(struct checks *c, const struct engine_info *info)
{
	if (info->storage && streq(info->storage, "vfs"))
		checks_add(c, "storage driver", CHECK_WARN, "configure the engine for overlay2",
			   "vfs: each session copies its whole image");
	else
		checks_add(c, "storage driver", CHECK_OK, NULL, "%s", or_unknown(info->storage));
}

static void judge_cgroups(struct checks *c, const struct engine_info *info)
{
	const char *version = info->cgroup_version, *driver = or_unknown(info->cgroup_driver);
	if (streq(driver, "none") || (info->rootless && version && streq(version, "1")))
		checks_add(
			c, "cgroups", CHECK_FAIL,
			"a rootless engine needs cgroup v2 with delegation; boot with systemd.unified_cgroup_hierarchy=1",
			"not in use: sessions have no limits");
	else if (version && streq(version, "1"))
		checks_add(
			c, "cgroups", CHECK_WARN, "boot with systemd.unified_cgroup_hierarchy=1 for cgroup v2",
			"v1, driver %s: kernel memory is not counted in a session's limit; PID 1 bounds socket buffers to an eighth of it",
			driver);
	else
		checks_add(c, "cgroups", CHECK_OK, NULL, "%s%s, driver %s", version ? "v" : "version ",
			   or_unknown(version), driver);
}

static void judge_seccomp(struct checks *c, const struct engine_info *info)
{
	const char *profile = info->seccomp;
	if (!profile || streq(profile, "unconfined"))
		checks_add(c, "seccomp", CHECK_FAIL,
			   profile ? "remove seccomp-profile from the engine's daemon.json and restart it" :
				     "use a kernel and an engine with seccomp",
			   "off: sessions may use every system call");
	else if (!*profile || streq(profile, "default") || streq(profile, "builtin"))
		checks_add(c, "seccomp", CHECK_OK, NULL, "on, the engine's default profile");
	else
		checks_add(
			c, "seccomp", CHECK_WARN,
			"check that it is at least as strict as the default, or remove seccomp-profile from daemon.json",
			"on, with its own profile: %s", profile);
}

struct limit {
	const char *name;
	enum support answer;
	enum check_status without;
	const char *means; /* consequence if it is missing */
};

static void judge_limit_support(struct checks *c, const struct engine_info *info)
{
	const struct limit limits[] = {
		{ "memory limit", info->memory_limit, CHECK_FAIL, "a session can use up the machine's memory" },
		{ "swap limit", info->swap_limit, CHECK_WARN, "a session may use swap beyond its memory" },
		{ "process limit", info->pids_limit, CHECK_FAIL,
		  "a fork bomb in a session can stop the whole machine" },
		{ "cpu limit", info->cpu_quota, CHECK_WARN, "a session may use every CPU" },
	};
	bool v1 = info->cgroup_version && streq(info->cgroup_version, "1");
	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		const struct limit *l = &limits[i];
		if (l->answer == SUPPORT_YES)
			checks_add(c, l->name, CHECK_OK, NULL, "supported");
		else if (l->answer == SUPPORT_UNKNOWN)
			checks_add(c, l->name, CHECK_WARN, NULL, "the engine does not report it");
		else
			checks_add(
				c, l->name, l->without,
				v1 ? "boot with cgroup_enable=memory swapaccount=1, or use cgroup v2" :
				     "enable this cgroup controller for the engine (for a rootless one: systemd delegation)",
				"not supported: %s", l->means);
	}
}

void doctor_judge_info(struct checks *c, const struct engine_info *info, const char *machine)
{
	judge_system(c, info, machine);
	judge_storage(c, info);
	judge_cgroups(c, info);
	judge_seccomp(c, info);
	judge_limit_support(c, info);
}

void doctor_judge_runtime(struct checks *c, const struct config *config, const struct engine_info *info)
{
	AUTO(buf_release) struct buf names = { 0 };
	bool found = false;
	for (size_t i = 0; i < info->runtimes.n; i++) {
		buf_printf(&names, "%s%s", i ? ", " : "", info->runtimes.v[i]);
		found |= config->runtime && streq(info->runtimes.v[i], config->runtime);
	}
	if (!config->runtime)
		checks_add(c, "runtime", CHECK_OK, NULL, "%s, the engine's default", or_unknown(info->runtime));
	else if (found && engine_is_gvisor(config->runtime))
		checks_add(
			c, "runtime", CHECK_OK, NULL,
			"%s (CONTAINER_RUNTIME): sessions have their own kernel; docs/gvisor.md lists the differences",
			config->runtime);
	else if (found)
		checks_add(c, "runtime", CHECK_OK, NULL, "%s (CONTAINER_RUNTIME)", config->runtime);
	else
		checks_add(c, "runtime", CHECK_FAIL,
			   "register it in the engine's daemon.json and restart the engine, or unset CONTAINER_RUNTIME",
			   "%s (CONTAINER_RUNTIME) is not a runtime of the engine: %s", config->runtime,
			   names.len ? buf_str(&names) : "it reports none");
}

/* --- images and network ------------------------------------------------------------------------------------------ */

void doctor_judge_image(struct checks *c, const struct runtime *runtime, const char *name, bool usual,
			const struct engine_image *image)
{
	AUTO(freep) char *title = xasprintf("image %s", runtime->name);
	if (image)
		checks_add(c, title, CHECK_OK, NULL, "%s, %llu MB%s", name, (unsigned long long)(image->size / 1000000),
			   usual ? "" : " (chosen by a setting)");
	else if (usual)
		checks_add(c, title, CHECK_FAIL, FIX_SETUP, "%s does not exist", name);
	else
		checks_add(c, title, CHECK_FAIL, "build or pull it, or unset HUSK_IMAGE_…",
			   "%s, chosen by a setting, does not exist", name);
}

void doctor_judge_listed_image(struct checks *c, const char *name, const char *reference,
			       const struct engine_image *image)
{
	AUTO(freep) char *title = xasprintf("image %s", name);
	if (image)
		checks_add(c, title, CHECK_OK, NULL, "%s, %llu MB (CONTAINER_IMAGES)", reference,
			   (unsigned long long)(image->size / 1000000));
	else
		checks_add(c, title, CHECK_WARN, "build or pull it: Husk does not pull images",
			   "%s (CONTAINER_IMAGES) does not exist", reference);
}

void doctor_judge_capabilities(struct checks *c, const struct config *config, const char *engine,
			       const struct engine_capabilities *can)
{
	bool network = !config || config->network_enabled, required = config && config->network_fence == FENCE_REQUIRE;
	if (!can->sets_fence && network && required)
		checks_add(c, "fence", CHECK_FAIL,
			   "set CONTAINER_NETWORK_FENCE=auto, or CONTAINER_NETWORK_ENABLED=false",
			   "no session can start: Husk sets no firewall rules on %s, and the settings require them",
			   engine);
	else if (!can->sets_fence && network)
		checks_add(c, "fence", CHECK_WARN, "limit the network of sessions with the means of the engine",
			   "Husk sets no firewall rules on %s: sessions can reach private addresses", engine);
	if (!can->cuts_network)
		checks_add(c, "network off", network ? CHECK_WARN : CHECK_FAIL,
			   network ? NULL : "set CONTAINER_NETWORK_ENABLED=true",
			   "sessions without a network are refused: %s cannot guarantee that they have none", engine);
	if (!can->bakes_images)
		checks_add(c, "dependencies", CHECK_WARN, "put packages into an image, or install them in the session",
			   "sessions with dependencies or another image are refused: Husk cannot store images on %s",
			   engine);
	if (can->several_nodes)
		checks_add(c, "users", CHECK_WARN, NULL,
			   "sessions on the same node of %s may run under the same user number", engine);
	if (!can->measures_memory)
		checks_add(c, "memory use", CHECK_OK, NULL, "not shown: %s does not report it", engine);
	if (!can->lists_images)
		checks_add(c, "images", CHECK_OK, NULL, "not checked: each node of %s pulls them when it needs them",
			   engine);
}

void doctor_judge_network(struct checks *c, const struct engine_network *network)
{
	static const char again[] = "stop all sessions, then `docker network rm husk`; Husk creates it again";
	if (!network->is_there)
		checks_add(c, "network", CHECK_OK, NULL,
			   "does not exist yet; created for the first session with a network");
	else if (!streq(network->driver, "bridge") || !network->isolated)
		checks_add(c, "network", CHECK_FAIL, again,
			   "'husk' differs from the network that Husk creates (driver %s, traffic between sessions %s)",
			   network->driver, network->isolated ? "off" : "not off");
	else if (network->internal)
		checks_add(c, "network", CHECK_WARN, again, "'husk' is internal: sessions cannot reach anything");
	else if (!network->fenceable)
		checks_add(
			c, "network", CHECK_WARN, again,
			"'husk' is from an older Husk: its sessions have no firewall rules; replaced once it is unused");
	else
		checks_add(c, "network", CHECK_OK, NULL, "'husk', a bridge; sessions cannot reach each other");
}

/* True if nothing will remove the container: it has stopped and is old enough, or it should have ended long ago. */
static bool is_left_over(const struct config *config, const struct engine_container *c, uint64_t now)
{
	uint64_t age = now - MIN(c->created, now);
	uint64_t longest = MAX(config->max_lifetime, config->dependency_timeout) + OVERDUE_MARGIN_SECONDS;
	return (!c->running && age >= config->orphan_min_age) || age > longest;
}

void doctor_judge_containers(struct checks *c, const struct config *config, const struct engine_containers *containers,
			     uint64_t now)
{
	AUTO(buf_release) struct buf names = { 0 };
	size_t n = 0, running = 0;
	for (size_t i = 0; i < containers->n; i++) {
		running += containers->v[i].running;
		if (is_left_over(config, &containers->v[i], now) && n++ < NAMES_SHOWN)
			buf_printf(&names, " %s", containers->v[i].name);
	}
	AUTO(freep) char *fix =
		xasprintf("docker rm --force%s%s", buf_str(&names), n <= NAMES_SHOWN ? "" : ", and so on (husk gc)");
	if (n)
		checks_add(c, "leftovers", CHECK_WARN, fix, "%zu container%s without a server, %zu running", n,
			   n == 1 ? "" : "s", running);
	else
		checks_add(c, "leftovers", CHECK_OK, NULL, "none; %zu session%s running", running,
			   running == 1 ? "" : "s");
}

void doctor_judge_limits(struct checks *c, const struct config *config, const struct engine_info *info)
{
	double memory = gib(config->memory_limit), cpus = (double)config->cpu_quota / CPU_PERIOD;
	AUTO(freep) char *wanted =
		xasprintf("%.1f GiB, %.1f CPUs, %llu processes for each session, %llu sessions", memory, cpus,
			  (unsigned long long)config->pids_limit, (unsigned long long)config->max_sessions);
	if (!info || !info->memory)
		checks_add(c, "limits", CHECK_OK, NULL, "%s", wanted);
	else if (config->memory_limit > info->memory)
		checks_add(c, "limits", CHECK_FAIL, "lower CONTAINER_MEMORY_LIMIT and with it CONTAINER_TMPFS_SIZE",
			   "%s: the engine's machine has only %.1f GiB", wanted, gib(info->memory));
	else
		checks_add(c, "limits", CHECK_OK, NULL, "%s; the engine's machine has %.1f GiB and %llu CPUs", wanted,
			   gib(info->memory), (unsigned long long)info->cpus);
}

/* --- firewall rules ---------------------------------------------------------------------------------------------- */

/* Lists the networks that the settings open in addition to public addresses. */
static char *open_networks(const struct config *config)
{
	struct buf b = { 0 };
	for (size_t i = 0; i < config->private_networks.n; i++)
		buf_printf(&b, "%s%s",
			   i ? ", " : "; open by CONTAINER_NETWORK_PRIVATE: ", config->private_networks.v[i]);
	buf_add_str(&b, "");
	return buf_steal_str(&b);
}

void doctor_judge_fence(struct checks *c, const struct config *config, enum engine_fence fence)
{
	AUTO(freep) char *open = open_networks(config);
	switch (fence) {
	case FENCE_STOOD:
	case FENCE_WAS_SET:
		checks_add(c, "fence", CHECK_OK, NULL,
			   "sessions reach public addresses only (nftables table 'inet husk')%s", open);
		break;
	case FENCE_NOT_SET:
		checks_add(c, "fence", CHECK_OK, NULL, "not set yet; set for the first session with a network%s", open);
		break;
	case FENCE_NOT_OURS:
		checks_add(
			c, "fence", CHECK_WARN, "find out what changes the nftables table 'inet husk'",
			"its rules were changed; they are set again for the next session with a network, or within a minute if one is running");
		break;
	}
}

void doctor_judge_no_fence(struct checks *c, const struct config *config, const struct fail *f)
{
	bool required = config->network_fence == FENCE_REQUIRE;
	if (f->kind == FAIL_IMAGE)
		checks_add(c, "fence", CHECK_WARN, FIX_SETUP,
			   "unknown, since the image with its program does not exist");
	else
		checks_add(
			c, "fence", required ? CHECK_FAIL : CHECK_WARN,
			"use a kernel with nf_tables and an engine that may run a container with --network host and NET_ADMIN, "
			"or switch the network off",
			"%s: %s", f->message,
			required ? "no session gets a network (CONTAINER_NETWORK_FENCE=require)" :
				   "sessions with the network can reach private addresses and services of the host");
}
