/* What the container's cgroup tells: OOM kills, memory, processes. v1 and v2; every value may be missing. */
#ifndef HUSK_KERNELS_SYSTEM_LIMITS_H
#define HUSK_KERNELS_SYSTEM_LIMITS_H

#include "base/defs.h"

#define CGROUP_ROOT "/sys/fs/cgroup"
#define LIMIT_UNKNOWN UINT64_MAX

struct limits {
	int oom_fd;  /* read anew at each call, so kept open */
	int peak_fd; /* -1 where the kernel does not tell */
	int stat_fd;
	int pids_fd;
	uint64_t memory_limit; /* LIMIT_UNKNOWN also for "no limit" */
	uint64_t pids_limit;
};

/* Finds out the version below root (CGROUP_ROOT but for tests). Never fails: what is missing stays unknown. */
void limits_open(struct limits *l, const char *root);
void limits_close(struct limits *l);

/* Each LIMIT_UNKNOWN where it cannot be read. */
uint64_t limits_oom_kills(const struct limits *l);
/* High-water mark since the container's start. */
uint64_t limits_memory_peak(const struct limits *l);
/* Memory that is files in tmpfs. Costs more to read than the others. */
uint64_t limits_memory_files(const struct limits *l);
/* What processes and files in tmpfs take; caches that can be dropped do not count. */
uint64_t limits_memory_now(const struct limits *l);
uint64_t limits_pids(const struct limits *l);
/* True if more than n further processes can be started, or if that is not known. */
bool limits_pids_left(const struct limits *l, uint64_t n);
/* True if the processes are (nearly) as many as the limit allows. */
bool limits_pids_full(const struct limits *l);

#endif
