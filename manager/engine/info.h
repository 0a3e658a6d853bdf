/* What the docker CLI is asked about itself and its engine, and pure readers of the answers. They are hostile input: bounded
 * by whoever runs the command, checked here, never trusted to be complete. Strings in the structs are theirs to free. */
#ifndef HUSK_MANAGER_ENGINE_INFO_H
#define HUSK_MANAGER_ENGINE_INFO_H

#include "base/fail.h"
#include "base/strv.h"
#include "manager/engine/engine.h"

/* The command line of a question. subject as engine_question says. */
void info_argv(struct strv *argv, const char *docker, enum engine_question question, const char *subject);
/* Completes "cannot …". */
const char *info_doing(enum engine_question question);
/* The answer makes no sense: fills f and returns -1. */
int info_not_understood(struct fail *f, enum engine_question question);
#define INFO_HINT_CLIENT "check that HUSK_DOCKER, or the first `docker` in PATH, is a docker client that works"

/* Something that an engine can do, cannot do, or does not speak of. */
enum info_answer { INFO_UNKNOWN, INFO_NO, INFO_YES };

/* ASK_INFO. A string is NULL where the engine said nothing. */
struct info {
	char *version;
	char *os;      /* "Debian GNU/Linux 12 (bookworm)" */
	char *os_type; /* "linux" */
	char *arch;
	char *kernel;
	char *storage;
	char *cgroup_version; /* "1", "2" */
	char *cgroup_driver;  /* "systemd", "cgroupfs", "none" */
	char *seccomp;	      /* the profile's name, "" if it has none; NULL = no seccomp */
	bool apparmor, selinux, rootless, userns;
	enum info_answer memory_limit, swap_limit, pids_limit, cpu_quota;
	uint64_t memory; /* bytes, 0 = unknown */
	uint64_t cpus;
};
int info_read(struct info *ret, const char *text, size_t n, struct fail *f);
void info_release(struct info *info);

/* ASK_CLIENT: "Docker version 28.2.2, build e6534b4". */
struct info_client {
	char *name;
	char *version;
	uint64_t major, minor;
};
int info_read_client(struct info_client *ret, const char *text, size_t n, struct fail *f);
void info_client_release(struct info_client *client);

/* ASK_PLACE. */
struct info_place {
	char *context;
	char *host;
	bool is_local;
};
int info_read_place(struct info_place *ret, const char *text, size_t n, struct fail *f);
void info_place_release(struct info_place *place);

/* ASK_ENGINE. */
struct info_engine {
	char *name; /* "Engine", "Podman Engine" or "" */
	char *version;
	char *api;
};
int info_read_engine(struct info_engine *ret, const char *text, size_t n, struct fail *f);
void info_engine_release(struct info_engine *engine);

/* ASK_IMAGE: its size in bytes and its architecture. */
struct info_image {
	uint64_t size;
	char *arch;
};
int info_read_image(struct info_image *ret, const char *text, size_t n, struct fail *f);
void info_image_release(struct info_image *image);

/* ASK_NETWORK. */
struct info_network {
	char *driver;
	bool isolated; /* inter-container traffic is off */
	bool internal; /* leads nowhere */
};
int info_read_network(struct info_network *ret, const char *text, size_t n, struct fail *f);
void info_network_release(struct info_network *network);

/* All in seconds; now since the epoch. */
struct info_ages {
	uint64_t now;
	uint64_t orphan;  /* what does not run and is older is left over */
	uint64_t overdue; /* what runs and is older has outlived its end */
};
/* ASK_CONTAINERS: how many run, the names of all, of those that do not run and are older than an orphan may be, and of all
 * that nobody will remove: these, and what is overdue. */
struct info_containers {
	size_t running;
	struct strv present;
	struct strv ended;
	struct strv leftovers;
};
int info_read_containers(struct info_containers *ret, const char *text, size_t n, const struct info_ages *ages,
			 struct fail *f);
void info_containers_release(struct info_containers *containers);

/* ASK_STATS: the memory of each container that runs, Husk's or not. What makes no sense is left out. */
struct info_stats {
	struct info_usage {
		char *name;
		uint64_t memory; /* bytes, as exactly as the client says it */
	} * v;
	size_t n;
};
void info_read_stats(struct info_stats *ret, const char *text, size_t n);
void info_stats_release(struct info_stats *stats);

/* True if both name the same machine, in docker's words or the kernel's: amd64 and x86_64, arm64 and aarch64. */
bool info_same_arch(const char *a, const char *b);

#endif
