/* What an engine can be asked, and its answers. None of it changes anything, but for the fence, which may be asked to stand. */
#ifndef HUSK_MANAGER_ENGINE_ANSWER_H
#define HUSK_MANAGER_ENGINE_ANSWER_H

#include "base/strv.h"

/* Yes, no, or not reported. */
enum support { SUPPORT_UNKNOWN, SUPPORT_NO, SUPPORT_YES };

enum engine_query_kind {
	ENGINE_QUERY_CLIENT,	 /* which client this is; does not contact the engine */
	ENGINE_QUERY_PLACE,	 /* where the client looks for the engine; likewise */
	ENGINE_QUERY_VERSION,	 /* its version */
	ENGINE_QUERY_INFO,	 /* what it is and what it can do */
	ENGINE_QUERY_IMAGE,	 /* subject: an image; FAIL_IMAGE if it is not there */
	ENGINE_QUERY_IMAGES,	 /* all images whose name starts with husk- */
	ENGINE_QUERY_NETWORK,	 /* the network that sessions are put on */
	ENGINE_QUERY_CONTAINERS, /* subject: the id of a store; all of its containers, whichever server started them */
	ENGINE_QUERY_CONTAINER,	 /* subject: a container */
	ENGINE_QUERY_STATS,	 /* what the containers that run use; takes the engine a second or two */
	ENGINE_QUERY_FENCE, /* the firewall rules around sessions; query_spec.fence. CAUSE_NOT_SUPPORTED: they can't be had here */
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

/* What an engine runs containers with; NULL where it does not say. */
struct engine_component {
	char *version;
	char *build; /* what it was built from: a commit, or a package's full version */
};

struct engine_version {
	char *name; /* "Engine", "Podman Engine" or "" */
	char *version;
	char *api;
	struct engine_component containerd, runc;
};

/* A string is NULL where the engine said nothing. */
struct engine_info {
	char *version;
	char *os;      /* "Debian GNU/Linux 12 (bookworm)" */
	char *os_type; /* "linux" */
	char *arch;
	char *kernel;
	char *storage;
	char *cgroup_version; /* "1", "2" */
	char *cgroup_driver;  /* "systemd", "cgroupfs", "none" */
	char *runtime;	      /* the default one */
	struct strv runtimes; /* names */
	char *seccomp;	      /* the profile's name, "" if it has none; NULL = no seccomp */
	bool apparmor, selinux, rootless, userns;
	enum support memory_limit, swap_limit, pids_limit, cpu_quota;
	uint64_t memory; /* bytes, 0 = unknown */
	uint64_t cpus;
};

struct engine_image {
	char *id;      /* of its content; "" if the engine does not say */
	uint64_t size; /* bytes */
	char *arch;
	struct strv labels;  /* NAME=value */
	struct strv volumes; /* folders that a container of it would have on disk */
};

struct engine_images {
	struct engine_listed_image {
		char *name;	  /* with its tag */
		uint64_t size;	  /* bytes, as precisely as the engine reports them */
		uint64_t created; /* seconds since the epoch */
	} * v;
	size_t n;
};

struct engine_network {
	bool is_there; /* it is made for the first session that needs it */
	char *driver;
	bool isolated;	/* inter-container traffic is off */
	bool internal;	/* leads nowhere */
	bool fenceable; /* its bridge is the one that the fence is around */
};

struct engine_containers {
	struct engine_container {
		char *name;
		char *owner; /* the server that started it; "" if it has none */
		bool running;
		uint64_t created; /* seconds since the epoch */
	} * v;
	size_t n;
};

/* Whether a container runs, or how it ended. */
struct engine_state {
	bool is_there, running;
	int exit_code; /* if it is there and does not run */
	bool oom;
	int64_t pid;		  /* of its first process, as numbered on the engine's machine; 0 = unknown */
	char id[65];		  /* as engine_created has it; "" if the engine did not say */
	char store[65], mark[65]; /* its labels (engine.h); "" = it has none */
};

/* The memory of each container that runs, Husk's or not. */
struct engine_stats {
	struct engine_usage {
		char *name;
		uint64_t memory; /* bytes, as precisely as the engine reports them */
	} * v;
	size_t n;
};

/* How the rules were found. */
enum engine_fence {
	FENCE_STOOD,
	FENCE_WAS_SET,	/* it did not stand as wanted, and does now */
	FENCE_NOT_SET,	/* only looked at: there is none */
	FENCE_NOT_OURS, /* likewise: somebody has changed it */
};

struct engine_answer {
	enum engine_query_kind question;
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
	};
};

/* Frees what the answer to its question owns. */
void engine_answer_release(struct engine_answer *answer);

/* A new entry at the end; strings are copied. */
void engine_containers_add(struct engine_containers *list, const char *name, const char *owner, bool running,
			   uint64_t created);
bool engine_containers_have(const struct engine_containers *list, const char *name);
void engine_images_add(struct engine_images *list, const char *name, uint64_t size, uint64_t created);
void engine_stats_add(struct engine_stats *stats, const char *name, uint64_t memory);

/* The engine's runtime of that name (NULL = its default) is gVisor: containers have a kernel of their own, which the machine's sees as
 * one program. By its usual name, since no engine tells. */
bool engine_is_gvisor(const char *runtime);

/* True if both name the same machine, in an engine's words or the kernel's: amd64 and x86_64, arm64 and aarch64. */
bool engine_same_arch(const char *a, const char *b);

#endif
