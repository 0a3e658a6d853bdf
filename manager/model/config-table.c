/* The table of settings: name, kind, default, range and documentation of each. The documentation is printed as
 * docs/settings.md by `build/tools/pages/pages settings.md`, and husk(1) has the same text. */
#include "base/log.h"
#include "manager/model/config-private.h"
#include "manager/model/runtime.h"

#define YEAR 31536000ull
#define MANY 1000000000ull

/* Does not compile if the field does not have the type that config.c writes. */
#define OFFSET(type, field)                                                                                            \
	(offsetof(struct config, field) + 0 * sizeof(_Generic(((struct config *)0)->field, type : 0)))
#define FIELD(setting, of, type, field) .name = setting, .kind = of, .offset = OFFSET(type, field)
#define RANGE(from, to) .min = from, .max = to
#define NUMBER(name, field, usual, from, to)                                                                           \
	FIELD(name, SETTING_NUMBER, uint64_t, field), .fallback = usual, RANGE(from, to)
#define SIZE(name, field, usual, from, to)                                                                             \
	FIELD(name, SETTING_SIZE, uint64_t, field), .fallback = usual, RANGE(from, to)
/* A number of CPUs, stored as a quota. */
#define CPUS(name, field) FIELD(name, SETTING_CPUS, uint64_t, field)
#define BOOL(name, field, usual) FIELD(name, SETTING_BOOL, bool, field), .fallback = usual
#define CHOICE(name, field, usual, words)                                                                              \
	FIELD(name, SETTING_CHOICE, uint64_t, field), .fallback = usual, .choices = words
#define PATH(name, field) FIELD(name, SETTING_PATH, char *, field)
#define STRING(name, field) FIELD(name, SETTING_STRING, char *, field)
#define SECRET(name, field) FIELD(name, SETTING_SECRET, char *, field)
#define BY_NAME(setting) .name = setting, .kind = SETTING_BY_NAME
#define DESCRIBE(in, text, value) .group = SETTINGS_##in, .meaning = text, .example = value

static const char *const transports[] = {
	[TRANSPORT_AUTO] = "auto", [TRANSPORT_EXEC] = "exec", [TRANSPORT_SOCKET] = "socket", NULL
};
static const char *const answerers[] = { [PROMPTS_MODEL] = "model", [PROMPTS_USER] = "user", NULL };
static const char *const contents[] = { [CONTENT_TEXT_FIRST] = "text", [CONTENT_INTERLEAVED] = "interleaved", NULL };
static const char *const checkpoint_words[] = { "auto", "request", "off", NULL };
static const char *const probes[] = { [PROBE_OFF] = "off", [PROBE_REQUIRE] = "require", NULL };
static const char *const fences[] = { [FENCE_AUTO] = "auto", [FENCE_REQUIRE] = "require", NULL };

const struct setting config_settings[] = {
	/* --- limits of one session ------------------------------------------------------------------------------- */
	{ SIZE("CONTAINER_MEMORY_LIMIT", memory_limit, "2048m", 64 * MIB, 16 * TIB),
	  DESCRIBE(LIMITS, "Memory of a session. Files in /workspace and /tmp count, and there is no swap.", "4g") },
	{ NUMBER("CONTAINER_CPU_QUOTA", cpu_quota, "200000", 1000, 100000000),
	  DESCRIBE(LIMITS, "CPU time of a session, in microseconds per 100 ms. The default is two CPUs.", "400000") },
	{ NUMBER("CONTAINER_PIDS_LIMIT", pids_limit, "512", 16, 4194304),
	  DESCRIBE(LIMITS, "Processes and threads of a session.", "1024") },
	{ SIZE("CONTAINER_TMPFS_SIZE", tmpfs_size, "200m", MIB, 16 * TIB),
	  DESCRIBE(LIMITS,
		   "Size of /workspace and of /tmp, which are in memory. Both and another 256m must fit into "
		   "CONTAINER_MEMORY_LIMIT.",
		   "500m") },
	{ SIZE("CONTAINER_HOME_SIZE", home_size, "4g", 16 * MIB, 16 * TIB),
	  DESCRIBE(
		  LIMITS,
		  "Size of the home directory, which is on disk. It may hold one file per 4 KiB of its size. Processes "
		  "that fill it are stopped; files and variables stay.",
		  "10g") },
	{ SIZE("CONTAINER_MEMORY_MAX", memory_max, NULL, 64 * MIB, 16 * TIB), .usual = "4 times CONTAINER_MEMORY_LIMIT",
	  DESCRIBE(LIMITS,
		   "The most memory that one call may request. The default is at most half of the engine's memory. "
		   "/workspace and /tmp grow in proportion.",
		   "16g") },
	{ CPUS("CONTAINER_CPUS_MAX", cpus_max), .usual = "4 times CONTAINER_CPU_QUOTA",
	  DESCRIBE(LIMITS, "The most CPUs that one call may request. The default is at most half of the engine's CPUs.",
		   "8") },
	{ SIZE("CONTAINER_DISK_MAX", disk_max, NULL, 16 * MIB, 16 * TIB), .usual = "4 times CONTAINER_HOME_SIZE",
	  DESCRIBE(LIMITS, "The largest home directory that one call may request.", "50g") },
	{ SIZE("CONTAINER_DISK_FLOOR", disk_floor, "1g", 0, 16 * TIB),
	  DESCRIBE(LIMITS,
		   "Space that must stay free on the engine's disk. Below it, sessions and installs that write are "
		   "stopped. Exports leave as much free on the disk of STORAGE_DIR.",
		   "5g") },
	{ NUMBER("CONTAINER_EXECUTION_TIMEOUT_SECONDS", execution_timeout, "30", 1, 300),
	  DESCRIBE(LIMITS, "Time limit of a run whose call does not set `timeout`, 1 to 300.", "120") },

	/* --- number and lifetime of sessions --------------------------------------------------------------------- */
	{ NUMBER("CONTAINER_MAX_SESSIONS", max_sessions, "5", 1, 10000),
	  DESCRIBE(LIFETIME,
		   "Sessions of all servers that share a store; by default these are the servers of one user.", "20") },
	{ NUMBER("CONTAINER_MAX_SESSIONS_PER_THREAD", max_sessions_per_thread, "3", 1, 10000),
	  DESCRIBE(LIFETIME, "Sessions of one conversation.", "10") },
	{ NUMBER("SESSION_MAX_ACTIVE_THREADS", max_active_threads, "10", 1, 1000000),
	  DESCRIBE(LIFETIME, "Conversations that may have sessions at the same time.", "50") },
	{ NUMBER("SESSION_IDLE_TTL_SECONDS", idle_ttl, "1800", 1, YEAR),
	  DESCRIBE(LIFETIME, "A session that is unused for this long ends.", "7200") },
	{ NUMBER("SESSION_MAX_LIFETIME_SECONDS", max_lifetime, "7200", 1, YEAR),
	  DESCRIBE(LIFETIME, "A session ends this long after its start, used or not.", "86400") },
	{ NUMBER("SESSION_LEASE_SECONDS", lease, "300", 2, 86400),
	  DESCRIBE(LIFETIME, "How long a session outlives its server if no other server takes it over.", "900") },
	{ NUMBER("SESSION_GC_INTERVAL_SECONDS", gc_interval, "60", 1, 86400),
	  DESCRIBE(LIFETIME, "How often a server looks for unused sessions and leftovers.", "300") },
	{ NUMBER("CONTAINER_ORPHAN_MIN_AGE_SECONDS", orphan_min_age, "300", 0, YEAR),
	  DESCRIBE(LIFETIME, "Age at which a container that does not run counts as a leftover.", "3600") },
	{ STRING("WARM_POOL", warm_pool_text), .fallback = WARM_POOL_DEFAULT,
	  DESCRIBE(LIFETIME,
		   "Containers that are kept ready, so that creating a session takes milliseconds: runtimes, each with "
		   "a number or a range. The lower number is ready from the first request on; more are kept for five "
		   "minutes after the runtime was used, while a quarter of the machine's memory is available. They "
		   "count towards CONTAINER_MAX_SESSIONS, make way for sessions and end with their server. Programs "
		   "that use libhusk have none unless this is set. `off` keeps none.",
		   "python:1,node:0-2") },
	{ CHOICE("SESSION_CHECKPOINTS", checkpoints, "auto", checkpoint_words),
	  DESCRIBE(
		  LIMITS,
		  "Copies of a Python or R interpreter, to which a session returns after a crash. auto makes them while it is "
		  "idle, request only when a client wants one, off never.",
		  "request") },
	{ CHOICE("SESSION_PROBE", probe, "off", probes),
	  DESCRIBE(LIFETIME,
		   "With `require`, a session is handed out only if everything that `husk doctor --probe` tries is "
		   "refused. This is checked once per image, engine version and boot. An attempt whose outcome is "
		   "unknown counts as not refused.",
		   "require") },

	/* --- network --------------------------------------------------------------------------------------------- */
	{ BOOL("CONTAINER_NETWORK_ENABLED", network_enabled, "true"),
	  DESCRIBE(NETWORK,
		   "Whether sessions and installs may use the network. A call can only restrict this further. Sessions "
		   "never see each other.",
		   "false") },
	{ STRING("CONTAINER_NETWORK_ALLOW", network_allow), .usual = "everything public",
	  DESCRIBE(NETWORK,
		   "The only hosts that sessions may reach, separated by commas: names, `*.NAME` for all names below, "
		   "`NAME:PORT`, sets such as `@python`, and `NAME=ADDRESS:PORT` to give an address a name. A call can "
		   "only narrow the list. Without it, a call may give its own.",
		   "@python, api.example.com, model=127.0.0.1:11434") },
	{ STRING("CONTAINER_NETWORK_PRIVATE", network_private), .usual = "none",
	  DESCRIBE(NETWORK,
		   "Private networks and addresses that sessions and installs may reach besides public addresses, "
		   "separated by commas. `all` opens all of them, including the host. Package indexes and enabled "
		   "proxies are reachable in any case.",
		   "10.1.0.0/16, fd12::/32") },
	{ CHOICE("CONTAINER_NETWORK_FENCE", network_fence, "auto", fences),
	  DESCRIBE(NETWORK,
		   "If the firewall rules around sessions cannot be set, `auto` allows the network and says so, and "
		   "`require` refuses it.",
		   "require") },
	{ BOOL("CONTAINER_PROXY_ENABLED", proxy_enabled, "false"),
	  DESCRIBE(NETWORK, "Pass on the proxy variables that the docker client puts into containers.", "true") },
	{ PATH("CONTAINER_CA_BUNDLE", ca_bundle), .usual = "the host's",
	  DESCRIBE(NETWORK,
		   "Certificates for HTTPS in sessions, mounted read-only if the engine is local. `none` mounts none.",
		   "/etc/ssl/company.pem") },

	/* --- containers ------------------------------------------------------------------------------------------ */
	{ STRING("CONTAINER_IMAGES", images), .usual = "none",
	  DESCRIBE(CONTAINERS,
		   "Images that a call may request by name instead of the language's own: NAME=REFERENCE, separated by "
		   "commas. They need the interpreter and /bin/bash, and must be on the engine (docs/images.md).",
		   "tools=my-tools:1, ml=ml:3") },
	{ STRING("CONTAINER_RUNTIME", runtime), .usual = "the engine's default",
	  DESCRIBE(CONTAINERS, "Container runtime of the engine to use. `runsc` is gVisor (docs/gvisor.md).",
		   "runsc") },
	{ STRING("CONTAINER_ENGINE", engine), .fallback = "docker",
	  DESCRIBE(CONTAINERS,
		   "Where sessions run: `docker`, `podman` (docs/podman.md), `pool` (docs/pool.md), or `kubernetes` "
		   "(docs/kubernetes.md).",
		   "kubernetes") },
	{ STRING("CONTAINER_POOL", pool), .usual = "none",
	  DESCRIBE(CONTAINERS,
		   "Docker hosts that share the sessions, as NAME=ENDPOINT with commas: context:NAME, tcp://HOST:PORT "
		   "with TLS, ssh://USER@HOST or unix:///PATH.",
		   "big=context:big, gpu=ssh://husk@10.0.0.3") },
	{ STRING("CONTAINER_REGISTRY", registry), .usual = "none",
	  DESCRIBE(CONTAINERS,
		   "Registry that the nodes of a cluster pull Husk's images from: HOST[:PORT][/FOLDER]. `husk setup` "
		   "pushes them there.",
		   "registry.example:5000/husk") },
	{ STRING("KUBERNETES_NAMESPACE", kubernetes_namespace), .fallback = "husk",
	  DESCRIBE(CONTAINERS, "Namespace of the pods of sessions.", "agents") },
	{ STRING("KUBERNETES_CONTEXT", kubernetes_context), .usual = "kubectl's current one",
	  DESCRIBE(CONTAINERS, "Context of kubectl's configuration that names the cluster.", "staging") },
	{ PATH("HUSK_KUBECTL", kubectl), .usual = "kubectl",
	  DESCRIBE(CONTAINERS,
		   "kubectl to run. KUBECONFIG, which chooses the cluster, is read from the environment only.",
		   "/opt/kubernetes/bin/kubectl") },
	{ PATH("HUSK_DOCKER", docker), .usual = "docker",
	  DESCRIBE(CONTAINERS,
		   "Docker client to run. DOCKER_HOST and DOCKER_CONTEXT, which choose the engine, are read from the "
		   "environment only.",
		   "/opt/docker/bin/docker") },
	{ BY_NAME("CONTAINER_EXECUTE_AS_ROOT"), .fallback = "false",
	  DESCRIBE(CONTAINERS, "Refused if true: code in a session never runs as root.", "false") },

	/* --- packages -------------------------------------------------------------------------------------------- */
	{ NUMBER("DEPENDENCY_INSTALL_TIMEOUT_SECONDS", dependency_timeout, "900", 1, 86400),
	  DESCRIBE(PACKAGES, "Time limit of one install.", "1800") },
	{ SIZE("DEPENDENCY_MAX_SIZE", dependency_max_size, "4g", MIB, 16 * TIB),
	  DESCRIBE(PACKAGES, "Size of one set of packages.", "10g") },
	{ SIZE("DEPENDENCY_CACHE_SIZE", dependency_cache_size, "20g", MIB, 16 * TIB),
	  DESCRIBE(
		  PACKAGES,
		  "Size of all sets together. The least recently used are removed first, but never one that a session uses.",
		  "50g") },
	{ NUMBER("DEPENDENCY_MAX_AGE_DAYS", dependency_max_age_days, "7", 0, 36500),
	  DESCRIBE(PACKAGES, "A set that leaves a version open is rebuilt after this many days.", "30") },

	/* --- files ----------------------------------------------------------------------------------------------- */
	{ PATH("STORAGE_DIR", storage_dir), .usual = "storage",
	  DESCRIBE(FILES,
		   "Folder for files that outlive their session, relative to $XDG_DATA_HOME/husk. Exports are in its "
		   "folder `exports`; anything else in it may be imported.",
		   "/srv/husk") },
	{ BY_NAME("IMPORT_ALLOWED_DIRS"), .usual = "none",
	  DESCRIBE(FILES,
		   "Folders of the host from which a model may import files, besides STORAGE_DIR: absolute paths, "
		   "separated by commas. `husk mcp --allow` and the roots of a client add more. Husk's own files are "
		   "never read. `husk run`, libhusk and the Python module are not limited.",
		   "/srv/data,/srv/project") },
	{ SIZE("EXPORTS_MAX_SIZE", exports_max_size, "20g", MIB, 16 * TIB),
	  DESCRIBE(FILES,
		   "Size of all exports together. The same content counts once. A larger export is refused; `husk "
		   "exports --delete` and `husk gc --exports` make room.",
		   "100g") },
	{ SIZE("EXPORTS_MAX_SIZE_PER_CONVERSATION", exports_max_size_per_conversation, "5g", MIB, 16 * TIB),
	  DESCRIBE(FILES, "Size of the exports of one conversation.", "20g") },
	{ NUMBER("EXPORTS_MAX_COUNT_PER_CONVERSATION", exports_max_count_per_conversation, "10000", 1, MANY),
	  DESCRIBE(FILES, "Number of exports of one conversation.", "1000") },
	{ NUMBER("EXPORTS_MAX_AGE_DAYS", exports_max_age_days, "0", 0, 36500),
	  DESCRIBE(
		  FILES,
		  "Days after which an export is deleted: by `husk gc`, and by servers while they have sessions. 0 means "
		  "that exports are kept.",
		  "90") },

	/* --- answers --------------------------------------------------------------------------------------------- */
	{ NUMBER("MAX_ANSWER_CHARS", max_answer_chars, "20000", 2000, 1000000),
	  DESCRIBE(ANSWERS, "Characters of the text of one answer. Longer text is cut in the middle.", "50000") },
	{ NUMBER("MAX_STDOUT_CHARS", max_stdout_chars, "50000", 0, MANY),
	  DESCRIBE(ANSWERS,
		   "Characters of standard output that are kept, from the beginning and the end. 0 means no limit.",
		   "200000") },
	{ NUMBER("MAX_STDERR_CHARS", max_stderr_chars, "120000", 0, MANY),
	  DESCRIBE(ANSWERS, "The same for standard error.", "50000") },
	{ NUMBER("MAX_RESULT_CHARS", max_result_chars, "30000", 0, MANY),
	  DESCRIBE(ANSWERS, "The same for the value of a cell.", "100000") },
	{ NUMBER("MAX_TRACEBACK_CHARS", max_traceback_chars, "8000", 0, MANY),
	  DESCRIBE(ANSWERS, "The same for a traceback.", "20000") },
	{ CHOICE("MCP_CONTENT", content, "text", contents),
	  DESCRIBE(ANSWERS,
		   "`text` sends one text in the order of the output and then the pictures; `interleaved` sends each "
		   "picture in its place.",
		   "interleaved") },
	{ BOOL("MCP_STRUCTURED_CONTENT", structured_content, "off"),
	  DESCRIBE(
		  ANSWERS,
		  "Send `structuredContent` with results of runs, with all texts in full. Otherwise `_meta` gives only "
		  "the number of characters of a text above 4 KiB (`stdout_chars` instead of `stdout`), because the "
		  "answer already contains the text.",
		  "on") },
	{ CHOICE("PROMPTS_ANSWERED_BY", prompts, "model", answerers),
	  DESCRIBE(ANSWERS,
		   "The person or model that answers prompts of an interactive cell. `user` asks the person at the "
		   "client with a form, if the client supports elicitation. Prompts that the person declines, and "
		   "prompts for passwords, go to the model.",
		   "user") },
	{ NUMBER("MCP_TASK_AFTER_SECONDS", task_after, "25", 0, 300),
	  DESCRIBE(ANSWERS,
		   "Seconds after which a call without `wait` becomes an MCP task, for clients that support tasks.",
		   "60") },

	/* --- server ---------------------------------------------------------------------------------------------- */
	{ CHOICE("HUSK_LOG", log, "warning", log_levels),
	  DESCRIBE(SERVER,
		   "Log level on standard error: `error`, `warning`, `info` or `debug`. `debug` adds times, and a line "
		   "per request with its id and duration.",
		   "debug") },
	{ STRING("HUSK_THREAD_ID", thread_id), .usual = "one per user",
	  DESCRIBE(SERVER, "Conversation that sessions belong to. The default is kept in the state folder.",
		   "review-42") },
	{ BOOL("HUSK_ATTACH", attach, "on"),
	  DESCRIBE(SERVER,
		   "Whether other programs of the same user may use the sessions of a running server, over a socket in "
		   "the state folder.",
		   "off") },
	{ STRING("HUSK_ADVERTISE", advertise), .usual = "none",
	  DESCRIBE(
		  SERVER,
		  "ADDRESS:PORT under which other servers with the same store reach this `husk serve`. They pass requests "
		  "for its sessions on to it, encrypted and with proof of the store's key on both sides (docs/scale.md). "
		  "The host of the address is a number, not a name.",
		  "10.0.3.7:8765") },
	{ NUMBER("SERVE_MAX_CONNECTIONS", serve_max_connections, "256", 1, 65536),
	  DESCRIBE(
		  SERVER,
		  "Maximum number of connections to `husk serve`, of which one tenant uses at most half. A further connection "
		  "takes the place of an idle one, or is answered with 503.",
		  "2000") },
	{ NUMBER("SERVE_MAX_STREAMS_PER_KEY", serve_max_streams_per_key, "32", 1, 65536),
	  DESCRIBE(SERVER, "Maximum number of streams of events that one key may read at the same time.", "1000") },
	{ CHOICE("HUSK_TRANSPORT", transport, "auto", transports),
	  DESCRIBE(SERVER,
		   "How sessions are reached: `socket` is mounted into the container, `exec` runs a docker client per "
		   "session, and `auto` uses the socket if it works.",
		   "exec") },

	/* --- store ----------------------------------------------------------------------------------------------- */
	{ SECRET("DATABASE_URL", database_url), .usual = "an SQLite file in the state folder",
	  DESCRIBE(STORE,
		   "Postgres server to use as the store. Servers with the same database share sessions and limits. "
		   "Tables are in the schema `husk`.",
		   "postgresql://husk:secret@db.example.com:5432/husk") },
	{ STRING("POSTGRES_HOST", postgres_host), .usual = "localhost",
	  DESCRIBE(STORE, "Postgres server, if DATABASE_URL is not set.", "db.example.com") },
	{ NUMBER("POSTGRES_PORT", postgres_port, "5432", 1, 65535),
	  DESCRIBE(STORE, "Port of the Postgres server.", "6432") },
	{ STRING("POSTGRES_USER", postgres_user), .usual = "none", DESCRIBE(STORE, "User of the database.", "husk") },
	{ SECRET("POSTGRES_PASSWORD", postgres_password), .usual = "none",
	  DESCRIBE(STORE, "Password of that user.", "secret") },
	{ STRING("POSTGRES_DB", postgres_db), .usual = "none", DESCRIBE(STORE, "Name of the database.", "husk") },
	{ SECRET("ENCRYPTION_KEY", encryption_key), .usual = "generated, and kept in the state folder",
	  DESCRIBE(STORE,
		   "Key of the hashes that protect the log (`husk history --verify`) and of settings in the store: at "
		   "least 16 characters. Servers that share a store need the same key.",
		   "$(openssl rand -base64 32)") },
	{ SECRET("API_BASE_URL", api_base_url), .usual = "none",
	  DESCRIBE(STORE,
		   "Address of `husk serve` in links to exports, such as that of a proxy in front of it. By default it "
		   "is the address that the request used.",
		   "https://api.example.com") },

	/* --- records --------------------------------------------------------------------------------------------- */
	{ SIZE("RECORD_MAX_SIZE_PER_SESSION", record_max_size_per_session, "8m", MIB, TIB),
	  DESCRIBE(HISTORY,
		   "Memory of the server for the output of a session's runs and its journal. Above it the oldest "
		   "output is dropped; number, times and ending of the runs stay.",
		   "32m") },
	{ SIZE("RECORD_MAX_SIZE", record_max_size, "64m", MIB, TIB),
	  DESCRIBE(HISTORY, "The same for all sessions of a server together.", "256m") },

	/* --- history --------------------------------------------------------------------------------------------- */
	{ BOOL("HISTORY_KEEPS_CODE", history_keeps_code, "false"),
	  DESCRIBE(HISTORY,
		   "Keep the code of runs and their output, up to 1 MiB each, encrypted in the "
		   "store. `husk history --ipynb` needs it.",
		   "true") },
	{ NUMBER("HISTORY_MAX_AGE_DAYS", history_max_age_days, "0", 0, 36500),
	  DESCRIBE(HISTORY,
		   "Days after the end of a session when its log is removed. Only a keyed record of how much was "
		   "removed stays. 0 means never.",
		   "90") },
};
const size_t config_n_settings = ARRAY_LEN(config_settings);

const char *const setting_group_titles[N_SETTING_GROUPS] = {
	[SETTINGS_LIMITS] = "Limits of a session",
	[SETTINGS_LIFETIME] = "Number and lifetime of sessions",
	[SETTINGS_NETWORK] = "Network",
	[SETTINGS_CONTAINERS] = "Images and containers",
	[SETTINGS_PACKAGES] = "Packages",
	[SETTINGS_FILES] = "Files and exports",
	[SETTINGS_ANSWERS] = "Answers",
	[SETTINGS_SERVER] = "Server",
	[SETTINGS_STORE] = "Store",
	[SETTINGS_HISTORY] = "History",
};

const struct setting *config_setting(const char *name)
{
	for (size_t i = 0; i < config_n_settings; i++)
		if (streq(config_settings[i].name, name))
			return &config_settings[i];
	return NULL;
}

/* --- documentation ----------------------------------------------------------------------------------------------- */

typedef void describe_fn(void *ctx, const struct setting_text *text);

static void describe_image(const struct runtime *runtime, describe_fn *fn, void *ctx)
{
	char name[RUNTIME_SETTING_MAX];
	runtime_image_setting(runtime, name);
	fn(ctx, &(struct setting_text){ .name = name,
					.group = SETTINGS_CONTAINERS,
					.usual = "this build's",
					.meaning = "Another image for sessions of this runtime.",
					.example = "my-image:1" });
}

static void describe_sources(const struct runtime *runtime, describe_fn *fn, void *ctx)
{
	const char *const *name = runtime->installer ? runtime->installer->settings : NULL;
	for (; name && *name; name++)
		fn(ctx,
		   &(struct setting_text){
			   .name = *name,
			   .group = SETTINGS_PACKAGES,
			   .usual = "the installer's own",
			   .meaning =
				   "Where packages come from. Husk passes the value to the runtime's installer, which defines its "
				   "format. A login in a URL never enters a container.",
			   .example = strstr(*name, "HOST") ? "packages.example.com" : "https://packages.example.com/",
		   });
}

static void describe_runtimes(enum setting_group group, describe_fn *fn, void *ctx)
{
	size_t n;
	const struct runtime *list = runtime_list(&n);
	for (size_t i = 0; i < n; i++) {
		if (group == SETTINGS_CONTAINERS)
			describe_image(&list[i], fn, ctx);
		else if (group == SETTINGS_PACKAGES)
			describe_sources(&list[i], fn, ctx);
	}
}

void config_each_described(describe_fn *fn, void *ctx)
{
	for (enum setting_group group = 0; group < N_SETTING_GROUPS; group++) {
		for (size_t i = 0; i < config_n_settings; i++) {
			const struct setting *s = &config_settings[i];
			if (s->group == group)
				fn(ctx, &(struct setting_text){ s->name, group, s->fallback, s->usual, s->meaning,
								s->example });
		}
		describe_runtimes(group, fn, ctx);
	}
}
