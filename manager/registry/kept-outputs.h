/* What a run left, as notebooks have it (nbformat 4.5): for a history that keeps it. */
#ifndef HUSK_MANAGER_REGISTRY_KEPT_OUTPUTS_H
#define HUSK_MANAGER_REGISTRY_KEPT_OUTPUTS_H

#include "manager/model/result.h"

/* What is kept of one run at most; a part that does not fit is named in its place. */
#define KEPT_OUTPUTS_MAX (1u << 20)

/* On the loop: a copy of what is kept. NULL if there is nothing. The caller owns it. */
struct run_result *kept_outputs_take(const struct run_result *result);
/* In any thread: the copy as a JSON array; NULL if there is nothing. The caller owns it. */
char *kept_outputs_text(void *kept);
void kept_outputs_free(void *kept);

#endif
