/* The inner state of a session, as its PID 1 reports it: bounded, clean UTF-8. */
#ifndef HUSK_MANAGER_MODEL_SESSION_STATUS_H
#define HUSK_MANAGER_MODEL_SESSION_STATUS_H

#include "base/defs.h"

#define STATUS_DISKS_MAX 4

struct variable {
	char *name, *type;
	char *shape;	/* "" = none */
	uint64_t bytes; /* 0 = not known */
};

struct session_status {
	bool answered;		       /* false: nothing below is known */
	bool busy;		       /* a cell runs */
	uint64_t memory, memory_limit; /* 0 = not known */
	uint64_t cpu_us;	       /* processor time since the container started; 0 = not known */
	uint64_t ptys;		       /* pseudo-terminals in use; the whole machine shares a limited number */
	bool no_landlock;	       /* the session's Linux kernel does not support Landlock */
	struct disk {
		char *path;
		uint64_t used, size;
	} disks[STATUS_DISKS_MAX];
	size_t n_disks;
	bool has_variables;	    /* the interpreter has listed its variables */
	bool fresh;		    /* no cell has run since they were listed */
	struct variable *variables; /* the largest first */
	size_t n_variables;
	uint64_t more; /* how many variables are not listed */
};

void session_status_release(struct session_status *s);

#endif
