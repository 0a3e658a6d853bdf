/* A session as callers see it, and its inner state as its PID 1 reports it: bounded, clean UTF-8. */
#ifndef HUSK_MANAGER_MODEL_SESSION_STATUS_H
#define HUSK_MANAGER_MODEL_SESSION_STATUS_H

#include "manager/model/checkpoint.h"
#include "manager/model/limits.h"

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
	uint64_t more;			     /* how many variables are not listed */
	struct checkpoint_info *checkpoints; /* the oldest first */
	size_t n_checkpoints;
	struct checkpoint_info *branches;
	size_t n_branches;
	char *no_checkpoints; /* why there are none, or no new ones; NULL = there may be */
};

void session_status_release(struct session_status *s);

/* Length of a full id; names are shorter. */
#define SESSION_ID_CHARS 26
struct session_info {
	const char *id;
	const char *name;   /* given by the conversation; NULL = none */
	const char *labels; /* JSON object of texts; NULL = none */
	const char *runtime;
	const char *status; /* starting, adopting, running, dead */
	uint64_t age_seconds;
	uint64_t idle_seconds;
	const char *dependencies; /* JSON, name -> version as installed; NULL if there are none */
	const char *rules;	  /* what its gate lets through, separated by spaces; NULL = it has none */
	const char *transport;	  /* how its PID 1 is reached: "socket", "exec"; NULL = unknown */
	struct limits limits;
};

#endif
