/* Reads /proc. */
#ifndef HUSK_BASE_PROC_H
#define HUSK_BASE_PROC_H

#include <sys/types.h>

#include "base/defs.h"

struct proc_stat {
	char state; /* R, S, D, Z, … */
	pid_t parent, group, session;
	uint64_t start; /* in clock ticks since boot; no other process has the same pid and start */
};

/* Parses the content of /proc/PID/stat: 0, or -EINVAL with *ret unchanged. */
int proc_parse_stat(const char *text, struct proc_stat *ret);
/* 0 or -errno. */
int proc_stat(pid_t pid, struct proc_stat *ret);
/* Calls on() for every process, in no particular order. Returns the sum of its results. */
unsigned proc_each(unsigned (*on)(pid_t pid, void *ctx), void *ctx);

struct proc_memory {
	uint64_t total, available; /* bytes */
};
/* Parses the content of /proc/meminfo: 0, or -EINVAL with *ret unchanged. */
int proc_parse_memory(const char *text, struct proc_memory *ret);
/* path NULL = /proc/meminfo. 0 or -errno. */
int proc_memory(const char *path, struct proc_memory *ret);

/* The random boot id that the Linux kernel chose when it started. Two processes that read the same id share a kernel.
 * Returns false, with "" in ret, if the kernel does not report one. */
#define PROC_BOOT_ID_SIZE 64
bool proc_boot_id(char ret[PROC_BOOT_ID_SIZE]);

#endif
