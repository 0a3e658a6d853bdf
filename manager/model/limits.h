/* The limits of one session, and how much a call may request. The settings CONTAINER_MEMORY_MAX, CONTAINER_CPUS_MAX
 * and CONTAINER_DISK_MAX are the ceilings. If one is not set, the ceiling is four times a session's default, but at
 * most half of what the engine's machine has. Nothing here contacts the engine. */
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
/* -1 with f if a requested limit is too low for a session, or higher than the settings allow on any machine. */
int limits_choose(struct limits *ret, const struct config *c, const struct limits_wanted *wanted, struct fail *f);
/* True if limits_check_machine() must follow, because more than the default is requested and no setting limits
 * it. */
bool limits_need_machine(const struct config *c, const struct limits_wanted *wanted);
int limits_check_machine(const struct config *c, const struct limits_wanted *wanted, const struct limits_machine *m,
			 struct fail *f);
/* The CPU quota as a number of CPUs. */
static inline double limits_cpus(const struct limits *l)
{
	return (double)l->cpu_quota / CPU_PERIOD;
}
/* "4g", "512m": the form of settings and arguments. The caller owns the text. */
char *limits_size_text(uint64_t bytes);

/* The limits in a session's row in the store, and what else is fixed when it is created. The caller owns the text. */
struct limits_row {
	bool network;	     /* the container has one */
	const char *rules;   /* what its gate lets through (rules_to_text()); NULL = it has no gate */
	const char *secrets; /* names, separated by spaces; NULL = none */
};
char *limits_to_json(const struct limits *limits, const struct limits_row *row);
/* Limits that are missing in the text, since an older Husk did not write them, are taken from the settings. text may
 * be NULL. */
struct limits limits_from_json(const char *text, const struct config *config);
/* Whether the session has a network; true if the text does not say. */
bool limits_json_has_network(const char *text);
/* Its `rules` or `secrets`; NULL = none. The caller owns the text. */
char *limits_json_text(const char *text, const char *name);

#endif
