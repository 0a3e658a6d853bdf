/* The limits of one session, and how much a call may request. Settings are ceilings: CONTAINER_MEMORY_MAX,
 * CONTAINER_CPUS_MAX and CONTAINER_DISK_MAX. Without them the ceiling is four times a session's defaults, at most
 * half of the engine's machine. Nothing here contacts the engine. */
#ifndef HUSK_MANAGER_MODEL_LIMITS_H
#define HUSK_MANAGER_MODEL_LIMITS_H

#include "manager/model/config.h"

#define CPU_PERIOD 100000

struct limits {
	uint64_t memory;    /* bytes, including files in /workspace and /tmp */
	uint64_t cpu_quota; /* microseconds of each CPU_PERIOD */
	uint64_t pids;
	uint64_t tmpfs; /* bytes, each of /workspace and /tmp; grows in proportion to memory */
	uint64_t home;	/* bytes of the home directory, which is on disk */
};

/* The limits that a call requests; 0 = the default. */
struct limits_wanted {
	uint64_t memory, disk; /* bytes */
	double cpus;
};

/* The engine's machine; 0 = unknown. */
struct limits_machine {
	uint64_t memory;
	uint64_t cpus;
};

struct limits limits_default(const struct config *c);
/* -1 with f if it is too little for a session, or more than the settings allow on any machine. */
int limits_choose(struct limits *ret, const struct config *c, const struct limits_wanted *wanted, struct fail *f);
/* Whether the answer depends on the machine: more than the default is requested, and no setting limits it. */
bool limits_need_machine(const struct config *c, const struct limits_wanted *wanted);
int limits_check_machine(const struct config *c, const struct limits_wanted *wanted, const struct limits_machine *m,
			 struct fail *f);
/* In CPUs. */
static inline double limits_cpus(const struct limits *l)
{
	return (double)l->cpu_quota / CPU_PERIOD;
}
/* "4g", "512m": the form of settings and arguments. The caller owns it. */
char *limits_size_text(uint64_t bytes);

#endif
