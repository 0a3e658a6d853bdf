/* The inner state of a session, as its PID 1 reports it: bounded, clean UTF-8. */
#ifndef HUSK_MANAGER_MODEL_SESSION_STATUS_H
#define HUSK_MANAGER_MODEL_SESSION_STATUS_H

#include "base/defs.h"

#define STATUS_DISKS_MAX 4

struct variable {
	char *name, *type;
	char *shape;	/* "" = says nothing */
	uint64_t bytes; /* 0 = not known */
};

struct session_status {
	bool answered;		       /* else nothing below is known */
	bool busy;		       /* a cell runs */
	uint64_t memory, memory_limit; /* 0 = not known */
	uint64_t ptys;		       /* of those that the whole machine shares */
	bool no_landlock;	       /* its kernel has none */
	struct disk {
		char *path;
		uint64_t used, size;
	} disks[STATUS_DISKS_MAX];
	size_t n_disks;
	bool has_variables;	    /* the interpreter has told them */
	bool fresh;		    /* and no cell has run since */
	struct variable *variables; /* the largest first */
	size_t n_variables;
	uint64_t more; /* how many are not listed */
};

void session_status_release(struct session_status *s);

#endif
