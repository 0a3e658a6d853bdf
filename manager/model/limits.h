/* What one session may use, and how much of it a call may ask for. Settings are ceilings: CONTAINER_MEMORY_MAX, CONTAINER_CPUS_MAX
 * and CONTAINER_DISK_MAX, or four times a session's defaults, at most half of the engine's machine. Nothing here contacts anything. */
#ifndef HUSK_MANAGER_MODEL_LIMITS_H
#define HUSK_MANAGER_MODEL_LIMITS_H

#include "manager/model/config.h"

#define CPU_PERIOD 100000

struct limits {
	uint64_t memory;    /* bytes, files in /workspace and /tmp included */
	uint64_t cpu_quota; /* microseconds of each CPU_PERIOD */
	uint64_t pids;
	uint64_t tmpfs; /* bytes, each of /workspace and /tmp: a larger memory has more room for files, in proportion */
	uint64_t home;	/* bytes of the home directory, which is on disk */
};

/* What a call asks for; 0 = the default. */
struct limits_wanted {
	uint64_t memory, disk; /* bytes */
	double cpus;
};

/* What the engine's machine has; 0 = not known. */
struct limits_machine {
	uint64_t memory;
	uint64_t cpus;
};

struct limits limits_default(const struct config *c);
/* -1 with f if it is too little for a session, or more than the settings allow on any machine. */
int limits_choose(struct limits *ret, const struct config *c, const struct limits_wanted *wanted, struct fail *f);
/* Whether it depends on the machine: more than the default, and no setting says how much more. */
bool limits_need_machine(const struct config *c, const struct limits_wanted *wanted);
int limits_check_machine(const struct config *c, const struct limits_wanted *wanted, const struct limits_machine *m,
			 struct fail *f);
/* In CPUs. */
static inline double limits_cpus(const struct limits *l)
{
	return (double)l->cpu_quota / CPU_PERIOD;
}
/* "4g", "512m": as settings and arguments have it. The caller owns it. */
char *limits_size_text(uint64_t bytes);

#endif
