/* Queries to an engine and their answers. No query changes anything, except one that sets the fence. */
#ifndef HUSK_MANAGER_ENGINE_ANSWER_H
#define HUSK_MANAGER_ENGINE_ANSWER_H

#include "base/strv.h"

/* Yes, no, or not reported. */
enum support { SUPPORT_UNKNOWN, SUPPORT_NO, SUPPORT_YES };

enum engine_query_kind {
	ENGINE_QUERY_CLIENT,	 /* the client's version; does not contact the engine */
	ENGINE_QUERY_PLACE,	 /* where the client looks for the engine; does not contact the engine */
	ENGINE_QUERY_VERSION,	 /* the engine's version */
	ENGINE_QUERY_INFO,	 /* the engine's properties and features */
	ENGINE_QUERY_IMAGE,	 /* subject: an image; FAIL_IMAGE if it does not exist */
	ENGINE_QUERY_IMAGES,	 /* all images whose name starts with husk- */
	ENGINE_QUERY_NETWORK,	 /* the network of sessions */
	ENGINE_QUERY_CONTAINERS, /* subject: the id of a store; lists its containers, whichever server started them */
	ENGINE_QUERY_CONTAINER,	 /* subject: a container */
	ENGINE_QUERY_STATS,	 /* resource use of running containers; takes a second or two */
	ENGINE_QUERY_HOST,	 /* where the next container goes, if there are several hosts; see query_spec.place */
	ENGINE_QUERY_HOSTS,	 /* the hosts and their state */
	ENGINE_QUERY_FENCE, /* sets or checks the rules in query_spec.fence; CAUSE_NOT_SUPPORTED if impossible here */
};

struct engine_client {
	char *name; /* "Docker" */
	char *version;
	uint64_t major, minor;
};

struct engine_place {
	char *context;
	char *host;
	bool is_local;
};

/* A program that the engine uses to run containers. A string is NULL if it was not reported. */
struct engine_component {
	char *version;
	char *build; /* its source: a commit, or a package's full version */
};

struct engine_version {
	char *name; /* "Engine", "Podman Engine" or "" */
	char *version;
	char *api;
	struct engine_component containerd, runc;
};

/* A string is NULL if the engine did not report it. */
struct engine_info {
	char *version;
	char *os;      /* "Debian GNU/Linux 12 (bookworm)" */
	char *os_type; /* "linux" */
	char *arch;
	char *kernel;
	char *storage;
	char *cgroup_version; /* "1", "2" */
	char *cgroup_driver;  /* "systemd", "cgroupfs", "none" */
	char *runtime;	      /* the default runtime */
	struct strv runtimes; /* names */
	char *seccomp;	      /* name of the profile, "" if it has no name; NULL = no seccomp */
	bool apparmor, selinux, rootless, userns;
	enum support memory_limit, swap_limit, pids_limit, cpu_quota;
	uint64_t memory; /* bytes, 0 = unknown */
	uint64_t cpus;
};

struct engine_image {
	char *id;      /* digest of its content; "" if not reported */
	uint64_t size; /* bytes */
	char *arch;
	struct strv labels;  /* NAME=value */
	struct strv volumes; /* folders that are volumes in its containers */
};

struct engine_images {
	struct engine_listed_image {
		char *name;	  /* with its tag */
		uint64_t size;	  /* bytes, as precisely as the engine reports them */
		uint64_t created; /* seconds since 1970 */
	} * v;
	size_t n;
};

struct engine_network {
	bool is_there; /* false until the first session that needs it has created it */
	char *driver;
	bool isolated;	/* inter-container traffic is off */
	bool internal;	/* has no route to other networks */
	bool fenceable; /* its bridge has the name that the fence's rules use */
};

struct engine_containers {
	/* Hosts that did not answer: their containers are not in the list, but may exist. */
	struct strv away;
	struct engine_container {
		char *name;
		char *owner; /* the server that started it; "" = none */
		bool running;
		uint64_t created; /* seconds since 1970 */
		/* Its node, phase and reason, if the engine has several nodes. NULL = not reported. */
		char *node, *phase, *reason;
	} * v;
	size_t n;
};

/* Whether a container runs, or how it ended. */
struct engine_state {
	bool is_there, running;
	int exit_code; /* if it exists and is not running */
	bool oom;
	int64_t pid;		  /* its first process, as numbered on the engine's machine; 0 = unknown */
	char id[65];		  /* as in engine_created; "" if not reported */
	char store[65], mark[65]; /* its labels (engine.h); "" = none */
};

/* The memory of each running container, also of those that Husk did not start. */
struct engine_stats {
	struct engine_usage {
		char *name;
		uint64_t memory; /* bytes, with the engine's precision */
	} * v;
	size_t n;
};

/* The hosts of a pool. */
struct engine_hosts {
	struct engine_host {
		char *name;
		char *failure;	       /* why it does not answer; NULL = it answers */
		uint64_t memory, used; /* bytes of its machine, and of its containers */
		size_t containers;
	} * v;
	size_t n;
};

/* State of the firewall rules. */
enum engine_fence {
	FENCE_STOOD,
	FENCE_WAS_SET,	/* the rules were missing or different, and are set now */
	FENCE_NOT_SET,	/* only checked: there are no rules */
	FENCE_NOT_OURS, /* only checked: the rules were changed by others */
};

struct engine_answer {
	enum engine_query_kind kind;
	union {
		struct engine_client client;
		struct engine_place place;
		struct engine_version version;
		struct engine_info info;
		struct engine_image image;
		struct engine_images images;
		struct engine_network network;
		struct engine_containers containers;
		struct engine_state container;
		struct engine_stats stats;
		enum engine_fence fence;
		const char *host; /* borrowed */
		struct engine_hosts hosts;
	};
	bool our_kernel; /* ENGINE_QUERY_FENCE: the container that answered shares this machine's kernel */
};

/* Frees what the answer owns. */
void engine_answer_release(struct engine_answer *answer);

/* Appends an entry. Strings are copied. */
void engine_containers_add(struct engine_containers *list, const char *name, const char *owner, bool running,
			   uint64_t created);
/* Also true for a container on a host that did not answer. */
bool engine_containers_have(const struct engine_containers *list, const char *name);
void engine_images_add(struct engine_images *list, const char *name, uint64_t size, uint64_t created);
void engine_stats_add(struct engine_stats *stats, const char *name, uint64_t memory);

/* True if this is the name of gVisor as an OCI runtime. Its containers have their own kernel, which is an ordinary
 * program on the machine's kernel. Engines do not report what a runtime is, so only the name counts. NULL (the
 * engine's default) is not gVisor. */
bool engine_is_gvisor(const char *runtime);

/* True if both name the same architecture. Engines and kernels use different names: amd64 and x86_64, arm64 and
 * aarch64. */
bool engine_same_arch(const char *a, const char *b);

#endif
