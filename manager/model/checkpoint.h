/* Checkpoints of an interpreter: copies that a session keeps, and what a restored session lacks. */
#ifndef HUSK_MANAGER_MODEL_CHECKPOINT_H
#define HUSK_MANAGER_MODEL_CHECKPOINT_H

#include "base/strv.h"

/* Limits of what PID 1 says. */
#define CHECKPOINTS_LISTED_MAX 16
#define CHECKPOINT_TEXTS_MAX 20
#define CHECKPOINT_RUNS_MAX 100

/* Longest name of a branch. */
#define BRANCH_NAME_MAX 64

enum checkpoint_action {
	CHECKPOINT_SAVE,
	CHECKPOINT_UNDO,
	CHECKPOINT_BRANCH,
	CHECKPOINT_KEEP,
	CHECKPOINT_DROP,
	CHECKPOINT_ACTIONS,
};

/* A checkpoint, or a branch. */
struct checkpoint_info {
	char *name;   /* NULL = automatic */
	char *state;  /* of a branch: "starting", "ready" or "busy"; NULL = it is a checkpoint */
	uint64_t run; /* variables are as they were after this run; 0 = before the first */
	uint64_t age_ms;
	uint64_t bytes;			    /* of memory that only this copy holds */
	struct strv lost;		    /* what it lacks */
	uint64_t runs[CHECKPOINT_RUNS_MAX]; /* of a branch: those that only it has run */
	size_t n_runs;
};

/* A checkpoint or a branch has taken the place of an interpreter. */
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
	struct restored *restored;	     /* CHECKPOINT_UNDO, CHECKPOINT_KEEP */
	char *note;			     /* the same in words */
	struct strv dropped;		     /* CHECKPOINT_KEEP: the other branches */
	struct checkpoint_info *checkpoints; /* those that there are now, the oldest first */
	size_t n_checkpoints;
	struct checkpoint_info *branches;
	size_t n_branches;
};

void checkpoint_info_release(struct checkpoint_info *c);
/* Frees the vector too. */
void checkpoint_infos_free(struct checkpoint_info *v, size_t n);
struct restored *restored_free(struct restored *r);
/* NULL for NULL. */
struct restored *restored_copy(const struct restored *r);
void checkpoint_answer_release(struct checkpoint_answer *a);
/* "save", "undo", "branch", "keep", "drop"; CHECKPOINT_ACTIONS for any other name. */
const char *checkpoint_action_name(enum checkpoint_action action);
enum checkpoint_action checkpoint_action_find(const char *name);

#endif
