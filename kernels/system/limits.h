/* Values from the container's cgroup: OOM kills, memory, processes. Supports v1 and v2; every value may be
 * missing. */
#ifndef HUSK_KERNELS_SYSTEM_LIMITS_H
#define HUSK_KERNELS_SYSTEM_LIMITS_H

#include "base/defs.h"

#define CGROUP_ROOT "/sys/fs/cgroup"
#define LIMIT_UNKNOWN UINT64_MAX

struct limits {
	int oom_fd;  /* read again for each run, so kept open */
	int peak_fd; /* -1 if the kernel does not provide it */
	int stat_fd;
	int pids_fd;
	int cpu_fd;
	bool cpu_is_v1;
	uint64_t memory_limit; /* LIMIT_UNKNOWN also for "no limit" */
	uint64_t pids_limit;
};

/* Detects the version below root (CGROUP_ROOT except in tests). Never fails: missing values stay unknown. */
void limits_open(struct limits *l, const char *root);
void limits_close(struct limits *l);

/* Each of these functions returns LIMIT_UNKNOWN if the value cannot be read. */
uint64_t limits_oom_kills(const struct limits *l);
/* High-water mark since the container's start. */
uint64_t limits_memory_peak(const struct limits *l);
/* Memory of files in tmpfs. Costs more to read than the others. */
uint64_t limits_memory_files(const struct limits *l);
/* Memory of processes and of files in tmpfs; caches that can be dropped do not count. */
uint64_t limits_memory_now(const struct limits *l);
uint64_t limits_pids(const struct limits *l);
/* Processor time since the container's start, in microseconds. */
uint64_t limits_cpu_us(const struct limits *l);
/* True if more than n further processes can be started, or if that is unknown. */
bool limits_pids_left(const struct limits *l, uint64_t n);
/* True if the process limit is (nearly) reached. */
bool limits_pids_full(const struct limits *l);

#endif
