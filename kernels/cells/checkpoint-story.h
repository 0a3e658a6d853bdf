/* Describes a checkpoint, and what a restored kernel lacks, as fields of an END and as sentences. */
#ifndef HUSK_KERNELS_CELLS_CHECKPOINT_STORY_H
#define HUSK_KERNELS_CELLS_CHECKPOINT_STORY_H

#include "kernels/cells/checkpoint.h"

/* The last run that is in it; 0 = none. */
uint32_t history_last(const struct history *h);
void history_add(struct history *h, uint32_t run);
/* The description of a kept checkpoint: {name?, run, age_ms, bytes, lost?}. A new object. */
json_t *checkpoint_describe(const struct checkpoint *c);
/* What is said when it takes the place of a kernel that has run `now`: {run, name?, missing, lost?, files?,
 * more_files?}, a new object, and *ret_note, which the caller owns. */
json_t *checkpoint_compare(const struct checkpoint *c, const struct history *now, char **ret_note);

#endif
