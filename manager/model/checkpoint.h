/* Checkpoints of an interpreter: copies that a session keeps, and what a restored session lacks. */
#ifndef HUSK_MANAGER_MODEL_CHECKPOINT_H
#define HUSK_MANAGER_MODEL_CHECKPOINT_H

#include "base/strv.h"

/* Limits of what PID 1 says. */
#define CHECKPOINTS_LISTED_MAX 16
#define CHECKPOINT_TEXTS_MAX 20
#define CHECKPOINT_RUNS_MAX 100

enum checkpoint_action { CHECKPOINT_SAVE, CHECKPOINT_UNDO, CHECKPOINT_DROP, CHECKPOINT_ACTIONS };

struct checkpoint_info {
	char *name;   /* NULL = automatic */
	uint64_t run; /* variables are as they were after this run; 0 = before the first */
	uint64_t age_ms;
	uint64_t bytes;	  /* of memory that only this copy holds */
	struct strv lost; /* what it lacks */
};

/* A checkpoint has taken the place of an interpreter. */
struct restored {
	uint64_t run;
	char *name;			       /* NULL = it was automatic */
	uint64_t missing[CHECKPOINT_RUNS_MAX]; /* runs whose effects are gone */
	size_t n_missing;
	struct strv lost;
	struct strv files; /* in /workspace, that have changed since; they are not restored */
	bool more_files;
};

struct checkpoint_answer {
	struct checkpoint_info *saved;	     /* CHECKPOINT_SAVE */
	struct restored *restored;	     /* CHECKPOINT_UNDO */
	char *note;			     /* CHECKPOINT_UNDO: the same in words */
	struct checkpoint_info *checkpoints; /* those that there are now, the oldest first */
	size_t n_checkpoints;
};

void checkpoint_info_release(struct checkpoint_info *c);
struct restored *restored_free(struct restored *r);
/* NULL for NULL. */
struct restored *restored_copy(const struct restored *r);
void checkpoint_answer_release(struct checkpoint_answer *a);
/* "save", "undo", "drop"; CHECKPOINT_ACTIONS for any other name. */
const char *checkpoint_action_name(enum checkpoint_action action);
enum checkpoint_action checkpoint_action_find(const char *name);

#endif
