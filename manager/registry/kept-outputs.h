/* The outputs of a run in the format of notebooks (nbformat 4.5), for a history that keeps outputs. */
#ifndef HUSK_MANAGER_REGISTRY_KEPT_OUTPUTS_H
#define HUSK_MANAGER_REGISTRY_KEPT_OUTPUTS_H

#include "manager/model/result.h"

/* Maximum number of bytes kept of one run. A note replaces a part that does not fit. */
#define KEPT_OUTPUTS_MAX (1u << 20)

/* On the loop: copies the outputs to keep. NULL if there are none. The caller owns the copy. */
struct run_result *kept_outputs_take(const struct run_result *result);
/* On any thread: returns the copy as a JSON array; NULL if it is empty. The caller owns the text. */
char *kept_outputs_text(void *kept);
void kept_outputs_free(void *kept);

#endif
