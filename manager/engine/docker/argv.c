#include "manager/engine/docker/argv.h"

#include "base/alloc.h"
#include "kernels/protocol.h"
#include "manager/model/limits.h"

/* Path of the host's certificate bundle in the container. */
#define CA_BUNDLE_INSIDE "/opt/husk/ca-certificates.crt"
#define SHM_SIZE "64m"
/* gVisor uses about ten threads of its own for each process inside. If it reaches the limit, it dies with everything
 * inside. */
#define GVISOR_TASKS 16
/* PID 1 may listen on port 53, and on 80 and 443 of loopback addresses. */
#define PORTS_SYSCTL "net.ipv4.ip_unprivileged_port_start=0"

static void add_labels(struct strv *argv, const struct container_spec *spec)
{
	strv_add_all(argv, "--label", "husk=true", NULL);
	strv_add(argv, "--label");
	strv_addf(argv, STORE_LABEL "=%s", spec->store);
	strv_add(argv, "--label");
	strv_addf(argv, OWNER_LABEL "=%s", spec->owner);
	strv_add(argv, "--label");
	strv_addf(argv, MARK_LABEL "=%s", spec->mark ? spec->mark : spec->name);
}

static unsigned uid_of(const struct container_spec *spec)
{
	return spec->uid ? spec->uid : SANDBOX_UID;
}

static void add_privileges(struct strv *argv, const struct container_spec *spec)
{
	strv_add(argv, "--user");
	strv_addf(argv, "%u:%d", uid_of(spec), SANDBOX_GID);
	strv_add_all(argv, "--cap-drop", "ALL", "--security-opt", "no-new-privileges:true", "--read-only", "--ipc",
		     "private", "--log-driver", "none", NULL);
}

static void add_limits(struct strv *argv, const struct container_spec *spec)
{
	strv_add(argv, "--memory");
	strv_addf(argv, "%llu", (unsigned long long)spec->memory);
	strv_add(argv, "--memory-swap"); /* memory and swap together: an equal value means no swap */
	strv_addf(argv, "%llu", (unsigned long long)spec->memory);
	strv_add(argv, "--cpu-period");
	strv_addf(argv, "%d", CPU_PERIOD);
	strv_add(argv, "--cpu-quota");
	strv_addf(argv, "%llu", (unsigned long long)spec->cpu_quota);
	strv_add(argv, "--pids-limit");
	strv_addf(argv, "%llu", (unsigned long long)spec->pids * (engine_is_gvisor(spec->runtime) ? GVISOR_TASKS : 1));
	strv_add(argv, "--ulimit");
	strv_addf(argv, "nofile=%d:%d", NOFILE_LIMIT, NOFILE_LIMIT);
	strv_add(argv, "--ulimit");
	unsigned long long file = MAX(spec->memory, spec->home);
	strv_addf(argv, "fsize=%llu:%llu", file, file);
	strv_add(argv, "--ulimit");
	strv_addf(argv, "core=%d:%d", CORE_LIMIT, CORE_LIMIT);
}

/* The volume has no name and is removed with the container. PID 1 limits its content. */
static void add_volume(struct strv *argv, const struct container_spec *spec, const char *target)
{
	strv_add(argv, "--mount");
	if (spec->quota)
		strv_addf(argv, "type=volume,target=%s,volume-opt=size=%llu", target, (unsigned long long)spec->quota);
	else
		strv_addf(argv, "type=volume,target=%s", target);
}

/* The engine's own driver mounts a devpts as an unnamed volume, which is removed with the container. gVisor has
 * its own devpts. */
static void add_terminals(struct strv *argv, const struct container_spec *spec)
{
	if (spec->install || spec->no_terminals || engine_is_gvisor(spec->runtime))
		return;
	strv_add_all(argv, "--mount",
		     "type=volume,target=" TERMINALS_PATH ",volume-driver=local,volume-opt=type=devpts,"
		     "volume-opt=device=devpts,\"volume-opt=o=newinstance,ptmxmode=0666,mode=0600,nosuid,noexec\"",
		     NULL);
}

/* Completes the options of a tmpfs. Podman has no uid= and gid=; with U the container's user owns it. */
static void add_owner(struct strv *argv, const struct container_spec *spec)
{
	char **options = &argv->v[argv->n - 1];
	AUTO(freep) char *mount = *options;
	*options = spec->podman ? xasprintf("%s,U", mount) :
				  xasprintf("%s,uid=%u,gid=%d", mount, uid_of(spec), SANDBOX_GID);
}

static void add_mounts(struct strv *argv, const struct container_spec *spec)
{
	const struct {
		const char *path, *mode;
		bool on_disk; /* a volume in this container */
	} mounts[] = { { "/workspace", "0755", false },
		       { "/tmp", "1777", spec->install },
		       { HOME_PATH, "0755", !spec->install } };
	/* An installer writes to disk, because packages can be larger than the memory. */
	if (spec->install) {
		add_volume(argv, spec, DEPENDENCIES_PATH);
		add_volume(argv, spec, "/tmp");
	} else {
		add_volume(argv, spec, HOME_VOLUME);
	}
	add_terminals(argv, spec);
	for (size_t i = 0; i < ARRAY_LEN(mounts); i++) {
		if (mounts[i].on_disk)
			continue;
		strv_add(argv, "--tmpfs");
		/* exec, since the engine's default noexec prevents native Python and Node modules from loading */
		strv_addf(argv, "%s:rw,exec,nosuid,nodev,size=%llu,mode=%s", mounts[i].path,
			  (unsigned long long)spec->tmpfs, mounts[i].mode);
		add_owner(argv, spec);
	}
	if (spec->line_dir) {
		strv_add(argv, "--mount");
		strv_addf(argv, "type=bind,source=%s,target=" LINE_FOLDER ",readonly", spec->line_dir);
	}
	strv_add_all(argv, "--shm-size", SHM_SIZE, "--workdir", "/workspace", NULL);
}

static void add_env(struct strv *argv, const struct container_spec *spec)
{
	static const char *const threads[] = { "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
					       "NUMEXPR_NUM_THREADS", "PYTHON_CPU_COUNT" };
	static const char *const proxies[] = { "HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY", "ALL_PROXY",
					       "http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "all_proxy" };
	/* A library that starts a thread for each core of the host wastes its CPU quota on waiting. nproc reads
	 * the first variable too. */
	unsigned long long cpus = MAX(1, (spec->cpu_quota + CPU_PERIOD - 1) / CPU_PERIOD);
	for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
		strv_add(argv, "--env");
		strv_addf(argv, "%s=%llu", threads[i], cpus);
	}
	for (size_t i = 0; !spec->keep_proxies && i < ARRAY_LEN(proxies); i++) {
		strv_add(argv, "--env");
		strv_addf(argv, "%s=", proxies[i]);
	}
}

static void add_settings(struct strv *argv, const struct strv *env)
{
	for (size_t i = 0; env && i < env->n; i++)
		strv_add_all(argv, "--env", env->v[i], NULL);
}

static void add_network(struct strv *argv, const struct container_spec *spec, const char *network)
{
	static const char *const variables[] = { "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE",	 "CURL_CA_BUNDLE",
						 "PIP_CERT",	  "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO" };
	strv_add_all(argv, "--network", spec->network && !spec->network_late ? network : "none", NULL);
	/* PID 1 answers the names that the session's gate lets through, and no search list may change a name. */
	if (!spec->network)
		strv_add_all(argv, "--dns", "127.0.0.1", "--dns-search", ".", NULL);
	if (!spec->network || spec->gated)
		strv_add_all(argv, "--sysctl", PORTS_SYSCTL, NULL);
	for (size_t i = 0; spec->hosts && i < spec->hosts->n; i++)
		strv_add_all(argv, "--add-host", spec->hosts->v[i], NULL);
	if (!spec->ca_bundle || (!spec->network && !spec->gated))
		return;
	strv_add(argv, "--mount");
	strv_addf(argv, "type=bind,source=%s,target=" CA_BUNDLE_INSIDE ",readonly", spec->ca_bundle);
	for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
		strv_add(argv, "--env");
		strv_addf(argv, "%s=" CA_BUNDLE_INSIDE, variables[i]);
	}
}

void argv_run(struct strv *argv, const char *docker, const struct container_spec *spec, const char *network)
{
	strv_add_all(argv, docker, "run", "--detach", "--rm", "--pull", "never", "--name", spec->name, "--hostname",
		     "husk", NULL);
	if (spec->runtime)
		strv_add_all(argv, "--runtime", spec->runtime, NULL);
	add_labels(argv, spec);
	add_privileges(argv, spec);
	add_limits(argv, spec);
	add_mounts(argv, spec);
	add_env(argv, spec);
	add_settings(argv, spec->env);
	add_network(argv, spec, network);
	strv_add_all(argv, "--entrypoint", CLIENT_PATH, spec->image, "init", NULL);
	if (spec->install)
		strv_add(argv, "--install");
	strv_add(argv, "--lease");
	strv_addf(argv, "%llu", (unsigned long long)spec->lease);
	strv_add(argv, "--home-size");
	strv_addf(argv, "%llu", spec->install ? 0 : (unsigned long long)spec->home);
	strv_add(argv, "--disk-floor");
	strv_addf(argv, "%llu", (unsigned long long)spec->disk_floor);
	if (spec->checkpoints)
		strv_add_all(argv, "--checkpoints", spec->checkpoints, NULL);
}

void argv_open_ports(struct strv *argv, const char *docker, const struct container_spec *spec)
{
	strv_add_all(argv, docker, "run", "--rm", "--pull", "never", "--label", "husk=true", "--label",
		     FENCE_LABEL "=true", "--network", NULL);
	strv_addf(argv, "container:%s", spec->name);
	strv_add_all(argv, "--sysctl", PORTS_SYSCTL, "--cap-drop", "ALL", "--security-opt", "no-new-privileges:true",
		     "--read-only", "--ipc", "private", "--log-driver", "none", "--memory", "64m", "--memory-swap",
		     "64m", "--pids-limit", "16", "--workdir", "/", "--entrypoint", CLIENT_PATH, spec->image,
		     "--version", NULL);
}

void argv_attach(struct strv *argv, const char *docker, const char *container)
{
	strv_add_all(argv, docker, "exec", "--interactive", "--workdir", "/", "--user", NULL);
	strv_addf(argv, "%d:%d", CONTROLLER_UID, SANDBOX_GID);
	strv_add_all(argv, container, CLIENT_PATH, "attach", NULL);
}

void argv_remove(struct strv *argv, const char *docker, const char *container)
{
	strv_add_all(argv, docker, "rm", "--force", "--volumes", container, NULL);
}

void argv_remove_ended(struct strv *argv, const char *docker, const char *container)
{
	strv_add_all(argv, docker, "rm", "--volumes", container, NULL);
}

void argv_bake_create(struct strv *argv, const char *docker, const struct bake_spec *spec)
{
	strv_add_all(argv, docker, "create", "--pull", "never", "--user", "0", "--name", spec->scratch, "--network",
		     "none", "--label", "husk=true", "--label", NULL);
	strv_addf(argv, STORE_LABEL "=%s", spec->store);
	for (size_t i = 0; i < spec->labels->n; i++)
		strv_add_all(argv, "--label", spec->labels->v[i], NULL);
	/* The capabilities are needed to become the sandbox user and to give it a folder. The image's own health
	 * check must not run in sessions. */
	if (spec->program)
		strv_add_all(argv, "--cap-drop", "ALL", "--cap-add", "CHOWN", "--cap-add", "SETUID", "--cap-add",
			     "SETGID", "--security-opt", "no-new-privileges:true", "--ipc", "private", "--log-driver",
			     "none", "--memory", "1g", "--memory-swap", "1g", "--pids-limit", "128", "--workdir", "/",
			     "--no-healthcheck", "--entrypoint", spec->program, NULL);
	strv_add(argv, spec->base);
}

void argv_bake_source(struct strv *argv, const char *docker, const struct bake_spec *spec)
{
	strv_add_all(argv, docker, "create", "--pull", "never", "--name", spec->container, "--network", "none",
		     "--label", "husk=true", "--label", NULL);
	strv_addf(argv, STORE_LABEL "=%s", spec->store);
	strv_add(argv, spec->source);
}

void argv_bake_run(struct strv *argv, const char *docker, const struct bake_spec *spec)
{
	strv_add_all(argv, docker, "start", "--attach", spec->scratch, NULL);
}

void argv_bake_read(struct strv *argv, const char *docker, const struct bake_spec *spec)
{
	strv_add_all(argv, docker, "cp", "--archive", NULL);
	strv_addf(argv, "%s:%s", spec->container, spec->path);
	strv_add(argv, "-");
}

void argv_bake_write(struct strv *argv, const char *docker, const struct bake_spec *spec)
{
	const char *slash = strrchr(spec->path, '/');
	/* With --archive, the files belong to the scratch container's user, which is root (--user 0). */
	strv_add_all(argv, docker, "cp", "--archive", "-", NULL);
	strv_addf(argv, "%s:%.*s", spec->scratch, (int)MAX(slash - spec->path, 1), spec->path);
}

void argv_bake_commit(struct strv *argv, const char *docker, const struct bake_spec *spec)
{
	strv_add_all(argv, docker, "commit", "--change", NULL);
	strv_addf(argv, "USER %d:%d", SANDBOX_UID, SANDBOX_GID);
	if (spec->program)
		strv_add_all(argv, "--change", "ENTRYPOINT [\"" CLIENT_PATH "\",\"init\"]", "--change", "CMD []",
			     "--change", "WORKDIR /workspace", NULL);
	strv_add_all(argv, spec->scratch, spec->image, NULL);
}

void argv_image_remove(struct strv *argv, const char *docker, const char *image)
{
	strv_add_all(argv, docker, "rmi", image, NULL);
}

void argv_image_prune(struct strv *argv, const char *docker)
{
	strv_add_all(argv, docker, "image", "prune", "--force", "--filter", "label=" BAKE_LABEL, NULL);
}

void argv_watch(struct strv *argv, const char *docker, const char *store)
{
	strv_add_all(argv, docker, "events", "--filter", "type=container", "--filter", "event=die", "--filter",
		     "event=oom", "--filter", "event=destroy", "--filter", "event=died", "--filter", "event=remove",
		     "--format", "{{json .}}", "--filter", NULL);
	strv_addf(argv, "label=" STORE_LABEL "=%s", store);
}

void argv_network_list(struct strv *argv, const char *docker)
{
	strv_add_all(argv, docker, "network", "ls", "--no-trunc", "--filter", "name=^" NETWORK_NAME "$", "--format",
		     "{{.ID}} {{.Label \"" BRIDGE_LABEL "\"}}", NULL);
}

void argv_network_remove(struct strv *argv, const char *docker, char *const *ids, size_t n)
{
	strv_add_all(argv, docker, "network", "rm", "--", NULL);
	for (size_t i = 0; i < n; i++)
		strv_add(argv, ids[i]);
}

void argv_network_create(struct strv *argv, const char *docker)
{
	/* Inter-container traffic is off, so that sessions cannot reach each other. */
	strv_add_all(argv, docker, "network", "create", "--driver", "bridge", "--opt",
		     "com.docker.network.bridge.enable_icc=false", "--opt",
		     "com.docker.network.bridge.name=" BRIDGE_NAME, "--label", "husk=true", "--label",
		     BRIDGE_LABEL "=" BRIDGE_NAME, NETWORK_NAME, NULL);
}

void argv_fence(struct strv *argv, const char *docker, const struct fence_spec *spec, const char *name)
{
	/* This container runs briefly. It has the machine's network and the capability to change its rules, and
	 * nothing else. */
	strv_add_all(argv, docker, "run", "--rm", "--pull", "never", "--name", name, "--label", "husk=true", "--label",
		     FENCE_LABEL "=true", "--network", "host", "--userns", "host", "--user", "0:0", "--cap-drop", "ALL",
		     "--cap-add", "NET_ADMIN", "--security-opt", "no-new-privileges:true", "--read-only", "--ipc",
		     "private", "--log-driver", "none", "--memory", "64m", "--memory-swap", "64m", "--pids-limit", "16",
		     "--workdir", "/", "--entrypoint", FENCE_PATH, spec->image, spec->check_only ? "look" : "keep",
		     NULL);
	if (spec->check_only)
		return;
	strv_add_all(argv, "--owner", spec->owner, "--seconds", NULL);
	strv_addf(argv, "%llu", (unsigned long long)spec->seconds);
	for (size_t i = 0; i < spec->openings->n; i++)
		strv_add(argv, spec->openings->v[i]);
}

void argv_fence_prune(struct strv *argv, const char *docker, uint64_t min_age)
{
	strv_add_all(argv, docker, "container", "prune", "--force", "--filter", "label=" FENCE_LABEL, "--filter", NULL);
	strv_addf(argv, "until=%llus", (unsigned long long)min_age);
}

void argv_network_leave(struct strv *argv, const char *docker, const char *container)
{
	strv_add_all(argv, docker, "network", "disconnect", "none", container, NULL);
}

void argv_network_join(struct strv *argv, const char *docker, const char *network, const char *container)
{
	strv_add_all(argv, docker, "network", "connect", network, container, NULL);
}

void argv_network_prune(struct strv *argv, const char *docker, uint64_t min_age)
{
	strv_add_all(argv, docker, "network", "prune", "--force", "--filter", "label=husk=true", "--filter", NULL);
	strv_addf(argv, "until=%llus", (unsigned long long)min_age);
}
