/* All settings in one const struct: the environment first, then one file (--env-file or $XDG_CONFIG_HOME/husk/.env), then what
 * husk config keeps, then the defaults. Never from the working directory: a cloned repository's .env must not configure a sandbox.
 * Names and defaults are those of the reference, so that people can move over. */
#ifndef HUSK_MANAGER_MODEL_CONFIG_H
#define HUSK_MANAGER_MODEL_CONFIG_H

#include "base/fail.h"
#include "base/strv.h"
#include "manager/model/warm-pool.h"

/* How PID 1 is reached: over a socket where that works, else by the engine's exec; or one of them alone. */
enum transport_choice { TRANSPORT_AUTO, TRANSPORT_EXEC, TRANSPORT_SOCKET };

/* How an answer with pictures is sent: one text and then the pictures, or each picture where it stood. */
enum prompt_answerer { PROMPTS_MODEL, PROMPTS_USER };
enum content_order { CONTENT_TEXT_FIRST, CONTENT_INTERLEAVED };

/* Whether a session has to prove that it holds before it is handed out. */
enum probe_choice { PROBE_OFF, PROBE_REQUIRE };

/* What becomes of the network where the firewall rules around sessions can't be set: it is there, and that is said; or it is refused. */
enum fence_choice { FENCE_AUTO, FENCE_REQUIRE };

struct config {
	/* CONTAINER_* */
	uint64_t memory_limit; /* bytes */
	uint64_t cpu_quota;    /* microseconds of each 100000 */
	uint64_t pids_limit;
	uint64_t tmpfs_size;			 /* bytes, each of /workspace and /tmp */
	uint64_t home_size;			 /* bytes of the home directory, which is on disk */
	uint64_t memory_max, cpus_max, disk_max; /* what a call may ask for, in the same units; 0 = not set */
	uint64_t disk_floor;			 /* bytes that sessions and installs leave free on the engine's disk */
	uint64_t execution_timeout;		 /* seconds: default of `timeout` */
	uint64_t max_sessions;
	uint64_t max_sessions_per_thread;
	uint64_t orphan_min_age;
	bool network_enabled;
	uint64_t network_fence;	      /* CONTAINER_NETWORK_FENCE: an enum fence_choice */
	char *network_private;	      /* CONTAINER_NETWORK_PRIVATE, as it was set */
	struct strv private_networks; /* the same: ADDRESS/PREFIX */
	bool proxy_enabled; /* CONTAINER_PROXY_ENABLED: leave the proxy variables that the docker CLI injects */
	char *images;	    /* CONTAINER_IMAGES, as it was set */
	struct strv image_names, image_references; /* the same, side by side */
	char *runtime;	 /* CONTAINER_RUNTIME: what the engine runs containers with; NULL = its default */
	char *ca_bundle; /* CONTAINER_CA_BUNDLE; NULL = none; default the host's */

	/* DEPENDENCY_* */
	uint64_t dependency_timeout;		    /* seconds: of one install */
	uint64_t exports_max_size;		    /* bytes: of all that is kept */
	uint64_t exports_max_size_per_conversation; /* bytes */
	uint64_t exports_max_count_per_conversation;
	uint64_t dependency_max_size;	  /* bytes: of one set */
	uint64_t dependency_cache_size;	  /* bytes: of all sets */
	uint64_t dependency_max_age_days; /* of a set with an open version */
	bool history_keeps_code;	  /* and what it printed: sealed, in the store */
	uint64_t history_max_age_days;	  /* of what was executed in a session, since its end; 0 = kept */

	/* SESSION_* in seconds */
	uint64_t lease;
	uint64_t idle_ttl;
	uint64_t max_lifetime;
	uint64_t gc_interval;
	uint64_t probe; /* SESSION_PROBE: an enum probe_choice */
	uint64_t max_active_threads;
	char *warm_pool_text; /* WARM_POOL, as it was set */
	struct warm_pool warm_pool;

	/* MAX_* in characters; 0 = no limit of its own */
	uint64_t max_stdout_chars;
	uint64_t max_stderr_chars;
	uint64_t max_result_chars;
	uint64_t max_traceback_chars;
	uint64_t max_answer_chars; /* of the whole text of an answer; never 0 */

	int prompts;		 /* PROMPTS_ANSWERED_BY: enum prompt_answerer */
	bool structured_content; /* MCP_STRUCTURED_CONTENT */
	uint64_t content;	 /* MCP_CONTENT: an enum content_order */
	uint64_t task_after;	 /* MCP_TASK_AFTER_SECONDS: when a call becomes a task, for clients that know tasks */

	char *storage_dir;
	char *state_dir;
	char *settings_file;		 /* there or not */
	struct strv import_allowed_dirs; /* what a model may import from; absolute, and there when they were set */
	char *api_base_url;
	char *encryption_key;
	char *database_url; /* DATABASE_URL; NULL and no postgres_host = the embedded store */
	char *postgres_user, *postgres_password, *postgres_db, *postgres_host;
	uint64_t postgres_port;
	char *thread_id;     /* HUSK_THREAD_ID; NULL = the persistent one */
	uint64_t transport;  /* HUSK_TRANSPORT: an enum transport_choice */
	uint64_t log;	     /* HUSK_LOG: an enum log_level */
	bool attach;	     /* HUSK_ATTACH: programs of this user may attach to sessions */
	char *docker;	     /* HUSK_DOCKER: the client to run, default "docker" */
	const char *engine;  /* the name of a kind of engine; NULL = docker. No setting yet */
	const char *meminfo; /* what says how much memory there is; NULL = the kernel's. No setting */
	const char
		*helper; /* the husk program, for what outlives this process; NULL = this process is one. No setting */

	struct strv values;	  /* NAME=value pairs that were given; they win over all others */
	bool without_environment; /* which is not asked */
	struct strv file;	  /* NAME=value pairs of the settings file */
	struct strv kept;	  /* and of those that husk config keeps */
};

/* Where settings come from, the first that has one. */
struct config_source {
	const char *const *values; /* NAME=value, ends with NULL; NULL = none. A name that means nothing is refused */
	bool environment;
	bool file;
	const char *env_file; /* as below */
	/* Reads what is kept, into ret; state_dir is there already. NULL = nothing is asked for. */
	int (*read_kept)(const struct config *c, struct strv *ret, struct fail *f);
};
int config_load_from(struct config *c, const struct config_source *source, struct fail *f);

/* The environment, then the file. env_file NULL = the default place, which may be missing; a named one must exist. -1 with f
 * naming the bad setting. */
int config_load(struct config *c, const char *env_file, struct fail *f);
void config_release(struct config *c);
/* Allows one more folder. -1 with f, which begins with `origin`, if the path is not absolute or not that of a folder. */
int config_allow_dir(struct config *c, const char *origin, const char *dir, struct fail *f);

/* The value of a setting by the same rules (HUSK_IMAGE_PYTHON and the like); NULL if unset. Valid until release. */
const char *config_lookup(const struct config *c, const char *name);
/* Where that value comes from: "given", "environment", "file", "kept" or "default". */
const char *config_origin(const struct config *c, const char *name);
/* Adds the names of all settings, those of the runtimes included, in a fixed order. */
void config_names(struct strv *ret);
/* The value that counts: what is set, the default, or what Husk has chosen here. NULL if there is none. Valid until release. */
const char *config_effective(const struct config *c, const char *name);
/* It may hold a password: it is not shown to whoever did not ask for it. */
bool config_is_secret(const char *name);

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
	const char *example; /* a value, not the default */
};
extern const char *const setting_group_titles[N_SETTING_GROUPS];
/* Calls fn for each setting, in the order of the groups; the texts are static but for the names of a runtime's settings, which are
 * valid during the call. */
void config_each_described(void (*fn)(void *ctx, const struct setting_text *text), void *ctx);

/* The settings file that config_load() reads, there or not. The caller owns it. */
char *config_file_path(const char *env_file);
/* True if this name in a settings file means anything to Husk. */
bool config_knows(const char *name);
/* Calls fn for each setting that is not at its default, in a fixed order; value is NULL where it may be a secret. */
void config_each_changed(const struct config *c, void (*fn)(void *ctx, const char *name, const char *value), void *ctx);

#endif
