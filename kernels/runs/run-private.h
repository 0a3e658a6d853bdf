/* Shared by the files of run. */
#ifndef HUSK_KERNELS_RUNS_RUN_PRIVATE_H
#define HUSK_KERNELS_RUNS_RUN_PRIVATE_H

#include "kernels/runs/run.h"

/* Appends a frame to the log. */
void run_log(struct run *c, uint8_t type, const void *payload, size_t n);
/* Drops the output so far. */
void run_clear_now(struct run *c);
/* n bytes of text are about to be logged. True if they must also be written to the file with the full text. */
bool run_keeps_on(struct run *c, size_t n);
/* Writes the text of a display, result or error to that file. */
void run_keep_structured(struct run *c, const void *json, size_t n);

#endif
