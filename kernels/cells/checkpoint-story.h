/* Describes a checkpoint, and what a restored kernel lacks, as fields of an END and as sentences. */
#ifndef HUSK_KERNELS_CELLS_CHECKPOINT_STORY_H
#define HUSK_KERNELS_CELLS_CHECKPOINT_STORY_H

#include "kernels/cells/checkpoint.h"

/* The description of a kept checkpoint: {name?, run, age_ms, bytes, lost?}. A new object. */
json_t *checkpoint_describe(const struct checkpoint *c);
/* What is said when it takes the place of a kernel that has run `now`: {run, name?, missing, lost?, files?,
 * more_files?}, a new object, and *ret_note, which the caller owns. */
json_t *checkpoint_compare(const struct checkpoint *c, const struct history *now, char **ret_note);
/* The same when a branch becomes the main kernel in place of one that has run `now`. `lacks` may be NULL. */
json_t *branch_compare(const char *name, const struct history *branch, const struct history *now, json_t *lacks,
		       char **ret_note);

#endif
