/* The END of a run says what happened to the interpreter before it. */
#ifndef HUSK_KERNELS_CELLS_PAST_H
#define HUSK_KERNELS_CELLS_PAST_H

#include <jansson.h>

#include "base/defs.h"

struct past {
	char *note;	  /* what happened to the variables; NULL = they are as the last run left them */
	json_t *lost;	  /* which variables were lost; NULL = none known */
	json_t *restored; /* from which checkpoint they come; NULL = from none */
	char *news;	  /* what else happened, such as the end of a checkpoint; NULL = nothing */
};

static inline void past_release(struct past *p)
{
	free(p->note);
	free(p->news);
	json_decref(p->lost);
	json_decref(p->restored);
	*p = (struct past){ 0 };
}

#endif
