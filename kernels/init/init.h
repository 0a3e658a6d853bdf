/* PID 1 of a container: owns the kernel, the terminals, the runs and the controller, and reaps every orphan. It
 * exits on a STOP, when its lease is not renewed, or at the end of its lifetime. */
#ifndef HUSK_KERNELS_INIT_INIT_H
#define HUSK_KERNELS_INIT_INIT_H

#include "kernels/cells/checkpoints.h"

/* Exit statuses; a fatal signal n from outside is 128 + n. */
#define INIT_EXIT_OK 0	    /* STOP, or end of lease or lifetime */
#define INIT_EXIT_FAILED 70 /* no kernel could be started */
#define INIT_EXIT_USAGE 100
#define INIT_EXIT_SYSTEM 111

struct init_options {
	uint64_t lease_ms;
	uint64_t first_lease_ms; /* until the first frame of a controller; 0 = lease_ms */
	uint64_t lifetime_ms;	 /* 0 = none */
	uint64_t grace_ms;
	uint64_t start_ms;
	uint64_t home_size;  /* bytes of the home directory if it is on disk; 0 = it is in memory */
	uint64_t disk_floor; /* bytes that must stay free on that disk */
	uint64_t pids;	     /* processes and threads of the container; 0 = only the cgroup limits them */
	uint64_t file_size;  /* bytes of a file; 0 = not limited here */
	enum checkpoints_mode checkpoints;
	uint64_t checkpoints_idle_ms; /* automatic checkpoints of an idle session are dropped after this long */
	bool install;		      /* no kernel and no commands: installs only */
	const char *manifest;
	const char *cgroup;
};

/* Returns the exit status at the end. */
int init_run(const struct init_options *options);

#endif
