/* All settings, in one const struct. Each value comes from the first source that has it: the environment, one file
 * (--env-file or $XDG_CONFIG_HOME/husk/.env), the settings kept by husk config, or the defaults. The working
 * directory is never read, because a cloned repository's .env must not configure a session. Names and defaults are
 * compatible with the reference implementation. */
#ifndef HUSK_MANAGER_MODEL_CONFIG_H
#define HUSK_MANAGER_MODEL_CONFIG_H

#include "base/fail.h"
#include "base/strv.h"
#include "manager/model/rules.h"
#include "manager/model/warm-pool.h"

/* How PID 1 is reached: TRANSPORT_AUTO uses a socket where that works, otherwise the engine's exec. */
enum transport_choice { TRANSPORT_AUTO, TRANSPORT_EXEC, TRANSPORT_SOCKET };

enum prompt_answerer { PROMPTS_MODEL, PROMPTS_USER };

/* How an answer with pictures is sent: one text followed by the pictures, or each picture in its place. */
enum content_order { CONTENT_TEXT_FIRST, CONTENT_INTERLEAVED };

/* Whether a session must pass the probe before it is used. */
enum probe_choice { PROBE_OFF, PROBE_REQUIRE };

/* If the firewall rules cannot be set, FENCE_AUTO grants the network with a warning, and FENCE_REQUIRE refuses
 * it. */
enum fence_choice { FENCE_AUTO, FENCE_REQUIRE };

/* Copies of interpreters: also made without a request, only on request, or never. */
enum checkpoints_choice { KEEP_CHECKPOINTS_AUTO, KEEP_CHECKPOINTS_REQUEST, KEEP_CHECKPOINTS_OFF };

struct config {
	/* CONTAINER_* */
	uint64_t memory_limit; /* bytes */
	uint64_t cpu_quota;    /* microseconds of each 100000 */
	uint64_t pids_limit;
	uint64_t tmpfs_size;			 /* bytes, each of /workspace and /tmp */
	uint64_t home_size;			 /* bytes of the home directory, which is on disk */
	uint64_t memory_max, cpus_max, disk_max; /* most that a call may request, in the same units; 0 = not set */
	uint64_t checkpoints;			 /* enum checkpoints_choice */
	uint64_t disk_floor;			 /* bytes that sessions and installs leave free on the engine's disk */
	uint64_t execution_timeout;		 /* seconds: default of `timeout` */
	uint64_t max_sessions;
	uint64_t max_sessions_per_thread;
	uint64_t orphan_min_age;
	bool network_enabled;
	uint64_t network_fence;	      /* CONTAINER_NETWORK_FENCE: an enum fence_choice */
	char *network_private;	      /* CONTAINER_NETWORK_PRIVATE, unparsed */
	struct strv private_networks; /* the same, parsed: ADDRESS/PREFIX */
	char *network_allow;	      /* CONTAINER_NETWORK_ALLOW, unparsed; NULL = not set */
	struct rules network_rules;   /* the same, parsed */
	bool proxy_enabled; /* CONTAINER_PROXY_ENABLED: keep the proxy variables that the docker CLI injects */
	char *images;	    /* CONTAINER_IMAGES, unparsed */
	struct strv image_names, image_references; /* the same, parsed */
	char *runtime;	    /* CONTAINER_RUNTIME: the engine's runtime for containers; NULL = its default */
	char *ca_bundle;    /* CONTAINER_CA_BUNDLE, by default the host's; NULL = none */
	char *certificates; /* its content, if it was set and the engine cannot mount it; NULL = none */

	/* DEPENDENCY_* */
	uint64_t dependency_timeout;		    /* seconds for one install */
	uint64_t exports_max_size;		    /* bytes of all exports */
	uint64_t exports_max_size_per_conversation; /* bytes */
	uint64_t exports_max_count_per_conversation;
	uint64_t exports_max_age_days;	  /* 0 = kept forever */
	uint64_t dependency_max_size;	  /* bytes of one set of packages */
	uint64_t dependency_cache_size;	  /* bytes of all sets */
	uint64_t dependency_max_age_days; /* maximum age of a set of packages that leaves a version open */
	uint64_t record_max_size_per_session, record_max_size; /* bytes of runs and journals in memory */
	bool history_keeps_code;			       /* keep code and output in the store, encrypted */
	uint64_t history_max_age_days; /* days to keep a session's history after its end; 0 = forever */

	/* SESSION_* in seconds */
	uint64_t lease;
	uint64_t idle_ttl;
	uint64_t max_lifetime;
	uint64_t gc_interval;
	uint64_t probe; /* SESSION_PROBE: an enum probe_choice */
	uint64_t max_active_threads;
	char *warm_pool_text; /* WARM_POOL, unparsed */
	struct warm_pool warm_pool;

	/* MAX_* in characters; 0 = no separate limit */
	uint64_t max_stdout_chars;
	uint64_t max_stderr_chars;
	uint64_t max_result_chars;
	uint64_t max_traceback_chars;
	uint64_t max_answer_chars; /* for the whole text of an answer; never 0 */

	uint64_t prompts;	 /* PROMPTS_ANSWERED_BY: an enum prompt_answerer */
	bool structured_content; /* MCP_STRUCTURED_CONTENT */
	uint64_t content;	 /* MCP_CONTENT: an enum content_order */
	uint64_t task_after; /* MCP_TASK_AFTER_SECONDS: when a call becomes a task, for clients that support tasks */

	char *storage_dir;
	char *state_dir;
	char *settings_file; /* the file may not exist */
	struct strv
		import_allowed_dirs; /* folders that a model may import from; absolute, and existing when they were set */
	char *api_base_url;
	char *encryption_key;
	char *database_url; /* DATABASE_URL; NULL and no postgres_host = the embedded store */
	char *postgres_user, *postgres_password, *postgres_db, *postgres_host;
	uint64_t postgres_port;
	char *thread_id;    /* HUSK_THREAD_ID; NULL = the conversation that is kept in the state folder */
	uint64_t transport; /* HUSK_TRANSPORT: an enum transport_choice */
	uint64_t log;	    /* HUSK_LOG: an enum log_level */
	uint64_t serve_max_connections, serve_max_streams_per_key; /* of `husk serve` */
	bool attach;   /* HUSK_ATTACH: programs of this user may attach to sessions */
	char *docker;  /* HUSK_DOCKER: the client to run, default "docker" */
	char *engine;  /* CONTAINER_ENGINE: the name of an engine (manager/engine/open.h) */
	char *kubectl; /* HUSK_KUBECTL: the client to run, default "kubectl" */
	char *kubernetes_context, *kubernetes_namespace; /* context NULL = kubectl's current one */
	char *advertise;	/* HUSK_ADVERTISE: ADDRESS:PORT of `husk serve` for other servers; NULL = none */
	char *pool;		/* CONTAINER_POOL: the hosts (pool.h); NULL = none */
	struct strv pool_names; /* of its hosts */
	char *registry;		/* CONTAINER_REGISTRY: where images are kept; NULL = the nodes have them */
	const char *meminfo;	/* file that states the machine's memory; NULL = /proc/meminfo. Not a setting */
	const char *helper; /* the husk program, which runs children that outlive us; NULL = this one. Not a setting */

	struct strv values;	  /* NAME=value pairs given by the caller, which take precedence */
	bool without_environment; /* the environment is not read */
	struct strv file;	  /* NAME=value pairs of the settings file */
	struct strv kept;	  /* NAME=value pairs that husk config keeps */
};

/* Sources of settings, in order of precedence. */
struct config_source {
	const char *const *values; /* NAME=value, ends with NULL; NULL = none. An unknown name is rejected */
	bool environment;
	bool file;
	const char *env_file; /* as for config_load() */
	/* Reads the settings kept by husk config into ret; c->state_dir is already set. NULL = none are read. */
	int (*read_kept)(const struct config *c, struct strv *ret, struct fail *f);
};
int config_load_from(struct config *c, const struct config_source *source, struct fail *f);

/* Reads the environment, then the file. env_file NULL = the default path, which may be missing; a named file must
 * exist. -1 with f naming the bad setting. */
int config_load(struct config *c, const char *env_file, struct fail *f);
void config_release(struct config *c);
/* Allows imports from one more folder. -1 with f, which begins with `origin`, if the path is not absolute or not a
 * folder. */
int config_allow_dir(struct config *c, const char *origin, const char *dir, struct fail *f);

/* The value of a setting, from the same sources; NULL if unset. Also for settings without a field, such as
 * HUSK_IMAGE_PYTHON. Valid until release. */
const char *config_lookup(const struct config *c, const char *name);
/* The source of a setting's value: "given", "environment", "file", "kept" or "default". */
const char *config_origin(const struct config *c, const char *name);
/* Adds the names of all settings, including those of the runtimes, in a fixed order. */
void config_names(struct strv *ret);
/* The effective value: the setting, the default, or Husk's choice on this machine. NULL if there is none. Valid
 * until release. */
const char *config_effective(const struct config *c, const char *name);
/* True if the setting may contain a password, so that lists hide it. */
bool config_is_secret(const char *name);
/* True if the setting is a number, a size, a choice, or on and off: it names no program, file or secret. */
bool config_is_plain(const char *name);

/* How settings are documented. The groups are the sections of docs/settings.md. */
enum setting_group {
	SETTINGS_LIMITS,
	SETTINGS_LIFETIME,
	SETTINGS_NETWORK,
	SETTINGS_CONTAINERS,
	SETTINGS_PACKAGES,
	SETTINGS_FILES,
	SETTINGS_ANSWERS,
	SETTINGS_SERVER,
	SETTINGS_STORE,
	SETTINGS_HISTORY,
	N_SETTING_GROUPS,
};
struct setting_text {
	const char *name;
	enum setting_group group;
	const char *fallback; /* the default as it would be written, or NULL */
	const char *usual;    /* the default in words, if fallback is NULL */
	const char *meaning;
	const char *example; /* a value other than the default */
};
extern const char *const setting_group_titles[N_SETTING_GROUPS];
/* Calls fn for each setting, in the order of the groups. The texts are static, except the names of a runtime's
 * settings, which are valid only during the call. */
void config_each_described(void (*fn)(void *ctx, const struct setting_text *text), void *ctx);

/* The settings file that config_load() reads, whether it exists or not. The caller owns the path. */
char *config_file_path(const char *env_file);
/* True if there is a setting with this name. */
bool config_knows(const char *name);
/* Calls fn for each setting that differs from its default, in a fixed order; value is NULL if it may be a secret. */
void config_each_changed(const struct config *c, void (*fn)(void *ctx, const char *name, const char *value), void *ctx);

struct runtime;
/* The image of a runtime's sessions: HUSK_IMAGE_PYTHON and similar settings override the image of this build. */
const char *runtime_image(const struct runtime *runtime, const struct config *config);

/* The program that runs the engine's commands: the docker client or kubectl. */
const char *config_client(const struct config *c);

#endif
